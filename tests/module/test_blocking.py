"""EMQ.TAKE … BLOCK (docs/wire.md): whoever finds nothing waits on the server, and what makes jobs servable wakes it."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing

import pytest

from echomq.carriers.lua import LuaCarrier
from echomq.carriers.module import ModuleCarrier
from echomq.drivers.blocking import BlockingClient
from echomq.ids import JobId
from echomq.keys import QueueKeys
from echomq.options import ConnectionOptions
from echomq.records import Token
from echomq.transitions.complete import complete
from echomq.transitions.enqueue import enqueue
from echomq.transitions.genqueue import genqueue
from echomq.transitions.glimit import glimit
from echomq.transitions.gpause import gpause
from echomq.transitions.gresume import gresume
from echomq.transitions.pause import pause
from echomq.transitions.promote import promote
from echomq.transitions.reap import reap
from echomq.transitions.release import release
from echomq.transitions.reprocess import reprocess
from echomq.transitions.resume import resume
from echomq.transitions.retry import retry
from echomq.transitions.schedule import enqueue_at
from echomq.transitions.set_concurrency import set_concurrency
from tests.harness.jobs import J1, J2, J3, RED
from tests.harness.state import job_number
from tests.harness.wire import Part, Wire
from tests.module.waiters import Asked, Waiter, await_blocked, now_ms, take_words, waiting
from tests.servers import RealServer

ONE = Asked()


class Speaker:
    """Somebody who makes jobs servable, beside a raw line for what other programs do."""

    def __init__(self, client: BlockingClient, wire: Wire, keys: QueueKeys) -> None:
        self.client, self.wire, self.keys = client, wire, keys

    def enqueue(self, *jobs: JobId) -> None:
        for job in jobs:
            self.client.run(enqueue(self.keys, job, b"x"))

    def take(self) -> None:
        """Lease the oldest job."""
        assert self.wire.ask(*take_words(self.keys, 60_000, 1)) != []


@pytest.fixture(params=[ModuleCarrier, LuaCarrier])
def speaker(server: RealServer, wire: Wire, keys: QueueKeys, request: pytest.FixtureRequest) -> Iterator[Speaker]:
    """Who makes jobs servable: by the module's commands, and by the scripts."""
    with BlockingClient(ConnectionOptions(url=server.url), new_carrier=request.param) as client:
        yield Speaker(client, wire, keys)


def plain_job(wire: Wire, keys: QueueKeys, job: JobId) -> None:
    """Admission by a speaker that leaves no token."""
    wire.ask("HSET", keys.job(job), "state", "pending", "attempts", 0, "payload", "x")
    wire.ask("ZADD", keys.pending, 0, job)


# --- arrivals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("group", ["", RED])
def test_a_job_that_is_admitted_is_taken_by_whoever_waits(
    server: RealServer, wire: Wire, keys: QueueKeys, speaker: Speaker, group: str
) -> None:
    with waiting(server, keys, ONE) as (waiter,):
        speaker.client.run(genqueue(keys, J1, b"x", lane=group) if group else enqueue(keys, J1, b"x"))
        told = waiter.answer()
    assert (told.word, told.more, told.broken, told.jobs) == (b"taken", False, (), ((J1, 1, group.encode()),))
    assert 0 <= told.waited_ms < 30_000
    lapses = wire.ask("ZSCORE", keys.active, J1)
    assert isinstance(lapses, bytes)
    assert now_ms(wire) + 30_000 < float(lapses) <= now_ms(wire) + 60_000, "the lease is not counted from the claim"
    assert wire.ask("EXISTS", keys.wake, keys.pending, keys.ring) == 0


def test_a_job_of_a_speaker_that_leaves_no_token_is_taken(server: RealServer, wire: Wire, keys: QueueKeys) -> None:
    with waiting(server, keys, ONE) as (waiter,):
        plain_job(wire, keys, J1)
        assert waiter.answer().ids == [J1]


def test_a_ghost_is_cleared_away_and_the_caller_waits_on(server: RealServer, wire: Wire, keys: QueueKeys) -> None:
    """Else the key would stay, and not come into being with the job after it."""
    with waiting(server, keys, ONE) as (waiter,):
        wire.ask("ZADD", keys.pending, 0, J1)
        assert wire.ask("EXISTS", keys.pending) == 0
        assert not waiter.is_answered()
        plain_job(wire, keys, J2)
        assert waiter.answer().ids == [J2]


def test_a_broken_row_is_told(server: RealServer, wire: Wire, keys: QueueKeys) -> None:
    with waiting(server, keys, ONE) as (waiter,):
        wire.ask("SET", keys.job(J1), "no hash")
        wire.ask("ZADD", keys.pending, 0, J1)
        assert waiter.answer().broken == (J1,)
    assert wire.ask("ZSCORE", keys.dead, J1) is not None


def test_a_job_of_a_lane_in_the_flat_set_goes_home_and_is_taken_there(
    server: RealServer, wire: Wire, keys: QueueKeys
) -> None:
    with waiting(server, keys, ONE) as (waiter,):
        wire.ask("HSET", keys.job(J1), "state", "pending", "attempts", 0, "payload", "x", "group", RED)
        wire.ask("ZADD", keys.pending, 0, J1)
        told = waiter.answer()
        assert (told.word, told.more, told.ids) == (b"empty", True, [])
        waiter.ask(keys)
        assert waiter.answer().jobs == ((J1, 1, RED.encode()),)


def test_lanes_that_cannot_be_served_keep_nobody_from_those_behind_them(
    server: RealServer, wire: Wire, keys: QueueKeys
) -> None:
    """More lanes are damaged than a look comes by: it is answered that there is more, and the next one finds it."""
    damaged = [f"lane{number}" for number in range(150)]
    with waiting(server, keys, ONE) as (waiter,):
        wire.pipeline([("SET", keys.lane(lane), "no set") for lane in damaged])
        wire.ask("HSET", keys.job(J1), "state", "pending", "attempts", 0, "payload", "x", "group", RED)
        wire.ask("ZADD", keys.lane(RED), 0, J1)
        wire.ask("RPUSH", keys.ring, *damaged, RED)
        told = waiter.answer()
        assert (told.word, told.more, told.ids) == (b"empty", True, [])
        waiter.ask(keys)
        assert waiter.answer().ids == [J1]


def test_the_worth_that_a_caller_brought_is_spent_with_its_first_look(
    server: RealServer, wire: Wire, keys: QueueKeys
) -> None:
    with waiting(server, keys, Asked(worth=b"9")) as (waiter,):
        for job in (J1, J2):
            wire.ask("HSET", keys.job(job), "state", "pending", "attempts", 0, "payload", "x")
        wire.ask("ZADD", keys.pending, 0, J1, 0, J2)
        told = waiter.answer()
        assert (told.more, told.ids) == (True, [J1])
    assert wire.ask("EXISTS", keys.wake) == 0, "nobody gave it for these jobs"


@pytest.mark.parametrize(
    "how",
    [
        lambda wire, keys: wire.ask("RENAME", b"%bother" % keys.base, keys.pending),
        lambda wire, keys: wire.ask("COPY", b"%bother" % keys.base, keys.pending),
        lambda wire, keys: wire.ask("RESTORE", keys.pending, 0, wire.ask("DUMP", b"%bother" % keys.base)),
        lambda wire, keys: wire.ask("EVAL", "redis.call('ZUNIONSTORE', KEYS[2], 1, KEYS[1])", 2, b"%bother" % keys.base,
                                    keys.pending),
        lambda wire, keys: wire.pipeline([("MULTI",), ("ZADD", keys.pending, 0, J1), ("EXEC",)]),
    ],
    ids=["rename", "copy", "restore", "script", "transaction"],
)  # fmt: skip
def test_it_does_not_matter_how_the_set_comes_into_being(
    server: RealServer, wire: Wire, keys: QueueKeys, how: Callable[[Wire, QueueKeys], object]
) -> None:
    plain_job(wire, keys, J1)
    wire.ask("RENAME", keys.pending, b"%bother" % keys.base)
    with waiting(server, keys, ONE) as (waiter,):
        how(wire, keys)
        assert waiter.answer().ids == [J1]


# --- what holds jobs up, and lets them go ----------------------------------------------------------------------------


def test_a_queue_that_is_resumed(server: RealServer, wire: Wire, keys: QueueKeys, speaker: Speaker) -> None:
    speaker.client.run(pause(keys))
    with waiting(server, keys, ONE, ONE) as (first, second):
        speaker.enqueue(J1, J2)
        assert first.answer().word == b"paused", "a token is answered, whatever there is"
        assert second.answer().word == b"paused", "a token is answered, whatever there is"
        for waiter in (first, second):
            waiter.ask(keys)
        await_blocked(wire, 2)
        speaker.client.run(resume(keys))
        assert sorted([*first.answer().ids, *second.answer().ids]) == [J1, J2]


def test_tokens_that_lie_in_a_paused_queue_are_taken_off_before_anybody_waits(
    server: RealServer, wire: Wire, keys: QueueKeys, speaker: Speaker
) -> None:
    """While one lies there no other brings the key into being, and nobody would be woken."""
    speaker.client.run(pause(keys))
    speaker.enqueue(J1)
    wire.ask("LPUSH", keys.wake, 1)
    before = wire.ask("LLEN", keys.wake)
    assert isinstance(before, int)
    for _ in range(before):
        assert wire.ask(*Asked().words(keys)) == [b"paused", 0]
    assert wire.ask("EXISTS", keys.wake) == 0
    with waiting(server, keys, ONE) as (waiter,):
        speaker.client.run(resume(keys))
        assert waiter.answer().ids == [J1]


def test_a_ceiling_that_is_raised(server: RealServer, wire: Wire, keys: QueueKeys, speaker: Speaker) -> None:
    speaker.client.run(set_concurrency(keys, 1))
    speaker.enqueue(J1, J2, J3)
    speaker.take()
    with waiting(server, keys, ONE, ONE) as waiters:
        speaker.client.run(set_concurrency(keys, 3))
        assert [waiter.answer().ids for waiter in waiters] == [[J2], [J3]]


def test_a_lease_that_ends_under_a_ceiling(server: RealServer, keys: QueueKeys, speaker: Speaker) -> None:
    speaker.client.run(set_concurrency(keys, 1))
    speaker.enqueue(J1, J2)
    speaker.take()
    with waiting(server, keys, ONE) as (waiter,):
        speaker.client.run(complete(keys, J1, Token(1)))
        assert waiter.answer().ids == [J2]


def test_at_a_ceiling_a_job_that_arrives_wakes_nobody(server: RealServer, wire: Wire, keys: QueueKeys) -> None:
    wire.ask("HSET", keys.meta, "concurrency", 1)
    plain_job(wire, keys, J1)
    wire.ask(*take_words(keys, 60_000, 1))
    with waiting(server, keys, ONE) as (waiter,):
        plain_job(wire, keys, J2)
        assert wire.ask("ZCARD", keys.pending) == 1
        assert not waiter.is_answered()


def test_a_lane_that_is_let_go(server: RealServer, wire: Wire, keys: QueueKeys, speaker: Speaker) -> None:
    speaker.client.run(gpause(keys, RED))
    speaker.client.run(genqueue(keys, J1, b"x", lane=RED))
    with waiting(server, keys, ONE) as (waiter,):
        speaker.client.run(gresume(keys, RED))
        assert waiter.answer().ids == [J1]


def test_a_limit_that_is_raised(server: RealServer, keys: QueueKeys, speaker: Speaker) -> None:
    speaker.client.run(glimit(keys, RED, 1))
    for job in (J1, J2):
        speaker.client.run(genqueue(keys, job, b"x", lane=RED))
    speaker.take()
    with waiting(server, keys, ONE) as (waiter,):
        speaker.client.run(glimit(keys, RED, 2))
        assert waiter.answer().ids == [J2]


def test_a_job_of_a_full_lane_that_ends(server: RealServer, keys: QueueKeys, speaker: Speaker) -> None:
    speaker.client.run(glimit(keys, RED, 1))
    for job in (J1, J2):
        speaker.client.run(genqueue(keys, job, b"x", lane=RED))
    speaker.take()
    with waiting(server, keys, ONE) as (waiter,):
        speaker.client.run(complete(keys, J1, Token(1)))
        assert waiter.answer().ids == [J2]


# --- jobs that become ready ------------------------------------------------------------------------------------------


def test_the_first_job_of_the_schedule_is_told_so_that_somebody_watches(
    server: RealServer, wire: Wire, keys: QueueKeys, speaker: Speaker
) -> None:
    with waiting(server, keys, Asked(watcher="me")) as (waiter,):
        at_ms = now_ms(wire) + 40_000
        speaker.client.run(enqueue_at(keys, J1, b"x", at_ms=at_ms))
        told = waiter.answer()
        assert (told.word, told.due, told.ids) == (b"empty", False, [])
        assert 0 < told.wait_ms <= 40_000
    assert wire.ask("GET", keys.watch) == b"me %d" % at_ms


def test_whoever_begins_to_watch_is_told_and_waits_from_then_on_until_something_is_due(
    server: RealServer, wire: Wire, keys: QueueKeys, speaker: Speaker
) -> None:
    speaker.client.run(enqueue_at(keys, J1, b"x", at_ms=now_ms(wire) + 500))
    wire.ask("DEL", keys.wake)
    with closing(Waiter(server.unix_path)) as waiter:
        told = waiter.asked(keys, Asked(watcher="me"))
        assert (told.word, told.due, told.waited_ms) == (b"empty", False, 0)
        assert 0 < told.wait_ms <= 500
        told = waiter.asked(keys, Asked(watcher="me"))
        assert (told.word, told.due, told.wait_ms) == (b"empty", False, 0)
        assert told.waited_ms > 0
        told = waiter.asked(keys, Asked(watcher="me"))
        assert (told.due, told.wait_ms, told.waited_ms) == (True, 0, 0)


def test_whoever_watches_for_an_earlier_instant_than_before_is_told(
    server: RealServer, wire: Wire, keys: QueueKeys, speaker: Speaker
) -> None:
    with closing(Waiter(server.unix_path)) as waiter:
        for job, ms in ((J1, 40_000), (J2, 20_000)):
            speaker.client.run(enqueue_at(keys, job, b"x", at_ms=now_ms(wire) + ms))
            wire.ask("DEL", keys.wake)
            told = waiter.asked(keys, Asked(watcher="me"))
            assert (told.word, told.waited_ms) == (b"empty", 0)
            assert ms - 20_000 < told.wait_ms <= ms


def test_a_job_that_is_promoted(server: RealServer, wire: Wire, keys: QueueKeys, speaker: Speaker) -> None:
    with waiting(server, keys, ONE) as (waiter,):
        wire.ask("HSET", keys.job(J1), "state", "scheduled", "attempts", 0, "payload", "x")
        wire.ask("ZADD", keys.schedule, 1, J1)
        speaker.client.run(promote(keys))
        assert waiter.answer().ids == [J1]


def test_a_job_that_is_reaped(server: RealServer, wire: Wire, keys: QueueKeys, speaker: Speaker) -> None:
    with waiting(server, keys, ONE) as (waiter,):
        wire.ask("HSET", keys.job(J1), "state", "active", "attempts", 1, "payload", "x")
        wire.ask("ZADD", keys.active, 1, J1)
        speaker.client.run(reap(keys))
        assert waiter.answer().jobs == ((J1, 2, b""),)


def test_a_job_that_is_handed_back(server: RealServer, keys: QueueKeys, speaker: Speaker) -> None:
    speaker.enqueue(J1)
    speaker.take()
    with waiting(server, keys, ONE) as (waiter,):
        speaker.client.run(release(keys, J1, Token(1)))
        assert waiter.answer().jobs == ((J1, 2, b""),)


def test_a_job_that_is_brought_back_from_the_dead(server: RealServer, keys: QueueKeys, speaker: Speaker) -> None:
    speaker.enqueue(J1)
    speaker.take()
    with waiting(server, keys, ONE) as (waiter,):
        speaker.client.run(retry(keys, J1, Token(1), delay_ms=0, max_attempts=0, error="x"))
        assert not waiter.is_answered()
        speaker.client.run(reprocess(keys, J1))
        assert waiter.answer().ids == [J1]


# --- who is first ----------------------------------------------------------------------------------------------------


def test_whoever_has_waited_longest_is_served_first(server: RealServer, keys: QueueKeys, speaker: Speaker) -> None:
    with waiting(server, keys, ONE, ONE, ONE) as (first, second, third):
        speaker.enqueue(J1)
        assert first.answer().ids == [J1]
        speaker.enqueue(J2)
        assert second.answer().ids == [J2]
        speaker.enqueue(J3)
        assert third.answer().ids == [J3]


def test_jobs_that_come_at_once_are_shared_by_those_who_wait(server: RealServer, wire: Wire, keys: QueueKeys) -> None:
    """Also when fewer tokens than jobs are left: here one, since a token lay there when the second job came."""
    with waiting(server, keys, ONE, ONE, ONE) as waiters:
        admissions = [("EMQ.ENQUEUE", keys.job(job), keys.pending, keys.wake, job, "x") for job in (J1, J2, J3)]
        wire.pipeline([("MULTI",), *admissions, ("EXEC",)])
        assert [waiter.answer().ids for waiter in waiters] == [[J1], [J2], [J3]]


def test_the_worth_of_a_token_goes_on_to_those_who_are_parked_on_the_list(
    server: RealServer, wire: Wire, keys: QueueKeys
) -> None:
    """Two who wait get a token each, of 7 and of 3; what these are worth beyond their jobs is left for the others."""
    with waiting(server, keys, ONE, ONE) as waiters, ExitStack() as stack:
        parked = [stack.enter_context(Wire(server.unix_path)) for _ in range(3)]
        for number, line in enumerate(parked, 3):
            line.send([("BLPOP", keys.wake, 30)])
            await_blocked(wire, number)
        batch: list[Part] = [part for number in range(7) for part in (job_number(number), "x", "", "")]
        assert wire.ask("EMQ.ENQUEUE_MANY", keys.pending, keys.base, *batch) == [1] * 7
        assert [waiter.answer().ids for waiter in waiters] == [[job_number(0)], [job_number(1)]]
        assert [line.receive() for line in parked] == [[keys.wake, worth] for worth in (b"1", b"1", b"3")]


def test_tokens_that_lie_there_for_nothing_go_with_the_answer(server: RealServer, wire: Wire, keys: QueueKeys) -> None:
    with waiting(server, keys, ONE) as (waiter,):
        wire.ask("LPUSH", keys.wake, 1, 1, 1)
        assert waiter.answer().word == b"empty"
        assert wire.ask("EXISTS", keys.wake) == 0
