"""get_job: read a job's row (protocol 4.18.7)."""

from contextlib import suppress
from functools import partial
from typing import Final

from echomq.ids import JobId
from echomq.keys import QueueKeys
from echomq.records import Absent, StoredJob
from echomq.resp.reply import Reply
from echomq.transitions.call import Call, Transition, refused
from echomq.transitions.replies import Malformed, number, state, text

__all__ = ["TRANSITION", "get_job"]

TRANSITION = Transition(name="get_job", keys=("job",), args=(), repeatable=True, section="4.18.7")

_OWN_FIELDS: Final = frozenset(
    (
        b"state",
        b"attempts",
        b"payload",
        b"group",
        b"last_error",
        b"progress",
        b"max_attempts",
        b"unspent",
        b"died_at",
    )
)


def get_job(keys: QueueKeys, job: JobId) -> Call[StoredJob | Absent]:
    """Read everything that is stored about a job.

    `Absent` means that there is no job: it was completed or removed, or its row is one that a late speaker left behind.
    The row's state can lag behind the sets; `get_state` asks these. Raises `WrongType` when the row is no hash. Safe to
    repeat.
    """
    return Call(TRANSITION, (keys.job(job),), (), partial(_answer, job), job)


def _answer(job: JobId, reply: Reply) -> StoredJob | Absent:
    with suppress(Malformed):
        fields = _fields(reply)
        return _stored(job, fields) if b"attempts" in fields else Absent(job)
    raise refused(TRANSITION, job, reply)


def _fields(reply: Reply) -> dict[bytes, bytes]:
    if not isinstance(reply, list) or len(reply) % 2:
        raise Malformed
    return {text(name): text(value) for name, value in zip(reply[::2], reply[1::2], strict=True)}


def _stored(job: JobId, fields: dict[bytes, bytes]) -> StoredJob:
    return StoredJob(
        job=job,
        state=state(fields.get(b"state", b"")),
        attempts=number(fields[b"attempts"]),
        payload=fields.get(b"payload"),
        lane=_words(fields.get(b"group")),
        last_error=_words(fields.get(b"last_error")),
        progress=fields.get(b"progress"),
        max_attempts=_count(fields.get(b"max_attempts")),
        unspent=_count(fields.get(b"unspent")) or 0,
        died_at_ms=_count(fields.get(b"died_at")),
        extra={name: value for name, value in fields.items() if name not in _OWN_FIELDS},
    )


def _words(value: bytes | None) -> str | None:
    return None if value is None else value.decode("utf-8", "replace")


def _count(value: bytes | None) -> int | None:
    return None if value is None else number(value)
