"""What the demo tells about its lanes at the end, as sentences and as JSON, without a server."""

import json

import msgspec

from echomq.cli.demo import as_plain, sentences
from echomq.demo.fairness import Fairness, LaneFigures
from tests.demo.figures import figures


def lane(folder: str | None, files: int, half: int | None = 5, most: int | None = 90) -> LaneFigures:
    return LaneFigures(lane=folder, folder=folder, files=files, start_p50_ms=half, start_p99_ms=most)


def table(*lanes: LaneFigures) -> list[str]:
    said = sentences(figures(*lanes))
    start = next(at for at, line in enumerate(said) if line.startswith("lane, one for each folder"))
    return said[start : said.index("", start)]


def test_each_lane_has_a_row_in_columns() -> None:
    assert table(lane("test", 1336, 181, 1311), lane(None, 7), lane("json", 5, None, None)) == [
        "lane, one for each folder   jobs  half start within  99 of 100 within",
        "test                       1,336             181 ms          1,311 ms",
        "(in no folder)                 7               5 ms             90 ms",
        "json                           5",
    ]


def test_of_many_lanes_the_largest_and_the_smallest_are_shown() -> None:
    rows = table(*(lane(f"lane-{number:02}", 100 - number) for number in range(40)))

    assert [row.split("  ")[0] for row in rows[1:]] == [
        *(f"lane-{number:02}" for number in range(6)),
        "… 31 more",
        *(f"lane-{number:02}" for number in range(37, 40)),
    ]


def test_no_lane_is_left_out_for_a_line_that_says_so() -> None:
    assert len(table(*(lane(f"lane-{number}", 9) for number in range(10)))) == 11


def test_a_long_name_is_cut_and_no_name_moves_the_cursor() -> None:
    rows = table(lane("x" * 200, 2), lane("a\x1b[2J", 1))

    assert rows[1].startswith("x" * 31 + "… ")
    assert rows[2].startswith("a\\x1b[2J ")


def test_a_single_lane_needs_no_table() -> None:
    assert not [line for line in sentences(figures(lane(None, 2))) if line.startswith("lane,")]


def test_the_index_is_said_with_what_it_means() -> None:
    fairness = Fairness(median=0.987, worst=0.91, windows=6, window_starts=185)
    lanes = (lane("a", 500), lane("b", 400))

    assert (
        "Jain's index of fairness is 0.987, and 0.910 at worst: 1 is an equal share for each lane that has work"
        " (6 windows of 185 starts)."
    ) in sentences(figures(*lanes, fairness=fairness))
    assert "Jain" not in " ".join(sentences(figures(*lanes)))


def test_json_has_every_lane_and_the_index() -> None:
    fairness = Fairness(median=1.0, worst=0.9, windows=1, window_starts=100)
    lanes = [lane("test", 10), lane(None, 1)]

    plain = json.loads(msgspec.json.encode(as_plain(figures(*lanes, fairness=fairness))))

    assert plain["lanes"] == [
        {"lane": "test", "folder": "test", "files": 10, "start_p50_ms": 5, "start_p99_ms": 90},
        {"lane": None, "folder": None, "files": 1, "start_p50_ms": 5, "start_p99_ms": 90},
    ]
    assert plain["fairness"] == {"median": 1.0, "worst": 0.9, "windows": 1, "window_starts": 100}
    assert as_plain(figures())["fairness"] is None
