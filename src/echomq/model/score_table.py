"""What a sorted set holds: each member once, in the order of (score, bytes) on which the whole protocol rests (1.7)."""

from bisect import bisect_left, insort

__all__ = ["ScoreTable"]


class ScoreTable:
    """What a sorted set holds: each member once, in the order of (score, bytes)."""

    __slots__ = ("order", "scores")

    def __init__(self) -> None:
        self.scores: dict[bytes, float] = {}
        self.order: list[tuple[float, bytes]] = []

    def put(self, member: bytes, score: float) -> None:
        """Place a member, wherever it was before."""
        self.drop(member)
        self.scores[member] = score
        insort(self.order, (score, member))

    def drop(self, member: bytes) -> bool:
        """Take a member out; say whether it was there."""
        score = self.scores.pop(member, None)
        if score is None:
            return False
        del self.order[bisect_left(self.order, (score, member))]
        return True

    def __len__(self) -> int:
        return len(self.scores)
