import pytest
from hypothesis import given
from hypothesis import strategies as st

from echomq.errors import InvalidOption
from echomq.worker.retry import Backoff
from tests.unit.worker.parts import FixedDice


@pytest.mark.parametrize(
    ("policy", "attempt", "dice", "delay_ms"),
    [
        (Backoff(jitter=0.0), 1, 0.9, 1_000),
        (Backoff(jitter=0.0), 2, 0.9, 2_000),
        (Backoff(jitter=0.0), 10, 0.9, 512_000),
        (Backoff(jitter=0.0), 11, 0.9, 900_000),
        (Backoff(jitter=0.0), 10_000, 0.9, 900_000),
        (Backoff(), 1, 0.0, 500),
        (Backoff(), 1, 0.5, 750),
        (Backoff(jitter=1.0), 3, 0.0, 0),
        (Backoff(jitter=1.0), 3, 0.25, 1_000),
        (Backoff(first_ms=100, last_ms=1_000, factor=3.0, jitter=0.0), 3, 0.0, 900),
        (Backoff.fixed(700), 1, 0.3, 700),
        (Backoff.fixed(700), 9, 0.3, 700),
        (Backoff.fixed(1_000, jitter=0.5), 9, 0.5, 750),
        (Backoff.fixed(0), 4, 0.3, 0),
    ],
)
def test_the_wait_grows_from_first_to_last_and_jitter_takes_its_share(
    policy: Backoff, attempt: int, dice: float, delay_ms: int
) -> None:
    assert policy.delay_ms(attempt, FixedDice(dice)) == delay_ms


@given(
    st.builds(
        Backoff,
        first_ms=st.integers(0, 10_000),
        last_ms=st.integers(10_000, 2**53 - 1),
        factor=st.floats(1.0, 100.0),
        jitter=st.floats(0.0, 1.0),
    ),
    st.integers(-5, 10**9),
    st.floats(0.0, 1.0, exclude_max=True),
)
def test_the_wait_is_always_a_whole_number_up_to_last(policy: Backoff, attempt: int, dice: float) -> None:
    delay_ms = policy.delay_ms(attempt, FixedDice(dice))
    assert isinstance(delay_ms, int)
    assert 0 <= delay_ms <= policy.last_ms


@pytest.mark.parametrize(
    "values",
    [{"first_ms": -1}, {"first_ms": 5, "last_ms": 4}, {"factor": 0.9}, {"factor": float("nan")}, {"jitter": 1.1}],
)
def test_a_policy_outside_its_range_is_refused(values: dict[str, float]) -> None:
    with pytest.raises(InvalidOption):
        Backoff(**values)  # type: ignore[arg-type]  # on purpose
