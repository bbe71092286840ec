"""The states of a job and the legal moves between them, as plain data (protocol 2.4, appendix B).

`tools/tables.py` draws `docs/lifecycle.md` from these tables, and the tests hold every body to them.
"""

from enum import StrEnum
from typing import Final, Self

from echomq.errors import InvalidOption

__all__ = ["COUNT_NAMES", "MOVES", "SET_NAMES", "CountName", "JobState", "SetName"]


class JobState(StrEnum):
    """Where a job is. The first five are what the row says; the last two are answers of `get_state` only."""

    PENDING = "pending"
    ACTIVE = "active"
    SCHEDULED = "scheduled"
    DEAD = "dead"
    AWAITING_CHILDREN = "awaiting_children"
    UNKNOWN = "unknown"
    ABSENT = "absent"


class _Named(StrEnum):
    """Names of a kind. A state stands for its set; other names are the caller's mistake, and the error lists all."""

    @classmethod
    def _missing_(cls, value: object) -> Self:
        if value == JobState.SCHEDULED:
            return cls("schedule")
        raise InvalidOption(cls.__name__, value, f"one of {', '.join(cls)}")


class SetName(_Named):
    """A sorted set of a queue that can be browsed. `scheduled`, the state, stands for `schedule`, the set."""

    PENDING = "pending"
    ACTIVE = "active"
    SCHEDULE = "schedule"
    DEAD = "dead"


class CountName(_Named):
    """What `counts` can count: the members of a set, or how often something happened (protocol 4.18.6)."""

    PENDING = "pending"
    ACTIVE = "active"
    SCHEDULE = "schedule"
    DEAD = "dead"
    COMPLETED = "completed"
    FAILED = "failed"


SET_NAMES: Final = tuple(SetName)
COUNT_NAMES: Final = tuple(CountName)

# (from, transition, to). None stands for "no row": before admission, and after completion or removal.
MOVES: Final[tuple[tuple[JobState | None, str, JobState | None], ...]] = (
    (None, "enqueue", JobState.PENDING),
    (None, "enqueue_many", JobState.PENDING),
    (None, "schedule", JobState.SCHEDULED),
    (JobState.PENDING, "claim", JobState.ACTIVE),
    (JobState.PENDING, "claim_many", JobState.ACTIVE),
    (JobState.PENDING, "complete", None),  # late, after a lapse, while nobody has claimed it again
    (JobState.PENDING, "complete_many", None),
    (JobState.PENDING, "retry", JobState.SCHEDULED),
    (JobState.PENDING, "retry", JobState.DEAD),
    (JobState.PENDING, "delay", JobState.SCHEDULED),
    (JobState.PENDING, "drain", None),
    (JobState.ACTIVE, "complete", None),
    (JobState.ACTIVE, "complete_many", None),
    (JobState.ACTIVE, "retry", JobState.SCHEDULED),
    (JobState.ACTIVE, "retry", JobState.DEAD),
    (JobState.ACTIVE, "release", JobState.PENDING),
    (JobState.ACTIVE, "delay", JobState.SCHEDULED),
    (JobState.ACTIVE, "extend", JobState.ACTIVE),
    (JobState.ACTIVE, "extend_many", JobState.ACTIVE),
    (JobState.ACTIVE, "reap", JobState.PENDING),
    (JobState.ACTIVE, "reap", JobState.DEAD),
    (JobState.SCHEDULED, "promote", JobState.PENDING),
    (JobState.SCHEDULED, "promote_now", JobState.PENDING),
    (JobState.SCHEDULED, "reschedule", JobState.SCHEDULED),
    (JobState.SCHEDULED, "drain", None),
    (JobState.DEAD, "reprocess", JobState.PENDING),
    (JobState.DEAD, "reprocess_many", JobState.PENDING),
    (JobState.DEAD, "purge", None),
    (JobState.PENDING, "remove", None),
    (JobState.ACTIVE, "remove", None),
    (JobState.SCHEDULED, "remove", None),
    (JobState.DEAD, "remove", None),
)
