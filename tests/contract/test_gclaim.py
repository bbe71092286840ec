"""gclaim, and what holds for gwclaim and gbclaim as well: protocol 4.16.2 to 4, docs/wire.md, claiming."""

from collections.abc import Callable

import pytest

from echomq.keys import QueueKeys
from echomq.records import Claimed, Empty, Paused, Token
from echomq.transitions.call import Call
from echomq.transitions.gbclaim import gbclaim
from echomq.transitions.gclaim import gclaim
from echomq.transitions.gwclaim import gwclaim
from tests.harness.case import Case
from tests.harness.jobs import BLUE, J1, J2, J3, J4, J5, J6, RED
from tests.harness.published import as_published
from tests.harness.state import HOUR, Seed, job_number

ONE = Token(1)
red, blue = RED.encode(), BLUE.encode()

Verb = Callable[[QueueKeys], Call[object]]


def one(keys: QueueKeys) -> Call[object]:
    return gclaim(keys, lease_ms=HOUR)


def weighted(keys: QueueKeys) -> Call[object]:
    return gwclaim(keys, lease_ms=HOUR)


def whole(keys: QueueKeys) -> Call[object]:
    return gbclaim(keys, lease_ms=HOUR)


each_claim = pytest.mark.parametrize("verb", [one, weighted, whole], ids=["gclaim", "gwclaim", "gbclaim"])


def served(answer: object) -> tuple[Claimed, ...]:
    match answer:
        case Claimed():
            return (answer,)
        case Empty():
            return ()
        case tuple():
            return answer
    raise AssertionError(answer)


def claims(case: Case, verb: Verb, *claimed: Claimed) -> None:
    assert served(case.body.run(verb(case.keys))) == claimed


# --- gclaim -----------------------------------------------------------------------------------------------------------


def test_the_head_serves_its_oldest_and_goes_to_the_tail(case: Case) -> None:
    seed = case.seed().pending(J2, group=red, payload=b"2").pending(J3, 4, group=red).pending(J1, group=blue)
    case.given(seed)
    after = seed.copy().active(J2, 1, ends=2).in_flight(RED, 1).ring(BLUE, RED)
    case.step(gclaim(case.keys, lease_ms=2 * HOUR), Claimed(J2, b"2", ONE, RED), after)
    after.active(J1, 1, ends=1).in_flight(BLUE, 1).ring(RED)
    case.step(gclaim(case.keys, lease_ms=HOUR), Claimed(J1, b"p", ONE, BLUE), after)
    after.active(J3, 5, ends=1).in_flight(RED, 2).ring()
    case.step(gclaim(case.keys, lease_ms=HOUR), Claimed(J3, b"p", Token(5), RED), after)
    case.keeps(gclaim(case.keys, lease_ms=HOUR), Empty())


def test_the_raw_replies(case: Case) -> None:
    case.given(case.seed().pending(J1, group=red, payload=b"x"))
    case.replies(gclaim(case.keys, lease_ms=HOUR), [J1, b"x", 1, red])
    case.replies(gclaim(case.keys, lease_ms=HOUR), [])
    case.given(case.seed().pending(J1, group=red, payload=b"x").pending(J2, group=red))
    case.replies(gbclaim(case.keys, lease_ms=HOUR), [[J1, b"x", 1, red], [J2, b"p", 1, red]])
    case.replies(gbclaim(case.keys, lease_ms=HOUR), [])
    case.given(case.seed().paused().pending(J1, group=red))
    for verb in (one, weighted, whole):
        case.replies(verb(case.keys), [b"paused"])


def test_a_payload_that_another_speaker_lost_is_null(case: Case) -> None:
    seed = case.seed().pending(J1, group=red)
    case.given(seed.without(case.keys.job(J1), b"payload"))
    case.replies(gclaim(case.keys, lease_ms=HOUR), [J1, None, 1, red])


# --- the three claims -------------------------------------------------------------------------------------------------


@each_claim
def test_the_published_keys_and_arguments_do_the_published_moves(case: Case, verb: Verb) -> None:
    seed = case.seed().pending(J1, group=red).pending(J2, group=blue)
    case.given(seed)
    reply = case.body.reply(as_published(verb(case.keys), case.keys))
    assert reply == ([J1, b"p", 1, red] if verb is one else [[J1, b"p", 1, red]])
    case.shows(seed.copy().active(J1, 1, ends=1).in_flight(RED, 1).ring(BLUE))


@each_claim
def test_w33_the_pause_is_seen_in_the_same_step(case: Case, verb: Verb) -> None:
    case.given(case.seed().paused().pending(J1, group=red).ring(BLUE, RED))
    case.keeps(verb(case.keys), Paused())


@each_claim
def test_w33_without_meta_the_gate_is_the_callers(case: Case, verb: Verb) -> None:
    seed = case.seed().paused().pending(J1, group=red)
    case.given(seed)
    case.body.reply(as_published(verb(case.keys), case.keys))
    case.shows(seed.active(J1, 1, ends=1).in_flight(RED, 1))


@each_claim
def test_an_empty_ring_is_empty_whatever_is_in_the_flat_set(case: Case, verb: Verb) -> None:
    case.given(case.seed().pending(J1))
    case.keeps(verb(case.keys), Empty() if verb is one else ())


@each_claim
@pytest.mark.parametrize("why", ["stale", "parked", "limited", "ghosts"])
def test_w26_an_entry_that_cannot_be_served_is_dropped_and_the_next_is_tried(case: Case, verb: Verb, why: str) -> None:
    seed = case.seed()
    match why:
        case "parked":
            seed.pending(J2, group=red).parked(RED)
        case "limited":
            seed.pending(J2, group=red).limit(RED, 1).in_flight(RED, 1)
        case "ghosts":
            seed.member(case.keys.lane(RED), J2, 0).member(case.keys.lane(RED), J3, 0)
    seed.pending(J1, group=blue)
    case.given(seed.copy().ring(RED, BLUE))
    after = seed.copy().active(J1, 1, ends=1).in_flight(BLUE, 1)
    if why == "ghosts":
        after.drop(case.keys.lane(RED))
    claims(case, verb, Claimed(J1, b"p", ONE, BLUE))
    case.shows(after)


@each_claim
def test_w26_an_entry_that_stands_twice_serves_nothing_twice_and_is_gone_at_the_end(case: Case, verb: Verb) -> None:
    seed = case.seed().pending(J1, group=red).pending(J2, group=red).pending(J3, group=blue).ring(RED, RED, BLUE, RED)
    case.given(seed)
    found: list[Claimed] = []
    while new := served(case.body.run(verb(case.keys))):
        found += new
    assert sorted(claimed.job for claimed in found) == [J1, J2, J3]
    after = case.seed().active(J1, 1, ends=1, group=red).active(J2, 1, ends=1, group=red)
    case.shows(after.active(J3, 1, ends=1, group=blue).in_flight(RED, 2).in_flight(BLUE, 1))


@each_claim
def test_w26_at_most_a_hundred_entries_are_tried(case: Case, verb: Verb) -> None:
    seed = case.seed().pending(J1, group=blue)
    stale = [f"s{number}" for number in range(100)]
    case.given(seed.copy().ring(*stale, BLUE))
    claims(case, verb)
    case.shows(seed)
    claims(case, verb, Claimed(J1, b"p", ONE, BLUE))


@each_claim
def test_w04_ghosts_and_skeletons_are_passed_over_and_never_written_to(case: Case, verb: Verb) -> None:
    lane = case.keys.lane(RED)
    seed = case.seed().fields(case.keys.job(J2), state=b"pending")
    case.given(seed.copy().member(lane, J1, 0).member(lane, J2, 0).pending(J3, group=red))
    claims(case, verb, Claimed(J3, b"p", ONE, RED))
    case.shows(seed.active(J3, 1, ends=1, group=red).in_flight(RED, 1))


@each_claim
def test_w04_at_most_a_thousand_heads_of_a_lane_are_looked_at(case: Case, verb: Verb) -> None:
    lane = case.keys.lane(RED)
    seed = case.seed()
    for number in range(1, 1002):
        seed.member(lane, job_number(number), 0)
    case.given(seed.pending(job_number(2000), group=red).ring(RED))
    claims(case, verb)
    state = case.body.dump()
    assert set(state[lane].value) <= {job_number(number) for number in (1000, 1001, 2000)}
    assert state[case.keys.ring].value == (red,), "a lane with a job in it stays on the ring"


@each_claim
def test_w08_a_misplaced_job_goes_home_and_counts_in_its_own_lane(case: Case, verb: Verb) -> None:
    """A job of another group, or of none, stands in the lane: it goes where its row says that it belongs."""
    lane = case.keys.lane(RED)
    seed = case.seed().row(J1, state=b"pending", group=blue).row(J2, state=b"pending").pending(J3, group=red)
    case.given(seed.copy().member(lane, J1, 0).member(lane, J2, 0))
    after = seed.copy().pending(J1).pending(J2).active(J3, 1, ends=1).in_flight(RED, 1).wakes(1, 1)
    claims(case, verb, Claimed(J3, b"p", ONE, RED))
    case.shows(after)


@each_claim
def test_w02_a_broken_row_goes_to_dead_and_the_next_is_served(case: Case, verb: Verb) -> None:
    seed = case.seed().pending(J1, group=red).broken(J1).pending(J2, group=red)
    case.given(seed)
    claims(case, verb, Claimed(J2, b"p", ONE, RED))
    after = seed.copy().out(J1).member(case.keys.dead, J1, 0).active(J2, 1, ends=1).in_flight(RED, 1)
    case.shows(after)


@each_claim
@pytest.mark.parametrize("value", [b"abc", b"", b"1.5", b"9" * 16])
def test_rule_3_a_job_whose_attempts_are_no_number_goes_to_dead(case: Case, verb: Verb, value: bytes) -> None:
    seed = case.seed().pending(J1, value, group=red).pending(J2, group=red)
    case.given(seed)
    claims(case, verb, Claimed(J2, b"p", ONE, RED))
    text = b"ERR the field attempts of %b is not a whole number" % case.keys.job(J1)
    after = seed.copy().dead(J1, last_error=text, died_at=0).active(J2, 1, ends=1).in_flight(RED, 1)
    case.shows(after)


@each_claim
def test_rule_3_a_misplaced_job_whose_home_is_damaged_goes_to_dead(case: Case, verb: Verb) -> None:
    seed = case.seed().string(case.keys.lane(BLUE), b"another program's").row(J1, state=b"pending", group=blue)
    seed.pending(J2, group=red)
    case.given(seed.copy().member(case.keys.lane(RED), J1, 0))
    claims(case, verb, Claimed(J2, b"p", ONE, RED))
    text = b"WRONGTYPE the key %b holds a value of another type" % case.keys.lane(BLUE)
    case.shows(seed.copy().dead(J1, last_error=text, died_at=0).active(J2, 1, ends=1).in_flight(RED, 1))


@each_claim
@pytest.mark.parametrize("damage", ["lane", "in flight"])
def test_rule_3_a_damaged_lane_stays_on_the_ring_and_the_next_is_served(case: Case, verb: Verb, damage: str) -> None:
    seed = case.seed()
    if damage == "lane":
        seed.string(case.keys.lane(RED), b"another program's")
    else:
        seed.pending(J4, group=red).fields(case.keys.group_active, **{RED: b"many"})
    seed.pending(J1, group=blue).pending(J2, group=blue).weight(BLUE, 1)
    case.given(seed.ring(RED, BLUE))
    found = served(case.body.run(verb(case.keys)))
    assert found[0] == Claimed(J1, b"p", ONE, BLUE)
    after = seed.copy().active(J1, 1, ends=1).in_flight(BLUE, 1)
    if verb is whole:
        after.active(J2, 1, ends=1).in_flight(BLUE, 2)
    case.shows(after.ring(*([RED] if verb is whole else [RED, BLUE])))


@each_claim
def test_rule_3_damaged_lanes_alone_are_empty_and_stay(case: Case, verb: Verb) -> None:
    seed = case.seed().string(case.keys.lane(RED), b"x").string(case.keys.lane(BLUE), b"x").ring(RED, BLUE)
    case.given(seed)
    claims(case, verb)
    case.shows(seed)


@each_claim
def test_w02_a_wrong_key_of_any_kind_consumes_nothing(case: Case, verb: Verb) -> None:
    for key in (case.keys.ring, case.keys.active, case.keys.meta):
        case.given(case.seed().pending(J1, group=red).drop(key).string(key, b"x"))
        case.refuses_type(verb(case.keys))
    case.given(case.seed().pending(J1, group=red).broken(J1).pending(J2, group=red).string(case.keys.dead, b"x"))
    before = case.body.dump()
    case.body.reply(verb(case.keys))
    assert case.body.dump()[case.keys.dead] == before[case.keys.dead]


@each_claim
def test_the_limit_is_kept_and_a_full_lane_leaves_the_ring(case: Case, verb: Verb) -> None:
    seed = case.seed().limit(RED, 2).in_flight(RED, 1).weight(RED, 5)
    for job in (J1, J2, J3):
        seed.pending(job, group=red)
    case.given(seed)
    claims(case, verb, Claimed(J1, b"p", ONE, RED))
    case.shows(seed.copy().active(J1, 1, ends=1).in_flight(RED, 2))
    claims(case, verb)


@each_claim
def test_a_limit_that_is_no_number_limits_nothing(case: Case, verb: Verb) -> None:
    seed = case.seed().pending(J1, group=red).fields(case.keys.group_limit, **{RED: b"few"})
    case.given(seed)
    claims(case, verb, Claimed(J1, b"p", ONE, RED))
    case.shows(seed.active(J1, 1, ends=1).in_flight(RED, 1))


@each_claim
def test_lanes_with_names_that_are_no_branded_ids_are_served(case: Case, verb: Verb) -> None:
    seed = case.seed().pending(J1, group=b"acme@eu+x")
    case.given(seed)
    claims(case, verb, Claimed(J1, b"p", ONE, "acme@eu+x"))
    case.shows(seed.active(J1, 1, ends=1).in_flight("acme@eu+x", 1))


def crowd(seed: Seed) -> Seed:
    for job in (J1, J2, J3, J4, J5):
        seed.pending(job, group=red)
    return seed.pending(J6, group=blue)


# --- gwclaim ----------------------------------------------------------------------------------------------------------


def test_a_turn_is_as_long_as_the_weight_on_one_deadline(case: Case) -> None:
    seed = crowd(case.seed()).weight(RED, 3)
    case.given(seed)
    after = seed.copy().in_flight(RED, 3).ring(BLUE, RED)
    for job in (J1, J2, J3):
        after.active(job, 1, ends=1)
    claimed = tuple(Claimed(job, b"p", ONE, RED) for job in (J1, J2, J3))
    case.step(gwclaim(case.keys, lease_ms=HOUR), claimed, after)


def test_a_turn_is_lowered_to_the_depth_and_the_headroom(case: Case) -> None:
    seed = crowd(case.seed()).weight(RED, 9)
    case.given(seed)
    answer = case.body.run(gwclaim(case.keys, lease_ms=HOUR))
    assert [claimed.job for claimed in served(answer)] == [J1, J2, J3, J4, J5]
    case.given(seed.limit(RED, 3).in_flight(RED, 1))
    answer = case.body.run(gwclaim(case.keys, lease_ms=HOUR))
    assert [claimed.job for claimed in served(answer)] == [J1, J2]
    assert case.body.dump()[case.keys.ring].value == (blue,)


@pytest.mark.parametrize("weight", [b"0", b"-3", b"many", b"", b"1.5", b"9" * 16])
def test_a_weight_that_is_none_is_one(case: Case, weight: bytes) -> None:
    case.given(crowd(case.seed()).fields(case.keys.group_weight, **{RED: weight}))
    answer = case.body.run(gwclaim(case.keys, lease_ms=HOUR))
    assert [claimed.job for claimed in served(answer)] == [J1]


# --- gbclaim ----------------------------------------------------------------------------------------------------------


def test_the_whole_lane_is_taken_and_nothing_else(case: Case) -> None:
    seed = crowd(case.seed())
    case.given(seed)
    after = seed.copy().in_flight(RED, 5)
    for job in (J1, J2, J3, J4, J5):
        after.active(job, 1, ends=1)
    claimed = tuple(Claimed(job, b"p", ONE, RED) for job in (J1, J2, J3, J4, J5))
    case.step(gbclaim(case.keys, lease_ms=HOUR), claimed, after.ring(BLUE))


def test_w31_w44_a_whole_lane_has_a_cap(case: Case) -> None:
    seed = crowd(case.seed())
    case.given(seed)
    answer = case.body.run(gbclaim(case.keys, lease_ms=HOUR, cap=2))
    assert [claimed.job for claimed in served(answer)] == [J1, J2]
    assert case.body.dump()[case.keys.ring].value == (blue, red)
    many = case.seed()
    for number in range(1, 151):
        many.pending(job_number(number), group=red)
    case.given(many)
    assert len(served(case.body.run(gbclaim(case.keys, lease_ms=HOUR)))) == 100
    case.given(many)
    assert len(served(case.body.run(as_published(gbclaim(case.keys, lease_ms=HOUR), case.keys)))) == 100
