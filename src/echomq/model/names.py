"""The keys of a queue, from its base, for what a body derives by itself (protocol 0, 2).

`echomq.keys` is the grammar for callers and checks names. A body meets names as another speaker wrote them, and only
puts them together.
"""

from dataclasses import dataclass

__all__ = ["Names"]


@dataclass(frozen=True, slots=True)
class Names:
    """The keys of the queue whose base, ``emq:{q}:``, this is."""

    base: bytes

    @classmethod
    def from_row(cls, row_key: bytes) -> "Names":
        """Return the names of the queue that a row's key belongs to."""
        return cls(row_key[: row_key.rindex(b"job:")])

    @property
    def queue(self) -> bytes:
        """The queue's name."""
        return self.base[len(b"emq:{") : -len(b"}:")]

    @property
    def rows(self) -> bytes:
        """What the key of every row, and of every row's companion, begins with."""
        return self.base + b"job:"

    def row(self, job: bytes) -> bytes:
        """Return ``row(id)``."""
        return self.rows + job

    def beside_row(self, job: bytes, what: bytes) -> bytes:
        """Return the key of a row's companion: ``:logs``, ``:processed`` and so on."""
        return b"%b%b:%b" % (self.rows, job, what)

    def lane(self, group: bytes) -> bytes:
        """Return ``lane(g)``."""
        return b"%bg:%b:pending" % (self.base, group)

    def is_lane(self, key: bytes) -> bool:
        """Whether a key is some group's lane."""
        return key.startswith(self.base + b"g:") and key.endswith(b":pending")

    def of(self, suffix: bytes) -> bytes:
        """Return a key that the queue has once: ``pending``, ``ring`` and so on."""
        return self.base + suffix
