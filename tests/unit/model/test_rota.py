"""The walk along the rota, on plain numbers: docs/wire.md, `take`, 2 and 3, and what is promised of fairness."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from echomq.model.manners import Reads
from echomq.model.rota import Name, Rota, Unfinished, flat_place, walk
from tests.unit.model.stands import PlainLane, Town

A, B, C = b"a", b"b", b"c"
SIZES = pytest.mark.parametrize("size", [1, 7, 100])


def jain(counts: list[int]) -> float:
    """Return Jain's index of fairness: 1 when all have as much, 1/n when one has everything."""
    total = sum(counts)
    return total * total / (len(counts) * sum(count * count for count in counts)) if total else 1.0


def letters(names: list[Name]) -> str:
    return "".join("-" if name is None else name.decode() for name in names)


# --- fairness ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("first", [A, B, C])
@SIZES
def test_one_job_beside_a_hundred_thousand_starts_within_three_turns(size: int, first: bytes) -> None:
    backlog = {A: 100_000, B: 100, C: 1}
    order = [first, *(name for name in backlog if name != first)]
    town = Town({name: PlainLane(backlog[name]) for name in order})
    assert town.take_all(size, 300).index(C) < 3


@SIZES
def test_it_does_so_when_it_comes_in_the_middle_of_the_flood(size: int) -> None:
    town = Town({A: PlainLane(100_000), B: PlainLane(100), C: PlainLane(0)}, ring=[A, B])
    town.take(size)
    town.lanes[C].waiting = 1
    before = len(town.starts)
    town.rota = Rota((*town.rota.ring, C), None, town.rota.unfinished)
    town.take_all(size, before + 10)
    assert town.starts.index(C) - before < 3


@SIZES
def test_weights_of_three_to_one_are_kept_within_two_percent(size: int) -> None:
    town = Town({A: PlainLane(10_000, weight=3), B: PlainLane(10_000)})
    starts = town.take_all(size, 4_000)
    assert len(starts) == 4_000
    assert abs(starts.count(A) / starts.count(B) - 3) <= 0.06
    for at in range(len(starts) - 4):
        assert B in starts[at : at + 4], f"the light lane was skipped for a round from start {at} on"


@SIZES
def test_the_flat_set_is_one_lane_more(size: int) -> None:
    town = Town({A: PlainLane(5_000), B: PlainLane(5_000), None: PlainLane(5_000)})
    starts = town.take_all(size, 3_000)
    assert {name: starts.count(name) for name in (A, B, None)} == {A: 1_000, B: 1_000, None: 1_000}
    assert letters(starts[:9]) == "ab-" * 3


@SIZES
def test_fifty_lanes_have_as_much_in_each_window_of_five_hundred_starts(size: int) -> None:
    lanes: dict[Name, PlainLane] = {b"%02d" % at: PlainLane(200 + (at * at * 37) % 20_000) for at in range(50)}
    town = Town(lanes)
    starts = town.take_all(size, 5_000)
    assert len(starts) == 5_000
    counts = {name: starts[:500].count(name) for name in lanes}
    for at in range(500, len(starts)):
        assert jain(list(counts.values())) >= 0.99, f"unfair in the 500 starts before {at}"
        counts[starts[at]] += 1
        counts[starts[at - 500]] -= 1


# --- turns ------------------------------------------------------------------------------------------------------------


def test_turns_go_round_until_the_room_is_used() -> None:
    town = Town({A: PlainLane(9), B: PlainLane(1), None: PlainLane(2)})
    assert letters(town.take(20)) == "ab-a-aaaaaaa"
    assert town.rota == Rota((), None, None)
    assert town.take(20) == []


def test_a_turn_that_the_room_cuts_short_goes_on() -> None:
    town = Town({A: PlainLane(9, weight=4), B: PlainLane(9), None: PlainLane(9)})
    assert letters(town.take(3)) == "aaa"
    assert town.rota == Rota((A, B), 2, Unfinished(A, 1))
    assert letters(town.take(2)) == "ab"
    assert town.rota == Rota((A, B), 0, None)
    assert letters(town.take(6)) == "-aaaab"


def test_a_turn_cut_short_in_a_later_round_goes_on_too() -> None:
    town = Town({A: PlainLane(9, weight=2), B: PlainLane(9)})
    assert letters(town.take(4)) == "aaba"
    assert town.rota == Rota((A, B), None, Unfinished(A, 1))
    assert letters(town.take(3)) == "aba"


def test_an_unfinished_turn_is_forgotten_when_its_lane_is_not_the_head() -> None:
    town = Town({A: PlainLane(9, weight=4), B: PlainLane(9)})
    town.rota = Rota((B, A), None, Unfinished(A, 1))
    assert letters(town.take(6)) == "baaaab"
    assert town.rota.unfinished is None


def test_a_limit_is_kept_over_the_rounds_and_a_full_lane_leaves() -> None:
    town = Town({A: PlainLane(9, limit=2), B: PlainLane(4)})
    assert letters(town.take(20)) == "ababbb"
    assert town.rota.ring == ()


def test_a_lane_that_cannot_be_served_is_dropped_and_is_no_turn() -> None:
    town = Town({A: PlainLane(0), B: PlainLane(3), None: PlainLane(3)})
    assert letters(town.take(1)) == "b"
    assert town.rota == Rota((B,), 0, None)


def test_the_second_entry_of_a_group_is_dropped_when_it_is_met() -> None:
    town = Town({A: PlainLane(3), B: PlainLane(3)}, ring=[A, A, B, A])
    assert letters(town.take(1)) == "a"
    assert list(town.rota.ring) == [A, B, A, A], "it was not met yet"
    assert letters(town.take(4)) == "abab"
    assert list(town.rota.ring) == [B]


def test_a_damaged_lane_goes_to_the_tail_once_and_ends_nothing() -> None:
    town = Town({A: PlainLane(9, is_damaged=True), B: PlainLane(9), C: PlainLane(9)})
    assert letters(town.take(5)) == "bcbcb"
    assert town.rota.ring == (A, C, B)
    alone = Town({A: PlainLane(9, is_damaged=True)})
    assert alone.take(5) == []
    assert alone.rota.ring == (A,)


def test_the_window_is_the_room_and_a_hundred_entries_and_the_turns_end_with_it() -> None:
    stale = [b"s%03d" % at for at in range(150)]
    lanes: dict[Name, PlainLane] = {name: PlainLane(0) for name in stale}
    town = Town({**lanes, A: PlainLane(2), None: PlainLane(1)}, ring=[*stale, A])
    assert town.take(1) == []
    assert town.rota == Rota((*stale[101:], A), 50, None)
    assert letters(town.take(1)) == "a"
    assert town.rota == Rota((A,), 0, None)


def test_lanes_served_in_a_window_that_is_not_the_ring_are_not_served_twice() -> None:
    town = Town({b"%03d" % at: PlainLane(9) for at in range(300)})
    assert len(town.take(100)) == 100
    assert town.rota.ring[0] == b"100"
    assert len(set(town.starts)) == 100


def test_turns_end_when_no_more_rows_may_be_read() -> None:
    town = Town({A: PlainLane(9, weight=9), B: PlainLane(9)})
    walked = walk(town.rota, lambda name: town.lanes[name], room=9, reads=Reads(4))
    assert letters(town.starts) == "aaaa"
    assert walked.rota == Rota((A, B), None, Unfinished(A, 5))


@pytest.mark.parametrize(("flat", "place"), [(None, 4), (0, 0), (3, 3), (4, 4), (9, 4), (-1, 4)])
def test_the_flat_set_stands_where_the_rota_says_and_at_most_behind_all(flat: int | None, place: int) -> None:
    assert flat_place(flat, 4) == place


LANES = st.lists(
    st.builds(PlainLane, st.integers(0, 30), st.integers(1, 4), st.none() | st.integers(0, 20)), min_size=1, max_size=6
)


@given(LANES, st.lists(st.integers(1, 12), min_size=1, max_size=30), st.booleans())
def test_many_small_takes_serve_in_the_order_of_one_great_one(
    lanes: list[PlainLane], sizes: list[int], has_flat: bool
) -> None:
    def town() -> Town:
        named: dict[Name, PlainLane] = {
            bytes([97 + at]): PlainLane(lane.waiting, lane.weight, lane.limit) for at, lane in enumerate(lanes)
        }
        return Town({**named, None: PlainLane(7)} if has_flat else named)

    many, one = town(), town()
    for size in sizes:
        many.take(size)
    assert many.starts == one.take(sum(sizes))
    assert many.rota == one.rota
