"""What a job carries: payload, progress, log lines (protocol 4.13; docs/wire.md).

None of these asks that the job is leased. With a token given, only the current one may write (W37).
"""

import json
import re
from typing import Final

from echomq.model.given import Bodies, Given
from echomq.model.jobs import STALE
from echomq.model.keyspace import Keyspace
from echomq.model.values import Hash
from echomq.resp.reply import ErrorReply, Reply
from echomq.transitions.checks import PROGRESS_BYTES_MAX

__all__ = ["BODIES"]


def update_data(space: Keyspace, given: Given) -> Reply:
    """Replace the payload: 1, -1 when the job is gone, or EMQSTALE."""
    row = space.hash(given.keys["job"])
    refusal = _refusal(row, given)
    if refusal is not None:
        return refusal
    row.set(b"payload", given.args["payload"])
    return 1


def update_progress(space: Keyspace, given: Given) -> Reply:
    """Write the progress and publish it on the queue's channel: 1, -1 when the job is gone, or EMQSTALE."""
    job, progress = given.args["id"], given.args["progress"]
    if len(progress) > PROGRESS_BYTES_MAX:
        return ErrorReply(f"ERR the progress has {len(progress)} bytes and the limit is {PROGRESS_BYTES_MAX}")
    row = space.hash(given.keys["job"])
    refusal = _refusal(row, given)
    if refusal is not None:
        return refusal
    row.set(b"progress", progress)
    event = {"event": "progress", "job": _as_text(job), "progress": _as_text(progress)}
    message = json.dumps(event, ensure_ascii=False, separators=(",", ":"))
    space.publish(given.names.of(b"events"), message.encode())
    return 1


def add_log(space: Keyspace, given: Given) -> Reply:
    """Append a line and keep the last `keep` of them: how many are kept, -1 when the job is gone, or EMQSTALE."""
    row, lines = space.hash(given.keys["job"]), space.list(given.keys["logs"])
    refusal = _refusal(row, given)
    if refusal is not None:
        return refusal
    length = lines.push(given.args["line"])
    if not given.args["keep"]:
        return length
    keep = given.number("keep")
    lines.keep_last(keep)
    return min(keep, length)


def logs(space: Keyspace, given: Given) -> Reply:
    """Return a slice of the log and its whole length in one step (W38): [logs, total, [lines]] or [gone]."""
    row, lines = space.hash(given.keys["job"]), space.list(given.keys["logs"])
    if b"attempts" not in row:
        return [b"gone"]
    return [b"logs", len(lines), list(lines.slice(given.number("start"), given.limit("count")))]


def _refusal(row: Hash, given: Given) -> Reply:
    token = row.get(b"attempts")
    if token is None:
        return -1
    shown = given.args["token"]
    return ErrorReply(STALE) if shown and (shown != token or shown == b"0") else None


def _as_text(value: bytes) -> str:
    """Return bytes as JSON can say them: each byte of what is no UTF-8 becomes U+FFFD. The row keeps the bytes."""
    return _NO_UTF8.sub("\ufffd", value.decode("utf-8", "surrogateescape"))


_NO_UTF8: Final = re.compile("[\udc80-\udcff]")


BODIES: Final[Bodies] = {
    "update_data": update_data,
    "update_progress": update_progress,
    "add_log": add_log,
    "logs": logs,
}
