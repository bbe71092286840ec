"""Looking without touching (protocol 4.11, 4.18.6 to 4.18.8; docs/wire.md)."""

from math import isfinite
from typing import Final

from echomq.model.given import Bodies, Given
from echomq.model.keyspace import Keyspace
from echomq.resp.reply import Reply

__all__ = ["BODIES"]

_SETS: Final = (("pending", b"pending"), ("active", b"active"), ("schedule", b"scheduled"), ("dead", b"dead"))
"""The sets in the order in which a job is looked for, and the state that each stands for."""


def browse(space: Keyspace, given: Given) -> Reply:
    """Return a page of a set, strictly after the place given: [[id, score]…], scores as decimal text."""
    pairs = [(score, member) for member, score in space.zset(given.keys["set"]).pairs()]
    newest_first = given.args["newest_first"] == b"1"
    if newest_first:
        pairs.reverse()
    if given.args["after_score"]:
        place = (float(given.args["after_score"]), given.args["after_id"])
        pairs = [pair for pair in pairs if (pair < place if newest_first else pair > place)]
    return [[member, _score_text(score)] for score, member in pairs[: given.limit("limit")]]


def counts(space: Keyspace, given: Given) -> Reply:
    """Return the sizes of the sets asked for, then the counts of the metrics asked for, in order."""
    names = given.names
    sizes = [len(space.zset(key)) for key in given.more_keys]
    return sizes + [space.hash(names.of(b"metrics:" + name)).count(b"count") for (name,) in given.more_args]


def get_job(space: Keyspace, given: Given) -> Reply:
    """Return all fields and values of a row, one after the other."""
    return [text for pair in space.hash(given.keys["job"]).pairs() for text in pair]


def get_state(space: Keyspace, given: Given) -> Reply:
    """Return where a job is: the first set that holds it, its lane, or what the row alone tells (D11)."""
    job_id = given.args["id"]
    for name, state in _SETS:
        if job_id in space.zset(given.keys[name]):
            return state
    row = space.hash(given.keys["job"])
    group, said = row.get(b"group"), row.get(b"state")
    if said is None:
        return b"absent"
    if group is not None and job_id in space.zset(given.names.lane(group)):
        return b"pending"
    return said if said == b"awaiting_children" else b"unknown"


def metrics(space: Keyspace, given: Given) -> Reply:
    """Return how often something happened and the length of the reserved series: [count, length]."""
    return [space.hash(given.keys["metrics"]).count(b"count"), len(space.list(given.keys["data"]))]


def get_result(space: Keyspace, given: Given) -> Reply:
    """Return how a job ended, or that it has not: [completed, …], [dead, …], [waiting, …] or [gone]."""
    row, kept = space.hash(given.keys["job"]), space.hash(given.keys["result"])
    attempts = row.get(b"attempts")
    if attempts is not None:
        state = row.get(b"state") or b""
        if state == b"dead":
            return [b"dead", row.get(b"last_error") or b"", attempts]
        return [b"waiting", state, attempts]
    if len(kept):
        return [b"completed", *(kept.get(name) for name in (b"result", b"attempts", b"completed_at"))]
    return [b"gone"]


def _score_text(score: float) -> bytes:
    """Return a score as a server writes it: 17 digits tell any two numbers apart."""
    return b"%d" % int(score) if isfinite(score) and score == int(score) else b"%.17g" % score


BODIES: Final[Bodies] = {
    "browse": browse,
    "counts": counts,
    "get_job": get_job,
    "get_state": get_state,
    "metrics": metrics,
    "get_result": get_result,
}
