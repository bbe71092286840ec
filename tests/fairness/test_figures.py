"""The figures can tell fair from unfair."""

import pytest

from tests.fairness.figures import jain, longest_wait, worst_jain


def test_the_index_is_one_for_equal_counts_and_one_nth_when_one_has_everything() -> None:
    assert jain([7, 7, 7]) == 1
    assert jain([9, 0, 0]) == pytest.approx(1 / 3)


def test_the_worst_window_is_found_wherever_it_lies() -> None:
    fair = ["a", "b"] * 50
    assert worst_jain(fair, ["a", "b"], window=10) == 1
    for at in (0, 45, 90):
        unfair = [*fair[:at], *["a"] * 10, *fair[at:]]
        assert worst_jain(unfair, ["a", "b"], window=10) == pytest.approx(1 / 2)


def test_a_window_longer_than_all_starts_is_refused() -> None:
    with pytest.raises(AssertionError, match="no window"):
        worst_jain(["a"], ["a"], window=2)


def test_a_wait_is_counted_before_between_and_after_the_starts_of_a_lane() -> None:
    assert longest_wait(["a", "b", "b", "a", "b"], "a") == 2
    assert longest_wait(["b", "b", "b", "a", "b"], "a") == 3
    assert longest_wait(["a", "b", "b", "b", "b"], "a") == 4
