"""What is noted about each ending: the counters, the log line, the hold, and whoever else wants to know."""

import logging
from collections.abc import Callable, Sequence
from typing import assert_never

from echomq.errors import ConnectionFailed, EchoMQError, ServerError
from echomq.records import Broken, Completed, Completion, Dead, Gone, Released, Scheduled, Stale
from echomq.worker.counts import WorkerCounts
from echomq.worker.hold import Hold, Holds
from echomq.worker.log import LOG
from echomq.worker.repeats import Repeats
from echomq.worker.verdict import Release, Retry

__all__ = ["Answer", "Ending", "Ledger"]

Answer = Completed | Gone | Stale | Broken | Scheduled | Dead | Released


class Ending:
    """What is to be told about one attempt.

    `is_repeated`: a first telling may have arrived. `refusals`: how often the server refused it when it was told alone.
    `is_noted`: nothing more is to be told.
    """

    __slots__ = ("hold", "is_noted", "is_repeated", "refusals", "repeats", "what")

    def __init__(self, hold: Hold, what: Completion | Retry | Release) -> None:
        self.hold = hold
        self.what = what
        self.is_noted = False
        self.is_repeated = False
        self.refusals = 0
        self.repeats = Repeats()


class Ledger:
    """Notes how endings were received.

    `on_settled` is told each answer, or None when the ending was given up; `on_scheduled`, after how many ms a job that
    failed is due.
    """

    def __init__(
        self,
        queue: str,
        holds: Holds,
        counts: WorkerCounts,
        *,
        on_settled: Callable[[Ending, Answer | None], None],
        on_scheduled: Callable[[int], None],
    ) -> None:
        self._queue = queue
        self._holds = holds
        self._counts = counts
        self._on_settled = on_settled
        self._on_scheduled = on_scheduled
        self._repeats = Repeats()

    def completed(self, endings: Sequence[Ending]) -> None:
        """Note many ordinary endings."""
        self._counts.completed += len(endings)
        self._holds.drop([ending.hold for ending in endings])
        for ending in endings:
            ending.is_noted = True
            LOG.debug("queue %s: %r is done", self._queue, ending.hold)
            self._on_settled(ending, Completed(ending.hold.job))

    def note(self, ending: Ending, answer: Answer) -> None:
        """Note the server's answer to an ending."""
        queue, hold = self._queue, ending.hold
        ending.is_noted = True
        self._holds.drop([hold])
        match answer:
            case Completed():
                self._counts.completed += 1
            case Scheduled():
                self._counts.retried += 1
                delay_ms, why = _about(ending)
                LOG.warning("queue %s: %r failed and runs again in %d ms: %s", queue, hold, delay_ms, why)
                self._on_scheduled(delay_ms)
            case Dead():
                self._counts.dead += 1
                LOG.error("queue %s: %r failed and is dead, no attempt is left: %s", queue, hold, _about(ending)[1])
            case Released():
                self._counts.released += 1
                LOG.info("queue %s: %r was handed back, the attempt is not spent", queue, hold)
            case Stale() | Gone():
                self._note_refused(ending, answer)
            case Broken():
                self._counts.broken += 1
                LOG.error("queue %s: the row of %r is no job's: `remove` clears it away", queue, hold)
            case _:
                assert_never(answer)
        self._on_settled(ending, answer)

    def _note_refused(self, ending: Ending, answer: Stale | Gone) -> None:
        queue, hold = self._queue, ending.hold
        if ending.is_repeated:
            self._counts.unconfirmed += 1
            LOG.warning(
                "queue %s: the ending of %r is unconfirmed: the link was lost before the first answer, and the repeat"
                " was refused (%s), most likely because the first one counted",
                queue,
                hold,
                type(answer).__name__,
            )
            return
        self._counts.stale += 1
        why = "another attempt decides about the job" if isinstance(answer, Stale) else "the job is gone"
        LOG.warning("queue %s: the ending of %r was refused, %s", queue, hold, why)

    def failed(self, batch: list[Ending], error: EchoMQError) -> list[Ending]:
        """Note that a batch failed, and return it, to be told again. A row of failures is not logged line by line."""
        self._counts.errors += 1
        LOG.log(
            logging.WARNING if self._repeats.is_loud(type(error).__name__) else logging.DEBUG,
            "queue %s: %d endings, of %r and others, could not be told and are sent again: %s",
            self._queue,
            len(batch),
            batch[0].hold,
            error,
        )
        self._may_have_arrived(batch, error)
        return batch

    def went_through(self) -> None:
        """Note that what failed before goes through again."""
        self._repeats.over()

    def split(self, batch: list[Ending], error: EchoMQError) -> None:
        """Note that a batch was refused as a whole, and that its parts are told apart."""
        self._counts.errors += 1
        LOG.debug("queue %s: %d endings were refused together and are told apart: %s", self._queue, len(batch), error)
        self._may_have_arrived(batch, error)

    def refused(self, ending: Ending, error: EchoMQError, *, again_in_ms: float) -> None:
        """Note that the server refuses one ending, told alone."""
        self._counts.errors += 1
        LOG.log(
            logging.ERROR if ending.repeats.is_loud(str(error)) else logging.DEBUG,
            "queue %s: the ending of %r is refused by the server and is told again in %d ms: %s",
            self._queue,
            ending.hold,
            again_in_ms,
            error,
        )
        self._may_have_arrived([ending], error)

    @staticmethod
    def _may_have_arrived(batch: list[Ending], error: EchoMQError) -> None:
        if not isinstance(error, ConnectionFailed | ServerError):  # these say that nothing happened; others do not know
            for ending in batch:
                ending.is_repeated = True

    def given_up(self, ending: Ending) -> None:
        """Note that an ending can be told no more."""
        ending.is_noted = True
        self._counts.lost += 1
        self._holds.drop([ending.hold])
        LOG.error(
            "queue %s: the ending of %r (%s) could not be told before its lease ran out: the job runs again",
            self._queue,
            ending.hold,
            type(ending.what).__name__,
        )
        self._on_settled(ending, None)


def _about(ending: Ending) -> tuple[int, str]:
    assert isinstance(ending.what, Retry)
    first, _, rest = ending.what.error.partition("\n")
    if rest and LOG.isEnabledFor(logging.DEBUG):
        LOG.debug("%r: %s", ending.hold, ending.what.error)
    return ending.what.delay_ms, first
