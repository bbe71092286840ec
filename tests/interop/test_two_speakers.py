"""A queue shared with a speaker of the published protocol: whatever one leaves behind, the other goes on with."""

import pytest

from echomq.ids import JobId
from echomq.records import (
    Claimed,
    ClaimedMany,
    Completed,
    Dead,
    Delayed,
    Duplicate,
    Enqueued,
    Extended,
    Locked,
    NewJob,
    PromotedMany,
    Reaped,
    Released,
    Removed,
    Reprocessed,
    Scheduled,
    Stale,
    StoredJob,
    Taken,
    Token,
)
from echomq.states import JobState
from echomq.transitions.claim import claim
from echomq.transitions.claim_many import claim_many
from echomq.transitions.complete import complete
from echomq.transitions.delay import delay
from echomq.transitions.enqueue import enqueue
from echomq.transitions.enqueue_many import enqueue_many
from echomq.transitions.extend import extend
from echomq.transitions.genqueue import genqueue
from echomq.transitions.get_job import get_job
from echomq.transitions.get_state import get_state
from echomq.transitions.glimit import glimit
from echomq.transitions.gresume import gresume
from echomq.transitions.gweight import gweight
from echomq.transitions.is_paused import is_paused
from echomq.transitions.lanes import lanes
from echomq.transitions.pause import pause
from echomq.transitions.promote import promote
from echomq.transitions.reap import reap
from echomq.transitions.release import release
from echomq.transitions.remove import remove
from echomq.transitions.reprocess import reprocess
from echomq.transitions.retry import retry
from echomq.transitions.schedule import enqueue_at, enqueue_in
from echomq.transitions.take import take
from tests.features import needs
from tests.harness.case import Case
from tests.harness.jobs import BLUE, J1, J2, J3, J4, RED
from tests.harness.state import HOUR
from tests.interop.speaker import Speaker

ONE, TWO = Token(1), Token(2)


def lease_by(who: str, echo: Case, other: Speaker, job: JobId, *, lease_ms: int = HOUR) -> None:
    """One of the two admits a job and leases it with the token 1."""
    if who == "other":
        assert other.enqueue(job, b"p") == 1
        assert other.claim(lease_ms) == [job, b"p", 1]
    else:
        assert echo.body.run(enqueue(echo.keys, job, b"p")) == Enqueued(job)
        assert echo.body.run(claim(echo.keys, lease_ms=lease_ms)) == Claimed(job, b"p", ONE)


both = pytest.mark.parametrize("who", ["echomq", "other"])


# --- admission and claims ---------------------------------------------------------------------------------------------


def test_each_claims_what_the_other_admits(echo: Case, other: Speaker) -> None:
    assert other.enqueue(J1, b"\x00one") == 1
    assert echo.body.run(enqueue(echo.keys, J2, b"\xfftwo", max_attempts=4)) == Enqueued(J2)
    assert echo.body.run(claim(echo.keys, lease_ms=HOUR)) == Claimed(J1, b"\x00one", ONE)
    assert other.claim(2 * HOUR) == [J2, b"\xfftwo", 1]
    echo.shows_but_tokens(
        echo.seed().active(J1, 1, ends=1, payload=b"\x00one").active(J2, 1, ends=2, payload=b"\xfftwo", max_attempts=4)
    )


def test_every_edition_of_the_claim_serves_our_jobs(echo: Case, other: Speaker) -> None:
    for job in (J1, J2, J3):
        echo.body.run(enqueue(echo.keys, job, b"p"))
    assert other.claim_two_keys(HOUR) == [J1, b"p", 1]
    assert other.claim_batch(HOUR, 5) == [[J2, b"p", 1], [J3, b"p", 1]]
    echo.shows_but_tokens(echo.seed().active(J1, 1, ends=1).active(J2, 1, ends=1).active(J3, 1, ends=1))


def test_both_call_the_others_job_a_duplicate(echo: Case, other: Speaker) -> None:
    other.enqueue(J1, b"first")
    echo.keeps(enqueue(echo.keys, J1, b"second"), Duplicate(J1))
    echo.body.run(enqueue(echo.keys, J2, b"first"))
    assert other.enqueue(J2, b"second") == 0
    assert other.fields(J2)[b"payload"] == b"first"


def test_a_row_admitted_by_either_is_the_same_row(echo: Case, other: Speaker) -> None:
    other.enqueue(J1, b"p")
    echo.body.run(enqueue(echo.keys, J2, b"p"))
    assert other.fields(J1) == other.fields(J2)
    other.schedule(J1[:3] + b"0" * 10 + b"7", b"p", "in", HOUR)
    echo.body.run(enqueue_in(echo.keys, J3, b"p", delay_ms=HOUR))
    assert other.fields(J1[:3] + b"0" * 10 + b"7") == other.fields(J3)


# --- settling what the other leased -----------------------------------------------------------------------------------


@both
def test_each_completes_what_the_other_leased(echo: Case, other: Speaker, who: str) -> None:
    lease_by(who, echo, other, J1)
    if who == "other":
        assert echo.body.run(complete(echo.keys, J1, ONE)) == Completed(J1)
        assert other.complete(J1, 1) == 0
    else:
        assert other.complete(J1, 1) == 1
    echo.shows_but_tokens(echo.seed().completed(1))


@both
def test_each_retries_what_the_other_leased_and_both_promote(echo: Case, other: Speaker, who: str) -> None:
    lease_by(who, echo, other, J1)
    if who == "other":
        answer = echo.body.run(retry(echo.keys, J1, ONE, delay_ms=HOUR, max_attempts=3, error="boom"))
        assert answer == Scheduled(J1)
    else:
        assert other.retry(J1, 1, HOUR, 3, b"boom") == b"scheduled"
    echo.shows_but_tokens(echo.seed().scheduled(J1, 1, due=1, last_error=b"boom"))
    echo.body.advance(1)
    if who == "other":
        assert other.promote() == 1
        assert echo.body.run(claim(echo.keys, lease_ms=HOUR)) == Claimed(J1, b"p", TWO)
    else:
        assert echo.body.run(promote(echo.keys)) == PromotedMany(1, more=False)
        assert other.claim(HOUR) == [J1, b"p", 2]


@both
def test_each_buries_what_the_other_leased_and_both_reprocess(echo: Case, other: Speaker, who: str) -> None:
    lease_by(who, echo, other, J1)
    if who == "other":
        assert echo.body.run(retry(echo.keys, J1, ONE, delay_ms=HOUR, max_attempts=1, error="boom")) == Dead(J1)
        echo.shows_but_tokens(echo.seed().dead(J1, 1, last_error=b"boom", died_at=0).failed(1))
        assert other.reprocess(J1) == 1
        assert other.fields(J1)[b"state"] == b"pending"
    else:
        assert other.retry(J1, 1, HOUR, 1, b"boom") == b"dead"
        assert echo.body.run(reprocess(echo.keys, J1)) == Reprocessed(J1)
        echo.shows_but_tokens(echo.seed().pending(J1, 1).failed(1))


@both
def test_each_postpones_what_the_other_leased(echo: Case, other: Speaker, who: str) -> None:
    lease_by(who, echo, other, J1)
    if who == "other":
        assert echo.body.run(delay(echo.keys, J1, ONE, delay_ms=2 * HOUR)) == Delayed(J1)
    else:
        assert other.delay(J1, 1, "in", 2 * HOUR) == 1
    echo.shows_but_tokens(echo.seed().scheduled(J1, 1, due=2))


@both
def test_each_extends_what_the_other_leased(echo: Case, other: Speaker, who: str) -> None:
    lease_by(who, echo, other, J1)
    if who == "other":
        assert echo.body.run(extend(echo.keys, J1, ONE, lease_ms=3 * HOUR)) == Extended(J1)
    else:
        assert other.extend(J1, 1, 3 * HOUR) == 1
    echo.shows_but_tokens(echo.seed().active(J1, 1, ends=3))


@both
def test_each_reaps_what_the_other_leased_and_the_fence_holds_across(echo: Case, other: Speaker, who: str) -> None:
    lease_by(who, echo, other, J1)
    echo.body.advance(1)
    if who == "other":
        assert echo.body.run(reap(echo.keys)) == Reaped((J1,), (), (), more=False)
        assert echo.body.run(claim(echo.keys, lease_ms=HOUR)) == Claimed(J1, b"p", TWO)
        assert other.word_of(other.complete(J1, 1)) == "EMQSTALE"
    else:
        assert other.reap() == 1
        assert other.claim(HOUR) == [J1, b"p", 2]
        echo.keeps(complete(echo.keys, J1, ONE), Stale(J1))
    echo.shows_but_tokens(echo.seed().active(J1, 2, ends=2))


def test_a_released_job_goes_on_with_the_other(echo: Case, other: Speaker) -> None:
    lease_by("other", echo, other, J1)
    assert echo.body.run(release(echo.keys, J1, ONE)) == Released(J1)
    assert other.claim(HOUR) == [J1, b"p", 2]
    assert other.fields(J1)[b"unspent"] == b"1"


def test_what_the_stalled_sweep_recovers_or_kills_is_ours_to_go_on_with(echo: Case, other: Speaker) -> None:
    lease_by("echomq", echo, other, J1)
    lease_by("echomq", echo, other, J2)
    echo.body.advance(1)
    assert other.sweep_stalled(2, 1) == [[J1], []]
    assert echo.body.run(claim(echo.keys, lease_ms=HOUR)) == Claimed(J1, b"p", TWO)
    assert other.sweep_stalled(1) == [[], [J2]]
    assert echo.body.run(get_state(echo.keys, J2)) is JobState.DEAD
    assert echo.body.run(reprocess(echo.keys, J2, fresh=True)) == Reprocessed(J2)
    assert b"stalled" not in other.fields(J2)


# --- schedules, pauses, operators -------------------------------------------------------------------------------------


def test_each_promotes_what_the_other_scheduled(echo: Case, other: Speaker) -> None:
    assert other.schedule(J1, b"p", "in", HOUR) == 1
    echo.body.run(enqueue_at(echo.keys, J2, b"p", at_ms=echo.body.at_ms(1)))
    echo.body.run(enqueue_in(echo.keys, J3, b"p", delay_ms=2 * HOUR))
    echo.body.advance(1)
    assert echo.body.run(promote(echo.keys)) == PromotedMany(2, more=False)
    echo.body.advance(1)
    assert other.promote() == 1
    echo.shows_but_tokens(echo.seed().pending(J1).pending(J2).pending(J3))


def test_a_pause_by_either_is_heard_by_both(echo: Case, other: Speaker) -> None:
    other.enqueue(J1, b"p")
    echo.body.run(pause(echo.keys))
    assert other.claim(HOUR) == []
    other.wire.ask("HDEL", other.key("meta"), "paused")
    other.wire.ask("HSET", other.key("meta"), "paused", "1")
    assert echo.body.run(is_paused(echo.keys)) is True
    assert not isinstance(echo.body.run(claim_many(echo.keys, lease_ms=HOUR, size=1)), ClaimedMany)


def test_a_job_held_by_the_others_lock_plane_is_not_removed(echo: Case, other: Speaker) -> None:
    lease_by("other", echo, other, J1)
    other.wire.ask("SET", other.row(J1) + b":lock", "1", "PX", 2 * HOUR)
    echo.keeps(remove(echo.keys, J1), Locked(J1))
    other.wire.ask("DEL", other.row(J1) + b":lock")
    assert echo.body.run(remove(echo.keys, J1)) == Removed(J1)


@needs("field_ttl")
def test_a_job_held_by_the_others_lock_field_is_not_removed(echo: Case, other: Speaker) -> None:
    lease_by("other", echo, other, J1)
    other.wire.ask("HSET", other.row(J1), "lock", "1")
    other.wire.ask("HPEXPIRE", other.row(J1), 2 * HOUR, "FIELDS", 1, "lock")
    echo.keeps(remove(echo.keys, J1), Locked(J1))
    other.wire.ask("HDEL", other.row(J1), "lock")
    assert echo.body.run(remove(echo.keys, J1)) == Removed(J1)


def test_each_removes_what_the_other_admitted(echo: Case, other: Speaker) -> None:
    other.enqueue(J1, b"p")
    echo.body.run(enqueue(echo.keys, J2, b"p", max_attempts=2))
    assert echo.body.run(remove(echo.keys, J1)) == Removed(J1)
    assert other.remove(J2) == 1
    echo.shows_but_tokens(echo.seed())


# --- rows -------------------------------------------------------------------------------------------------------------


def test_unknown_fields_of_others_are_preserved_through_a_whole_life(echo: Case, other: Speaker) -> None:
    other.enqueue(J1, b"p")
    other.wire.ask("HSET", other.row(J1), "served_at", "123", "x-theirs", b"\x00\xff")
    theirs = {b"served_at": b"123", b"x-theirs": b"\x00\xff"}
    body, keys = echo.body, echo.keys
    steps = (
        lambda: body.run(claim(keys, lease_ms=HOUR)),
        lambda: body.run(extend(keys, J1, ONE, lease_ms=HOUR)),
        lambda: body.run(release(keys, J1, ONE)),
        lambda: body.run(claim_many(keys, lease_ms=HOUR, size=1)),
        lambda: body.run(retry(keys, J1, TWO, delay_ms=0, max_attempts=9, error="e")),
        lambda: body.run(promote(keys)),
        lambda: body.run(claim(keys, lease_ms=HOUR)),
        lambda: body.run(delay(keys, J1, Token(3), delay_ms=0)),
        lambda: body.run(promote(keys)),
        lambda: body.run(claim(keys, lease_ms=HOUR)),
        lambda: body.run(retry(keys, J1, Token(4), delay_ms=0, max_attempts=4, error="e")),
        lambda: body.run(reprocess(keys, J1, fresh=True)),
    )
    for step in steps:
        step()
        assert theirs.items() <= other.fields(J1).items()
    stored = body.run(get_job(keys, J1))
    assert isinstance(stored, StoredJob)
    assert stored.extra == theirs


# --- lanes ------------------------------------------------------------------------------------------------------------


def test_a_lane_job_of_the_other_lives_and_ends_with_us(echo: Case, other: Speaker) -> None:
    other.wire.ask("HSET", other.key("glimit"), RED, 1)
    for job in (J1, J2):
        assert other.genqueue(job, b"p", RED) == 1
    assert other.genqueue(J3, b"p", BLUE) == 1
    assert other.gclaim(HOUR) == [J1, b"p", 1, RED.encode()]
    assert other.ring() == [BLUE.encode()]
    assert echo.body.run(complete(echo.keys, J1, ONE)) == Completed(J1)
    assert other.in_flight(RED) == 0
    assert other.ring() == [BLUE.encode(), RED.encode()]
    assert other.gclaim(HOUR) == [J3, b"p", 1, BLUE.encode()]
    assert other.gclaim(HOUR) == [J2, b"p", 1, RED.encode()]


@pytest.mark.parametrize("verb", ["retry", "delay", "release", "reap"])
def test_w06_w08_a_lane_at_its_limit_goes_on_whatever_we_do_with_its_job(echo: Case, other: Speaker, verb: str) -> None:
    other.wire.ask("HSET", other.key("glimit"), RED, 1)
    other.genqueue(J1, b"p", RED)
    other.genqueue(J2, b"p", RED)
    other.gclaim(HOUR)
    match verb:
        case "retry":
            echo.body.run(retry(echo.keys, J1, ONE, delay_ms=HOUR, max_attempts=3, error="e"))
        case "delay":
            echo.body.run(delay(echo.keys, J1, ONE, delay_ms=HOUR))
        case "release":
            echo.body.run(release(echo.keys, J1, ONE))
        case _:
            echo.body.advance(1)
            echo.body.run(reap(echo.keys))
    assert other.in_flight(RED) == 0
    served = other.gclaim(HOUR)
    first = verb in ("release", "reap")
    assert served == [J1 if first else J2, b"p", 2 if first else 1, RED.encode()]
    assert other.gclaim(HOUR) == [], "the limit holds"


def test_our_promotion_puts_a_grouped_job_back_on_the_others_ring(echo: Case, other: Speaker) -> None:
    other.genqueue(J1, b"p", RED)
    other.gclaim(HOUR)
    assert other.retry(J1, 1, 0, 3, b"e") == b"scheduled"
    assert echo.body.run(promote(echo.keys)) == PromotedMany(1, more=False)
    assert other.gclaim(HOUR) == [J1, b"p", 2, RED.encode()]


def test_w07_a_grouped_job_removed_by_us_leaves_no_ghost_to_the_other(echo: Case, other: Speaker) -> None:
    other.genqueue(J1, b"p", RED)
    other.genqueue(J2, b"p", RED)
    assert echo.body.run(remove(echo.keys, J1)) == Removed(J1)
    assert other.gclaim(HOUR) == [J2, b"p", 1, RED.encode()]
    assert echo.body.run(remove(echo.keys, J2)) == Removed(J2)
    assert other.in_flight(RED) == 0
    assert other.gclaim(HOUR) == []


def test_a_take_serves_lanes_and_flat_jobs_of_the_other_and_lists_the_lanes(echo: Case, other: Speaker) -> None:
    other.genqueue(J1, b"p", RED)
    other.genqueue(J2, b"p", RED)
    other.enqueue(J3, b"p")
    assert echo.body.run(lanes(echo.keys)).lanes[0].lane == RED, "the ring tells of it before a take does"
    answer = echo.body.run(take(echo.keys, lease_ms=HOUR, size=2))
    assert isinstance(answer, Taken)
    assert [(claimed.job, claimed.lane) for claimed in answer.jobs] == [(J1, RED), (J3, None)]
    assert echo.body.dump()[echo.keys.lanes].value == {RED.encode(): 0}
    assert other.complete(J1, 1) == 1
    assert other.complete(J3, 1) == 1
    assert other.gclaim(HOUR) == [J2, b"p", 1, RED.encode()]
    assert other.complete(J2, 1) == 1
    assert other.ring() == []
    assert other.in_flight(RED) == 0


def test_w08_a_grouped_job_that_the_other_sent_to_the_flat_set_passes_no_limit(echo: Case, other: Speaker) -> None:
    other.glimit(RED, 1)
    for job in (J1, J2):
        other.genqueue(job, b"p", RED)
    other.gclaim(HOUR)
    assert other.retry(J1, 1, 0, 1, b"e") == b"dead"
    assert other.gclaim(HOUR) == [J2, b"p", 1, RED.encode()]
    assert other.reprocess(J1) == 1
    assert other.wire.ask("ZCARD", other.key("pending")) == 1
    answer = echo.body.run(take(echo.keys, lease_ms=HOUR, size=5))
    assert isinstance(answer, Taken)
    assert answer.jobs == ()
    assert other.depth(RED) == 1, "it went home"
    assert echo.body.run(complete(echo.keys, J2, ONE)) == Completed(J2)
    assert other.gclaim(HOUR) == [J1, b"p", 2, RED.encode()]


def test_the_other_serves_lanes_whose_names_are_no_branded_ids(echo: Case, other: Speaker) -> None:
    echo.body.run(genqueue(echo.keys, J1, b"p", lane="acme@eu"))
    assert other.gclaim(HOUR) == [J1, b"p", 1, b"acme@eu"]
    assert other.complete(J1, 1) == 1
    assert other.in_flight("acme@eu") == 0


def test_each_is_woken_by_the_other(echo: Case, other: Speaker) -> None:
    """Speakers that ignore the text of a token take each for one; one that we cannot read is worth one to us."""
    echo.body.run(enqueue_many(echo.keys, [NewJob(job, b"p", lane=RED) for job in (J1, J2, J3)]))
    token = other.wire.ask("BLPOP", other.key("wake"), 1)
    assert token == [echo.keys.wake, b"2"]
    other.genqueue(J4, b"p", BLUE)
    popped = other.wire.ask("LPOP", other.key("wake"))
    assert popped == b"1"
    answer = echo.body.run(take(echo.keys, lease_ms=HOUR, size=9, worth=b"1"))
    assert isinstance(answer, Taken)
    assert len(answer.jobs) == 4


def test_limits_weights_and_pauses_by_either_are_heard_by_both(echo: Case, other: Speaker) -> None:
    for job in (J1, J2, J3):
        other.genqueue(job, b"p", RED)
    echo.body.run(gweight(echo.keys, RED, 2))
    echo.body.run(glimit(echo.keys, RED, 1))
    assert other.gwclaim(HOUR) == [[J1, b"p", 1, RED.encode()]]
    assert other.gclaim(HOUR) == []
    assert other.glimit(RED, 3) == 1
    assert other.gpause(RED) == 1
    answer = echo.body.run(take(echo.keys, lease_ms=HOUR, size=9))
    assert isinstance(answer, Taken)
    assert answer.jobs == ()
    echo.body.run(gresume(echo.keys, RED))
    assert other.gwclaim(HOUR) == [[J2, b"p", 1, RED.encode()], [J3, b"p", 1, RED.encode()]]


def test_w04_what_the_other_makes_of_ghosts_never_reaches_our_workers(echo: Case, other: Speaker) -> None:
    other.schedule(J1, b"p", "in", 0)
    other.wire.ask("DEL", other.row(J1))
    assert other.promote() == 1, "the other speaker mints a skeleton"
    assert other.fields(J1) == {b"state": b"pending"}
    assert echo.body.run(claim_many(echo.keys, lease_ms=HOUR, size=5)) == ClaimedMany((), left=0)
    assert echo.body.run(enqueue(echo.keys, J1, b"anew")) == Enqueued(J1)
    echo.shows_but_tokens(echo.seed().pending(J1, payload=b"anew"))
