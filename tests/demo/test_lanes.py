"""Which lane a file is in, and how fair it was, without a server."""

import os
from pathlib import Path

import pytest

from echomq.demo.fairness import WINDOW_MIN, Fairness, LaneFigures, fairness_of, jain, lane_figures
from echomq.demo.journal import Started
from echomq.demo.lanes import folder_of, lane_of, largest_first
from echomq.ids import JobId
from echomq.keys import check_group
from echomq.records import Token

FIRST = 1 << 40


def a_job(number: int) -> JobId:
    return JobId.of_snowflake(FIRST + (number << 22))  # a millisecond each


def start(number: int, at_ms: int, *, token: int = 1) -> Started:
    return Started(a_job(number), Token(token), at_ms)


@pytest.mark.parametrize(
    ("path", "folder"),
    [(b"/lib/os.py", None), (b"/lib/json/tool.py", b"json"), (b"/lib/test/data/x", b"test"), (b"/lib/\xff/x", b"\xff")],
)
def test_the_folder_is_the_one_directly_below_the_directory(path: bytes, folder: bytes | None) -> None:
    assert folder_of(path, Path("/lib")) == folder


def test_the_folders_of_the_root_are_folders_too() -> None:
    assert folder_of(b"/etc/hosts", Path("/")) == b"etc"
    assert folder_of(b"/vmlinuz", Path("/")) is None


@pytest.mark.parametrize("folder", [b"json", b"config-3.11-x86_64", b"@babel", b"a" * 128])
def test_a_lane_has_the_name_of_its_folder_where_that_can_be(folder: bytes) -> None:
    assert lane_of(folder) == os.fsdecode(folder)


@pytest.mark.parametrize("folder", [b"two words", b"new\nline", b"\xff", "grün".encode(), b"a" * 255, b"a{b}", b"a:b"])
def test_any_other_folder_has_a_lane_that_the_server_takes(folder: bytes) -> None:
    lane = lane_of(folder)

    assert lane is not None
    check_group(lane)


def test_folders_that_look_alike_as_lanes_are_told_apart() -> None:
    assert lane_of(b"a b") != lane_of(b"a:b")
    assert lane_of(b"x" * 200) != lane_of(b"x" * 201)


def test_files_in_no_folder_have_no_lane() -> None:
    assert lane_of(None) is None


def test_the_largest_folder_comes_first_and_the_order_within_stays() -> None:
    files = (b"/d/a/1", b"/d/b/1", b"/d/b/2", b"/d/top", b"/d/b/3", b"/d/top2")

    ordered = largest_first(files, Path("/d"))

    assert ordered == [
        (b"/d/b/1", b"b"),
        (b"/d/b/2", b"b"),
        (b"/d/b/3", b"b"),
        (b"/d/top", None),
        (b"/d/top2", None),
        (b"/d/a/1", b"a"),
    ]


@pytest.mark.parametrize(
    ("shares", "index"), [([5, 5, 5], 1.0), ([9], 1.0), ([1, 0, 0, 0], 0.25), ([0, 0], 1.0), ([3, 1], 0.8)]
)
def test_jains_index_is_one_for_equal_shares_and_one_nth_for_a_single_taker(shares: list[int], index: float) -> None:
    assert jain(shares) == pytest.approx(index)


def test_a_rota_is_fair_and_a_line_is_not() -> None:
    lanes = (b"large", b"small")
    folders = {a_job(number): lanes[number % 2] for number in range(600)}
    fed_ms: dict[bytes | None, int] = dict.fromkeys(lanes, 0)
    by_turns = [start(number, number + 1) for number in range(600)]
    in_line = sorted(by_turns, key=lambda record: folders[record.job])
    in_line = [Started(record.job, record.token, at + 1) for at, record in enumerate(in_line)]

    fair, unfair = fairness_of(by_turns, folders, fed_ms), fairness_of(in_line, folders, fed_ms)

    # The last window is about nobody: nothing waited when it ended.
    assert fair == Fairness(median=1.0, worst=1.0, windows=5, window_starts=WINDOW_MIN)
    # As long as the first lane has work it has all the starts; then one is left, which has nobody to share with.
    assert unfair is not None
    assert (unfair.median, unfair.windows) == (0.5, 2)


def test_a_window_of_one_lane_while_another_waits_is_as_unfair_as_can_be() -> None:
    folders = {a_job(number): b"a" if number < 200 or number == 401 else b"b" for number in range(402)}
    started = [start(number, number) for number in range(402)]

    found = fairness_of(started, folders, {b"a": 0, b"b": 0})

    assert found is not None
    assert found.worst == 0.5


def test_a_lane_counts_from_when_it_is_fed_to_when_nothing_of_it_waits() -> None:
    folders = {a_job(number): (b"a", b"b")[number % 2] for number in range(300)}
    started = [start(number, number) for number in range(300)]

    late = fairness_of(started, folders, {b"a": 0, b"b": 150})

    # Nothing waits when the third window ends, and when the second one begins b is not in the queue yet.
    assert late is None


def test_what_starts_again_after_a_kill_says_nothing_about_turns() -> None:
    folders = {a_job(number): (b"a", b"b")[number % 2] for number in range(300)}
    started = [start(number, number) for number in range(300)]
    again = [start(0, 5, token=2)] * 250

    assert fairness_of(started + again, folders, {b"a": 0, b"b": 0}) == fairness_of(
        started, folders, {b"a": 0, b"b": 0}
    )


def test_many_lanes_have_wider_windows() -> None:
    folders = {a_job(number): b"%d" % (number % 50) for number in range(2000)}
    started = [start(number, number) for number in range(2000)]

    found = fairness_of(started, folders, {b"%d" % lane: 0 for lane in range(50)})

    assert found is not None
    assert (found.window_starts, found.worst) == (250, 1.0)


def test_too_few_starts_have_no_index() -> None:
    assert fairness_of([start(0, 1)], {a_job(0): b"a"}, {b"a": 0}) is None
    assert fairness_of([], {}, {}) is None


def test_each_lane_has_its_own_waits_without_the_jobs_that_came_back() -> None:
    folders = {a_job(0): b"b", a_job(1): b"b", a_job(2): None, a_job(3): b"b"}
    minted = [a_job(number).minted_at_ms for number in range(4)]
    started = [
        start(0, minted[0] + 10),
        start(1, minted[1] + 30),
        start(2, minted[2] + 7),
        start(3, minted[3] + 9000, token=2),
    ]

    assert lane_figures(started, folders, {a_job(3)}) == (
        LaneFigures(lane="b", folder="b", files=3, start_p50_ms=10, start_p99_ms=30),
        LaneFigures(lane=None, folder=None, files=1, start_p50_ms=7, start_p99_ms=7),
    )


def test_a_lane_whose_jobs_never_started_is_told_without_waits() -> None:
    assert lane_figures([], {a_job(0): b"\n"}, set()) == (
        LaneFigures(lane=lane_of(b"\n"), folder="\\n", files=1, start_p50_ms=None, start_p99_ms=None),
    )
