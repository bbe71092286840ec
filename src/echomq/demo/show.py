"""What a person sees while the demo runs: sentences, and where the jobs are.

On a terminal there is a live line at the bottom; elsewhere a plain line about every second. This is talk: it goes to
standard error, and the figures at the end are the data.
"""

from contextlib import ExitStack
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Protocol, Self, TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from echomq.clock import SYSTEM_CLOCK, Clock

__all__ = ["LineShow", "LiveShow", "Moment", "Show", "show_on"]

LINE_EVERY_MS: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """Where the jobs are at an instant: `total` of them in all, `per_s` done a second lately."""

    total: int
    waiting: int
    running: int
    done: int
    per_s: float
    doing: str


class Show(Protocol):
    """Whatever tells a person what happens."""

    def say(self, sentence: str) -> None:
        """Tell that something happened."""
        ...

    def update(self, moment: Moment) -> None:
        """Show where the jobs are. May be called many times a second."""
        ...


class LineShow:
    """Plain lines: every sentence, and where the jobs are about once a second."""

    def __init__(self, stream: TextIO, *, clock: Clock = SYSTEM_CLOCK) -> None:
        self._stream = stream
        self._clock = clock
        self._next_ms = 0

    def say(self, sentence: str) -> None:
        """Print a sentence."""
        print(sentence, file=self._stream, flush=True)

    def update(self, moment: Moment) -> None:
        """Print where the jobs are, unless that was done within the last second."""
        now_ms = self._clock.monotonic_ms()
        if now_ms < self._next_ms:
            return
        self._next_ms = now_ms + LINE_EVERY_MS
        self.say(
            f"  {moment.done:,} of {moment.total:,} done, {moment.running:,} running, {moment.waiting:,} waiting,"
            f" {moment.per_s:,.0f} a second; {moment.doing}"
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass


class LiveShow:
    """A live line at the bottom of a terminal, with the sentences above it."""

    def __init__(self, stream: TextIO) -> None:
        self._console = Console(file=stream, highlight=False)
        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rest]}", markup=False),
            TimeElapsedColumn(),
            console=self._console,
            transient=True,
        )
        self._task: TaskID | None = None
        self._open = ExitStack()

    def say(self, sentence: str) -> None:
        """Print a sentence above the live line."""
        self._console.print(sentence, markup=False, emoji=False, soft_wrap=True)

    def update(self, moment: Moment) -> None:
        """Show where the jobs are."""
        if self._task is None:
            self._task = self._progress.add_task(moment.doing, total=moment.total, rest="")
        rest = f"{moment.running:,} running  {moment.waiting:,} waiting  {moment.per_s:,.0f}/s"
        self._progress.update(
            self._task, description=moment.doing, completed=moment.done, total=moment.total, rest=rest
        )

    def __enter__(self) -> Self:
        self._open.enter_context(self._progress)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()


def show_on(stream: TextIO) -> LiveShow | LineShow:
    """Return the show that suits a stream."""
    return LiveShow(stream) if stream.isatty() else LineShow(stream)
