"""What came of it: every result against the demo's own reading, and the figures.

A result is *lost* when the job did not end with one, *failed* when the job died, *different* when it disagrees with the
file. A file that somebody changed while the demo ran is told by reading it once more: it counts as changed, since its
result can then be neither right nor wrong. Lost, failed and different are what the demo must never show.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, assert_never

from echomq.demo.fairness import Fairness, LaneFigures
from echomq.demo.files import shown
from echomq.demo.handler import FileFacts, decode_facts, facts_of
from echomq.ids import JobId
from echomq.records import Failed, Finished, Gone, Waiting

__all__ = ["Ending", "Figures", "Problem", "compare", "jobs_per_second"]

Ending: TypeAlias = Finished | Failed | Waiting | Gone
Kind: TypeAlias = Literal["lost", "failed", "different", "changed"]

PROBLEMS_KEPT: Final = 1000
"""How many problems a report names; all are counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One file whose result is not as it should be, and why, in words."""

    kind: Kind
    path: str
    job: JobId
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """All that a run has shown. Times in ms or s as named; `None` where nothing was measured.

    `killed_at` is how many jobs had started when a worker was killed, `held` how many it provably held, `held_back` how
    many of those ended with a result of a later attempt. `recovered` counts all results that needed a later attempt;
    the speed and the waits from enqueue to start are those of the others. `lanes` are those with the most files first.
    """

    directory: str
    files: int
    size_bytes: int
    unreadable: int
    results: int
    lost: int
    failed: int
    different: int
    changed: int
    killed: bool
    killed_at: int
    held: int
    held_back: int
    recovered: int
    jobs_per_s: float | None
    start_p50_ms: int | None
    start_p99_ms: int | None
    run_s: float
    total_s: float
    queue: str
    lanes: tuple[LaneFigures, ...] = ()
    fairness: Fairness | None = None
    problems: tuple[Problem, ...] = ()

    @property
    def is_good(self) -> bool:
        """Whether nothing is missing, nothing failed and nothing is different."""
        return not (self.lost or self.failed or self.different) and self.held == self.held_back


def compare(
    paths: Mapping[JobId, bytes],
    endings: Mapping[JobId, Ending],
    own: Mapping[JobId, FileFacts],
    *,
    read_again: Callable[[bytes], FileFacts] = facts_of,
) -> list[Problem]:
    """Return what is wrong: each job's ending against the demo's own reading of its file, in order of the jobs."""
    found: list[Problem] = []
    for job in sorted(paths):
        problem = _judge(endings.get(job, Gone(job)), own[job], paths[job], read_again)
        if problem is not None:
            kind, reason = problem
            found.append(Problem(kind=kind, path=shown(paths[job]), job=job, reason=reason))
    return found


def _judge(
    ending: Ending, own: FileFacts, path: bytes, read_again: Callable[[bytes], FileFacts]
) -> tuple[Kind, str] | None:
    match ending:
        case Finished():
            return _judge_facts(decode_facts(ending.result), own, path, read_again)
        case Failed():
            return "failed", f"the job died after {ending.attempts} attempts: {ending.error}"
        case Waiting():
            return "lost", f"the job did not end: it is {ending.state} after {ending.attempts} attempts"
        case Gone():
            return "lost", "there is no such job and no result"
        case _:
            assert_never(ending)


def _judge_facts(
    facts: FileFacts | None, own: FileFacts, path: bytes, read_again: Callable[[bytes], FileFacts]
) -> tuple[Kind, str] | None:
    if facts == own:
        return None
    again = read_again(path)
    if facts is not None and facts == again:
        return None  # the file changed before the worker read it, and the worker read what is there
    if again != own:
        return "changed", "the file changed while the demo ran, so its result cannot be compared"
    if facts is None:
        return "different", "the result is not in the demo's form"
    return "different", f"the worker found {_in_words(facts)} and the file has {_in_words(own)}"


def _in_words(facts: FileFacts) -> str:
    if facts.trouble:
        return f"no way to read it ({facts.trouble})"
    return f"{facts.size_bytes} bytes, {facts.lines} lines, SHA-256 {facts.sha256.hex()}"


def jobs_per_second(endings: Iterable[Ending]) -> float | None:
    """Return how fast results came, by the server's clock, from the first to the last job that needed one attempt.

    The recovered ones are left out: after the work is done they come when the killed worker's leases end, and how long
    a lease is says nothing about speed.
    """
    instants = [ending.completed_at_ms for ending in endings if isinstance(ending, Finished) and ending.attempts == 1]
    if len(instants) < 2:  # a speed needs two instants
        return None
    return round(len(instants) / max((max(instants) - min(instants)) / 1000, 0.001), 1)
