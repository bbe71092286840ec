"""When to connect again."""

from dataclasses import dataclass

import pytest

from echomq.drivers.backoff import delay_ms


@dataclass
class Loaded:
    """Dice that always show the same."""

    value: float

    def fraction(self) -> float:
        return self.value


@pytest.mark.parametrize(
    ("attempt", "base"), [(0, 100), (1, 200), (2, 400), (3, 800), (4, 1600), (5, 2000), (99, 2000)]
)
def test_it_doubles_up_to_the_last_wait(attempt: int, base: float) -> None:
    assert delay_ms(attempt, Loaded(0.0)) == base


def test_jitter_adds_up_to_half_again() -> None:
    assert delay_ms(0, Loaded(0.5)) == 125
    assert delay_ms(99, Loaded(0.999999)) == pytest.approx(3000, abs=0.1)


def test_the_bounds_are_options() -> None:
    assert [delay_ms(attempt, Loaded(0), first_ms=1, last_ms=3) for attempt in range(4)] == [1, 2, 3, 3]
