"""lanes and depth: docs/wire.md, lanes."""

from dataclasses import replace

import pytest

from echomq.errors import BadInput, EchoMQError, InvalidName
from echomq.records import LaneInfo, LanePage
from echomq.transitions.depth import depth
from echomq.transitions.lanes import lanes, one_lane
from tests.harness.case import Case
from tests.harness.jobs import BLUE, J1, J2, J3, J4, RED
from tests.harness.state import Seed, job_number

red, blue = RED.encode(), BLUE.encode()


def info(lane: str, **more: object) -> LaneInfo:
    plain: dict[str, object] = {"depth": 0, "in_flight": 0, "limit": None, "weight": 1, "paused": False, "oldest": None}
    return LaneInfo(lane=lane, **{**plain, **more})  # type: ignore[arg-type]  # as named


def walk(case: Case, *, limit: int) -> list[LaneInfo]:
    """Read the lanes slice by slice to the end."""
    found: list[LaneInfo] = []
    cursor: str | None = None
    for _ in range(10_000):
        page = case.body.run(lanes(case.keys, cursor=cursor, limit=limit))
        assert len(page.lanes) <= limit
        found += page.lanes
        cursor = page.cursor
        if cursor is None:
            return found
    raise AssertionError("the walk does not end")


def test_a_lane_is_told_with_all_that_is_known_of_it(case: Case) -> None:
    seed = case.seed().pending(J2, group=red).pending(J1, group=red).pending(J3, group=blue).in_flight(RED, 4)
    seed.limit(RED, 7).weight(RED, 3).parked(BLUE).in_flight("flying", 1)
    case.given(seed)
    told = walk(case, limit=100)
    assert told == [
        info(RED, depth=2, in_flight=4, limit=7, weight=3, oldest=J1),
        info(BLUE, depth=1, paused=True, oldest=J3),
        info("flying", in_flight=1),
    ]
    case.shows(seed)


def test_the_raw_reply(case: Case) -> None:
    case.given(case.seed().pending(J1, group=red).limit(RED, 7))
    reply = case.body.reply(lanes(case.keys))
    assert isinstance(reply, list)
    assert reply[0] == b"lanes"
    assert [red, 1, 0, 7, b"", 0, J1] in [row for row in reply[2] if isinstance(row, list)]


def test_there_are_none(case: Case) -> None:
    assert walk(case, limit=5) == []
    assert case.body.run(lanes(case.keys)) == LanePage((), None) or case.body.run(lanes(case.keys)).lanes == ()


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 1000])
def test_live_lanes_come_in_byte_order_each_once(case: Case, limit: int) -> None:
    seed = case.seed()
    names = sorted(f"lane-{number}" for number in range(25))
    for number, name in enumerate(names):
        seed.pending(job_number(number + 1), group=name.encode())
    case.given(seed)
    assert [lane.lane for lane in walk(case, limit=limit)] == names
    case.shows(seed)


@pytest.mark.parametrize("limit", [1, 2, 5, 1000])
def test_then_come_lanes_of_other_speakers_and_settings_without_jobs_each_once(case: Case, limit: int) -> None:
    """Another speaker's lane is on the ring, in `gactive`, or has a setting, but not in `lanes`."""
    seed = case.seed().pending(J1, group=b"ours").pending(J2, group=b"theirs").live("ours").parked("p", "both")
    seed.limit("l", 5).limit("both", 2).weight("w", 3).in_flight("flies", 2).live("ours")
    seed.ring("ours", "theirs", "stale")
    case.given(seed)
    told = walk(case, limit=limit)
    assert told[0] == info("ours", depth=1, oldest=J1)
    wanted = [
        info("theirs", depth=1, oldest=J2),
        info("p", paused=True),
        info("both", paused=True, limit=2),
        info("l", limit=5),
        info("w", weight=3),
        info("flies", in_flight=2),
        info("stale"),
    ]
    assert sorted(told[1:], key=lambda lane: lane.lane) == sorted(wanted, key=lambda lane: lane.lane)
    case.shows(seed)


def test_many_foreign_lanes_on_the_ring_are_all_told(case: Case) -> None:
    seed = case.seed()
    names = [f"t{number:03d}" for number in range(150)]
    for number, name in enumerate(names):
        seed.pending(job_number(number + 1), group=name.encode())
    case.given(seed.live().limit("t007", 3).parked("q"))
    told = walk(case, limit=10)
    assert sorted(lane.lane for lane in told) == sorted([*names, "q"])


def test_damaged_counters_are_told_as_they_are_read(case: Case) -> None:
    seed = case.seed().pending(J1, group=red).fields(case.keys.group_active, **{RED: b"many"})
    seed.fields(case.keys.group_limit, **{RED: b"few"}).fields(case.keys.group_weight, **{RED: b"1.5"}).live(RED)
    case.given(seed)
    assert walk(case, limit=5) == [info(RED, depth=1, oldest=J1)]


def test_one_lane_is_told_as_the_walk_tells_it(case: Case) -> None:
    seed = case.seed().pending(J2, group=red).pending(J1, group=red).pending(J3, group=blue).in_flight(RED, 4)
    seed.limit(RED, 7).weight(RED, 3).parked(BLUE).in_flight("flying", 1).limit("capped", 2).weight("heavy", 5)
    case.given(seed.parked("parked").live(RED, BLUE))
    for told in (*walk(case, limit=100), info(RED, depth=2, in_flight=4, limit=7, weight=3, oldest=J1)):
        assert case.body.run(one_lane(case.keys, told.lane)) == told
    for name in (RED, BLUE, "flying", "capped", "heavy", "parked"):
        assert rows_of(case, name) == 1
    case.shows(seed)


def test_of_an_unknown_lane_no_row_is_told_and_its_numbers_are_zero(case: Case) -> None:
    case.given(case.seed().pending(J1, group=red).weight(RED, 3).parked(BLUE).ring(RED, "stale"))
    for name in ("nobody", RED[:-1], "stale"):
        assert rows_of(case, name) == 0
        assert case.body.run(one_lane(case.keys, name)) == info(name)


def test_each_thing_alone_makes_a_lane_known(case: Case) -> None:
    """A lane that another speaker filled is not in `lanes`; one whose numbers are damaged has a row too."""
    nothing = case.seed
    for seed, told in (
        (nothing().pending(J1, group=red).live(), info(RED, depth=1, oldest=J1)),
        (nothing().live(RED), info(RED)),
        (nothing().parked(RED), info(RED, paused=True)),
        (nothing().in_flight(RED, 2), info(RED, in_flight=2)),
        (nothing().limit(RED, 2), info(RED, limit=2)),
        (nothing().weight(RED, 1), info(RED)),
        (nothing().fields(case.keys.group_limit, **{RED: b"few"}), info(RED)),
    ):
        case.given(seed)
        assert rows_of(case, RED) == 1, told
        assert case.body.run(one_lane(case.keys, RED)) == told
        case.shows(seed)


def test_with_a_group_the_limit_and_the_cursor_are_not_used_and_an_empty_one_is_none(case: Case) -> None:
    case.given(case.seed().pending(J1, group=red).pending(J2, group=blue))
    call = one_lane(case.keys, BLUE)
    one = [b"lanes", b"", [[blue, 1, 0, b"", b"", 0, J2]]]
    assert case.body.reply(replace(call, args=(b"odd cursor", 1, blue))) == one
    whole = case.body.reply(lanes(case.keys))
    assert whole == case.body.reply(replace(call, args=(b"", b"", b""))) != one


def rows_of(case: Case, lane: str) -> int:
    reply = case.body.reply(one_lane(case.keys, lane))
    assert isinstance(reply, list)
    kind, cursor, rows = reply
    assert (kind, cursor) == (b"lanes", b"")
    assert isinstance(rows, list)
    return len(rows)


def test_a_cursor_that_no_answer_gave_is_refused_or_is_a_place(case: Case) -> None:
    case.given(case.seed().pending(J1, group=red).pending(J2, group=blue))
    for cursor in ("", "odd cursor", "x" * 500):
        with pytest.raises(EchoMQError):
            case.body.run(lanes(case.keys, cursor=cursor))


@pytest.mark.parametrize("limit", [0, 1001])
def test_a_slice_is_one_to_a_thousand(case: Case, limit: int) -> None:
    with pytest.raises(BadInput):
        lanes(case.keys, limit=limit)


def test_depth_is_how_many_wait_in_the_lane(case: Case) -> None:
    seed: Seed = case.seed().pending(J1, group=red).pending(J2, group=red).pending(J3, group=blue).pending(J4)
    case.given(seed)
    case.keeps(depth(case.keys, RED), 2)
    case.keeps(depth(case.keys, BLUE), 1)
    case.keeps(depth(case.keys, "acme@eu"), 0)
    with pytest.raises(InvalidName):
        depth(case.keys, "a b")
