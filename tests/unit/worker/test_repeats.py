from echomq.worker.repeats import Repeats


def test_a_row_of_equal_failures_is_loud_at_powers_of_two_and_at_each_sixty_fourth() -> None:
    repeats = Repeats()
    loud = [n for n in range(1, 300) if repeats.is_loud("the same")]
    assert loud == [1, 2, 4, 8, 16, 32, 64, 128, 192, 256]


def test_another_kind_of_failure_is_loud_at_once() -> None:
    repeats = Repeats()
    assert [repeats.is_loud(kind) for kind in ("a", "a", "a", "b", "b", "b")] == [True, True, False, True, True, False]


def test_after_its_end_a_row_begins_anew() -> None:
    repeats = Repeats()
    for _ in range(3):
        repeats.is_loud("a")
    assert repeats.over() == 3
    assert repeats.over() == 0
    assert repeats.is_loud("a")
