"""repair: find jobs that stand in no set, and put them back (ours, docs/wire.md)."""

from contextlib import suppress
from functools import partial

from echomq.batches import BATCH_MAX
from echomq.keys import QueueKeys
from echomq.records import Repaired
from echomq.resp.reply import Reply
from echomq.transitions.call import Call, Transition, refused
from echomq.transitions.checks import check_cursor, check_number
from echomq.transitions.replies import Malformed, job_ids

__all__ = ["TRANSITION", "repair"]

TRANSITION = Transition(
    name="repair",
    keys=("base",),
    args=("cursor", "budget"),
    repeatable=True,
    section="ours",
)


def repair(keys: QueueKeys, *, cursor: str | None = None, budget: int = 1000) -> Call[Repaired]:
    """Look at about `budget` keys of the server, 1 to 1000, and put jobs that stand in no set back where they belong.

    An operator's verb, after another program wrote to the queue: it walks the whole keyspace of the server. Call again
    with the `cursor` of the answer until that is None. A flow parent that waits for its children is left alone. Safe to
    repeat.
    """
    args = (check_cursor(cursor), check_number("budget", budget, least=1, most=BATCH_MAX))
    return Call(TRANSITION, (keys.base,), args, partial(_answer, keys.queue), keys.queue)


def _answer(queue: str, reply: Reply) -> Repaired:
    with suppress(Malformed):
        match reply:
            case [b"repaired", bytes(cursor), jobs] if cursor.isdigit():
                return Repaired(job_ids(jobs), None if cursor == b"0" else cursor.decode())
            case _:
                pass
    raise refused(TRANSITION, queue, reply)
