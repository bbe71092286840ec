"""`echomq demo`: play it, and write what it showed."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields

from echomq.cli.exits import Exit
from echomq.cli.render import Plain, View, printable
from echomq.demo.fairness import Fairness, LaneFigures
from echomq.demo.play import DemoOptions, play
from echomq.demo.report import Figures, Problem
from echomq.demo.show import show_on

__all__ = ["as_plain", "demo", "sentences"]

_PROBLEMS_SHOWN = 20
_LARGEST_SHOWN = 6
_SMALLEST_SHOWN = 3
_FOLDER_MAX = 32


def demo(url: str, options: DemoOptions, view: View) -> int:
    """Play the demo on the server at `url`. 1 when anything is missing or different."""
    with show_on(view.err) as show:
        figures = play(url, options, show)
    if view.is_json:
        view.record(as_plain(figures))
    else:
        view.lines({}, "", sentences(figures))
    return Exit.DONE if figures.is_good else Exit.FAILED


def as_plain(figures: Figures) -> dict[str, Plain]:
    """Return the figures under their names, as JSON can hold them."""
    plain: dict[str, Plain] = {"good": figures.is_good}
    own = ("lanes", "fairness", "problems")
    plain |= {each.name: getattr(figures, each.name) for each in fields(figures) if each.name not in own}
    plain["lanes"] = [asdict(lane) for lane in figures.lanes]
    plain["fairness"] = None if figures.fairness is None else asdict(figures.fairness)
    plain["problems"] = [_problem(problem) for problem in figures.problems]
    return plain


def sentences(figures: Figures) -> list[str]:
    """Return the figures as a person reads them."""
    said = [
        "",
        f"{figures.files:,} files, {figures.results:,} results, {figures.lost:,} lost, {figures.different:,} different"
        + (f", {figures.failed:,} failed" if figures.failed else "")
        + ".",
        _about_the_kill(figures),
    ]
    if figures.changed:
        said.append(f"{figures.changed:,} files changed while I looked, so their results cannot be compared.")
    if figures.jobs_per_s is not None:
        said.append(f"{figures.jobs_per_s:,.0f} jobs a second while the workers had work.")
    if figures.start_p50_ms is not None and figures.start_p99_ms is not None:
        said.append(
            f"From enqueue to start: half of the jobs within {figures.start_p50_ms:,} ms, 99 of 100 within"
            f" {figures.start_p99_ms:,} ms. All stand in line at once, so this is the line"
            + (", without those that waited for the killed worker's leases." if figures.recovered else ".")
        )
    if len(figures.lanes) > 1:
        said += ["", *_table(figures.lanes), *_about_fairness(figures.fairness), ""]
    said.append(
        f"{figures.run_s:.1f} s of work with the wait for the dead worker's leases, {figures.total_s:.1f} s in all."
    )
    said += [
        f"{problem.kind}: {problem.path} (job {problem.job}): {problem.reason}"
        for problem in figures.problems[:_PROBLEMS_SHOWN]
    ]
    rest = figures.lost + figures.different + figures.failed + figures.changed - _PROBLEMS_SHOWN
    if rest > 0:
        said.append(f"and {rest:,} more")
    said.append(
        "Nothing was lost, and every result is right." if figures.is_good else "SOMETHING IS MISSING OR DIFFERENT."
    )
    return said


def _about_the_kill(figures: Figures) -> str:
    if not figures.killed:
        return "No worker was killed: the jobs were over before one could be caught with a job in its hands."
    return (
        f"The killed worker held {figures.held:,} of them; {figures.held_back:,} of these came back and were done by"
        f" others. {figures.recovered:,} results in all needed a second attempt."
    )


def _table(lanes: Sequence[LaneFigures]) -> list[str]:
    """Return the waits of the largest lanes and of the smallest ones, in columns."""
    rows = [_row(lane) for lane in lanes]
    left_out = len(rows) - _LARGEST_SHOWN - _SMALLEST_SHOWN
    if left_out > 1:  # for a single one, the line that says so would be as long
        rows[_LARGEST_SHOWN:-_SMALLEST_SHOWN] = [(f"… {left_out:,} more", "", "", "")]
    rows.insert(0, ("lane, one for each folder", "jobs", "half start within", "99 of 100 within"))
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    return [_line(row, widths) for row in rows]


def _row(lane: LaneFigures) -> tuple[str, str, str, str]:
    folder = "(in no folder)" if lane.folder is None else printable(lane.folder, most=None)
    if len(folder) > _FOLDER_MAX:
        folder = f"{folder[: _FOLDER_MAX - 1]}…"
    return folder, f"{lane.files:,}", _ms(lane.start_p50_ms), _ms(lane.start_p99_ms)


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = (cell.rjust(width) for cell, width in zip(row, widths, strict=True))
    return "  ".join((row[0].ljust(len(first)), *others)).rstrip()


def _ms(value: int | None) -> str:
    return "" if value is None else f"{value:,} ms"


def _about_fairness(fairness: Fairness | None) -> list[str]:
    if fairness is None:
        return []
    windows = "1 window" if fairness.windows == 1 else f"{fairness.windows:,} windows"
    said = (
        f"Jain's index of fairness is {fairness.median:.3f}, and {fairness.worst:.3f} at worst: 1 is an equal share for"
        f" each lane that has work ({windows} of {fairness.window_starts:,} starts)."
    )
    return [said]


def _problem(problem: Problem) -> Mapping[str, Plain]:
    return {"kind": problem.kind, "path": problem.path, "job": str(problem.job), "reason": problem.reason}
