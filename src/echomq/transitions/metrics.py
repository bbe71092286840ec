"""metrics: how often something happened (protocol 4.18.8)."""

from functools import partial

from echomq.errors import InvalidOption
from echomq.keys import QueueKeys
from echomq.records import Metrics
from echomq.resp.reply import Reply
from echomq.states import CountName
from echomq.transitions.call import Call, Transition, refused

__all__ = ["TRANSITION", "metrics"]

TRANSITION = Transition(name="metrics", keys=("metrics", "data"), args=(), repeatable=True, section="4.18.8")


def metrics(keys: QueueKeys, name: CountName) -> Call[Metrics]:
    """Ask how many jobs completed, or died, since the queue began. Safe to repeat.

    Raises `InvalidOption` for a name that is no metric. The series is reserved by the protocol; nothing writes it.
    """
    pairs: dict[CountName, tuple[bytes, bytes]] = {
        CountName.COMPLETED: (keys.metrics_completed, keys.metrics_completed_data),
        CountName.FAILED: (keys.metrics_failed, keys.metrics_failed_data),
    }
    if name not in pairs:
        raise InvalidOption("name", name, f"{' or '.join(pairs)}")
    return Call(TRANSITION, pairs[name], (), partial(_answer, keys.queue), keys.queue)


def _answer(queue: str, reply: Reply) -> Metrics:
    match reply:
        case [int(count), int(length)]:
            return Metrics(count, length)
        case _:
            raise refused(TRANSITION, queue, reply)
