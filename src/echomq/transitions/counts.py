"""counts: how many jobs are in each set, and how many ended in each way (protocol 4.18.6)."""

from collections.abc import Sequence
from functools import partial
from typing import Final

from echomq.errors import InvalidOption
from echomq.keys import QueueKeys
from echomq.records import Counts
from echomq.resp.reply import Reply
from echomq.states import COUNT_NAMES, CountName
from echomq.transitions.call import Call, Transition, refused

__all__ = ["TRANSITION", "check_count_name", "counts"]

TRANSITION = Transition(
    name="counts",
    keys=("base",),
    args=(),
    more_keys="set",
    more_args=("metric",),
    repeatable=True,
    section="4.18.6",
)

_METRICS: Final = (CountName.COMPLETED, CountName.FAILED)


def counts(keys: QueueKeys, names: Sequence[CountName | str] = COUNT_NAMES) -> Call[Counts]:
    """Count the jobs of sets, and how many jobs completed or died in all, at one instant.

    `pending` counts the flat set only, not the lanes. `scheduled`, the state, stands for `schedule`, the set. Raises
    `InvalidOption` for a name that cannot be counted. Safe to repeat, and cheap: nothing is walked.
    """
    if isinstance(names, str):
        raise InvalidOption("names", names, "a sequence of names")
    wanted = dict.fromkeys(check_count_name(name) for name in names)
    sets = [name for name in wanted if name not in _METRICS]
    metrics = [name for name in wanted if name in _METRICS]
    set_keys = {
        CountName.PENDING: keys.pending,
        CountName.ACTIVE: keys.active,
        CountName.SCHEDULE: keys.schedule,
        CountName.DEAD: keys.dead,
    }
    return Call(
        TRANSITION,
        (keys.base, *[set_keys[name] for name in sets]),
        [name.encode() for name in metrics],
        partial(_answer, keys.queue, (*sets, *metrics)),
        keys.queue,
    )


def check_count_name(name: CountName | str) -> CountName:
    """Return what the name stands for, or raise `InvalidOption`."""
    try:
        return CountName(name)
    except ValueError:
        allowed = ", ".join(known.value for known in COUNT_NAMES)
        raise InvalidOption("the name to count", name, f"one of {allowed}") from None


def _answer(queue: str, names: tuple[CountName, ...], reply: Reply) -> Counts:
    if isinstance(reply, list) and len(reply) == len(names) and all(isinstance(count, int) for count in reply):
        return Counts(dict(zip(names, reply, strict=True)))
    raise refused(TRANSITION, queue, reply)
