"""Files become jobs: slice by slice, each into its folder's lane, and it is remembered which job is for which file."""

from echomq.blocking_jobs import BlockingJobs
from echomq.clock import SYSTEM_CLOCK, Clock
from echomq.demo.files import Found
from echomq.demo.handler import encode_job
from echomq.demo.lanes import lane_of, largest_first
from echomq.ids import JobId
from echomq.records import NewJob

__all__ = ["SLICE", "Feed"]

SLICE = 500
"""How many jobs go into the queue in one call."""


class Feed:
    """The way of all files into the queue.

    `paths` and `folders` are those of the jobs that are in it. `fed_ms` is when the last job of a folder was, by this
    machine's clock.
    """

    def __init__(self, jobs: BlockingJobs, found: Found, *, clock: Clock = SYSTEM_CLOCK) -> None:
        self._jobs = jobs
        self._clock = clock
        self._files = largest_first(found.files, found.directory)
        self.paths: dict[JobId, bytes] = {}
        self.folders: dict[JobId, bytes | None] = {}
        self.fed_ms: dict[bytes | None, int] = {}

    @property
    def is_done(self) -> bool:
        """Whether every file has its job."""
        return len(self.paths) == len(self._files)

    def step(self) -> None:
        """Enqueue the next slice, if there is one."""
        part = self._files[len(self.paths) : len(self.paths) + SLICE]
        if not part:
            return
        new = [NewJob(self._jobs.mint(), encode_job(path), lane=lane_of(folder)) for path, folder in part]
        for job, (path, folder) in zip(new, part, strict=True):
            self.paths[job.job] = path
            self.folders[job.job] = folder
        self._jobs.enqueue_many(new)
        self.fed_ms |= dict.fromkeys({folder for _, folder in part}, self._clock.unix_ms())
