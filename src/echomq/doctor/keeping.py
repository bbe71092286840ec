"""Findings: does the server keep what it is given. Eviction, persistence, and whether it takes writes at all."""

from echomq.doctor.finding import Facts, Finding, note, ok, problem
from echomq.doctor.told import Told

__all__ = ["NEARLY", "cluster", "memory", "persistence", "role"]

NEARLY = 0.9
"""From which part of a limit on it is mentioned."""


def memory(told: Told) -> Finding | None:
    """Return whether a full server throws jobs away, and how full it is."""
    policy, most, used = told.info.get("maxmemory_policy"), told.number("maxmemory"), told.number("used_memory")
    if policy is None or most is None or used is None:
        return None
    evicted = told.number("evicted_keys")
    facts: Facts = {"policy": policy, "maxmemory_bytes": most, "used_bytes": used, "evicted_keys": evicted}
    if policy != "noeviction":
        return _evicting(policy, facts, has_limit=most > 0, evicted=evicted or 0)
    if not most:
        return ok(
            "memory", "There is no limit of memory, so nothing is thrown away (maxmemory 0, noeviction).", **facts
        )
    full = f"{used:,} of {most:,} bytes are used"
    todo = "let workers empty the queues, or raise `maxmemory`"
    if used >= most:
        return problem("memory", f"The server is full: {full}. New jobs are refused with ServerFull.", todo, **facts)
    says = f"{full}. A full server refuses new jobs (ServerFull) and loses none (maxmemory-policy noeviction)."
    return note("memory", says, todo, **facts) if used >= most * NEARLY else ok("memory", says, **facts)


def _evicting(policy: str, facts: Facts, *, has_limit: bool, evicted: int) -> Finding:
    todo = "CONFIG SET maxmemory-policy noeviction, and the same in valkey.conf"
    so_far = f" It has thrown away {evicted:,} keys since its start." if evicted else ""
    if policy.startswith("volatile-"):
        says = f"A full server throws away kept results before their time (maxmemory-policy {policy}); jobs stay."
        return note("memory", says + so_far, todo, **facts)
    if has_limit:
        says = f"A full server throws away jobs, lanes and leases without an error (maxmemory-policy {policy})."
        return problem("memory", says + so_far, todo, **facts)
    says = f"Once `maxmemory` is set, a full server throws away jobs (maxmemory-policy {policy})."
    return note("memory", says + so_far, todo, **facts)


def persistence(told: Told) -> Finding | None:
    """Return what a crash or a restart of the server costs."""
    logs, saves = told.info.get("aof_enabled") == "1", told.config.get("save")
    if "aof_enabled" not in told.info:
        return None
    facts: Facts = {"appendonly": logs, "appendfsync": told.config.get("appendfsync"), "save": saves}
    failing = _failing(told, "aof_last_write_status" if logs else "rdb_last_bgsave_status")
    if failing and (logs or saves):
        says = f"The server cannot write to its disk ({failing} is err), and may refuse writes (MISCONF)."
        todo = "see its log: the disk may be full, or the directory closed to it"
        return problem("persistence", says, todo, **facts)
    return _logged(told, facts) if logs else _unlogged(saves, facts)


def _failing(told: Told, name: str) -> str | None:
    return name if told.info.get(name) == "err" else None


def _logged(told: Told, facts: Facts) -> Finding:
    match told.config.get("appendfsync"):
        case "always":
            says = "Every write is on disk before it is answered (appendonly yes, appendfsync always)."
        case "everysec":
            says = "Every write is logged, and a crash of the machine costs about a second (appendfsync everysec)."
        case "no":
            says = "Every write is logged, and a crash of the machine costs up to about 30 s (appendfsync no)."
            return note("persistence", says, "CONFIG SET appendfsync everysec, and the same in valkey.conf", **facts)
        case _:
            says = "Every write is logged (appendonly yes)."
    return ok("persistence", says, **facts)


def _unlogged(saves: str | None, facts: Facts) -> Finding:
    todo = "CONFIG SET appendonly yes, and the same in valkey.conf"
    if saves == "":
        says = "The server keeps nothing on disk: after a restart all queues are empty (appendonly no, save '')."
        return problem("persistence", says, todo, **facts)
    last = "the last snapshot, if there is one" if saves is None else f"the last snapshot (save {saves})"
    says = f"Writes are not logged: a crash loses all that came after {last} (appendonly no)."
    return note("persistence", says, todo, **facts)


def role(told: Told) -> Finding | None:
    """Return whether the server takes writes."""
    found = told.info.get("role") or told.hello.get("role")
    if found is None:
        return None
    if found == "master":
        count = told.number("connected_slaves")
        has = "" if count is None else f" with {count} replica{'' if count == 1 else 's'}"
        return ok("role", f"It is a primary{has}, and takes writes.", role="primary", replicas=count)
    host, port = told.info.get("master_host"), told.info.get("master_port")
    where = f" ({host}:{port})" if host else ""
    says = "It is a replica, which takes no writes: jobs can neither be added nor run here."
    return problem("role", says, f"give the address of its primary{where}", role="replica", replicas=None)


def cluster(told: Told) -> Finding | None:
    """Return what it means that the server is a node of a cluster; nothing where it is none."""
    if told.hello.get("mode") != "cluster":
        return None
    size = told.cluster.get("cluster_size")
    if size == "1":
        return note("cluster", "It is a cluster of one node, which serves all queues.", nodes=1)
    says = "It is a node of a cluster, and echomq asks this one only: queues that lie on others are refused (MOVED)."
    todo = "use a server that is no cluster, with replicas for its safety"
    return problem("cluster", says, todo, nodes=int(size) if size and size.isdigit() else None)
