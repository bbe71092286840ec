"""take: how long to park, and who watches. docs/wire.md, claiming, take 8."""

import pytest

from echomq.errors import BadInput
from echomq.records import Taken
from echomq.transitions.enqueue import enqueue
from echomq.transitions.schedule import enqueue_in
from echomq.transitions.take import take
from echomq.transitions.wake import wake
from tests.harness.case import Case
from tests.harness.jobs import J1, J2, J3, RED
from tests.harness.state import HOUR
from tests.harness.takes import leased, taken

MINUTE = 60_000
red = RED.encode()


def asked(case: Case, **more: object) -> Taken:
    """Take one job with instants and spans in ms, as the body tells them."""
    answer = case.body.ask(take(case.keys, lease_ms=HOUR, size=1, **more))  # type: ignore[arg-type]  # as named
    assert isinstance(answer, Taken)
    return answer


def due_in(case: Case, job: object, span_ms: int) -> None:
    """A job is due in so many ms: less than half an hour, so that states show it at the instant 0."""
    case.body.run(enqueue_in(case.keys, job, b"p", delay_ms=span_ms))  # type: ignore[arg-type]  # a job id
    case.body.delete([case.keys.wake])


def test_nothing_to_come_parks_as_long_as_is_offered(case: Case) -> None:
    for park_ms in (1, 1000, HOUR):
        answer = asked(case, park_ms=park_ms, watcher="me")
        assert (answer.due, answer.wait_ms) == (False, park_ms)
    case.shows(case.seed())
    assert asked(case).wait_ms == 1000


@pytest.mark.parametrize("what", ["scheduled", "lapsed"])
def test_what_is_past_is_due_and_nobody_parks(case: Case, what: str) -> None:
    seed = case.seed().scheduled(J1, due=-1) if what == "scheduled" else case.seed().active(J1, 1, ends=-1)
    case.given(seed)
    answer = asked(case, park_ms=HOUR, watcher="me")
    assert (answer.jobs, answer.due, answer.wait_ms) == ((), True, 0)
    case.shows(seed)


@pytest.mark.parametrize("what", ["scheduled", "lease"])
def test_what_is_later_than_the_offer_is_not_watched_for(case: Case, what: str) -> None:
    seed = case.seed().scheduled(J1, due=2) if what == "scheduled" else case.seed().active(J1, 1, ends=2)
    case.given(seed)
    answer = asked(case, park_ms=HOUR, watcher="me")
    assert (answer.due, answer.wait_ms) == (False, HOUR)
    case.shows(seed)


def test_the_first_that_names_itself_watches_until_the_next_instant(case: Case) -> None:
    due_in(case, J1, 10 * MINUTE)
    answer = asked(case, park_ms=HOUR, watcher="me")
    assert not answer.due
    assert 9 * MINUTE < answer.wait_ms <= 10 * MINUTE
    case.shows(case.seed().scheduled(J1, due=0).watched("me", until=0))


def test_the_watch_ends_a_second_after_its_instant(case: Case) -> None:
    seed = case.seed().active(J1, 1, ends=1)
    case.given(seed)
    answer = asked(case, park_ms=HOUR, watcher="me")
    assert HOUR - MINUTE < answer.wait_ms <= HOUR
    case.shows(seed.copy().watched("me", until=1))
    case.body.advance(2)
    assert case.keys.watch not in case.body.dump()


def test_the_lower_of_schedule_and_active_is_the_next_instant(case: Case) -> None:
    case.given(case.seed().active(J2, 1, ends=1))
    due_in(case, J1, 5 * MINUTE)
    assert 4 * MINUTE < asked(case, park_ms=HOUR, watcher="me").wait_ms <= 5 * MINUTE


def test_another_parks_as_long_as_it_offers_while_one_watches(case: Case) -> None:
    due_in(case, J1, 10 * MINUTE)
    asked(case, park_ms=HOUR, watcher="me")
    before = case.body.dump()
    answer = asked(case, park_ms=HOUR, watcher="you")
    assert (answer.due, answer.wait_ms) == (False, HOUR)
    assert case.body.dump() == before


def test_the_watcher_goes_on_watching(case: Case) -> None:
    due_in(case, J1, 10 * MINUTE)
    asked(case, park_ms=HOUR, watcher="me")
    assert asked(case, park_ms=HOUR, watcher="me").wait_ms <= 10 * MINUTE
    case.shows(case.seed().scheduled(J1, due=0).watched("me", until=0))


def test_when_the_watcher_gives_up_the_next_one_watches(case: Case) -> None:
    seed = case.seed().active(J1, 1, ends=1)
    case.given(seed)
    asked(case, park_ms=HOUR, watcher="me")
    case.body.run(wake(case.keys, worth=1, watcher="me"))
    case.shows(seed.copy().wakes(1))
    assert asked(case, park_ms=HOUR, watcher="you").wait_ms <= HOUR
    case.shows(seed.copy().watched("you", until=1))


def test_when_the_watch_has_expired_the_next_one_watches(case: Case) -> None:
    """Its watcher has vanished and nobody looked after what lapsed; what comes next is watched for by somebody else."""
    seed = case.seed().active(J1, 1, ends=3)
    case.given(seed.copy().watched("me", until=1))
    case.body.advance(2)
    asked(case, park_ms=HOUR, watcher="you")
    case.shows(seed.copy().watched("you", until=3, left=1))


def test_a_promise_whose_instant_is_past_keeps_nobody_away(case: Case) -> None:
    """Its watcher has more to do by now; the key would stay for another second."""
    seed = case.seed().active(J1, 1, ends=1)
    case.given(seed.copy().watched("me", until=-1, left=1))
    asked(case, park_ms=HOUR, watcher="you")
    case.shows(seed.copy().watched("you", until=1))


def test_an_earlier_instant_is_watched_for_by_whoever_sees_it(case: Case) -> None:
    due_in(case, J1, 20 * MINUTE)
    assert asked(case, park_ms=HOUR, watcher="me").wait_ms > 19 * MINUTE
    due_in(case, J2, 5 * MINUTE)
    assert asked(case, park_ms=HOUR, watcher="you").wait_ms <= 5 * MINUTE
    case.shows(case.seed().scheduled(J1, due=0).scheduled(J2, due=0).watched("you", until=0))


def test_without_a_name_nobody_watches_and_the_wait_is_to_the_next_instant(case: Case) -> None:
    due_in(case, J1, 10 * MINUTE)
    before = case.body.dump()
    assert 9 * MINUTE < asked(case, park_ms=HOUR).wait_ms <= 10 * MINUTE
    assert case.body.dump() == before


def test_whoever_got_all_it_asked_for_or_could_take_on_does_not_park(case: Case) -> None:
    seed = case.seed().pending(J1, group=red).scheduled(J3, due=-1)
    case.given(seed)
    answer = taken(case, 1, watcher="me", park_ms=HOUR)
    assert (answer.due, answer.wait_ms) == (False, 0)
    case.shows(leased(seed.copy(), answer.jobs))
    case.given(case.seed().scheduled(J3, due=-1).ring(*[f"s{number}" for number in range(150)]))
    answer = taken(case, 1, watcher="me", park_ms=HOUR)
    assert (answer.more, answer.due, answer.wait_ms) == (True, False, 0)


def test_whoever_got_fewer_than_it_asked_for_parks_with_the_rest(case: Case) -> None:
    seed = case.seed().pending(J1, group=red)
    case.given(seed)
    answer = case.body.ask(take(case.keys, lease_ms=MINUTE, size=2, watcher="me", park_ms=HOUR))
    assert isinstance(answer, Taken)
    assert len(answer.jobs) == 1
    assert 0 < answer.wait_ms <= MINUTE, "its own lease is the next to lapse"


def test_at_the_ceiling_a_caller_parks_as_well(case: Case) -> None:
    seed = case.seed().concurrency(1).active(J1, 1, ends=1).pending(J2)
    case.given(seed)
    answer = asked(case, watcher="me", park_ms=HOUR)
    assert (answer.full, answer.due) == (True, False)
    assert HOUR - MINUTE < answer.wait_ms <= HOUR
    case.shows(seed.copy().watched("me", until=1))
    case.body.advance(1)
    assert asked(case, watcher="me", park_ms=HOUR).due


@pytest.mark.parametrize("garbage", [b"", b"me", b"me soon", b"me 1.5", b" 5"])
def test_a_watch_that_promises_no_instant_is_taken_over(case: Case, garbage: bytes) -> None:
    seed = case.seed().active(J1, 1, ends=1)
    case.given(seed.copy().string(case.keys.watch, garbage))
    assert asked(case, watcher="you", park_ms=HOUR).wait_ms <= HOUR
    case.shows(seed.copy().watched("you", until=1))


@pytest.mark.parametrize("watcher", ["", "a b", "x" * 65, "a\n", "é" * 40], ids=repr)
def test_a_watcher_has_a_name_without_spaces_of_bounded_length(case: Case, watcher: str) -> None:
    with pytest.raises(BadInput):
        take(case.keys, lease_ms=HOUR, size=1, watcher=watcher)


@pytest.mark.parametrize("park_ms", [0, HOUR + 1])
def test_an_offer_to_park_is_a_millisecond_to_an_hour(case: Case, park_ms: int) -> None:
    with pytest.raises(BadInput):
        take(case.keys, lease_ms=HOUR, size=1, park_ms=park_ms)


def test_a_lapsed_lease_that_the_take_itself_renews_is_told_all_the_same(case: Case) -> None:
    """A ghost of the id stood in `active` when it was admitted anew: whoever is told looks in vain, once."""
    case.given(case.seed().active(J1, 1, ends=-1))
    case.body.delete([case.keys.job(J1)])
    case.body.run(enqueue(case.keys, J1, b"again"))
    answer = case.body.run(take(case.keys, lease_ms=HOUR, size=2))
    assert isinstance(answer, Taken)
    assert ([one.job for one in answer.jobs], answer.due) == ([J1], True)
