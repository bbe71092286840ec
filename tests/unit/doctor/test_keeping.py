"""Findings about what the server keeps, and what it has room for: each sentence."""

from dataclasses import replace

import pytest

from echomq.doctor.finding import Finding, Level
from echomq.doctor.keeping import cluster, memory, persistence, role
from echomq.doctor.load import clients, notifications
from echomq.doctor.told import Told
from tests.unit.doctor.healthy import HEALTHY, informed, set_to, without

OK, NOTE, PROBLEM = Level


def limited(used: int, *, policy: str = "noeviction", evicted: int = 0) -> Told:
    return informed(maxmemory="1000000", used_memory=str(used), maxmemory_policy=policy, evicted_keys=str(evicted))


NO_LOG = informed(aof_enabled="0")
CLUSTER = replace(HEALTHY, hello={**HEALTHY.hello, "mode": "cluster"})


@pytest.mark.parametrize(
    ("found", "level", "says"),
    [
        (memory(HEALTHY), OK, "There is no limit of memory, so nothing is thrown away (maxmemory 0, noeviction)."),
        (
            memory(limited(899_999)),
            OK,
            (
                "899,999 of 1,000,000 bytes are used. A full server refuses new jobs (ServerFull) and loses none"
                " (maxmemory-policy noeviction)."
            ),
        ),
        (
            memory(limited(900_000)),
            NOTE,
            (
                "900,000 of 1,000,000 bytes are used. A full server refuses new jobs (ServerFull) and loses none"
                " (maxmemory-policy noeviction)."
            ),
        ),
        (
            memory(limited(1_000_000)),
            PROBLEM,
            "The server is full: 1,000,000 of 1,000,000 bytes are used. New jobs are refused with ServerFull.",
        ),
        (
            memory(limited(1, policy="allkeys-lru", evicted=1234)),
            PROBLEM,
            (
                "A full server throws away jobs, lanes and leases without an error (maxmemory-policy allkeys-lru). It"
                " has thrown away 1,234 keys since its start."
            ),
        ),
        (
            memory(informed(maxmemory_policy="allkeys-random")),
            NOTE,
            "Once `maxmemory` is set, a full server throws away jobs (maxmemory-policy allkeys-random).",
        ),
        (
            memory(limited(1, policy="volatile-ttl")),
            NOTE,
            "A full server throws away kept results before their time (maxmemory-policy volatile-ttl); jobs stay.",
        ),
        (
            persistence(HEALTHY),
            OK,
            "Every write is logged, and a crash of the machine costs about a second (appendfsync everysec).",
        ),
        (
            persistence(set_to(appendfsync="always")),
            OK,
            "Every write is on disk before it is answered (appendonly yes, appendfsync always).",
        ),
        (
            persistence(set_to(appendfsync="no")),
            NOTE,
            "Every write is logged, and a crash of the machine costs up to about 30 s (appendfsync no).",
        ),
        (persistence(without(HEALTHY, "appendfsync", "save")), OK, "Every write is logged (appendonly yes)."),
        (
            persistence(informed(aof_last_write_status="err")),
            PROBLEM,
            "The server cannot write to its disk (aof_last_write_status is err), and may refuse writes (MISCONF).",
        ),
        (
            persistence(NO_LOG),
            PROBLEM,
            "The server keeps nothing on disk: after a restart all queues are empty (appendonly no, save '').",
        ),
        (
            persistence(set_to(NO_LOG, save="3600 1 300 100")),
            NOTE,
            (
                "Writes are not logged: a crash loses all that came after the last snapshot (save 3600 1 300 100)"
                " (appendonly no)."
            ),
        ),
        (
            persistence(without(NO_LOG, "save")),
            NOTE,
            (
                "Writes are not logged: a crash loses all that came after the last snapshot, if there is one"
                " (appendonly no)."
            ),
        ),
        (
            persistence(informed(set_to(NO_LOG, save="3600 1"), rdb_last_bgsave_status="err")),
            PROBLEM,
            "The server cannot write to its disk (rdb_last_bgsave_status is err), and may refuse writes (MISCONF).",
        ),
        (role(HEALTHY), OK, "It is a primary with 1 replica, and takes writes."),
        (role(replace(HEALTHY, info={})), OK, "It is a primary, and takes writes."),
        (
            role(informed(role="slave", master_host="10.0.0.9", master_port="6379")),
            PROBLEM,
            "It is a replica, which takes no writes: jobs can neither be added nor run here.",
        ),
        (
            cluster(CLUSTER),
            PROBLEM,
            "It is a node of a cluster, and echomq asks this one only: queues that lie on others are refused (MOVED).",
        ),
        (
            cluster(replace(CLUSTER, cluster={"cluster_size": "1"})),
            NOTE,
            "It is a cluster of one node, which serves all queues.",
        ),
        (clients(HEALTHY), OK, "7 of 10,000 connections are in use."),
        (
            clients(informed(connected_clients="9000")),
            NOTE,
            (
                "9,000 of 10,000 connections are in use. When all are, programs and workers that come are refused; a"
                " worker takes three."
            ),
        ),
        (
            clients(informed(rejected_connections="12")),
            NOTE,
            "7 of 10,000 connections are in use. 12 were refused since the server's start, when all were.",
        ),
        (notifications(HEALTHY), OK, "Notifications of keys are off, and echomq needs none."),
        (
            notifications(set_to(notify_keyspace_events="AKE")),
            NOTE,
            "Notifications of keys are on (notify-keyspace-events AKE). echomq needs none, and every step pays.",
        ),
    ],
)
def test_each_sentence(found: Finding | None, level: Level, says: str) -> None:
    assert found is not None
    assert (found.level, found.says) == (level, says)


@pytest.mark.parametrize(
    ("found", "todo"),
    [
        (
            memory(limited(1, policy="allkeys-lru")),
            "CONFIG SET maxmemory-policy noeviction, and the same in valkey.conf",
        ),
        (memory(limited(950_000)), "let workers empty the queues, or raise `maxmemory`"),
        (persistence(NO_LOG), "CONFIG SET appendonly yes, and the same in valkey.conf"),
        (persistence(set_to(appendfsync="no")), "CONFIG SET appendfsync everysec, and the same in valkey.conf"),
        (
            role(informed(role="slave", master_host="10.0.0.9", master_port="6379")),
            "give the address of its primary (10.0.0.9:6379)",
        ),
        (role(replace(HEALTHY, info={"role": "slave"})), "give the address of its primary"),
        (cluster(CLUSTER), "use a server that is no cluster, with replicas for its safety"),
        (clients(informed(connected_clients="9999")), "raise `maxclients`, or end what is not needed"),
        (
            notifications(set_to(notify_keyspace_events="AKE")),
            "CONFIG SET notify-keyspace-events '', unless another program listens to them",
        ),
    ],
)
def test_what_to_do(found: Finding | None, todo: str) -> None:
    assert found is not None
    assert found.todo == (todo,)


def test_of_what_was_not_told_nothing_is_said() -> None:
    told = replace(HEALTHY, info={}, config={}, hello={})

    assert [check(told) for check in (memory, persistence, role, cluster, clients, notifications)] == [None] * 6
