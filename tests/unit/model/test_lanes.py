"""Rules R and L, and making ready: where a job waits and when its group takes its turn."""

import pytest

from echomq.model.lanes import LanePlace, Rota, place_of
from echomq.model.names import Names
from tests.unit.model.speaker import Speaker


def lane_of(q: Speaker, group: bytes = b"g") -> LanePlace:
    place = place_of(q.space, Names(q.keys.base), group)
    assert isinstance(place, LanePlace)
    return place


def test_r_puts_a_serviceable_group_at_the_tail_once_and_wakes_one(q: Speaker) -> None:
    q.space.list(q.keys.ring).push(b"other")
    lane_of(q).put(q.job(1))
    lane_of(q).put(q.job(2))
    assert list(q.space.list(q.keys.ring)) == [b"other", b"g"]
    assert list(q.space.list(q.keys.wake)) == [b"1"]


@pytest.mark.parametrize("why", ["parked", "at its limit", "empty"])
def test_r_leaves_a_group_off_the_ring_that_cannot_be_served(q: Speaker, why: str) -> None:
    lane, rota = lane_of(q), Rota.of(q.space, Names(q.keys.base))
    if why == "parked":
        rota.parked.add(b"g")
    if why == "at its limit":
        rota.limits.set(b"g", 2)
    if why != "empty":
        lane.lane.add(q.job(1), 0)
    rota.enter(b"g", lane.lane, in_flight=2)
    assert list(rota.ring) == []
    assert list(rota.wake) == []


def test_r_keeps_at_most_64_wake_tokens(q: Speaker) -> None:
    for number in range(70):
        lane_of(q, b"g%d" % number).put(q.job(number))
    assert len(q.space.list(q.keys.ring)) == 70
    assert len(q.space.list(q.keys.wake)) == 64


def test_an_ended_lease_frees_a_seat_and_brings_the_group_back(q: Speaker) -> None:
    lane = lane_of(q)
    lane.rota.limits.set(b"g", 1)
    lane.rota.in_flight.set(b"g", 1)
    lane.put(q.job(1))
    assert list(lane.rota.ring) == []
    lane.lease_ended()
    assert list(lane.rota.ring) == [b"g"]
    assert lane.rota.in_flight.pairs() == ()


def test_a_lane_that_becomes_empty_leaves_the_ring_altogether(q: Speaker) -> None:
    lane = lane_of(q)
    lane.put(q.job(1))
    lane.put(q.job(2))
    lane.rota.ring.push(b"g")
    lane.take_out(q.job(1))
    assert list(lane.rota.ring) == [b"g", b"g"]
    lane.take_out(q.job(2))
    assert list(lane.rota.ring) == []
