"""take: whose turn it is and how long a turn is. docs/wire.md, claiming, take 1 to 3, 5 and 6."""

import pytest

from echomq.errors import BadInput
from echomq.records import Claimed, Paused, Taken, Token
from echomq.states import SetName
from echomq.transitions.browse import browse
from echomq.transitions.take import take
from tests.harness.case import Case
from tests.harness.jobs import BLUE, J1, J2, J3, J4, J5, J6, RED
from tests.harness.state import HOUR, Seed, job_number
from tests.harness.takes import jobs_of, leased, take_jobs, taken

ONE = Token(1)
red, blue = RED.encode(), BLUE.encode()
GREEN = "green"


def two_lanes_and_a_flat_job(case: Case) -> Seed:
    seed = case.seed().pending(J1, group=red).pending(J3, group=red)
    return seed.pending(J2, group=blue).pending(J4, group=blue).pending(J5)


def lane_of(seed: Seed, group: str, first: int, count: int, attempts: int = 0) -> Seed:
    for number in range(first, first + count):
        seed.pending(job_number(number), attempts, group=group.encode())
    return seed


def lanes_served(case: Case, size: int) -> str:
    """Return the first letters of the lanes, in the order in which they were served; `-` is the flat set."""
    names = [(claimed.lane or "-") for claimed in taken(case, size).jobs]
    return "".join({RED: "r", BLUE: "b"}.get(name, name[0]) for name in names)


# --- the reply --------------------------------------------------------------------------------------------------------


def test_the_raw_replies(case: Case) -> None:
    call = take(case.keys, lease_ms=HOUR, size=2)
    case.given(case.seed().pending(J1, group=red, payload=b"x").pending(J2))
    case.replies(call, [b"taken", 0, 0, 0, [], [[J1, b"x", 1, red], [J2, b"p", 1, b""]]])
    case.given(case.seed())
    case.replies(call, [b"empty", 0, 0, 1000, [], []])
    case.given(case.seed().concurrency(1).active(J1, 1, ends=20).pending(J2))
    case.replies(call, [b"full", 0, 0, 1000, [], []])
    case.given(case.seed().paused().pending(J1))
    case.replies(call, [b"paused"])


def test_w33_the_pause_is_seen_in_the_same_step_and_touches_nothing(case: Case) -> None:
    case.given(two_lanes_and_a_flat_job(case).paused().wakes(1).ring(BLUE, "stale", RED))
    call = take(case.keys, lease_ms=HOUR, size=5, worth=b"beat", watcher="me")
    case.keeps(call, Paused())


def test_one_deadline_to_the_millisecond(case: Case) -> None:
    case.given(two_lanes_and_a_flat_job(case))
    assert len(take_jobs(case, 5)) == 5
    assert len({job.at_ms for job in case.body.ask(browse(case.keys, SetName.ACTIVE)).jobs}) == 1


@pytest.mark.parametrize("size", [0, 1001])
def test_the_size_is_one_to_a_thousand(case: Case, size: int) -> None:
    with pytest.raises(BadInput):
        take(case.keys, lease_ms=HOUR, size=size)


# --- the rota ---------------------------------------------------------------------------------------------------------


def test_lanes_and_the_flat_set_are_served_in_turn_until_the_room_is_used(case: Case) -> None:
    seed = two_lanes_and_a_flat_job(case)
    case.given(seed)
    answer = taken(case, 5)
    assert jobs_of(answer) == [J1, J2, J5, J3, J4]
    assert (answer.more, answer.full, answer.due, answer.broken) == (False, False, False, ())
    case.shows(leased(seed.copy(), answer.jobs))


def test_the_next_take_goes_on_where_the_last_one_ended(case: Case) -> None:
    seed = two_lanes_and_a_flat_job(case)
    case.given(seed)
    answer = case.body.run(take(case.keys, lease_ms=HOUR, size=1))
    assert isinstance(answer, Taken)
    assert answer.jobs == (Claimed(J1, b"p", ONE, RED),)
    assert answer.more
    after = leased(seed.copy(), answer.jobs).ring(BLUE, RED).rota(flat=1)
    case.shows(after)
    assert take_jobs(case, 1) == [J2]
    assert case.body.dump()[case.keys.rota].value == {b"flat": b"0"}
    assert take_jobs(case, 1) == [J5]
    assert case.keys.rota not in case.body.dump(), "the flat set is empty"
    assert [take_jobs(case, 1) for _ in range(3)] == [[J3], [J4], []]
    case.shows(
        leased(seed.copy(), (*answer.jobs, *(Claimed(j, b"p", ONE, BLUE) for j in (J2, J4))))
        .forget(J5)
        .forget(J3)
        .active(J5, 1, ends=1)
        .active(J3, 1, ends=1, group=red)
        .in_flight(RED, 2)
    )


def test_the_flat_set_has_one_turn_in_each_round(case: Case) -> None:
    seed = lane_of(lane_of(case.seed(), RED, 1, 9), BLUE, 11, 9)
    for number in range(21, 30):
        seed.pending(job_number(number))
    case.given(seed)
    order = "".join(lanes_served(case, 1) for _ in range(9))
    assert order == "rb-" * 3
    assert "".join(lanes_served(case, 4) for _ in range(3)) == "rb-" * 4
    assert case.body.dump()[case.keys.rota].value == {b"flat": b"2"}, "all entries are ahead of it after its turn"


def test_an_empty_ring_leaves_all_turns_to_the_flat_set(case: Case) -> None:
    seed = case.seed().pending(J1).pending(J2).pending(J3)
    case.given(seed)
    answer = taken(case, 2)
    assert jobs_of(answer) == [J1, J2]
    assert answer.more
    case.shows(leased(seed.copy(), answer.jobs))


def test_the_flat_set_keeps_its_place_while_no_lane_stands_on_the_ring(case: Case) -> None:
    """A lane that enters again before the next take stands behind it."""
    seed = case.seed().pending(J1, group=red).pending(J2).pending(J3)
    case.given(seed)
    answer = taken(case, 1)
    after = leased(seed.copy(), answer.jobs).rota(flat=0)
    case.shows(after)
    again = after.copy().pending(J4, group=red)
    case.given(again)
    answer = taken(case, 1)
    assert jobs_of(answer) == [J2]
    case.shows(leased(again.copy(), answer.jobs).rota(flat=1))
    assert take_jobs(case, 1) == [J4]
    assert case.body.dump()[case.keys.rota].value == {b"flat": b"0"}


def test_the_flat_set_keeps_its_place_through_takes_without_lanes_until_it_is_empty(case: Case) -> None:
    seed = case.seed().pending(J1).pending(J2).pending(J3)
    case.given(seed.copy().rota(flat=2))
    answer = taken(case, 1)
    case.shows(leased(seed.copy(), answer.jobs).rota(flat=0))
    assert take_jobs(case, 1) == [J2]
    assert case.body.dump()[case.keys.rota].value == {b"flat": b"0"}
    assert take_jobs(case, 1) == [J3]
    assert case.keys.rota not in case.body.dump()
    case.given(case.seed().rota(flat=0))
    assert taken(case, 1).jobs == ()
    case.shows(case.seed())


def test_lanes_alone_take_all_turns(case: Case) -> None:
    seed = lane_of(lane_of(case.seed(), RED, 1, 4), BLUE, 11, 2)
    case.given(seed)
    answer = taken(case, 10)
    assert jobs_of(answer) == [job_number(number) for number in (1, 11, 2, 12, 3, 4)]
    case.shows(leased(seed.copy(), answer.jobs))


def test_a_lane_that_enters_has_its_turn_before_it_has_waited_a_round(case: Case) -> None:
    case.given(lane_of(lane_of(case.seed(), RED, 1, 9), BLUE, 11, 9))
    assert lanes_served(case, 3) == "rbr"
    lane_of(case.seed(), GREEN, 31, 1)
    case.body.load({**case.body.dump(), **_with_green(case).state()})
    assert "g" in lanes_served(case, 3)


def _with_green(case: Case) -> Seed:
    seed = case.seed().pending(job_number(31), group=GREEN.encode())
    state = case.body.dump()
    ring = [name.decode() for name in state[case.keys.ring].value if isinstance(name, bytes)]
    return seed.ring(*ring, GREEN).live(RED, BLUE, GREEN)


def test_a_flat_counter_beyond_the_ring_or_no_number_is_the_whole_ring(case: Case) -> None:
    for odd in (b"99", b"many", b"-1", b"", b"1.5"):
        seed = lane_of(lane_of(case.seed(), RED, 1, 2), BLUE, 11, 2).pending(J6)
        case.given(seed.fields(case.keys.rota, flat=odd))
        assert lanes_served(case, 3) == "rb-", odd


# --- a turn -----------------------------------------------------------------------------------------------------------


def test_a_turn_is_as_long_as_the_lanes_weight(case: Case) -> None:
    seed = lane_of(lane_of(case.seed(), RED, 1, 9), BLUE, 11, 9).weight(RED, 3).pending(job_number(21))
    case.given(seed)
    assert lanes_served(case, 9) == "rrrb-rrrb"


@pytest.mark.parametrize("odd", [b"0", b"-1", b"many", b"1.5", b""], ids=str)
def test_a_weight_that_is_no_number_of_at_least_one_is_one(case: Case, odd: bytes) -> None:
    seed = lane_of(lane_of(case.seed(), RED, 1, 3), BLUE, 11, 3).fields(case.keys.group_weight, **{RED: odd})
    case.given(seed)
    assert lanes_served(case, 4) == "rbrb"


def test_a_weight_beyond_a_thousand_and_what_is_left_of_it_are_a_thousand(case: Case) -> None:
    seed = lane_of(lane_of(case.seed(), RED, 1, 1004), BLUE, 2001, 3)
    seed.fields(case.keys.group_weight, **{RED: b"900000000000000"})
    case.given(seed)
    answer = taken(case, 1)
    case.shows(leased(seed.copy(), answer.jobs).rota(turn=RED, left=999))
    assert lanes_served(case, 1000) == "r" * 999 + "b"
    case.given(seed.copy().fields(case.keys.rota, turn=red, left=b"900000000000000"))
    answer = taken(case, 1)
    case.shows(leased(seed.copy(), answer.jobs).rota(turn=RED, left=999))


def test_a_turn_cut_short_goes_on_with_the_next_take(case: Case) -> None:
    seed = lane_of(lane_of(case.seed(), RED, 1, 9), BLUE, 11, 9).weight(RED, 3).pending(job_number(21))
    case.given(seed)
    answer = taken(case, 2)
    assert jobs_of(answer) == [job_number(1), job_number(2)]
    case.shows(leased(seed.copy(), answer.jobs).ring(RED, BLUE).rota(flat=2, turn=RED, left=1))
    assert lanes_served(case, 2) == "rb"
    assert case.body.dump()[case.keys.rota].value == {b"flat": b"0"}
    assert lanes_served(case, 4) == "-rrr"


def test_a_turn_that_ends_with_the_room_is_not_cut_short(case: Case) -> None:
    seed = lane_of(lane_of(case.seed(), RED, 1, 9), BLUE, 11, 9).weight(RED, 3)
    case.given(seed)
    answer = taken(case, 3)
    case.shows(leased(seed.copy(), answer.jobs).ring(BLUE, RED))


def test_a_lane_that_could_not_serve_on_has_no_unfinished_turn(case: Case) -> None:
    seed = lane_of(lane_of(case.seed(), RED, 1, 2), BLUE, 11, 9).weight(RED, 3)
    case.given(seed)
    answer = taken(case, 2)
    case.shows(leased(seed.copy(), answer.jobs).ring(BLUE))
    limited = lane_of(lane_of(case.seed(), RED, 1, 5), BLUE, 11, 9).weight(RED, 3).limit(RED, 2)
    case.given(limited)
    answer = taken(case, 2)
    case.shows(leased(limited.copy(), answer.jobs).ring(BLUE))


@pytest.mark.parametrize(
    ("turn", "left"), [(BLUE, b"2"), (RED, b"0"), (RED, b"many"), (RED, b""), (RED, b"-1"), (RED, b"1.5")], ids=str
)
def test_an_unfinished_turn_of_another_lane_or_without_a_number_is_forgotten(
    case: Case, turn: str, left: bytes
) -> None:
    seed = lane_of(lane_of(case.seed(), RED, 1, 9), BLUE, 11, 9).weight(RED, 3)
    case.given(seed.fields(case.keys.rota, turn=turn.encode(), left=left))
    assert lanes_served(case, 4) == "rrrb"
    assert case.keys.rota not in case.body.dump()


def test_a_turn_that_went_on_ends_after_what_was_left(case: Case) -> None:
    seed = lane_of(lane_of(case.seed(), RED, 1, 9), BLUE, 11, 9).weight(RED, 5)
    case.given(seed.rota(turn=RED, left=2))
    assert lanes_served(case, 3) == "rrb"


# --- limits and the ceiling -------------------------------------------------------------------------------------------


def test_a_limit_is_kept_over_several_turns_of_one_take(case: Case) -> None:
    seed = lane_of(lane_of(case.seed(), RED, 1, 9), BLUE, 11, 3).limit(RED, 3).in_flight(RED, 1)
    case.given(seed)
    answer = taken(case, 20)
    assert "".join("r" if claimed.lane == RED else "b" for claimed in answer.jobs) == "rbrbb"
    assert not answer.more
    case.shows(leased(seed.copy(), answer.jobs))


def test_the_ceiling_of_the_queue_leaves_room_for_what_is_below_it(case: Case) -> None:
    seed = two_lanes_and_a_flat_job(case).concurrency(3).active(J6, 1, ends=2)
    case.given(seed)
    answer = taken(case, 5)
    assert jobs_of(answer) == [J1, J2]
    assert (answer.more, answer.full) == (False, False)
    case.shows(leased(seed.copy(), answer.jobs).rota(flat=0))


def test_at_the_ceiling_no_set_is_looked_at(case: Case) -> None:
    seed = two_lanes_and_a_flat_job(case).concurrency(1).active(J6, 1, ends=2).ring("stale", RED, BLUE)
    case.given(seed)
    answer = taken(case, 5, park_ms=HOUR)
    assert (answer.jobs, answer.more, answer.full) == ((), False, True)
    case.shows(seed)
    for key in (case.keys.pending, case.keys.ring):
        spoilt = seed.copy().drop(key).string(key, b"another program's")
        case.given(spoilt)
        assert taken(case, 5, park_ms=HOUR).full
        case.shows(spoilt)


@pytest.mark.parametrize("ceiling", [b"0", b"-1", b"many", b"", b"1.5"])
def test_a_ceiling_that_is_no_number_of_at_least_one_is_none(case: Case, ceiling: bytes) -> None:
    case.given(two_lanes_and_a_flat_job(case).fields(case.keys.meta, concurrency=ceiling))
    assert len(take_jobs(case, 5)) == 5


# --- what cannot be served --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("why", ["stale", "parked", "limited", "ghosts", "second"])
def test_w26_an_entry_that_cannot_be_served_is_dropped_and_is_no_turn(case: Case, why: str) -> None:
    seed = case.seed()
    ring = [RED, BLUE]
    match why:
        case "parked":
            seed.pending(J2, group=red).parked(RED)
        case "limited":
            seed.pending(J2, group=red).limit(RED, 1).in_flight(RED, 1)
        case "ghosts":
            seed.member(case.keys.lane(RED), J2, 0).member(case.keys.lane(RED), J3, 0)
        case "second":
            ring = [BLUE, BLUE]
    seed.pending(J1, group=blue).pending(J4, group=blue)
    case.given(seed.copy().ring(*ring))
    after = seed.copy().active(J1, 1, ends=1).in_flight(BLUE, 1).ring(BLUE)
    if why == "ghosts":
        after.drop(case.keys.lane(RED))
    answer = taken(case, 1)
    assert jobs_of(answer) == [J1]
    if why == "second":  # it is dropped when it is met
        assert take_jobs(case, 5) == [J4]
        assert case.keys.ring not in case.body.dump()
    else:
        case.shows(after)


def test_w26_a_group_that_the_window_has_twice_has_one_turn(case: Case) -> None:
    seed = lane_of(lane_of(case.seed(), RED, 1, 3), BLUE, 11, 3)
    case.given(seed.copy().ring(RED, RED, BLUE, RED))
    assert lanes_served(case, 4) == "rbrb"


def test_w44_the_window_is_the_room_and_a_hundred_entries(case: Case) -> None:
    stale = [f"s{number}" for number in range(150)]
    seed = case.seed().pending(J1, group=red)
    case.given(seed.copy().ring(*stale, RED))
    answer = taken(case, 1)
    assert answer.jobs == ()
    assert answer.more
    assert case.body.dump()[case.keys.ring].value == (*(name.encode() for name in stale[101:]), red)
    assert take_jobs(case, 1) == [J1]


def test_w44_turns_end_when_the_room_and_a_hundred_rows_have_been_read(case: Case) -> None:
    seed = case.seed().pending(job_number(9000), group=red)
    ghosts = seed.copy()
    for number in range(1, 301):
        ghosts.member(case.keys.lane(RED), job_number(number), 0)
    case.given(ghosts)
    for left in (199, 98):
        answer = taken(case, 1)
        assert (answer.jobs, answer.more) == ((), True)
        state = case.body.dump()
        assert state[case.keys.ring].value == (red,)
        assert len(state[case.keys.lane(RED)].value) == left + 1, "101 rows are read in a call"
    assert take_jobs(case, 1) == [job_number(9000)]
    case.shows(case.seed().active(job_number(9000), 1, ends=1, group=red).in_flight(RED, 1))


def test_w04_ghosts_and_skeletons_are_dropped_and_never_written_to(case: Case) -> None:
    lane, flat = case.keys.lane(RED), case.keys.pending
    seed = case.seed().fields(case.keys.job(J2), state=b"pending").pending(J3, group=red).pending(J6)
    case.given(seed.copy().member(lane, J1, 0).member(lane, J2, 0).member(flat, J4, 0).member(flat, J5, 0))
    answer = taken(case, 5)
    assert jobs_of(answer) == [J3, J6]
    case.shows(leased(seed.copy(), answer.jobs))


def test_w08_misplaced_jobs_go_home_from_a_lane_and_from_the_flat_set(case: Case) -> None:
    """What goes home to a lane behind the window is served by a later take; what is home is never counted twice."""
    seed = case.seed().pending(J1, group=red).row(J2, state=b"pending", group=blue).row(J3, state=b"pending")
    seed.pending(J4).row(J5, state=b"pending", group=blue)
    lane = case.keys.lane(RED)
    given = seed.copy().member(lane, J2, 0).member(lane, J3, 0).member(case.keys.pending, J5, 0)
    case.given(given)
    found: list[Claimed] = []
    for _ in range(4):
        found += taken(case, 5).jobs
    assert {claimed.job: claimed.lane for claimed in found} == {J1: RED, J2: BLUE, J3: None, J4: None, J5: BLUE}
    case.shows(leased(seed.copy(), found))


def test_rule_10_lanes_of_the_window_enter_before_those_that_jobs_go_home_to(case: Case) -> None:
    """The first lane has jobs of a lane that is not on the ring and of one that stands behind it and becomes empty."""
    lane = case.keys.lane(RED)
    seed = case.seed().row(J1, state=b"pending", group=GREEN.encode()).row(J2, state=b"pending", group=blue)
    seed.pending(J3, group=red).pending(J4, group=blue)
    case.given(seed.copy().member(lane, J1, 0).member(lane, J2, 0).ring(RED, BLUE))
    answer = taken(case, 9)
    assert jobs_of(answer) == [J3, J4]
    assert answer.more
    case.shows(leased(seed.copy().pending(J1).pending(J2), answer.jobs).ring(BLUE, GREEN).wakes(1, 1))


def test_rule_11_a_lane_of_another_speaker_is_listed_when_it_is_met_on_the_ring_or_gets_a_job_back(case: Case) -> None:
    seed = case.seed().pending(J1, group=red).pending(J2, group=red).row(J3, state=b"pending", group=blue)
    seed.pending(J4, group=blue).pending(J5, group=blue)
    case.given(seed.copy().member(case.keys.lane(RED), J3, 0).ring(RED, BLUE).live())
    answer = taken(case, 2)
    assert jobs_of(answer) == [J1, J4]
    live = case.body.dump()[case.keys.lanes].value
    assert live == {red: 0, blue: 0}


def test_w02_broken_rows_and_damaged_jobs_go_to_dead_and_are_named(case: Case) -> None:
    seed = case.seed().pending(J1, group=red).broken(J1).pending(J2, b"many", group=red).pending(J3, group=red)
    seed.pending(J4).broken(J4).pending(J5, b"many").pending(J6)
    case.given(seed)
    answer = taken(case, 9)
    assert jobs_of(answer) == [J3, J6]
    assert sorted(answer.broken) == [J1, J2, J4, J5]
    after = seed.copy().out(J1).member(case.keys.dead, J1, 0).out(J4).member(case.keys.dead, J4, 0)
    for job in (J2, J5):
        text = b"ERR the field attempts of %b is not a whole number" % case.keys.job(job)
        after.dead(job, last_error=text, died_at=0)
    case.shows(leased(after, answer.jobs))


@pytest.mark.parametrize("damage", ["lane", "in flight"])
def test_rule_3_a_damaged_lane_goes_to_the_tail_unserved_once(case: Case, damage: str) -> None:
    seed = lane_of(case.seed(), BLUE, 11, 3)
    if damage == "lane":
        seed.string(case.keys.lane(RED), b"another program's")
    else:
        seed.pending(J4, group=red).fields(case.keys.group_active, **{RED: b"many"})
    case.given(seed.copy().ring(RED, BLUE))
    answer = taken(case, 2)
    assert jobs_of(answer) == [job_number(11), job_number(12)]
    assert answer.more
    case.shows(leased(seed.copy(), answer.jobs).ring(RED, BLUE))
    answer = taken(case, 2)
    assert jobs_of(answer) == [job_number(13)]
    assert not answer.more, "nothing but damaged lanes is left"
    assert case.body.dump()[case.keys.ring].value == (red,)
    assert not taken(case, 2).more
    assert case.body.dump()[case.keys.ring].value == (red,)


def test_w02_a_wrong_key_of_any_kind_consumes_nothing(case: Case) -> None:
    keys = case.keys
    for key in (keys.ring, keys.active, keys.pending, keys.meta, keys.rota, keys.fresh_next):
        case.given(two_lanes_and_a_flat_job(case).drop(key).string(key, b"x"))
        case.refuses_type(take(case.keys, lease_ms=HOUR, size=2))


def test_lanes_with_names_that_are_no_branded_ids_are_served(case: Case) -> None:
    seed = case.seed().pending(J1, group=b"acme@eu+x")
    case.given(seed)
    answer = taken(case, 1)
    assert answer.jobs == (Claimed(J1, b"p", ONE, "acme@eu+x"),)
    case.shows(leased(seed.copy(), answer.jobs))
