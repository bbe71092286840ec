"""Rules 10 to 12: when a lane is on the ring and in the list of live lanes, and which wake-ups its moves leave."""

import pytest

from echomq.model.lanes import Lane, RingMove, Standing, ring_move
from echomq.model.names import Names
from echomq.model.script import Script
from echomq.model.waking import halves, left_by_moves, worth_of
from tests.unit.model.speaker import Speaker

# --- the policy -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("standing", "servable"),
    [
        (Standing(0, 0), 0),
        (Standing(3, 9), 3),
        (Standing(3, 0, parked=True), 0),
        (Standing(3, 1, limit=3), 2),
        (Standing(3, 0, limit=9), 3),
        (Standing(3, 3, limit=3), 0),
        (Standing(3, 5, limit=3), 0),
    ],
)
def test_as_many_can_be_served_as_wait_and_have_a_seat(standing: Standing, servable: int) -> None:
    assert standing.servable == servable
    assert standing.serviceable is (servable > 0)


def test_a_lane_lives_while_jobs_of_it_wait_or_are_in_flight() -> None:
    assert Standing(1, 0, parked=True).live
    assert Standing(0, 1).live
    assert not Standing(0, 0, limit=5).live


def test_a_group_enters_when_it_can_be_served_and_leaves_when_it_cannot() -> None:
    assert ring_move(stands=False, serviceable=True) is RingMove.ENTER
    assert ring_move(stands=True, serviceable=False) is RingMove.LEAVE
    assert {ring_move(stands=same, serviceable=same) for same in (True, False)} == {RingMove.STAY}


# --- a script ---------------------------------------------------------------------------------------------------------


def script_of(q: Speaker) -> Script:
    return Script(q.space, Names(q.keys.base))


def put(script: Script, q: Speaker, *groups: bytes, first: int = 1) -> None:
    for number, group in enumerate(groups, start=first):
        script.place(group).put(q.job(number))


def ring_of(q: Speaker) -> list[bytes]:
    return list(q.space.list(q.keys.ring))


def wakes_of(q: Speaker) -> list[bytes]:
    return list(q.space.list(q.keys.wake))


def test_lanes_enter_once_in_the_order_in_which_they_were_first_looked_at(q: Speaker) -> None:
    q.space.list(q.keys.ring).push(b"other")
    script = script_of(q)
    script.lane(b"c")
    put(script, q, b"a", b"b", b"a", b"c")
    script.close()
    assert ring_of(q) == [b"other", b"c", b"a", b"b"]
    assert q.members(q.keys.lanes) == [b"a", b"b", b"c"]
    assert wakes_of(q) == [b"1", b"1", b"1", b"1"], "one for each job, one of them beyond the three of rule R"


def test_a_lane_that_is_looked_at_and_left_as_it_was_is_not_written_to(q: Speaker) -> None:
    q.enqueue_grouped(q.job(1))
    before, script = q.space.dump(), script_of(q)
    script.lane(b"g")
    script.close()
    assert q.space.dump() == before


@pytest.mark.parametrize("why", ["parked", "at its limit", "empty"])
def test_a_lane_that_cannot_be_served_stays_off_the_ring_and_wakes_nobody(q: Speaker, why: str) -> None:
    if why == "parked":
        q.space.set(q.keys.paused).add(b"g")
    if why == "at its limit":
        q.space.hash(q.keys.group_limit).set(b"g", 2)
        q.space.hash(q.keys.group_active).set(b"g", 2)
    script = script_of(q)
    lane = script.lane(b"g")
    lane.put(q.job(1))
    if why == "empty":
        lane.take_out(q.job(1))
    script.close()
    assert ring_of(q) == []
    assert wakes_of(q) == []


def test_a_lease_that_ends_frees_a_seat_and_brings_the_lane_back(q: Speaker) -> None:
    q.space.hash(q.keys.group_limit).set(b"g", 1)
    q.space.hash(q.keys.group_active).set(b"g", 1)
    q.enqueue_grouped(q.job(1))
    script = script_of(q)
    script.lane(b"g").fly(-1)
    script.close()
    assert ring_of(q) == [b"g"]
    assert not q.space.exists(q.keys.group_active), "no count stays behind at 0"


def test_a_lane_that_becomes_empty_leaves_the_ring_from_its_tail(q: Speaker) -> None:
    q.enqueue_grouped(q.job(1))
    for group in (b"g", b"x", b"g"):
        q.space.list(q.keys.ring).push(group)
    script = script_of(q)
    script.lane(b"g").take_out(q.job(1))
    script.close()
    assert ring_of(q) == [b"g", b"x"], "a second entry, which another program made, is left to a claim"


def test_of_a_damaged_lane_only_what_is_sound_is_kept_true(q: Speaker) -> None:
    q.enqueue_grouped(q.job(1))
    q.space.hash(q.keys.group_active).set(b"g", 2)
    q.space.string(q.keys.wake).set(b"another program's")
    script = script_of(q)
    lane: Lane = script.lane(b"g")
    assert lane.trouble is not None
    assert lane.trouble.text == b"WRONGTYPE the key %b holds a value of another type" % q.keys.wake
    lane.fly(-1)
    script.close()
    assert q.space.hash(q.keys.group_active).get(b"g") == b"1"
    assert ring_of(q) == []


def test_what_is_published_is_the_ring_and_tokens_of_one(q: Speaker) -> None:
    script = script_of(q)
    put(script, q, b"a", b"a", b"b")
    script.close(published=True)
    assert ring_of(q) == [b"a", b"b"]
    assert wakes_of(q) == [b"1", b"1"]
    assert not q.space.exists(q.keys.lanes)


# --- waking -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lying", "entered", "worth", "tokens"),
    [
        (0, 0, 0, []),
        (0, 0, 1, [1]),
        (3, 0, 9, []),
        (0, 2, 2, [1, 1]),
        (0, 2, 7, [1, 1, 5]),
        (3, 2, 7, [1, 1]),
        (0, 1, 5000, [1, 1000]),
        (0, 64, 64, [1] * 64),
        (0, 64, 65, [1] * 63 + [2]),
        (0, 100, 100, [1] * 63 + [37]),
        (1, 100, 100, [1] * 64),
    ],
)
def test_one_token_for_each_lane_that_enters_and_one_for_the_rest(
    lying: int, entered: int, worth: int, tokens: list[int]
) -> None:
    assert [int(token) for token in left_by_moves(lying=lying, entered=entered, worth=worth)] == tokens


def test_what_is_handed_on_is_halved_and_none_is_lost() -> None:
    assert [halves(worth) for worth in (0, 1, 2, 7)] == [(), (b"1",), (b"1", b"1"), (b"4", b"3")]


@pytest.mark.parametrize("token", [b"", b"many", b"0", b"-3", b"1.5", b"1000001", b"9" * 16])
def test_a_token_that_tells_no_worth_is_worth_one(token: bytes) -> None:
    assert worth_of(token) == 1
    assert (worth_of(b"1"), worth_of(b"40")) == (1, 40)
