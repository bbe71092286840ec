"""What the tests ask of a body of the transitions: run a call, show and set the whole state, let time pass."""

import dataclasses
from collections.abc import Sequence
from typing import Protocol, TypeVar

from echomq.resp.reply import Reply
from echomq.transitions.call import Call
from tests.harness.state import HOUR, State

__all__ = ["Body", "hours", "in_hours"]

Answer = TypeVar("Answer")


class Body(Protocol):
    """One implementation of all transitions over one database. Everything here is about that whole database.

    `start_ms` is the instant 0 of the test on the body's own clock.
    """

    name: str
    start_ms: int

    def reply(self, call: Call[object]) -> Reply:
        """Run the call and return the reply as it stands; an error is an `ErrorReply`."""
        ...

    def ask(self, call: Call[Answer]) -> Answer:
        """Run the call and return its answer with the body's own instants. Raises what the handle raises."""
        ...

    def run(self, call: Call[Answer]) -> Answer:
        """Run the call and return its answer, instants in hours. Raises what the handle raises."""
        ...

    def dump(self) -> State:
        """Return the whole database but ``{emq}:version``."""
        ...

    def load(self, state: State) -> None:
        """Add the keys of a state to the database; an existing key is replaced."""
        ...

    def delete(self, keys: Sequence[bytes]) -> None:
        """Delete these keys."""
        ...

    def restart(self) -> None:
        """Begin anew: an empty database at the instant 0."""
        ...

    def drop(self) -> None:
        """Delete every key that `dump` shows."""
        ...

    def advance(self, span_hours: int) -> None:
        """Let time pass for everything in the database."""
        ...

    def at_ms(self, instant: int) -> int:
        """Return what the body calls an instant given in hours from the start, in Unix ms."""
        ...

    def listen(self) -> None:
        """Begin to keep what is published, from here on."""
        ...

    def published(self) -> list[tuple[bytes, bytes]]:
        """Return channel and message of everything published since the last look."""
        ...


def hours(instant_ms: float, start_ms: float) -> int:
    """Return an instant as whole hours from the start; half an hour of slack on both sides."""
    return round((instant_ms - start_ms) / HOUR)


_INSTANTS = ("at_ms", "due_at_ms", "died_at_ms", "completed_at_ms")


def in_hours(answer: Answer, start_ms: int) -> Answer:
    """Return the answer with its instants in whole hours from the start, and spans in whole hours."""
    if isinstance(answer, tuple):
        return tuple(in_hours(part, start_ms) for part in answer)  # type: ignore[return-value]  # same shape
    if not dataclasses.is_dataclass(answer) or isinstance(answer, type):
        return answer
    changed: dict[str, object] = {}
    for field in dataclasses.fields(answer):
        value = getattr(answer, field.name)
        if field.name in _INSTANTS and value is not None:
            changed[field.name] = hours(value, start_ms)
        elif field.name in ("retry_after_ms", "wait_ms"):
            changed[field.name] = round(value / HOUR)
        elif isinstance(value, tuple) or dataclasses.is_dataclass(value):
            changed[field.name] = in_hours(value, start_ms)
    return dataclasses.replace(answer, **changed)
