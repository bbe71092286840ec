"""Rounds in vain: some at once, then ever longer waits."""

from echomq.worker.vain import Vain
from tests.unit.worker.parts import FixedDice


def test_the_first_are_followed_at_once_and_then_the_wait_doubles_up_to_its_bound() -> None:
    vain = Vain(FixedDice(0.0), at_once=2, most_ms=100)
    assert [vain.wait_ms() for _ in range(7)] == [0, 0, 20, 40, 80, 100, 100]
    vain.over()
    assert [vain.wait_ms() for _ in range(3)] == [0, 0, 20]
