"""What a worker is told, as one frozen object that checks itself."""

from dataclasses import dataclass

from echomq.batches import BATCH_MAX
from echomq.errors import InvalidOption
from echomq.transitions.checks import LEASE_MS_MAX, check_number
from echomq.worker.retry import Backoff

__all__ = ["WorkerOptions"]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerOptions:
    """Settings of a worker. Raises `InvalidOption` for a value outside its range. `docs/operating.md` sizes them."""

    # Jobs that run at once: tasks of the loop for coroutine handlers, threads for plain functions. 1 to 10 000.
    concurrency: int = 10
    # How long a claim lasts without renewal: the time after which the job of a killed worker runs again. 300 ms to a
    # week. It says nothing about how long a job may run, since leases are renewed at a third of it.
    lease_ms: int = 30_000
    # An idle worker waits on the server for two of these and asks then: one command in this time at most. New jobs wake
    # it at once; what wakes nobody (jobs of a speaker that leaves no wake-up, or a wake-up that died with its worker)
    # waits two at most.
    beat_ms: int = 1_000
    # Attempts of a job that has no `max_attempts` of its own. Failures and lapsed leases count, hand-backs do not.
    max_attempts: int = 3
    # The wait before a failed job runs again.
    retry: Backoff = Backoff()  # noqa: RUF009 - frozen
    # How long results are kept, None for not at all.
    result_ttl_ms: int | None = None
    # After `stop()`: how long running jobs may go on before they are cancelled and handed back.
    grace_ms: int = 30_000
    # How long a cancelled handler may take to end at a stop.
    cancel_ms: int = 2_000
    # How often a busy worker takes lapsed leases back, and makes due jobs ready. Idle workers do it when it is due.
    reap_every_ms: int = 1_000
    promote_every_ms: int = 500
    # Dead jobs older than this are deleted. None keeps them.
    purge_dead_after_ms: int | None = None
    purge_every_ms: int = 60_000
    # Jobs moved by one step of reap, promote and purge, 1 to 1000. More are moved by more steps.
    slice_size: int = 100
    # How long an ending, or a free slot while others run, waits for company, and for 2 ms of it at most an ask in a
    # stream of jobs. 0: not at all.
    gather_ms: int = 2
    # A warning is logged when the event loop did not turn for this long. None: a third of the lease, at most 1 s.
    lag_warn_ms: int | None = None

    def __post_init__(self) -> None:
        check_number("concurrency", self.concurrency, least=1, most=10_000)
        check_number("lease_ms", self.lease_ms, least=300, most=LEASE_MS_MAX)
        check_number("slice_size", self.slice_size, least=1, most=BATCH_MAX)
        for name in ("beat_ms", "max_attempts", "reap_every_ms", "promote_every_ms", "purge_every_ms"):
            check_number(name, getattr(self, name), least=1)
        for name in ("grace_ms", "cancel_ms", "gather_ms"):
            check_number(name, getattr(self, name))
        for name in ("result_ttl_ms", "purge_dead_after_ms", "lag_warn_ms"):
            if getattr(self, name) is not None:
                check_number(name, getattr(self, name), least=1)
        if not isinstance(self.retry, Backoff):
            raise InvalidOption("retry", self.retry, "a Backoff")
