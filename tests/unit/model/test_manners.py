"""Retries keep their manners, on plain letters: docs/wire.md, `take`, 4."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from echomq.model.manners import Head, Line, Reads, first_fresh

HEADS = {"f": Head.FRESH, "r": Head.TRIED, "x": Head.NOTHING}


def line(marks: str, *, owes: bool = False, manners: bool = True) -> Line:
    """Return a lane of jobs: `f` a fresh one, `r` one that was tried, `x` what is no job of this lane."""
    return Line(
        len(marks),
        lambda place: HEADS[marks[place]],
        lambda place: marks[place] != "r",
        owes=owes,
        has_manners=manners,
    )


def order(marks: str, *, owes: bool = False, manners: bool = True) -> str:
    """Return the places, counted from 1, in the order in which one call serves them."""
    served = line(marks, owes=owes, manners=manners).serve(len(marks), Reads(10_000))
    return " ".join(str(place + 1) for place in served)


def one_by_one(marks: str, size: int = 1) -> str:
    """Return the same for calls that serve `size` jobs each: what is left is looked at anew by each."""
    left, owes, served = list(enumerate(marks, start=1)), False, list[int]()
    while left:
        call = line("".join(mark for _, mark in left), owes=owes)
        places = call.serve(size, Reads(10_000))
        gone = {*places, *(at for at, (_, mark) in enumerate(left) if mark == "x" and at <= max(places, default=at))}
        served += [left[place][0] for place in places]
        left, owes = [one for at, one in enumerate(left) if at not in gone], call.owes
    return " ".join(map(str, served))


@pytest.mark.parametrize(
    ("marks", "served"),
    [
        ("", ""),
        ("ffff", "1 2 3 4"),
        ("rrrr", "1 2 3 4"),
        ("rrff", "1 3 2 4"),
        ("rrrf", "1 4 2 3"),
        ("frff", "1 2 3 4"),
        ("rffr", "1 2 3 4"),
        ("rrfr", "1 3 2 4"),
        ("rrrrfff", "1 5 2 6 3 7 4"),
        ("rrffff", "1 3 2 4 5 6"),
        ("fffrrrff", "1 2 3 4 7 5 8 6"),
    ],
)
def test_after_a_tried_job_the_next_place_is_a_fresh_ones(marks: str, served: str) -> None:
    assert order(marks) == served
    assert one_by_one(marks) == served


def test_a_debt_from_before_is_paid_first() -> None:
    assert order("rrff", owes=True) == "3 1 4 2"
    assert order("fr", owes=True) == "1 2"


def test_without_manners_the_order_is_that_of_minting() -> None:
    assert order("rrff", owes=True, manners=False) == "1 2 3 4"


def test_what_is_no_job_is_passed_over_and_takes_no_place() -> None:
    assert order("xrxrxfxf") == "2 6 4 8"
    assert order("xxx") == ""
    assert order("rrxx") == "1 2"


def test_a_run_ends_at_a_job_that_was_tried_and_is_not_searched_again() -> None:
    assert order("rrrrffrf") == "1 5 2 6 3 4 7 8"


def test_where_both_are_mixed_the_search_finds_a_fresh_job_behind_a_tried_one() -> None:
    far = "r" * 52
    assert order(far + "rfrrf").startswith("1 57 2 3 4")
    assert order(far + "frff").startswith("1 55 2 56 3 4")


def test_among_the_next_fifty_the_first_fresh_job_is_found_whatever_lies_behind_it() -> None:
    assert order("rrrfrrrf") == "1 4 2 3 5 6 7 8"
    assert order("rrfrff") == "1 3 2 4 5 6"
    assert order("r" * 51 + "frrf").startswith("1 52 2 3")
    assert order("r" * 51 + "frrr").startswith("1 52 2 3")
    assert order("r" * 52 + "frrr").startswith("1 2 3")


def test_no_row_is_read_beyond_what_may_be() -> None:
    looked: list[int] = []

    def look(place: int) -> Head:
        looked.append(place)
        return Head.NOTHING

    long = Line(100, look, lambda place: True)
    assert long.serve(5, Reads(7)) == []
    assert looked == list(range(7))
    assert long.waiting == 93
    assert long.serve(5, Reads(1000)) == []
    assert looked == list(range(100)), "each once"


def test_rows_that_end_in_a_run_serve_nobody_out_of_turn() -> None:
    marks = "rr" + "x" * 20 + "f"
    lane, reads = line(marks), Reads(6)
    assert lane.serve(5, reads) == [0]
    assert reads.left == 0
    assert lane.serve(5, Reads(100)) == [22, 1]


@given(st.integers(1, 400), st.data())
def test_the_search_halves(size: int, data: st.DataObject) -> None:
    first = data.draw(st.integers(1, size))
    asked: list[int] = []

    def is_fresh(place: int) -> bool:
        asked.append(place)
        return place >= first

    found = first_fresh(0, size - 1, is_fresh)
    assert found == (first if first < size else None)
    assert len(asked) <= 50 + 1 + size.bit_length()


def serve_all(marks: str, sizes: Callable[[], int]) -> list[int]:
    lane, served = line(marks), list[int]()
    while lane.waiting:
        served += lane.serve(sizes(), Reads(10_000))
    return served


@given(st.text("rf", max_size=40), st.integers(1, 9))
def test_everybody_is_served_once_and_retries_keep_their_order(marks: str, size: int) -> None:
    served = serve_all(marks, lambda: size)
    assert sorted(served) == list(range(len(marks)))
    tried = [place for place in served if marks[place] == "r"]
    assert tried == sorted(tried)


@given(st.integers(0, 30), st.integers(0, 30), st.integers(1, 9))
def test_old_failures_take_every_second_place_while_fresh_jobs_wait(old: int, young: int, size: int) -> None:
    marks = "r" * old + "f" * young
    served = "".join(marks[place] for place in serve_all(marks, lambda: size))
    pairs = min(old, young)
    assert served == "rf" * pairs + "r" * (old - pairs) + "f" * (young - pairs)
    assert one_by_one(marks, size) == " ".join(str(place + 1) for place in serve_all(marks, lambda: size))


@given(st.text("fx", max_size=40))
def test_published_order_where_nothing_is_retried(marks: str) -> None:
    assert order(marks) == " ".join(str(at) for at, mark in enumerate(marks, start=1) if mark == "f")
