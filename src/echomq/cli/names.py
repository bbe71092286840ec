"""Names that a person may have mistyped: which queues there are, and which name is near.

There is no registry of queues: they are found by walking the server's keys, in slices and up to a bound. That is for an
operator's question, never for a hot path. A queue that is empty cannot be found.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final, Protocol, TypeVar

from echomq.errors import BadInput, InvalidOption, UnexpectedReply
from echomq.resp.reply import Reply
from echomq.states import SetName
from echomq.transitions.call import Call

__all__ = ["Asker", "Queues", "find_queues", "near", "set_of"]

A = TypeVar("A")

SLICES_MAX: Final = 1_000
SLICE_KEYS: Final = 1_000
_QUEUE_KEY: Final = re.compile(rb"emq:\{([A-Za-z0-9._-]{1,128})\}:")

_OTHER_WORDS: Final = {"scheduled": SetName.SCHEDULE, "waiting": SetName.PENDING, "running": SetName.ACTIVE}


class Asker(Protocol):
    """What sends a plain command or a call: a blocking client that knows which server it asks."""

    @property
    def server(self) -> str:
        """Which server that is, for a person, without its password."""
        ...

    def command(self, *parts: bytes | str | int) -> Reply:
        """Send a command and return its reply."""
        ...

    def run(self, call: Call[A]) -> A:
        """Run one call and return its answer."""
        ...


@dataclass(frozen=True, slots=True)
class Queues:
    """The names of queues that have at least one key. `is_complete` is False when the walk met its bound."""

    names: tuple[str, ...]
    is_complete: bool


def find_queues(client: Asker) -> Queues:
    """Return the queues of a server, by name. Walks at most about a million keys, in slices."""
    names: set[str] = set()
    cursor = b"0"
    for _ in range(SLICES_MAX):
        reply = client.command("SCAN", cursor, "MATCH", "emq:{*}:*", "COUNT", SLICE_KEYS)
        cursor, found = _slice(reply)
        names.update(match[1].decode() for key in found if (match := _QUEUE_KEY.match(key)))
        if cursor == b"0":
            return Queues(tuple(sorted(names)), is_complete=True)
    return Queues(tuple(sorted(names)), is_complete=False)


def near(name: str, names: Iterable[str]) -> str | None:
    """Return the one of the names that looks most like this one, or None when none does."""
    found = get_close_matches(name, [other for other in names if other != name], n=1)
    return found[0] if found else None


def set_of(word: str) -> SetName:
    """Return the set that a word names: a set's own name or a state's, so both `schedule` and `scheduled`.

    Raises `InvalidOption`, with the near word if there is one, and `BadInput` for what no set holds.
    """
    if word in ("completed", "failed"):
        raise BadInput(
            f"jobs that are {word} cannot be listed: "
            + (
                "a completed job is deleted, and what is kept of it is its result, under its id (`echomq job show`)"
                if word == "completed"
                else "a failed one runs again (`scheduled`), or no attempt is left and it is `dead`"
            )
        )
    known = {**{name.value: name for name in SetName}, **_OTHER_WORDS}
    if word in known:
        return known[word]
    guess = near(word, known)
    raise InvalidOption(
        "state", word, ", ".join(name.value for name in SetName) + (f" (did you mean {guess}?)" if guess else "")
    )


def _slice(reply: Reply) -> tuple[bytes, Sequence[bytes]]:
    match reply:
        case [bytes(cursor), list(keys)]:
            return cursor, [key for key in keys if isinstance(key, bytes)]
        case _:
            raise UnexpectedReply("SCAN of the server", reply)
