"""wake: docs/wire.md, claiming."""

import pytest

from echomq.errors import BadInput
from echomq.transitions.wake import wake
from tests.harness.case import Case
from tests.harness.jobs import J1, RED
from tests.harness.state import Seed

red = RED.encode()


def flat(seed: Seed) -> Seed:
    return seed.pending(J1)


def lane(seed: Seed) -> Seed:
    return seed.pending(J1, group=red)


@pytest.mark.parametrize("place", [flat, lane])
@pytest.mark.parametrize("worth", [1, 7, 1000])
def test_the_token_is_passed_on_where_somebody_could_be_served(case: Case, place: object, worth: int) -> None:
    seed = place(case.seed())  # type: ignore[operator]  # either of the two
    case.given(seed)
    case.step(wake(case.keys, worth=worth), answer=True, after=seed.copy().wakes(worth))


@pytest.mark.parametrize("place", [flat, lane])
def test_nothing_is_pushed_while_a_token_lies_there(case: Case, place: object) -> None:
    case.given(place(case.seed()).wakes(1))  # type: ignore[operator]  # either of the two
    case.keeps(wake(case.keys, worth=5), answer=False)


def test_nothing_is_pushed_when_nothing_can_be_served(case: Case) -> None:
    seed = case.seed().pending(J1, group=red).parked(RED)
    case.given(seed)
    case.keeps(wake(case.keys, worth=5), answer=False)
    case.body.drop()
    case.keeps(wake(case.keys, worth=5), answer=False)


def test_the_watch_is_given_up_by_its_watcher_only(case: Case) -> None:
    seed = flat(case.seed())
    case.given(seed.copy().watched("me", until=1))
    case.step(wake(case.keys, worth=1, watcher="you"), answer=True, after=seed.copy().wakes(1).watched("me", until=1))
    case.step(wake(case.keys, worth=1, watcher="me"), answer=False, after=seed.copy().wakes(1))


def test_a_watcher_whose_name_begins_like_another_is_another(case: Case) -> None:
    case.given(case.seed().watched("me2", until=1))
    case.keeps(wake(case.keys, worth=1, watcher="me"), answer=False)


def test_the_raw_replies(case: Case) -> None:
    case.given(flat(case.seed()))
    case.replies(wake(case.keys, worth=1), 1)
    case.replies(wake(case.keys, worth=1), 0)


@pytest.mark.parametrize("worth", [0, 1001])
def test_a_worth_is_one_to_a_thousand(case: Case, worth: int) -> None:
    with pytest.raises(BadInput):
        wake(case.keys, worth=worth)


def test_a_wrong_key_of_any_kind_is_told(case: Case) -> None:
    for key in (case.keys.wake, case.keys.ring, case.keys.pending):
        case.given(flat(case.seed()).drop(key).string(key, b"x"))
        case.refuses_type(wake(case.keys, worth=1))


def test_a_watcher_that_leaves_wakes_another_to_watch_when_something_will_be_due(case: Case) -> None:
    for seed in (case.seed().scheduled(J1, due=1), case.seed().active(J1, 1, ends=1)):
        case.given(seed.copy().watched("me", until=1))
        case.step(wake(case.keys, worth=9, watcher="me"), answer=True, after=seed.copy().wakes(1))
        case.given(seed.copy().watched("you", until=1))
        case.keeps(wake(case.keys, worth=9, watcher="me"), answer=False)
        case.given(seed.copy().watched("me", until=1).wakes(2))
        case.step(wake(case.keys, worth=9, watcher="me"), answer=False, after=seed.copy().wakes(2))
