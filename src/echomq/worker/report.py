"""What became of the jobs that were running when a worker was told to stop."""

from dataclasses import dataclass

from echomq.ids import JobId

__all__ = ["StopReport"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StopReport:
    """The jobs that were held when the stop began, each in exactly one of the first five.

    `finished` were completed. `failed` ended with an error, and run again later or are dead. `handed_back` are ready
    for other workers, the attempt not spent. `abandoned` could not be told to the server in time: they run again when
    their lease lapses, and the attempt counts. `lost` were not ours any more. `still_running` are those, handed back
    or abandoned, whose handler did not end when it was asked to: plain functions cannot be ended by force, and the
    process cannot end before they do.
    """

    finished: tuple[JobId, ...] = ()
    failed: tuple[JobId, ...] = ()
    handed_back: tuple[JobId, ...] = ()
    abandoned: tuple[JobId, ...] = ()
    lost: tuple[JobId, ...] = ()
    still_running: tuple[JobId, ...] = ()
