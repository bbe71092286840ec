"""What a set does not say of a job in it, and a row does not say of its place: asked with one plain command each."""

from math import isfinite

from echomq.cli.names import Asker
from echomq.cli.render import Plain, instant
from echomq.errors import WrongType
from echomq.ids import JobId
from echomq.keys import QueueKeys
from echomq.states import JobState

__all__ = ["instant_of", "lane_of"]


def lane_of(client: Asker, keys: QueueKeys, job: JobId) -> str | None:
    """Return the lane that a job belongs to; None for none, for a ghost, and for a row that is damaged."""
    try:
        reply = client.command("HGET", keys.job(job), "group")
    except WrongType:
        return None
    return reply.decode("utf-8", "replace") if isinstance(reply, bytes) else None


def instant_of(client: Asker, keys: QueueKeys, job: JobId, where: JobState) -> dict[str, Plain]:
    """Return when a scheduled job is due, or the lease of one that runs ends; nothing for any other."""
    match where:
        case JobState.SCHEDULED:
            return {"due_at": _score(client.command("ZSCORE", keys.schedule, bytes(job)))}
        case JobState.ACTIVE:
            return {"lease_ends_at": _score(client.command("ZSCORE", keys.active, bytes(job)))}
        case _:
            return {}


def _score(reply: object) -> str | None:
    if isinstance(reply, bytes):
        reply = float(reply)
    return instant(int(reply)) if isinstance(reply, int | float) and isfinite(reply) else None
