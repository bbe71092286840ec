"""claim_many: docs/wire.md, claiming."""

import pytest

from echomq.errors import BadInput
from echomq.records import Claimed, ClaimedMany, Paused, Token
from echomq.states import SetName
from echomq.transitions.browse import browse
from echomq.transitions.claim_many import claim_many
from tests.harness.case import Case
from tests.harness.jobs import BLUE, J1, J2, J3, J4, RED
from tests.harness.state import HOUR, job_number

red, blue = RED.encode(), BLUE.encode()


def test_the_oldest_are_leased_in_mint_order_on_one_deadline(case: Case) -> None:
    seed = case.seed().pending(J1, payload=b"1").pending(J2, 3, payload=b"2", unspent=1).pending(J3)
    case.given(seed)
    claimed = ClaimedMany((Claimed(J1, b"1", Token(1)), Claimed(J2, b"2", Token(4))), left=1)
    case.step(
        claim_many(case.keys, lease_ms=2 * HOUR, size=2), claimed, seed.active(J1, 1, ends=2).active(J2, 4, ends=2)
    )


def test_one_deadline_to_the_millisecond(case: Case) -> None:
    case.given(case.seed().pending(J1).pending(J2))
    case.body.run(claim_many(case.keys, lease_ms=HOUR, size=2))
    scores = {job.at_ms for job in case.body.ask(browse(case.keys, SetName.ACTIVE)).jobs}
    assert len(scores) == 1


def test_a_short_queue_gives_what_there_is(case: Case) -> None:
    case.given(case.seed().pending(J1))
    call = claim_many(case.keys, lease_ms=HOUR, size=1000)
    case.step(call, ClaimedMany((Claimed(J1, b"p", Token(1)),), left=0), case.seed().active(J1, 1, ends=1))
    case.keeps(call, ClaimedMany((), left=0))


def test_the_raw_replies(case: Case) -> None:
    case.given(case.seed().pending(J1, payload=b"x").pending(J2))
    call = claim_many(case.keys, lease_ms=HOUR, size=1)
    case.replies(call, [b"claimed", 1, [], [[J1, b"x", 1]]])
    case.given(case.seed())
    case.replies(call, [b"empty", 0, [], []])
    case.given(case.seed().paused())
    case.replies(call, [b"paused"])


def test_w33_the_pause_is_seen_in_the_same_step(case: Case) -> None:
    case.given(case.seed().paused().pending(J1).member(case.keys.pending, J2, 0))
    case.keeps(claim_many(case.keys, lease_ms=HOUR, size=5), Paused())


def test_w02_a_broken_row_goes_to_dead_and_the_rest_is_served(case: Case) -> None:
    seed = case.seed().pending(J1).pending(J2).broken(J2).pending(J3)
    case.given(seed)
    after = seed.copy().out(J2).active(J1, 1, ends=1).active(J3, 1, ends=1).member(case.keys.dead, J2, 0)
    claimed = ClaimedMany((Claimed(J1, b"p", Token(1)), Claimed(J3, b"p", Token(1))), left=0, broken=(J2,))
    case.step(claim_many(case.keys, lease_ms=HOUR, size=5), claimed, after)


def test_broken_rows_alone_are_told(case: Case) -> None:
    case.given(case.seed().pending(J1).broken(J1))
    after = case.seed().broken(J1).member(case.keys.dead, J1, 0)
    case.step(claim_many(case.keys, lease_ms=HOUR, size=5), ClaimedMany((), left=0, broken=(J1,)), after)


def test_w26_ghosts_are_dropped_and_do_not_use_up_the_size(case: Case) -> None:
    seed = case.seed().pending(J3).pending(J4)
    case.given(seed.copy().member(case.keys.pending, J1, 0).member(case.keys.pending, J2, 0))
    claimed = ClaimedMany((Claimed(J3, b"p", Token(1)), Claimed(J4, b"p", Token(1))), left=0)
    case.step(claim_many(case.keys, lease_ms=HOUR, size=2), claimed, seed.active(J3, 1, ends=1).active(J4, 1, ends=1))


def test_w44_at_most_size_and_a_hundred_heads_are_looked_at(case: Case) -> None:
    seed = case.seed().pending(job_number(500))
    ghosts = seed.copy()
    for number in range(1, 104):
        ghosts.member(case.keys.pending, job_number(number), 0)
    case.given(ghosts)
    after = seed.copy().member(case.keys.pending, job_number(103), 0)
    case.step(claim_many(case.keys, lease_ms=HOUR, size=2), ClaimedMany((), left=2), after)


def test_w02_a_wrong_key_of_any_kind_consumes_nothing(case: Case) -> None:
    for key in (case.keys.active, case.keys.pending, case.keys.meta):
        case.given(case.seed().pending(J1).drop(key).string(key, b"x"))
        case.refuses_type(claim_many(case.keys, lease_ms=HOUR, size=2))
    case.given(case.seed().pending(J1).broken(J1).pending(J2).string(case.keys.dead, b"x"))
    case.refuses_type(claim_many(case.keys, lease_ms=HOUR, size=2))


@pytest.mark.parametrize("size", [0, 1001])
def test_the_size_is_one_to_a_thousand(case: Case, size: int) -> None:
    with pytest.raises(BadInput):
        claim_many(case.keys, lease_ms=HOUR, size=size)


# --- grouped jobs that another speaker put into the flat set ----------------------------------------------------------


def test_w08_grouped_jobs_go_home_to_their_lanes(case: Case) -> None:
    seed = case.seed().row(J1, state=b"pending", group=red).pending(J2).row(J3, state=b"pending", group=blue)
    case.given(seed.copy().member(case.keys.pending, J1, 0).member(case.keys.pending, J3, 0))
    after = seed.copy().pending(J1).pending(J3).active(J2, 1, ends=1).wakes(1, 1)
    case.step(claim_many(case.keys, lease_ms=HOUR, size=5), ClaimedMany((Claimed(J2, b"p", Token(1)),), left=0), after)


def test_rule_3_a_grouped_job_whose_lane_is_damaged_goes_to_dead(case: Case) -> None:
    seed = case.seed().row(J1, state=b"pending", group=red).pending(J2).string(case.keys.lane(RED), b"x")
    case.given(seed.copy().member(case.keys.pending, J1, 0))
    text = b"WRONGTYPE the key %b holds a value of another type" % case.keys.lane(RED)
    after = seed.copy().dead(J1, last_error=text, died_at=0).active(J2, 1, ends=1)
    claimed = ClaimedMany((Claimed(J2, b"p", Token(1)),), left=0, broken=(J1,))
    case.step(claim_many(case.keys, lease_ms=HOUR, size=5), claimed, after)


# --- the ceiling ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("ceiling", "active", "served"), [(3, 1, 2), (3, 3, 0), (3, 5, 0), (9, 1, 4)])
def test_no_more_are_leased_than_the_ceiling_leaves_room_for(
    case: Case, ceiling: int, active: int, served: int
) -> None:
    seed = case.seed().concurrency(ceiling)
    for number in range(active):
        seed.active(job_number(100 + number), 1, ends=5)
    jobs = (J1, J2, J3, J4)
    for job in jobs:
        seed.pending(job)
    case.given(seed)
    after = seed.copy()
    for job in jobs[:served]:
        after.active(job, 1, ends=1)
    claimed = tuple(Claimed(job, b"p", Token(1)) for job in jobs[:served])
    case.step(claim_many(case.keys, lease_ms=HOUR, size=9), ClaimedMany(claimed, left=4 - served), after)


@pytest.mark.parametrize("ceiling", [b"0", b"-1", b"many", b"", b"1.5"])
def test_a_ceiling_that_is_no_number_of_at_least_one_is_none(case: Case, ceiling: bytes) -> None:
    seed = case.seed().fields(case.keys.meta, concurrency=ceiling).pending(J1).active(J2, 1, ends=1)
    case.given(seed)
    answer = case.body.run(claim_many(case.keys, lease_ms=HOUR, size=9))
    assert isinstance(answer, ClaimedMany)
    assert len(answer.jobs) == 1
