"""Each weakness of the published behaviour that docs/wire.md closes, on the model, named for the rule."""

import pytest

from echomq.ids import JobId
from tests.unit.model.speaker import MINTED_MS, Speaker


def child_of(q: Speaker, child: JobId, parent: JobId, *, policy: bytes = b"", queue: bytes = b"") -> None:
    """Add a child that is ready, as a flow leaves it, and hold its parent."""
    q.enqueue(child)
    row, held = q.space.hash(q.keys.job(child)), q.space.hash(q.keys.job(parent))
    row.set(b"parent", bytes(parent))
    if policy:
        row.set(b"parent_policy", policy)
    if queue:
        row.set(b"parent_queue", queue)
        return
    held.set(b"state", b"awaiting_children")
    held.set(b"attempts", 0)
    q.space.string(q.keys.job(parent) + b":dependencies").add(1)


def test_w1_two_owners_never_hold_a_node_for_the_same_instant(q: Speaker) -> None:
    keys = {"nodes": b"{emq}:nodes", "owners": b"{emq}:node_owners"}

    def lease(owner: bytes, node: bytes = b"", mark: int = 5000) -> object:
        return q.say("lease_node", keys, {"owner": owner, "node": node, "mark_ms": mark, "lease_ms": 100})

    assert lease(b"a") == [b"leased", b"0", b"0", b"5000"]
    assert lease(b"a", b"0", 4000) == [b"leased", b"0", b"5000", b"5000"]
    for number in range(1, 1024):
        assert lease(b"b")[1] == b"%d" % number  # type: ignore[index]  # a list
    q.space.advance(40)
    assert lease(b"c") == [b"exhausted", b"60"]
    q.space.advance(60)
    assert lease(b"c", b"0", 1) == [b"leased", b"0", b"5000", b"5100"]
    returned = q.say("return_node", keys, {"owner": b"c", "node": b"0", "last_ms": 5050})
    assert returned == [b"returned"]
    assert q.space.hash(keys["owners"]).get(b"0") == b"c 5050"
    assert q.say("return_node", keys, {"owner": b"a", "node": b"0", "last_ms": 9}) == [b"not_held"]


def test_w2_a_broken_row_is_refused_before_anything_is_consumed(q: Speaker) -> None:
    q.space.zset(q.keys.pending).add(q.job(1), 0)
    q.space.string(q.keys.job(q.job(2))).set(b"x")
    q.space.zset(q.keys.pending).add(q.job(2), 0)
    q.enqueue(q.job(3))
    assert q.claim() == f"WRONGTYPE the row of {q.job(2)} is not a hash"
    assert q.members(q.keys.pending) == [q.job(1), q.job(2), q.job(3)]


def test_w2_a_broken_row_does_not_stop_a_batch_and_does_not_vanish(q: Speaker) -> None:
    q.space.string(q.keys.job(q.job(1))).set(b"x")
    q.space.zset(q.keys.pending).add(q.job(1), 0)
    q.enqueue(q.job(2))
    q.enqueue(q.job(3))
    keys = {name: getattr(q.keys, name) for name in ("pending", "active", "meta", "dead", "base")}
    served = [[q.job(2), b"p", 1]]
    assert q.say("claim_many", keys, {"lease_ms": 9, "size": 1}) == [b"claimed", 1, [q.job(1)], served]
    assert q.members(q.keys.dead) == [q.job(1)]


def test_w3_a_child_that_completes_after_its_lapse_still_counts(q: Speaker) -> None:
    child_of(q, q.job(1), q.job(9))
    q.claim()
    q.space.advance(1000)
    q.reap()
    assert q.complete(q.job(1), result=b"r") == 1
    assert q.members(q.keys.pending) == [q.job(9)]
    assert q.space.hash(q.keys.job(q.job(9)) + b":processed").pairs() == ((bytes(q.job(1)), b"r"),)


def test_w4_ghosts_are_dropped_and_never_written_to(q: Speaker) -> None:
    for key in (q.keys.pending, q.keys.active, q.keys.schedule):
        q.space.zset(key).add(q.job(1), 0)
    assert q.promote() == 1
    assert q.reap() == [b"reaped", 1, [], [], [q.job(1)]]
    assert q.claim() == []
    assert q.space.dump() == {}


def test_w5_what_is_not_leased_is_not_extended(q: Speaker) -> None:
    q.enqueue(q.job(1))
    q.claim()
    q.space.advance(1000)
    q.reap()
    keys = {"active": q.keys.active, "job": q.keys.job(q.job(1))}
    assert str(q.say("extend", keys, {"id": q.job(1), "token": 1, "lease_ms": 9})).startswith("EMQSTALE")
    many: dict[str, bytes | int] = {"base": q.keys.base, "lease_ms": 9}
    refused = q.say("extend_many", {"active": q.keys.active}, many, more_args=(q.job(1), 1), width=2)
    assert refused == [q.job(1)]
    assert q.members(q.keys.active) == []


def test_w6_a_postponed_job_frees_its_groups_seat(q: Speaker) -> None:
    q.space.hash(q.keys.group_limit).set(b"g", 1)
    q.enqueue_grouped(q.job(1))
    q.enqueue_grouped(q.job(2))
    q.lease_grouped(q.job(1))
    keys = {"job": q.keys.job(q.job(1)), "active": q.keys.active, "schedule": q.keys.schedule}
    args: dict[str, bytes | int] = {"id": q.job(1), "token": 1, "mode": b"in", "value": 5, "unspent": b"1"}
    assert q.say("delay", keys, args) == 1
    assert list(q.space.list(q.keys.ring)) == [b"g"]
    assert q.space.hash(q.keys.group_active).pairs() == ()
    assert q.row(q.job(1))[b"unspent"] == b"1"


def remove(q: Speaker, job: JobId, did: str = "") -> object:
    sets = {name: getattr(q.keys, name) for name in ("pending", "active", "schedule", "dead")}
    keys = {"job": q.keys.job(job), **sets, "dedup": q.keys.base + b"de:" + did.encode()}
    return q.say("remove", keys, {"id": job, "did": did.encode()})


@pytest.mark.parametrize("leased", [False, True])
def test_w7_a_removed_grouped_job_leaves_nothing_behind(q: Speaker, *, leased: bool) -> None:
    q.enqueue_grouped(q.job(1))
    q.space.list(q.keys.ring).push(b"g")
    if leased:
        q.lease_grouped(q.job(1))
        q.space.list(q.keys.ring).remove_all(b"g")
    assert remove(q, q.job(1)) == 1
    assert q.space.dump() == {}


def test_w8_a_dead_grouped_job_goes_back_to_its_lane(q: Speaker) -> None:
    q.enqueue_grouped(q.job(1))
    q.lease_grouped(q.job(1))
    assert q.retry(q.job(1), max_attempts=1) == b"dead"
    keys = {"job": q.keys.job(q.job(1)), "dead": q.keys.dead, "pending": q.keys.pending}
    assert q.say("reprocess", keys, {"id": q.job(1), "fresh": b"1"}) == 1
    assert q.members(q.keys.lane("g")) == [q.job(1)]
    assert list(q.space.list(q.keys.ring)) == [b"g"]
    assert q.row(q.job(1)).keys() == {b"state", b"attempts", b"payload", b"group", b"unspent"}


def test_w9_a_right_token_is_not_enough(q: Speaker) -> None:
    q.enqueue(q.job(1))
    assert str(q.complete(q.job(1), 0)).startswith("EMQSTALE")
    q.claim()
    assert q.retry(q.job(1)) == b"scheduled"
    assert str(q.complete(q.job(1))).startswith("EMQSTALE")


def test_w10_a_repeated_last_retry_counts_once(q: Speaker) -> None:
    child_of(q, q.job(1), q.job(9), policy=b"id")
    child_of(q, q.job(2), q.job(9), policy=b"id")
    q.claim()
    assert q.retry(q.job(1), max_attempts=0) == b"dead"
    assert str(q.retry(q.job(1), max_attempts=9)).startswith("EMQSTALE")
    assert q.space.string(q.keys.job(q.job(9)) + b":dependencies").get() == b"1"
    assert q.space.hash(q.keys.metrics_failed).get(b"count") == b"1"


def test_w14_a_job_killed_by_reap_tells_its_parent(q: Speaker) -> None:
    child_of(q, q.job(1), q.job(9))
    q.claim()
    q.space.advance(1000)
    assert q.reap(max_attempts=1) == [b"reaped", 1, [], [q.job(1)], []]
    assert q.members(q.keys.dead) == [q.job(1), q.job(9)]
    assert q.row(q.job(1))[b"last_error"] == b"lease lapsed on attempt 1, and no attempt is left"


def test_w15_a_death_climbs_in_the_step_that_made_it_and_once(q: Speaker) -> None:
    child_of(q, q.job(1), q.job(8))
    child_of(q, q.job(2), q.job(8))
    parent = q.space.hash(q.keys.job(q.job(8)))
    parent.set(b"parent", bytes(q.job(9)))
    parent.set(b"parent_policy", b"id")
    for number in (1, 2):
        q.claim()
        assert q.retry(q.job(number), max_attempts=1) == b"dead"
    entry = b"\0".join((b"", b"fail", b"q", q.job(9), q.job(8), b"id", b"boom"))
    assert list(q.space.list(q.keys.flow_outbox)) == [entry]


def test_a_parent_elsewhere_is_told_through_the_outbox(q: Speaker) -> None:
    child_of(q, q.job(1), q.job(9), queue=b"other")
    child_of(q, q.job(2), q.job(9), queue=b"other", policy=b"id")
    q.claim()
    q.claim()
    q.complete(q.job(1))
    q.retry(q.job(2), max_attempts=1)
    done = b"\0".join((b"other", q.job(9), q.job(1), q.job(1)))
    failed = b"\0".join((b"", b"fail", b"other", q.job(9), q.job(2), b"id", b"boom"))
    assert list(q.space.list(q.keys.flow_outbox)) == [done, failed]


def test_w20_a_job_that_kills_its_workers_dies_at_its_own_cap(q: Speaker) -> None:
    q.enqueue(q.job(1), max_attempts=2)
    for died in ([], [q.job(1)]):
        q.claim()
        q.space.advance(1000)
        assert q.reap() == [b"reaped", 1, [] if died else [q.job(1)], died, []]
    assert q.row(q.job(1))[b"died_at"] == b"%d" % q.space.now_ms


def test_w22_a_vanished_parent_is_not_resurrected(q: Speaker) -> None:
    child_of(q, q.job(1), q.job(9))
    q.space.delete(q.keys.job(q.job(9)))
    q.space.delete(q.keys.job(q.job(9)) + b":dependencies")
    q.claim()
    assert q.complete(q.job(1)) == 1
    assert set(q.space.dump()) == {q.keys.metrics_completed}


def test_w22_a_dead_parent_is_not_made_ready(q: Speaker) -> None:
    child_of(q, q.job(1), q.job(9))
    q.claim()
    q.retry(q.job(1), max_attempts=1)
    q.say(
        "reprocess",
        {"job": q.keys.job(q.job(1)), "dead": q.keys.dead, "pending": q.keys.pending},
        {"id": q.job(1), "fresh": b""},
    )
    q.claim()
    assert q.complete(q.job(1), 2) == 1
    assert q.members(q.keys.dead) == [q.job(9)]
    assert q.members(q.keys.pending) == []


def test_w26_empty_means_that_nothing_is_there(q: Speaker) -> None:
    for number in range(99):
        q.space.zset(q.keys.pending).add(q.job(number), 0)
    q.enqueue(q.job(99))
    assert q.claim() == [q.job(99), b"p", 1]


def test_w33_a_paused_queue_gives_nothing_out_in_a_batch(q: Speaker) -> None:
    q.enqueue(q.job(1))
    assert q.say("pause", {"meta": q.keys.meta}, {}) == 1
    before = q.space.dump()
    keys = {name: getattr(q.keys, name) for name in ("pending", "active", "meta", "dead", "base")}
    assert q.say("claim_many", keys, {"lease_ms": 9, "size": 1}) == [b"paused"]
    assert q.say("is_paused", {"meta": q.keys.meta}, {}) == b"1"
    assert q.space.dump() == before


@pytest.mark.parametrize("lock", ["string", "field with a TTL", "field without one, leased"])
def test_w36_a_held_job_is_not_removed(q: Speaker, lock: str) -> None:
    q.enqueue(q.job(1))
    row = q.space.hash(q.keys.job(q.job(1)))
    if lock == "string":
        q.space.string(q.keys.job_lock(q.job(1))).set(b"1")
    else:
        row.set(b"lock", b"1")
    if lock == "field with a TTL":
        row.expire_field_in(b"lock", 50)
    if lock == "field without one, leased":
        q.claim()
    assert str(remove(q, q.job(1))).startswith("EMQLOCK")
    q.space.delete(q.keys.job_lock(q.job(1)))
    q.space.advance(1000)
    assert remove(q, q.job(1)) == 1


def test_w36_a_skeleton_does_not_make_its_id_a_duplicate(q: Speaker) -> None:
    q.space.hash(q.keys.job(q.job(1))).set(b"lock", b"1")
    assert q.enqueue(q.job(1)) == 1
    assert q.row(q.job(1)) == {b"state": b"pending", b"attempts": b"0", b"payload": b"p"}


def test_w37_a_superseded_worker_writes_nothing(q: Speaker) -> None:
    q.enqueue(q.job(1))
    q.claim()
    row = {"job": q.keys.job(q.job(1))}
    writes = [
        q.say("update_data", row, {"payload": b"x", "token": 2}),
        q.say("update_progress", row, {"progress": b"x", "id": q.job(1), "base": q.keys.base, "token": 2}),
        q.say("add_log", row | {"logs": q.keys.job_logs(q.job(1))}, {"line": b"x", "keep": b"", "token": 2}),
    ]
    assert all(str(reply).startswith("EMQSTALE") for reply in writes)
    assert not q.space.published


def test_w39_a_completion_leaves_nothing_of_the_job(q: Speaker) -> None:
    q.enqueue(q.job(1))
    q.claim()
    for what in (b"logs", b"lock", b"dependencies", b"processed", b"failed", b"unsuccessful"):
        q.space.string(q.keys.job(q.job(1)) + b":" + what).set(b"x")
    assert q.complete(q.job(1), result=b"r", result_ttl_ms=10) == 1
    assert set(q.space.dump()) == {q.keys.metrics_completed, q.keys.job_result(q.job(1))}
    q.space.advance(10)
    assert set(q.space.dump()) == {q.keys.metrics_completed}


def test_w40_what_died_long_ago_is_purged_in_slices(q: Speaker) -> None:
    for number in range(3):
        q.enqueue(q.job(number))
        q.claim()
        q.retry(q.job(number), max_attempts=1)
        q.space.advance(100)
    keys = {"dead": q.keys.dead, "base": q.keys.base}
    first = q.say("purge", keys, {"age_ms": 150, "limit": 2, "after": b""})
    assert first == [b"purged", 2, q.job(1)]
    assert q.say("purge", keys, {"age_ms": 150, "limit": 2, "after": q.job(1)}) == [b"purged", 0, b""]
    assert q.members(q.keys.dead) == [q.job(2)]


def test_w40_the_purge_ends_at_the_first_id_minted_too_late(q: Speaker) -> None:
    q.enqueue(q.job(1))
    q.claim()
    q.retry(q.job(1), max_attempts=1)
    late = JobId.smallest_at(MINTED_MS + 1)
    q.space.zset(q.keys.dead).add(late, 0)
    keys = {"dead": q.keys.dead, "base": q.keys.base}
    assert q.say("purge", keys, {"age_ms": 0, "limit": 10, "after": b""}) == [b"purged", 1, b""]
    assert q.members(q.keys.dead) == [late]


def test_w41_obliterate_misses_nothing(q: Speaker) -> None:
    q.enqueue(q.job(1))
    q.enqueue_grouped(q.job(2))
    for suffix in (b"gweight", b"flow:outbox", b"de:x", b"stream:s", b"job:x:processed"):
        q.space.string(q.keys.base + suffix).set(b"x")
    q.space.string(b"emq:{qq}:meta").set(b"x")
    keys = {"meta": q.keys.meta, "base": q.keys.base}

    def obliterate(cursor: bytes) -> object:
        return q.say("obliterate", keys, {"force": b"", "budget": 3, "cursor": cursor})

    assert obliterate(b"0") == "EMQSTATE not paused"
    q.say("pause", {"meta": q.keys.meta}, {})
    cursor: object = b"0"
    for _slice in range(9):
        assert isinstance(cursor, bytes)
        cursor = obliterate(cursor)
        if cursor == 0:
            break
        assert q.space.exists(q.keys.meta)
    assert set(q.space.dump()) == {b"emq:{qq}:meta"}


def test_w44_drain_takes_the_oldest_first_within_its_limit(q: Speaker) -> None:
    for number in range(3):
        q.enqueue(q.job(number))
    keys = {"base": q.keys.base, "pending": q.keys.pending}
    assert q.say("drain", keys, {"limit": 2}) == 2
    assert q.members(q.keys.pending) == [q.job(2)]
    assert q.say("drain", keys, {"limit": b""}) == 1
    assert q.space.dump() == {}


def test_d11_a_waiting_grouped_job_reads_pending(q: Speaker) -> None:
    q.enqueue_grouped(q.job(1))
    sets = {name: getattr(q.keys, name) for name in ("pending", "active", "schedule", "dead")}
    keys = {**sets, "job": q.keys.job(q.job(1))}
    assert q.say("get_state", keys, {"id": q.job(1)}) == b"pending"


def test_repair_puts_lost_jobs_back_and_leaves_the_others(q: Speaker) -> None:
    for number in range(1, 4):
        q.enqueue(q.job(number))
    q.space.zset(q.keys.pending).remove(q.job(1))
    q.space.zset(q.keys.pending).remove(q.job(2))
    q.space.hash(q.keys.job(q.job(2))).set(b"state", b"dead")
    child_of(q, q.job(4), q.job(9))
    reply = q.say("repair", {"base": q.keys.base}, {"cursor": b"0", "budget": 1000})
    assert reply == [b"repaired", b"0", [q.job(1), q.job(2)]]
    assert q.members(q.keys.pending) == [q.job(1), q.job(3), q.job(4)]
    assert q.members(q.keys.dead) == [q.job(2)]


def test_remove_drops_the_id_of_a_ghost_and_says_gone(q: Speaker) -> None:
    q.space.zset(q.keys.schedule).add(q.job(1), 5)
    assert remove(q, q.job(1)) == -1
    assert q.space.dump() == {}


def test_remove_takes_a_kept_result_away(q: Speaker) -> None:
    q.enqueue(q.job(1))
    q.claim()
    q.complete(q.job(1), result=b"r", result_ttl_ms=10)
    assert remove(q, q.job(1)) == 1
    assert remove(q, q.job(1)) == -1
    assert set(q.space.dump()) == {q.keys.metrics_completed}


def test_a_refusal_needs_no_more_than_the_row(q: Speaker) -> None:
    q.enqueue(q.job(1))
    q.claim()
    q.space.string(q.keys.schedule).set(b"another program's")
    q.space.string(q.keys.dead).set(b"another program's")
    assert str(q.retry(q.job(1), 7)).startswith("EMQSTALE")
    assert str(q.retry(q.job(1))).startswith("WRONGTYPE")
    assert q.complete(q.job(1)) == 1
