"""The sorted set, the one kind of value whose order the whole protocol rests on (protocol 1.7)."""

from math import isfinite

from echomq.model.score_table import ScoreTable
from echomq.model.view import View

__all__ = ["ZSet"]


class ZSet(View):
    """A sorted set. Scores are whole ms or 0, except where another speaker wrote something else."""

    __slots__ = ()

    def add(self, member: bytes, score: float) -> None:
        """Put a member at a score, whether or not it is there (ZADD)."""
        whole = int(score) if isfinite(score) and score == int(score) else score
        self._space.for_writing(self._key, ScoreTable).put(member, whole)

    def remove(self, member: bytes) -> bool:
        """Take a member out; say whether it was there (ZREM)."""
        table = self._table()
        if table is None:
            return False
        removed = table.drop(member)
        self._space.tidy(self._key)
        return removed

    def score(self, member: bytes) -> float | None:
        """Return a member's score, None when it is not in the set (ZSCORE)."""
        table = self._table()
        return None if table is None else table.scores.get(member)

    def __contains__(self, member: bytes) -> bool:
        return self.score(member) is not None

    def __len__(self) -> int:
        table = self._table()
        return 0 if table is None else len(table)

    def pairs(self) -> tuple[tuple[bytes, float], ...]:
        """Return all members with their scores, in set order."""
        table = self._table()
        return () if table is None else tuple((member, score) for score, member in table.order)

    def heads(self, limit: int) -> tuple[bytes, ...]:
        """Return the first members in set order, at most `limit`."""
        table = self._table()
        return () if table is None else tuple(member for _, member in table.order[: max(limit, 0)])

    def up_to(self, score: float, limit: int) -> tuple[bytes, ...]:
        """Return the members whose score is at most this, lowest first, at most `limit` (ZRANGEBYSCORE)."""
        table = self._table()
        return () if table is None else tuple(m for s, m in table.order[: max(limit, 0)] if s <= score)

    def after(self, member: bytes, limit: int) -> tuple[bytes, ...]:
        """Return the members of a set whose scores are all 0 from after `member` on; from the start when empty."""
        table = self._table()
        if table is None:
            return ()
        start = next((at for at, (_, m) in enumerate(table.order) if m > member), len(table)) if member else 0
        return tuple(m for _, m in table.order[start : start + max(limit, 0)])

    def _table(self) -> ScoreTable | None:
        return self._space.for_reading(self._key, ScoreTable)
