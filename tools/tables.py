"""Writes docs/lifecycle.md from states.py and docs/keys.md from keys.py; `--check` exits with 1 when one is stale.

Whatever the code says of states, moves and key names is printed from the code. What a key holds, who writes it and when
it expires stands in the tables below; a key of the grammar that they leave out is an error.
"""

import sys
from collections import defaultdict
from pathlib import Path

from echomq.ids import JobId
from echomq.keys import NODE_OWNERS, NODES, VERSION, QueueKeys
from echomq.states import MOVES, JobState

DOCS = Path(__file__).resolve().parent.parent / "docs"
KEYS = QueueKeys("q")
JOB = JobId.of_snowflake(0)

# key, kind, what it holds, who writes it, when it goes
QUEUE_KEYS: dict[str, tuple[str, str, str, str]] = {
    "pending": ("zset", "ready jobs without a group, score 0", "admission, promote, reap, release, reprocess", "empty"),
    "active": ("zset", "jobs in flight, score = lease end in ms", "every claim, extend", "empty"),
    "schedule": ("zset", "jobs waiting for an instant, score = due ms", "schedule, retry, delay, reschedule", "empty"),
    "dead": ("zset", "jobs without attempts left, score 0", "retry, reap", "purge, reprocess, remove"),
    "meta": ("hash", "`paused`, `concurrency`, `max`", "pause, resume, set_concurrency; `max` by hand", "obliterate"),
    "metrics_completed": ("hash", "`count` of completions", "complete, complete_many", "obliterate"),
    "metrics_completed_data": ("list", "reserved series", "nobody", "obliterate"),
    "metrics_failed": ("hash", "`count` of deaths", "retry, reap", "obliterate"),
    "metrics_failed_data": ("list", "reserved series", "nobody", "obliterate"),
    "limiter": ("string", "rate counter", "other speakers", "its TTL"),
    "repeat": ("zset", "repeatables, score = next run", "other speakers", "obliterate"),
    "flow_outbox": ("list", "messages to flow parents elsewhere", "complete, retry, reap", "delivery"),
    "events": ("channel", "events as JSON; a channel, not a key", "update_progress", "-"),
    "ring": ("list", "the rota of lanes", "whatever makes a lane ready", "empty"),
    "paused": ("set", "parked groups", "gpause", "gresume"),
    "group_limit": ("hash", "group to its largest number in flight", "glimit", "glimit without one, obliterate"),
    "group_active": ("hash", "group to its number in flight", "grouped claims and settlements", "at 0"),
    "group_weight": ("hash", "group to its share per turn", "gweight", "gweight without one, obliterate"),
    "wake": (
        "list",
        "at most 64 tokens for parked workers",
        "whatever makes jobs servable",
        "taken, or take finds nothing",
    ),
    "lanes": ("zset", "lanes with jobs waiting or in flight, score 0 (ours)", "whatever changes a lane", "empty"),
    "rota": ("hash", "`flat`, `turn`, `left`: where the rota stands (ours)", "take", "empty"),
    "fresh_next": ("set", "lanes whose next place is a fresh job's (ours)", "take", "empty"),
    "watch": ("string", "who looks after due and lapsed jobs, and until when (ours)", "take", "its TTL"),
}
JOB_KEYS: list[tuple[str, str, str, str, str]] = [
    (
        KEYS.job(JOB).decode(),
        "hash",
        "the job's row, see docs/wire.md",
        "admission and every move",
        "completion, removal",
    ),
    (KEYS.job_logs(JOB).decode(), "list", "log lines", "add_log (keeps the last 1000)", "with the row"),
    (KEYS.job_lock(JOB).decode(), "string", "held-by-a-worker marker", "other speakers", "its TTL, or with the row"),
    (KEYS.job_result(JOB).decode(), "hash", "a kept result (ours)", "complete, complete_many, when asked", "its TTL"),
    (KEYS.dedup("did").decode(), "string", "a job id under a producer's dedup id", "other speakers", "remove, its TTL"),
    (KEYS.lane("acme-eu").decode(), "zset", "ready jobs of one group, score 0", "as pending", "empty"),
    (KEYS.repeatable(b"name").decode(), "hash", "a repeatable's record", "other speakers", "obliterate"),
    (KEYS.stream(b"name").decode(), "stream", "records", "other speakers", "obliterate"),
    (KEYS.stream_archived(b"name").decode(), "string", "archive watermark", "other speakers", "obliterate"),
]
RESERVE_KEYS: list[tuple[str, str, str, str, str]] = [
    (VERSION.decode(), "string", "protocol version of the deployment", "the first connection ever", "never"),
    (
        NODES.decode(),
        "zset",
        "node numbers, score = end of lease (ours)",
        "lease_node, return_node",
        "never; at most 1024",
    ),
    (
        NODE_OWNERS.decode(),
        "hash",
        "node number to owner and mark (ours)",
        "lease_node, return_node",
        "never; at most 1024",
    ),
]


def keys_page() -> str:
    """Return docs/keys.md."""
    missing = set(QueueKeys.__slots__) - {"queue", "base", "_job"} - set(QUEUE_KEYS)
    if missing:
        raise SystemExit(f"tools/tables.py does not say what these keys hold: {', '.join(sorted(missing))}")
    rows = [(getattr(KEYS, name).decode(), *facts) for name, facts in QUEUE_KEYS.items()]
    text = ["# Keys", "", "Drawn by `tools/tables.py`; do not edit. `q` stands for the queue's name.", ""]
    for title, table in (("Of a queue", rows), ("Of a job or a name", JOB_KEYS), ("Of the deployment", RESERVE_KEYS)):
        text += [f"## {title}", "", "| key | kind | holds | written by | goes |", "| --- | --- | --- | --- | --- |"]
        text += [f"| `{key}` | {kind} | {holds} | {writer} | {goes} |" for key, kind, holds, writer, goes in table]
        text.append("")
    return "\n".join(text)


def lifecycle_page() -> str:
    """Return docs/lifecycle.md."""
    arrows: dict[tuple[JobState | None, JobState | None], list[str]] = defaultdict(list)
    for source, transition, target in MOVES:
        arrows[source, target].append(transition)
    text = ["# Life of a job", "", "Drawn by `tools/tables.py` from `states.py`; do not edit.", "", "```mermaid"]
    text.append("stateDiagram-v2")
    for (source, target), names in arrows.items():
        text.append(f"    {_node(source)} --> {_node(target)}: {', '.join(names)}")
    text += ["```", "", "| from | transition | to |", "| --- | --- | --- |"]
    text += [f"| {source or 'no row'} | `{name}` | {target or 'row deleted'} |" for source, name, target in MOVES]
    text.append("")
    return "\n".join(text)


def _node(state: JobState | None) -> str:
    return "[*]" if state is None else str(state)


def main() -> int:
    """Write or check the pages."""
    pages = {"keys.md": keys_page(), "lifecycle.md": lifecycle_page()}
    stale = [name for name, text in pages.items() if not _is_current(DOCS / name, text)]
    if "--check" not in sys.argv:
        for name in stale:
            (DOCS / name).write_text(pages[name], encoding="utf-8")
        return 0
    if stale:
        sys.stderr.write(f"stale: {', '.join(stale)}; run make tables\n")
    return 1 if stale else 0


def _is_current(path: Path, text: str) -> bool:
    return path.exists() and path.read_text(encoding="utf-8") == text


if __name__ == "__main__":
    sys.exit(main())
