"""Connection options check themselves and keep their secret."""

import pytest

from echomq.errors import InvalidOption
from echomq.options import ConnectionOptions


@pytest.mark.parametrize(
    "wrong",
    [
        {"reply_timeout_ms": 0},
        {"connect_timeout_ms": -1},
        {"ping_interval_ms": 1.5},
        {"in_flight_max": True},
        {"spin_us": -1},
        {"resp": 4},
        {"reconnect_first_ms": 500, "reconnect_last_ms": 100},
        {"accepted_versions": ()},
        {"accepted_versions": ("",)},
    ],
)
def test_a_value_outside_its_range_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidOption):
        ConnectionOptions(**wrong)  # type: ignore[arg-type]  # the point of the test


def test_the_text_of_options_does_not_show_the_address() -> None:
    assert "s3cret" not in repr(ConnectionOptions(url="valkey://:s3cret@h"))
