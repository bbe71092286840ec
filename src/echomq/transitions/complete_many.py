"""complete_many: many completions in one step, each judged on its own (ours, docs/wire.md)."""

from collections.abc import Callable, Sequence
from functools import partial

from echomq.ids import JobId
from echomq.keys import QueueKeys
from echomq.records import Broken, Completed, Completion, Gone, Stale
from echomq.resp.reply import Reply
from echomq.transitions.call import Arg, Call, Transition, refused
from echomq.transitions.checks import check_batch, check_token
from echomq.transitions.complete import kept_result

__all__ = ["TRANSITION", "complete_many"]

TRANSITION = Transition(
    name="complete_many",
    keys=("active", "base"),
    args=(),
    more_args=("id", "token", "result_ttl_ms", "result"),
    repeatable=True,
    section="ours",
)

_Answer = Completed | Gone | Stale | Broken
_ANSWERS: dict[object, Callable[[JobId], _Answer]] = {
    b"completed": Completed,
    b"gone": Gone,
    b"stale": Stale,
    b"broken": Broken,
}


def complete_many(keys: QueueKeys, items: Sequence[Completion]) -> Call[tuple[Completed | Gone | Stale | Broken, ...]]:
    """End 1 to 1000 jobs. The answers stand in the order of the items, each as that of `complete`.

    `Broken` means that another program damaged the job's row, or a key of its group or flow parent: nothing changed for
    it, `complete` says which key, and `remove` clears the job away. Safe to repeat: what was completed answers `Gone`
    then.
    """
    check_batch("completions", items)
    args: list[Arg] = []
    for item in items:
        args += (JobId.parse(item.job), check_token(item.token), *kept_result(item.result, item.result_ttl_ms))
    jobs = tuple([JobId.parse(item.job) for item in items])
    return Call(TRANSITION, (keys.active, keys.base), args, partial(_answer, keys.queue, jobs), keys.queue)


def _answer(queue: str, jobs: tuple[JobId, ...], reply: Reply) -> tuple[_Answer, ...]:
    if isinstance(reply, list) and len(reply) == len(jobs) and all(_is_known(word) for word in reply):
        return tuple([_ANSWERS[word](job) for job, word in zip(jobs, reply, strict=True)])
    raise refused(TRANSITION, queue, reply)


def _is_known(word: object) -> bool:
    return isinstance(word, bytes) and word in _ANSWERS
