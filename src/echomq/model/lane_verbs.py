"""Verbs for lanes and for who may be served: settings, moves, drains, the list (protocol 4.16; docs/wire.md)."""

from functools import partial
from typing import Final

from echomq.model.given import Bodies, Given
from echomq.model.jobs import broken_row, delete_job, is_broken
from echomq.model.keyspace import Keyspace
from echomq.model.lanes import Lane
from echomq.model.script import Script, ceiling_of, probe
from echomq.resp.reply import ErrorReply, Reply

__all__ = ["BODIES"]

RING_LOOKED_AT: Final = 64
"""How many lanes of the ring are counted to know how many jobs are servable."""


# --- settings of one lane -------------------------------------------------------------------------------------------


def gweight(space: Keyspace, given: Given) -> Reply:
    """Set how many jobs a lane serves in a turn, or take the weight away. 1."""
    weights, group, weight = space.hash(given.keys["gweight"]), given.args["group"], given.args["weight"]
    if weight:
        weights.set(group, weight)
    else:
        weights.remove(group)
    return 1


def gpause(space: Keyspace, given: Given) -> Reply:
    """Park a lane. 1. What waits and what runs stays."""
    parked, ring = space.set(given.keys["paused"]), space.list(given.keys["ring"])
    ring.remove_all(given.args["group"])
    parked.add(given.args["group"])
    return 1


def gresume(space: Keyspace, given: Given) -> Reply:
    """Let a parked lane be served again. 1."""
    script = Script(space, given.names)
    lane = _sound(script, given.args["group"])
    if lane.parked:
        space.set(given.keys["paused"]).remove(lane.group)
        lane.parked = False
        script.close()
    return 1


def glimit(space: Keyspace, given: Given) -> Reply:
    """Set the most jobs of a lane in flight, or take the limit away. 1. What runs above it ends in its own time."""
    script = Script(space, given.names)
    lane, limits = _sound(script, given.args["group"]), space.hash(given.keys["glimit"])
    lane.limit = given.number("most") or None
    if lane.limit is None:
        limits.remove(lane.group)
    else:
        limits.set(lane.group, lane.limit)
    script.close()
    return 1


# --- jobs of a lane -------------------------------------------------------------------------------------------------


def greassign(space: Keyspace, given: Given) -> Reply:
    """Move a waiting job to another lane: 1, 0 when it is of that lane, -1 gone or of no lane, -2 it does not wait."""
    script, job_id, destination = Script(space, given.names), given.args["id"], given.args["destination"]
    if is_broken(script, job_id):
        return broken_row(job_id)
    row = space.hash(given.keys["job"])
    group = row.get(b"group")
    if b"attempts" not in row or group is None:
        return -1
    if group == destination:
        return 0
    source, target = _sound(script, group), _sound(script, destination)
    if not source.take_out(job_id):
        return -2
    row.set(b"group", destination)
    target.put(job_id)
    script.close()
    return 1


def gdrain(space: Keyspace, given: Given) -> Reply:
    """Delete waiting jobs of a lane, oldest first: how many. Equal to the limit means: call again (W44)."""
    script, names = Script(space, given.names), given.names
    lane = _sound(script, given.args["group"])
    heads = () if lane.ready is None else lane.ready.heads(given.limit("limit"))
    for job_id in heads:
        lane.take_out(job_id)
        delete_job(space, names, job_id)
    script.close()
    return len(heads)


def depth(space: Keyspace, given: Given) -> Reply:
    """Return how many jobs wait in a lane."""
    return len(space.zset(given.keys["lane"]))


def _sound(script: Script, group: bytes) -> Lane:
    """Return a lane that can be kept in order. Raises `Damage`."""
    lane = script.lane(group)
    if lane.trouble is not None:
        raise lane.trouble
    return lane


# --- the list -------------------------------------------------------------------------------------------------------


def lanes(space: Keyspace, given: Given) -> Reply:
    """Return a page of the lanes: [lanes, next cursor, [[group, depth, in flight, limit, weight, parked, oldest]…]].

    Live ones first, then those that only have settings or an entry on the ring, both in byte order. A cursor is the
    last name told, and which of the two it is of. With a group: its row alone, if anything is known of it.
    """
    script, cursor = Script(space, given.names), given.args["cursor"]
    if group := given.args["group"]:
        return [b"lanes", b"", [_info(script, group)] if _is_known(script, group) else []]
    if cursor and not cursor.startswith((b"live ", b"rest ")):
        return ErrorReply("ERR the cursor must be empty, or the one of the page before")
    live = _live(script)
    told = [b"live " + group for group in live] + [b"rest " + group for group in _rest(script, set(live))]
    left = [place for place in told if place > cursor]
    page = left[: given.limit("limit")]
    return [b"lanes", page[-1] if len(page) < len(left) else b"", [_info(script, place[5:]) for place in page]]


def _live(script: Script) -> list[bytes]:
    """Return the groups with jobs that wait or run, in byte order."""
    listed, _ = probe(lambda: script.zset(b"lanes"))
    return [] if listed is None else sorted(group for group, _ in listed.pairs())


def _rest(script: Script, live: set[bytes]) -> list[bytes]:
    """Return the groups that any key of lanes names, but for the live ones."""
    ring, _ = probe(lambda: script.space.list(script.names.of(b"ring")))
    return sorted({*_set_up(script), *(() if ring is None else ring)} - live)


def _is_known(script: Script, group: bytes) -> bool:
    """Whether jobs of a group wait or run, or it has a setting. The ring alone does not make it known."""
    return script.lane(group).now.depth > 0 or group in _live(script) or group in _set_up(script)


def _set_up(script: Script) -> set[bytes]:
    """Return the groups that have a count of running jobs, a limit, a weight or a pause."""
    space, names = script.space, script.names
    found: set[bytes] = set()
    for key in (names.of(b"gactive"), names.of(b"glimit"), names.of(b"gweight")):
        fields, _ = probe(partial(space.hash, key))
        found.update(group for group, _ in (() if fields is None else fields.pairs()))
    parked, _ = probe(lambda: space.set(names.of(b"paused")))
    found.update(() if parked is None else parked)
    return found


def _info(script: Script, group: bytes) -> Reply:
    lane = script.lane(group)
    weights, _ = probe(lambda: script.space.hash(script.names.of(b"gweight")))
    weight = None if weights is None else weights.count_or_none(group)
    oldest = () if lane.ready is None else lane.ready.heads(1)
    return [
        group,
        lane.now.depth,
        lane.now.in_flight,
        b"" if lane.limit is None else lane.limit,
        b"" if weight is None else weight,
        int(lane.parked),
        oldest[0] if oldest else b"",
    ]


def waiting(space: Keyspace, given: Given) -> Reply:
    """Return how many jobs wait in the next live lanes: [waiting, jobs, the last one looked at or empty]."""
    script, most = Script(space, given.names), given.limit("limit")
    groups = [group for group in _live(script) if group > given.args["after"]][:most]
    jobs = sum(script.lane(group).now.depth for group in groups)
    return [b"waiting", jobs, groups[-1] if len(groups) == most else b""]


# --- who may be served at all ---------------------------------------------------------------------------------------


def set_concurrency(space: Keyspace, given: Given) -> Reply:
    """Set the most jobs of the queue in flight, or take the ceiling away. 1. Who can be served now is woken."""
    script, meta = Script(space, given.names), space.hash(given.keys["meta"])
    most = given.number("most") or None
    servable = 0 if b"paused" in meta else _known_servable(script, most)
    if most is None:
        meta.remove(b"concurrency")
    else:
        meta.set(b"concurrency", most)
    script.leave_wakes(worth=servable)
    return 1


def resume(space: Keyspace, given: Given) -> Reply:
    """Take the mark of a paused queue away. 1. With the key `base`, who can be served now is woken."""
    meta = space.hash(given.keys["meta"])
    if "base" not in given.keys:
        meta.remove(b"paused")
    elif b"paused" in meta:
        script = Script(space, given.names)
        servable = _known_servable(script, ceiling_of(space, given.names))
        meta.remove(b"paused")
        script.leave_wakes(worth=servable)
    return 1


def _known_servable(script: Script, most: int | None) -> int:
    """Return how many jobs could be served now, as far as that is known from the first lanes of the ring.

    Raises `WrongKind` when no wake-up could be left.
    """
    space, names = script.space, script.names
    space.list(names.of(b"wake"))
    pending, _ = probe(lambda: script.zset(b"pending"))
    active, _ = probe(lambda: script.zset(b"active"))
    ring, _ = probe(lambda: space.list(names.of(b"ring")))
    groups = dict.fromkeys(() if ring is None else ring.slice(0, RING_LOOKED_AT))
    found = [script.lane(group) for group in groups]
    jobs = sum(lane.now.servable for lane in found if lane.trouble is None) + (0 if pending is None else len(pending))
    return jobs if most is None else max(min(jobs, most - (0 if active is None else len(active))), 0)


BODIES: Final[Bodies] = {
    "gweight": gweight,
    "gpause": gpause,
    "gresume": gresume,
    "glimit": glimit,
    "greassign": greassign,
    "gdrain": gdrain,
    "depth": depth,
    "lanes": lanes,
    "waiting": waiting,
    "set_concurrency": set_concurrency,
    "resume": resume,
}
