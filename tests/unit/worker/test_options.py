import pytest

from echomq.errors import InvalidOption
from echomq.worker import WorkerOptions


@pytest.mark.parametrize(
    "values",
    [
        {"concurrency": 0},
        {"concurrency": 10_001},
        {"concurrency": True},
        {"lease_ms": 299},
        {"beat_ms": 0},
        {"max_attempts": 0},
        {"slice_size": 1_001},
        {"grace_ms": -1},
        {"result_ttl_ms": 0},
        {"retry": 5},
    ],
)
def test_options_outside_their_range_are_refused_by_name(values: dict[str, object]) -> None:
    with pytest.raises(InvalidOption) as caught:
        WorkerOptions(**values)  # type: ignore[arg-type]  # on purpose
    assert caught.value.name == next(iter(values))


def test_the_defaults_are_possible() -> None:
    assert WorkerOptions().concurrency == 10
