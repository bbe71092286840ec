"""Branded ids: mint, parse, order (protocol 1). The only place where an id is made or taken apart.

An id is 14 bytes: a namespace of three capital letters and a 63-bit number in 11 base62 digits. The digits ascend in
ASCII, so the byte order of ids of one namespace is the order of their numbers, which is the order of minting. The
number holds, from the top: 41 bits of milliseconds since 2024, 10 bits of node, 12 bits of sequence.

Two minters with one node number can mint the same id. `Minter` therefore mints only up to a *mark*: an instant up to
which its node number is its own. With a leased node (`echomq.nodes`) the marks of successive holders of a number never
overlap, whatever their clocks say. With a node chosen by hand or at random there is no such protection: two processes
that share a number and mint in the same millisecond make the same id, and the second job is answered `Duplicate`. Of
n processes with random nodes, two share a number with a probability of about n²/2048: 38 have an even chance.
"""

import os
import re
import threading
from typing import Final, Self, final

from echomq.clock import SYSTEM_CLOCK, Clock
from echomq.errors import ClockOutOfRange, InvalidId, InvalidOption, NodeLeaseLapsed

__all__ = ["EPOCH_MS", "LAST_MS", "NODE_MAX", "SNOWFLAKE_MAX", "BrandedId", "JobId", "Minter"]

EPOCH_MS: Final = 1_704_067_200_000
"""The instant 0 of all ids: 2024-01-01T00:00:00Z, in Unix ms."""

NODE_MAX: Final = 1023
SNOWFLAKE_MAX: Final = 2**63 - 1

LAST_MS: Final = EPOCH_MS + (1 << 41) - 1
"""The last instant that an id can hold: 2093-09-06T15:47:35.551Z, in Unix ms."""

_DIGITS: Final = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_PAIRS: Final = tuple(bytes((high, low)) for high in _DIGITS for low in _DIGITS)
_VALUES: Final = {digit: value for value, digit in enumerate(_DIGITS)}
_FORM: Final = re.compile(rb"[A-Z]{3}[0-9A-Za-z]{11}", re.DOTALL)
_LARGEST_DIGITS: Final = b"AzL8n0Y58m7"
_MS_SHIFT: Final = 22
_SEQUENCE_BITS: Final = 12
_SEQUENCE_MASK: Final = 0xFFF
_CELLS: Final = 1 << 53  # milliseconds and sequence together


def _digits_of(snowflake: int) -> bytes:
    # Five pairs and one digit: six divisions instead of eleven.
    rest, p5 = divmod(snowflake, 3844)
    rest, p4 = divmod(rest, 3844)
    rest, p3 = divmod(rest, 3844)
    rest, p2 = divmod(rest, 3844)
    first, p1 = divmod(rest, 3844)
    pairs = _PAIRS
    return b"%c%b%b%b%b%b" % (_DIGITS[first], pairs[p1], pairs[p2], pairs[p3], pairs[p4], pairs[p5])


class BrandedId(bytes):
    """A valid branded id of any namespace: its 14 bytes, with byte order as its order.

    A value of this type has been checked (protocol 1.4), unless a server sent it: another speaker may admit ``JOB``
    followed by anything, and such an id is shown and handed back as it is. Raises `InvalidId` like `parse`.
    """

    __slots__ = ()

    def __new__(cls, value: "str | bytes | BrandedId") -> Self:
        """Check a value and make it an id."""
        return cls.parse(value)

    @classmethod
    def parse(cls, value: "str | bytes | BrandedId") -> Self:
        """Check a value and return it as an id. Raises `InvalidId` saying which rule it breaks."""
        if isinstance(value, cls):
            return value
        raw = value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value
        if not isinstance(raw, bytes):
            raise InvalidId(value, f"an id is text or bytes, not {type(value).__name__}")
        if len(raw) != 14:
            raise InvalidId(value, f"an id has exactly 14 bytes, this has {len(raw)}")
        if _FORM.fullmatch(raw) is None:
            raise InvalidId(value, "an id is three capital letters A-Z and 11 of the characters 0-9 A-Z a-z")
        if raw[3:] > _LARGEST_DIGITS:
            raise InvalidId(value, f"its number is above the largest, {_LARGEST_DIGITS.decode()}")
        cls._check_namespace(raw)
        return cls.of_server(raw)

    @classmethod
    def of_server(cls, raw: bytes) -> Self:
        """Return an id as a server sent it, unchecked: a strange one of another speaker must not be dropped."""
        return bytes.__new__(cls, raw)

    @classmethod
    def _check_namespace(cls, raw: bytes) -> None:
        """Refuse a namespace that this class does not hold."""

    @property
    def namespace(self) -> str:
        """The three letters that say what kind of thing the id names."""
        return self[:3].decode()

    @property
    def snowflake(self) -> int:
        """The id's number, 0 .. 2^63-1."""
        number = 0
        for digit in self[3:]:
            number = number * 62 + _VALUES[digit]
        return number

    @property
    def minted_at_ms(self) -> int:
        """The instant of minting, in Unix ms of the minter's clock."""
        return (self.snowflake >> _MS_SHIFT) + EPOCH_MS

    @property
    def node(self) -> int:
        """The node number of the minter, 0..1023."""
        return (self.snowflake >> _SEQUENCE_BITS) & NODE_MAX

    @property
    def sequence(self) -> int:
        """The place among the ids of one millisecond and node, 0..4095."""
        return self.snowflake & _SEQUENCE_MASK

    def __str__(self) -> str:
        return self.decode("utf-8", "backslashreplace")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self).of_server, (bytes(self),))

    @classmethod
    def _of(cls, namespace: bytes, snowflake: int) -> Self:
        if not 0 <= snowflake <= SNOWFLAKE_MAX:
            raise InvalidOption("snowflake", snowflake, f"0 to {SNOWFLAKE_MAX}")
        return cls.of_server(namespace + _digits_of(snowflake))


@final
class JobId(BrandedId):
    """The id of a job: a branded id of the namespace ``JOB``. Its order is the order of minting."""

    __slots__ = ()

    @classmethod
    def _check_namespace(cls, raw: bytes) -> None:
        if not raw.startswith(b"JOB"):
            raise InvalidId(raw, "a job's id begins with JOB")

    @classmethod
    def of_snowflake(cls, snowflake: int) -> "JobId":
        """Return the job id with this number, 0 .. 2^63-1. Raises `InvalidOption` outside that range."""
        return cls._of(b"JOB", snowflake)

    @classmethod
    def smallest_at(cls, unix_ms: int) -> "JobId":
        """Return the smallest id minted at or after an instant, in Unix ms (protocol 1.2).

        Ids below it were minted before. Instants before the epoch give the smallest id there is. Raises `InvalidOption`
        for an instant after 2093-09-06T15:47:35.551Z, the last one an id can hold.
        """
        return cls._of(b"JOB", max(unix_ms - EPOCH_MS, 0) << _MS_SHIFT)


class Minter:
    """Mints job ids in strictly ascending order, for one process (protocol 1.3).

    `node` is the node number, 0..1023. `mint` never blocks and never repeats an id: more than 4096 in one millisecond
    run into the next, and a clock that goes back is outrun. Safe to use from several threads. A fork is detected: the
    child's minter has no node until it is given one, since it would mint the parent's ids again.

    A minter made here is unbounded: see the top of this file for what a node chosen by hand or at random risks. A
    minter whose node is leased is bounded by a mark, and `mint` raises `NodeLeaseLapsed` at it.
    """

    __slots__ = ("_cell", "_clock", "_limit", "_lock", "_node_bits", "_pid")

    def __init__(self, node: int, *, clock: Clock = SYSTEM_CLOCK) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._node_bits = _node_bits(node)
        begins_ms = clock.unix_ms()
        self._cell = begins_ms - EPOCH_MS << _SEQUENCE_BITS if EPOCH_MS <= begins_ms <= LAST_MS else 0
        self._limit = _CELLS
        self._pid = os.getpid()

    @classmethod
    def unleased(cls, *, clock: Clock = SYSTEM_CLOCK) -> "Minter":
        """Return a minter that has no node: `mint` raises `NodeLeaseLapsed` until `assign` gives it one."""
        minter = cls(0, clock=clock)
        minter._limit = 0
        return minter

    @property
    def node(self) -> int:
        """The node number, 0..1023."""
        return self._node_bits >> _SEQUENCE_BITS

    def ahead_ms(self, now_ms: int) -> int:
        """Return the later of `now_ms` and the instant of the last id, in Unix ms: ids may run ahead of the clock."""
        return max(now_ms, (self._cell >> _SEQUENCE_BITS) + EPOCH_MS)

    def assign(self, node: int, *, after_ms: int, mark_ms: int) -> None:
        """Take a node number for the instants after `after_ms` up to and including `mark_ms`, both Unix ms.

        Ids minted from here on are later than every earlier id of this minter and than `after_ms`.
        """
        with self._lock:
            self._node_bits = _node_bits(node)
            self._cell = max(self._cell, ((after_ms - EPOCH_MS) << _SEQUENCE_BITS) | _SEQUENCE_MASK)
            self._limit = (mark_ms + 1 - EPOCH_MS) << _SEQUENCE_BITS

    def extend(self, *, mark_ms: int) -> None:
        """Move the mark of the node already held, in Unix ms."""
        with self._lock:
            self._limit = (mark_ms + 1 - EPOCH_MS) << _SEQUENCE_BITS

    def withdraw(self) -> int:
        """Give up the node and return the last instant an id may have been minted for, in Unix ms."""
        with self._lock:
            self._limit = 0
            return (self._cell >> _SEQUENCE_BITS) + EPOCH_MS

    def mint(self) -> JobId:
        """Return a new id, above every id this minter made before.

        Raises `NodeLeaseLapsed` when the node is not this minter's at that instant, or when the process was forked, and
        `ClockOutOfRange` when the clock stands after 2093.
        """
        if os.getpid() != self._pid:  # before the lock: another thread may have held it when the process was forked
            raise NodeLeaseLapsed
        with self._lock:
            unix_ms = self._clock.unix_ms()
            cell = max((unix_ms - EPOCH_MS) << _SEQUENCE_BITS, self._cell + 1)
            if cell >= self._limit:
                if cell >= _CELLS:
                    raise ClockOutOfRange(unix_ms)
                raise NodeLeaseLapsed
            self._cell = cell
        digits = _digits_of((cell >> _SEQUENCE_BITS) << _MS_SHIFT | self._node_bits | (cell & _SEQUENCE_MASK))
        return bytes.__new__(JobId, b"JOB" + digits)


def _node_bits(node: int) -> int:
    if type(node) is not int or not 0 <= node <= NODE_MAX:
        raise InvalidOption("node", node, f"0 to {NODE_MAX}")
    return node << _SEQUENCE_BITS
