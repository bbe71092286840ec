"""Checks of arguments that several handles share. What fails here was never sent."""

import re
from collections.abc import Sequence
from typing import Final

from echomq.batches import BATCH_MAX
from echomq.errors import InvalidOption, InvalidPayload, InvalidToken, PayloadTooLarge
from echomq.records import Token

__all__ = [
    "ATTEMPTS_MAX",
    "IN_FLIGHT_MAX",
    "LEASE_MS_MAX",
    "PROGRESS_BYTES_MAX",
    "WEIGHT_MAX",
    "check_batch",
    "check_bytes",
    "check_cap",
    "check_cursor",
    "check_due",
    "check_in_flight",
    "check_lease",
    "check_limit",
    "check_number",
    "check_progress",
    "check_token",
    "check_watcher",
    "check_weight",
]

MS_MAX = 2**53 - 1
"""The largest instant or duration, in ms: the scripts' numbers are doubles, exact up to here."""

ATTEMPTS_MAX = 10**15 - 1
"""The largest cap of attempts: a counter in a row has at most 15 digits (docs/wire.md, rule 1)."""

LEASE_MS_MAX = 7 * 24 * 3600 * 1000
"""The longest lease: a week, in ms. A crashed worker's job is not seen again before its lease ends."""

PROGRESS_BYTES_MAX = 4 * 1024
"""The longest progress, in bytes: every listener of the queue is sent it, and the script reads it byte by byte."""

IN_FLIGHT_MAX = 10**15 - 1
"""The largest limit of a lane, or ceiling of a queue: counters have at most 15 digits (docs/wire.md, rule 1)."""

WEIGHT_MAX = 1000
"""The largest weight of a lane: a turn is no longer than the largest batch."""

_CURSOR_DIGITS = 20

_WATCHER: Final = re.compile(r"[!-~]{1,64}")


def check_bytes(what: str, value: bytes) -> bytes:
    """Return the value if it is bytes, or raise `InvalidPayload`."""
    if not isinstance(value, bytes):
        raise InvalidPayload(what, value)
    return value


def check_progress(value: bytes) -> bytes:
    """Return the progress, or raise `InvalidPayload`, or `PayloadTooLarge` over `PROGRESS_BYTES_MAX`."""
    if len(check_bytes("progress", value)) > PROGRESS_BYTES_MAX:
        raise PayloadTooLarge("progress", len(value), PROGRESS_BYTES_MAX)
    return value


def check_number(name: str, value: int, *, least: int = 0, most: int = MS_MAX) -> int:
    """Return a whole number within its range, or raise `InvalidOption`."""
    if not _is_whole(value, least, most):
        raise InvalidOption(name, value, f"a whole number from {least} to {most}")
    return value


def _is_whole(value: object, least: int, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def check_cap(max_attempts: int) -> int:
    """Return a job's own cap of attempts, 1 to `ATTEMPTS_MAX`, or raise `InvalidOption`."""
    return check_number("max_attempts", max_attempts, least=1, most=ATTEMPTS_MAX)


def check_in_flight(bound: str, of: str, most: int | None) -> bytes | int:
    """Return how many jobs `of` a lane or queue may be in flight, 1 to `IN_FLIGHT_MAX`, as it travels; None: no bound.

    Raises `InvalidOption`, whose sentence says how to stop everything, which 0 may have been meant to do.
    """
    if most is None:
        return b""
    if not _is_whole(most, 1, IN_FLIGHT_MAX):
        allowed = f"a whole number from 1 to {IN_FLIGHT_MAX}, or None for no {bound}; to stop a {of}, pause it"
        raise InvalidOption(f"the {bound} of a {of}", most, allowed)
    return most


def check_weight(weight: int | None) -> bytes | int:
    """Return a lane's weight, 1 to `WEIGHT_MAX`, as it travels; None stands for none. Raises `InvalidOption`."""
    return b"" if weight is None else check_number("weight", weight, least=1, most=WEIGHT_MAX)


def check_token(token: int) -> Token:
    """Return the token, or raise `InvalidToken` for what no claim can have given."""
    if not isinstance(token, int) or isinstance(token, bool) or not 1 <= token <= MS_MAX:
        raise InvalidToken(token)
    return Token(token)


def check_due(*, delay_ms: int | None, at_ms: int | None) -> tuple[bytes, int]:
    """Return the mode and value of a due instant: exactly one of a delay and an absolute Unix ms, both >= 0.

    Raises `InvalidOption`. An instant in the past is due at once.
    """
    if (delay_ms is None) == (at_ms is None):
        raise InvalidOption("delay_ms and at_ms", (delay_ms, at_ms), "exactly one of the two")
    if delay_ms is not None:
        return b"in", check_number("delay_ms", delay_ms)
    assert at_ms is not None
    return b"at", check_number("at_ms", at_ms)


def check_limit(limit: int) -> int:
    """Return a bound for one call, 1 to `BATCH_MAX`, or raise `InvalidOption`."""
    return check_number("limit", limit, least=1, most=BATCH_MAX)


def check_lease(lease_ms: int) -> int:
    """Return the length of a lease in ms, 1 to `LEASE_MS_MAX`, or raise `InvalidOption`."""
    return check_number("lease_ms", lease_ms, least=1, most=LEASE_MS_MAX)


def check_batch(what: str, items: Sequence[object]) -> None:
    """Raise `InvalidOption` unless the batch has 1 to `BATCH_MAX` items."""
    if not 1 <= len(items) <= BATCH_MAX:
        raise InvalidOption(f"the number of {what}", len(items), f"1 to {BATCH_MAX} a call")


def check_cursor(cursor: str | None) -> bytes:
    """Return a cursor of an earlier answer as it travels; None stands for the start. Raises `InvalidOption`."""
    if cursor is None:
        return b"0"
    if not isinstance(cursor, str) or not cursor.isascii() or not cursor.isdigit() or len(cursor) > _CURSOR_DIGITS:
        raise InvalidOption("cursor", cursor, "None, or the cursor of the answer before")
    return cursor.encode()


def check_watcher(name: str | None) -> bytes:
    """Return a worker's name for itself as it travels; empty for None. Raises `InvalidOption`."""
    if name is None:
        return b""
    if not isinstance(name, str) or _WATCHER.fullmatch(name) is None:
        raise InvalidOption("watcher", name, "None, or 1 to 64 printable ASCII characters without spaces")
    return name.encode()
