"""take: what it hands on of the wake-up it was woken with. docs/wire.md, rule 12 and take 6 and 7."""

import pytest

from echomq.records import Paused
from echomq.transitions.take import take
from tests.harness.case import Case
from tests.harness.jobs import BLUE, J1, J2, RED
from tests.harness.state import Seed, job_number
from tests.harness.takes import leased, taken

red, blue = RED.encode(), BLUE.encode()


def backlog(case: Case, count: int = 20) -> Seed:
    seed = case.seed()
    for number in range(1, count + 1):
        seed.pending(job_number(number))
    return seed


def tokens(case: Case) -> tuple[int, ...]:
    entry = case.body.dump().get(case.keys.wake)
    assert entry is None or isinstance(entry.value, tuple)
    return () if entry is None else tuple(int(token) for token in entry.value if isinstance(token, bytes))


@pytest.mark.parametrize(
    ("worth", "size", "left"),
    [
        (b"1", 1, []),
        (b"1", 3, []),
        (b"2", 2, []),
        (b"2", 1, [1]),
        (b"3", 1, [1, 1]),
        (b"6", 1, [2, 3]),
        (b"9", 2, [3, 4]),
        (b"1000", 1, [499, 500]),
    ],
    ids=str,
)
def test_what_is_left_of_the_worth_is_handed_on_as_two_tokens(
    case: Case, worth: bytes, size: int, left: list[int]
) -> None:
    seed = backlog(case)
    case.given(seed)
    answer = taken(case, size, worth=worth)
    assert len(answer.jobs) == size
    assert answer.more
    case.shows(leased(seed.copy(), answer.jobs).wakes(*left))


@pytest.mark.parametrize("worth", [b"", b"9", b"beat"])
def test_nothing_is_handed_on_while_a_token_lies_there(case: Case, worth: bytes) -> None:
    """A token that lies there says that nobody is parked."""
    seed = backlog(case).wakes(3, 1)
    case.given(seed)
    answer = taken(case, 1, worth=worth)
    case.shows(leased(seed.copy(), answer.jobs))


@pytest.mark.parametrize("worth", [b"", b"9", b"beat"])
def test_with_nothing_left_to_serve_every_token_is_taken_away(case: Case, worth: bytes) -> None:
    seed = backlog(case, 2)
    case.given(seed.copy().wakes(3, 1))
    answer = taken(case, 5, worth=worth)
    assert not answer.more
    case.shows(leased(seed.copy(), answer.jobs))
    case.body.load(case.seed().wakes(1).state())
    assert taken(case, 5, worth=worth).jobs == ()
    assert tokens(case) == ()


def test_at_the_ceiling_every_token_is_taken_away(case: Case) -> None:
    seed = backlog(case).concurrency(2)
    case.given(seed.copy().wakes(1))
    answer = taken(case, 2, worth=b"9")
    assert not answer.more
    case.shows(leased(seed.copy(), answer.jobs))
    case.body.load(case.seed().wakes(1).state())
    assert taken(case, 2).full
    assert tokens(case) == ()


def test_a_beat_that_finds_work_wakes_for_all_that_is_known_to_be_left(case: Case) -> None:
    """The flat set, the servable jobs of lanes that had a turn, one for each other entry of the ring."""
    seed = backlog(case, 8)
    for number in range(101, 106):
        seed.pending(job_number(number), group=red)
    for name in ("x", "y"):
        for number in (1, 2, 3):
            seed.pending(job_number(number + 200 + 10 * ord(name)), group=name.encode())
    case.given(seed)
    answer = taken(case, 1, worth=b"beat")
    assert [claimed.lane for claimed in answer.jobs] == [RED]
    assert sum(tokens(case)) == 8 + 4 + 2
    assert tokens(case) == (7, 7)


def test_a_beat_counts_only_what_the_limit_leaves_of_a_lane(case: Case) -> None:
    seed = case.seed().limit(RED, 3)
    for number in range(101, 111):
        seed.pending(job_number(number), group=red)
    case.given(seed)
    answer = taken(case, 1, worth=b"beat")
    case.shows(leased(seed.copy(), answer.jobs).wakes(1, 1))


def test_a_beat_wakes_at_most_a_thousand(case: Case) -> None:
    case.given(backlog(case, 1500))
    taken(case, 1, worth=b"beat")
    assert tokens(case) == (500, 500)


def test_a_beat_that_gets_nothing_is_no_news(case: Case) -> None:
    case.given(case.seed().ring(*[f"s{number}" for number in range(150)]))
    answer = taken(case, 1, worth=b"beat")
    assert (answer.jobs, answer.more) == ((), True)
    assert tokens(case) == (), "it takes again"


def test_who_was_not_woken_has_nothing_to_hand_on(case: Case) -> None:
    seed = backlog(case)
    case.given(seed)
    answer = taken(case, 1)
    assert answer.more
    case.shows(leased(seed.copy(), answer.jobs))


def test_a_paused_queue_keeps_its_tokens(case: Case) -> None:
    seed = backlog(case, 2).paused().wakes(2)
    case.given(seed)
    case.keeps(take(case.keys, lease_ms=1, size=1, worth=b"2"), Paused())


@pytest.mark.parametrize("worth", [b"x", b"0", b"-1", b"1.5", b"9" * 16])
def test_a_token_that_is_no_number_is_worth_one(case: Case, worth: bytes) -> None:
    """Speakers that ignore the text take each token for one, and so do we with what we cannot read."""
    seed = backlog(case)
    case.given(seed)
    answer = taken(case, 1, worth=worth)
    case.shows(leased(seed.copy(), answer.jobs))


@pytest.mark.parametrize("size", [1, 3])
def test_w27_k_jobs_wake_k_workers_and_no_more(case: Case, size: int) -> None:
    """All are parked, so each token is handed out at once, and whoever is woken takes what it has room for."""
    case.given(backlog(case, 40).wakes(40))
    woken, got = 0, 0
    on_the_way = handed_out(case)
    while on_the_way:
        woken += 1
        got += len(taken(case, size, worth=b"%d" % on_the_way.pop(0)).jobs)
        on_the_way += handed_out(case)
    assert got == 40, "every job was started by somebody who was woken"
    assert woken <= 40


def handed_out(case: Case) -> list[int]:
    found = list(tokens(case))
    case.body.delete([case.keys.wake])
    return found


def test_jobs_of_parked_or_full_lanes_wake_nobody(case: Case) -> None:
    seed = case.seed().pending(J1, group=red).pending(J2, group=blue).parked(RED).limit(BLUE, 1).in_flight(BLUE, 1)
    case.given(seed.wakes(1))
    answer = taken(case, 3, worth=b"5")
    assert (answer.jobs, answer.more) == ((), False)
    assert tokens(case) == ()


def test_w27_a_wake_key_of_another_type_is_told_and_stays(case: Case) -> None:
    """Workers park on it: if takes went on beside it, nobody would see that nobody is woken."""
    for seed in (backlog(case, 2), case.seed(), backlog(case, 2).concurrency(1).active(J1, 1, ends=1)):
        case.given(seed.string(case.keys.wake, b"another program's"))
        case.refuses_type(take(case.keys, lease_ms=1, size=1), match="wake")
