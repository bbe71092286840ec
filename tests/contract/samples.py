"""One or two ordinary uses of each transition: a state, a call that does its work there, and the keys it must judge.

What holds for every transition is tested over these: refusals change nothing, wrong types change nothing, and whether
sending the same call twice is what the transition says it is.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from echomq.records import Completion, NewJob, Token
from echomq.states import CountName, SetName
from echomq.transitions.add_log import add_log
from echomq.transitions.browse import browse
from echomq.transitions.call import Call
from echomq.transitions.claim import claim
from echomq.transitions.claim_many import claim_many
from echomq.transitions.complete import complete
from echomq.transitions.complete_many import complete_many
from echomq.transitions.counts import counts
from echomq.transitions.delay import delay
from echomq.transitions.depth import depth
from echomq.transitions.drain import drain
from echomq.transitions.enqueue import enqueue
from echomq.transitions.enqueue_many import enqueue_many
from echomq.transitions.extend import extend
from echomq.transitions.extend_many import extend_many
from echomq.transitions.gbclaim import gbclaim
from echomq.transitions.gclaim import gclaim
from echomq.transitions.gdrain import gdrain
from echomq.transitions.genqueue import genqueue
from echomq.transitions.get_job import get_job
from echomq.transitions.get_result import get_result
from echomq.transitions.get_state import get_state
from echomq.transitions.glimit import glimit
from echomq.transitions.gpause import gpause
from echomq.transitions.greap_group import greap_group
from echomq.transitions.greassign import greassign
from echomq.transitions.gresume import gresume
from echomq.transitions.gwclaim import gwclaim
from echomq.transitions.gweight import gweight
from echomq.transitions.is_paused import is_paused
from echomq.transitions.lanes import lanes, one_lane
from echomq.transitions.lease_node import lease_node
from echomq.transitions.logs import logs
from echomq.transitions.metrics import metrics
from echomq.transitions.obliterate import obliterate
from echomq.transitions.pause import pause
from echomq.transitions.promote import promote
from echomq.transitions.promote_now import promote_now
from echomq.transitions.purge import purge
from echomq.transitions.reap import reap
from echomq.transitions.release import release
from echomq.transitions.remove import remove
from echomq.transitions.repair import repair
from echomq.transitions.reprocess import reprocess
from echomq.transitions.reprocess_many import reprocess_many
from echomq.transitions.reschedule import reschedule
from echomq.transitions.resume import resume
from echomq.transitions.retry import retry
from echomq.transitions.return_node import return_node
from echomq.transitions.schedule import enqueue_at, enqueue_in
from echomq.transitions.set_concurrency import set_concurrency
from echomq.transitions.take import take
from echomq.transitions.update_data import update_data
from echomq.transitions.update_progress import update_progress
from echomq.transitions.waiting import waiting
from echomq.transitions.wake import wake
from tests.harness.case import Case
from tests.harness.jobs import BLUE, GRANDPARENT, J1, J2, J3, J4, PARENT, RED
from tests.harness.state import HOUR, Seed

__all__ = ["BULK_ROWS", "EACH_ON_ITS_OWN", "SAMPLES", "UNJUDGED", "Sample"]

Build = Callable[[Case], tuple[Seed, Call[object]]]


@dataclass(frozen=True, slots=True)
class Sample:
    """`build` returns the state before and the call."""

    name: str
    build: Build

    def __str__(self) -> str:
        return self.name


UNJUDGED: Final[dict[str, frozenset[str]]] = {
    "obliterate": frozenset({"*"}),  # it deletes every key of the queue, whatever it holds
    "repair": frozenset({"job"}),  # a row of another type is passed over
}
"""Keys whose type a transition need not judge: it deletes or passes over them."""

BULK_ROWS: Final = frozenset(
    {
        "claim_many",
        "promote",
        "reap",
        "complete_many",
        "extend_many",
        "reprocess_many",
        "purge",
        "drain",
        "remove",
        "repair",
        "gclaim",
        "gwclaim",
        "gbclaim",
        "take",
        "gdrain",
        "greap_group",
    }
)
"""Transitions with a documented treatment of broken rows other than WRONGTYPE; each has a test of its own for it."""

EACH_ON_ITS_OWN: Final = frozenset(
    {
        "complete_many",
        "promote",
        "reap",
        "greap_group",
        "reprocess_many",
        "remove",
        "repair",
        "gclaim",
        "gwclaim",
        "gbclaim",
        "take",
    }
)
"""Transitions that a damaged lane, parent or counter does not stop: they pass over the jobs that need it."""

CHILD: Final = {"parent": bytes(PARENT), "group": RED.encode()}


def _family(case: Case) -> Seed:
    """A grouped child's parent, held, with a parent of its own; and the group's backlog."""
    row = case.keys.job(PARENT)
    seed = case.seed().row(PARENT, state=b"awaiting_children", parent=GRANDPARENT, group=BLUE.encode())
    seed.string(row + b":dependencies", b"1").in_flight(RED, 1).limit(RED, 1)
    return seed.pending(J4, group=RED.encode())


def _child(case: Case, attempts: int = 1, *, ends: int = 1, **more: bytes) -> Seed:
    return _family(case).active(J1, attempts, ends=ends, **CHILD, **more)


def _dead_child(case: Case) -> Seed:
    return _family(case).dead(J1, 3, last_error=b"e", died_at=-2, **CHILD)


def _lanes(case: Case) -> Seed:
    """Two lanes and the flat set, with work and with settings."""
    seed = case.seed().pending(J1, group=RED.encode()).pending(J2, group=RED.encode()).pending(J3, group=BLUE.encode())
    return seed.pending(J4).weight(RED, 2).limit(BLUE, 3)


def _with_subkeys(seed: Seed) -> Seed:
    row = seed.keys.job(J1)
    return seed.lines(row + b":logs", b"a").fields(row + b":processed", x=b"1")


_THREE = Token(3)
_ONE = Token(1)

SAMPLES: Final = (
    Sample("enqueue", lambda c: (c.seed().pending(J2), enqueue(c.keys, J1, b"x", max_attempts=2))),
    Sample(
        "enqueue_many", lambda c: (c.seed().pending(J2), enqueue_many(c.keys, [NewJob(J1, b"x"), NewJob(J3, b"y")]))
    ),
    Sample("enqueue_in", lambda c: (c.seed(), enqueue_in(c.keys, J1, b"x", delay_ms=HOUR))),
    Sample("enqueue_at", lambda c: (c.seed(), enqueue_at(c.keys, J1, b"x", at_ms=c.body.at_ms(3)))),
    Sample("claim", lambda c: (c.seed().pending(J1).pending(J2), claim(c.keys, lease_ms=HOUR))),
    Sample("is_paused", lambda c: (c.seed().paused(), is_paused(c.keys))),
    Sample(
        "claim_many",
        lambda c: (c.seed().pending(J1).pending(J2).pending(J3), claim_many(c.keys, lease_ms=HOUR, size=2)),
    ),
    Sample(
        "complete", lambda c: (_with_subkeys(_child(c)), complete(c.keys, J1, _ONE, result=b"r", result_ttl_ms=HOUR))
    ),
    Sample("complete late", lambda c: (_family(c).pending(J1, 1), complete(c.keys, J1, _ONE, result=b"r"))),
    Sample(
        "complete elsewhere",
        lambda c: (c.seed().active(J1, 1, ends=1, parent=PARENT, parent_queue=b"other"), complete(c.keys, J1, _ONE)),
    ),
    Sample(
        "complete_many",
        lambda c: (
            _child(c).active(J2, 1, ends=1),
            complete_many(c.keys, [Completion(J1, _ONE, b"r", HOUR), Completion(J2, _ONE)]),
        ),
    ),
    Sample("retry", lambda c: (_child(c), retry(c.keys, J1, _ONE, delay_ms=HOUR, max_attempts=3, error="e"))),
    Sample("retry dead", lambda c: (_child(c, 3), retry(c.keys, J1, _THREE, delay_ms=HOUR, max_attempts=3, error="e"))),
    Sample(
        "retry dead ignored",
        lambda c: (
            _child(c, 3, parent_policy=b"id"),
            retry(c.keys, J1, _THREE, delay_ms=HOUR, max_attempts=3, error="e"),
        ),
    ),
    Sample(
        "complete_many late",
        lambda c: (c.seed().pending(J1, 1).pending(J2, 1), complete_many(c.keys, [Completion(J1, _ONE)])),
    ),
    Sample(
        "retry dead flat",
        lambda c: (
            c.seed().active(J1, 3, ends=1),
            retry(c.keys, J1, _THREE, delay_ms=HOUR, max_attempts=3, error="e"),
        ),
    ),
    Sample(
        "retry flat",
        lambda c: (c.seed().pending(J1, 1), retry(c.keys, J1, _ONE, delay_ms=HOUR, max_attempts=3, error="e")),
    ),
    Sample("delay flat", lambda c: (c.seed().pending(J1, 1), delay(c.keys, J1, _ONE, delay_ms=HOUR))),
    Sample("reap dead flat", lambda c: (c.seed().active(J1, 3, ends=-1), reap(c.keys, max_attempts=3))),
    Sample("release", lambda c: (_child(c), release(c.keys, J1, _ONE))),
    Sample("release flat", lambda c: (c.seed().active(J1, 1, ends=1), release(c.keys, J1, _ONE))),
    Sample("delay", lambda c: (_child(c), delay(c.keys, J1, _ONE, delay_ms=HOUR, unspent=True))),
    Sample("extend", lambda c: (_child(c), extend(c.keys, J1, _ONE, lease_ms=3 * HOUR))),
    Sample(
        "extend_many",
        lambda c: (_child(c).active(J2, 1, ends=1), extend_many(c.keys, [(J1, _ONE), (J2, _ONE)], lease_ms=3 * HOUR)),
    ),
    Sample(
        "promote", lambda c: (c.seed().scheduled(J1, due=-1, group=RED.encode()).scheduled(J2, due=-1), promote(c.keys))
    ),
    Sample("promote_now", lambda c: (c.seed().scheduled(J1, due=1, group=RED.encode()), promote_now(c.keys, J1))),
    Sample("promote_now flat", lambda c: (c.seed().scheduled(J1, due=1), promote_now(c.keys, J1))),
    Sample("reschedule", lambda c: (c.seed().scheduled(J1, due=1), reschedule(c.keys, J1, at_ms=c.body.at_ms(5)))),
    Sample("reap", lambda c: (_child(c, ends=-1).active(J2, 1, ends=-1), reap(c.keys, max_attempts=3))),
    Sample("reap dead", lambda c: (_child(c, 3, ends=-1), reap(c.keys, max_attempts=3))),
    Sample("browse", lambda c: (c.seed().scheduled(J1, due=1), browse(c.keys, SetName.SCHEDULE))),
    Sample("browse pending", lambda c: (c.seed().pending(J1), browse(c.keys, SetName.PENDING))),
    Sample("browse a lane", lambda c: (_lanes(c), browse(c.keys, SetName.PENDING, lane=RED))),
    Sample("update_data", lambda c: (c.seed().active(J1, 1, ends=1), update_data(c.keys, J1, b"x", token=_ONE))),
    Sample(
        "update_progress", lambda c: (c.seed().active(J1, 1, ends=1), update_progress(c.keys, J1, b"x", token=_ONE))
    ),
    Sample("add_log", lambda c: (c.seed().active(J1, 1, ends=1), add_log(c.keys, J1, b"x", token=_ONE))),
    Sample("logs", lambda c: (_with_subkeys(c.seed().pending(J1)), logs(c.keys, J1))),
    Sample(
        "remove", lambda c: (_with_subkeys(_child(c)).string(c.keys.dedup("d"), J1), remove(c.keys, J1, dedup_id="d"))
    ),
    Sample("remove waiting", lambda c: (_family(c).pending(J1, **CHILD), remove(c.keys, J1))),
    Sample("reprocess", lambda c: (_dead_child(c), reprocess(c.keys, J1, fresh=True))),
    Sample("reprocess flat", lambda c: (c.seed().dead(J1, 3), reprocess(c.keys, J1))),
    Sample("reprocess_many", lambda c: (_dead_child(c).dead(J2, 3), reprocess_many(c.keys))),
    Sample("purge", lambda c: (_with_subkeys(_dead_child(c)), purge(c.keys, age_ms=HOUR))),
    Sample("repair", lambda c: (c.seed().row(J1, state=b"active", attempts=1).row(J2, state=b"dead"), repair(c.keys))),
    Sample("counts", lambda c: (c.seed().pending(J1).completed(1).failed(1), counts(c.keys))),
    Sample("get_job", lambda c: (c.seed().pending(J1), get_job(c.keys, J1))),
    Sample("get_state", lambda c: (c.seed().pending(J1, group=RED.encode()), get_state(c.keys, J1))),
    Sample("get_result", lambda c: (c.seed().dead(J1, 1, last_error=b"e"), get_result(c.keys, J1))),
    Sample("metrics", lambda c: (c.seed().failed(1), metrics(c.keys, CountName.FAILED))),
    Sample("pause", lambda c: (c.seed(), pause(c.keys))),
    Sample("resume", lambda c: (c.seed().paused(), resume(c.keys))),
    Sample("drain", lambda c: (_with_subkeys(c.seed().pending(J1).scheduled(J2, due=1)), drain(c.keys, schedule=True))),
    Sample("obliterate", lambda c: (_with_subkeys(c.seed().paused().pending(J1)), obliterate(c.keys))),
    Sample("genqueue", lambda c: (c.seed().pending(J2), genqueue(c.keys, J1, b"x", lane=RED, max_attempts=2))),
    Sample("genqueue to more", lambda c: (_lanes(c).forget(J1), genqueue(c.keys, J1, b"x", lane=RED))),
    Sample(
        "enqueue_many into lanes",
        lambda c: (
            _lanes(c).forget(J1).forget(J3),
            enqueue_many(c.keys, [NewJob(J1, b"x", lane=RED), NewJob(J3, b"y", 3, BLUE), NewJob(PARENT, b"z")]),
        ),
    ),
    Sample("enqueue_in into a lane", lambda c: (c.seed(), enqueue_in(c.keys, J1, b"x", delay_ms=HOUR, lane=RED))),
    Sample("gclaim", lambda c: (_lanes(c), gclaim(c.keys, lease_ms=HOUR))),
    Sample("gclaim the last", lambda c: (c.seed().pending(J1, group=RED.encode()), gclaim(c.keys, lease_ms=HOUR))),
    Sample("gwclaim", lambda c: (_lanes(c), gwclaim(c.keys, lease_ms=HOUR))),
    Sample("gbclaim", lambda c: (_lanes(c), gbclaim(c.keys, lease_ms=HOUR, cap=50))),
    Sample("take", lambda c: (_lanes(c), take(c.keys, lease_ms=HOUR, size=2, worth=b"5", watcher="me"))),
    Sample(
        "take all",
        lambda c: (
            _lanes(c).row(J1, attempts=1).concurrency(9).wakes(1).scheduled(PARENT, due=1),
            take(c.keys, lease_ms=HOUR, size=9, worth=b"beat", watcher="me", park_ms=HOUR),
        ),
    ),
    Sample("wake", lambda c: (_lanes(c).watched("me", until=1), wake(c.keys, worth=3, watcher="me"))),
    Sample("gweight", lambda c: (_lanes(c), gweight(c.keys, BLUE, 5))),
    Sample("gweight none", lambda c: (_lanes(c), gweight(c.keys, RED, None))),
    Sample("gpause", lambda c: (_lanes(c), gpause(c.keys, RED))),
    Sample("gresume", lambda c: (_lanes(c).parked(RED), gresume(c.keys, RED))),
    Sample("glimit", lambda c: (_lanes(c).in_flight(RED, 1), glimit(c.keys, RED, 1))),
    Sample("glimit none", lambda c: (_lanes(c).in_flight(BLUE, 3), glimit(c.keys, BLUE, None))),
    Sample("greassign", lambda c: (_lanes(c), greassign(c.keys, J3, RED))),
    Sample("gdrain", lambda c: (_with_subkeys(_lanes(c)), gdrain(c.keys, RED))),
    Sample("greap_group", lambda c: (_child(c, ends=-1), greap_group(c.keys, RED, max_attempts=3))),
    Sample("greap_group dead", lambda c: (_child(c, 3, ends=-1), greap_group(c.keys, RED, max_attempts=3))),
    Sample("depth", lambda c: (_lanes(c), depth(c.keys, RED))),
    Sample("lanes", lambda c: (_lanes(c).parked("other"), lanes(c.keys, limit=2))),
    Sample("lanes one", lambda c: (_lanes(c).weight(RED, 3).limit(RED, 7), one_lane(c.keys, RED))),
    Sample("waiting", lambda c: (_lanes(c), waiting(c.keys))),
    Sample("set_concurrency", lambda c: (_lanes(c), set_concurrency(c.keys, 5))),
    Sample("set_concurrency none", lambda c: (_lanes(c).concurrency(2), set_concurrency(c.keys, None))),
    Sample("resume with work", lambda c: (_lanes(c).paused().concurrency(2), resume(c.keys))),
    Sample(
        "complete at the ceiling",
        lambda c: (_lanes(c).concurrency(1).active(PARENT, 1, ends=1), complete(c.keys, PARENT, _ONE)),
    ),
    Sample("lease_node", lambda c: (c.seed(), lease_node(b"me", node=None, mark_ms=5, lease_ms=HOUR))),
    Sample("lease_node again", lambda c: (c.seed(), lease_node(b"me", node=0, mark_ms=5, lease_ms=HOUR))),
    Sample("return_node", lambda c: (c.seed(), return_node(b"me", 3, last_ms=5))),
)
