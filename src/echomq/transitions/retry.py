"""retry: the holder of a job reports that the attempt failed (protocol 4.7)."""

from functools import partial
from typing import Final

from echomq.errors import InvalidOption
from echomq.ids import JobId
from echomq.keys import QueueKeys
from echomq.records import Dead, Scheduled, Stale, Token
from echomq.resp.reply import ErrorReply, Reply
from echomq.transitions.call import Call, Transition, refused
from echomq.transitions.checks import check_number, check_token

__all__ = ["ERROR_BYTES_MAX", "TRANSITION", "retry"]

TRANSITION = Transition(
    name="retry",
    keys=("active", "schedule", "dead", "job"),
    # `error` is a function of Lua, so the bound name is another.
    args=("id", "token", "delay_ms", "max_attempts", "reason", "base"),
    repeatable=True,
    section="4.7",
)

ERROR_BYTES_MAX: Final = 16 * 1024
"""The longest error text that is kept, in bytes of UTF-8. The rest is cut off."""


def retry(
    keys: QueueKeys, job: JobId, token: Token, *, delay_ms: int, max_attempts: int, error: str
) -> Call[Scheduled | Dead | Stale]:
    """Report a failed attempt: the job waits `delay_ms` for the next one, or dies when it has none left.

    The cap is the row's own `max_attempts` when it has one, else the argument; 0 lets the job die at once in either
    case. Attempts handed back by `release` do not count. The error is kept as text, cut to 16 KiB of UTF-8; what is no
    text is refused with `InvalidOption`.

    On `Stale`, do nothing: the job is gone or another attempt decides. Safe to repeat: the state is the same, and the
    second answer is `Stale`, unless the job came back and waits ready by then, when this attempt ends it once more.
    """
    args = (
        job,
        check_token(token),
        check_number("delay_ms", delay_ms),
        check_number("max_attempts", max_attempts),
        _cut(error),
        keys.base,
    )
    return Call(TRANSITION, (keys.active, keys.schedule, keys.dead, keys.job(job)), args, partial(_answer, job), job)


def _cut(error: str) -> bytes:
    if not isinstance(error, str):
        raise InvalidOption("error", error, "text")
    # A lone surrogate has no UTF-8 form, and a cut may fall inside a character. A str of another class may lie.
    raw = str(error).encode("utf-8", "replace")
    return raw if len(raw) <= ERROR_BYTES_MAX else raw[:ERROR_BYTES_MAX].decode("utf-8", "ignore").encode()


def _answer(job: JobId, reply: Reply) -> Scheduled | Dead | Stale:
    match reply:
        case b"scheduled":
            return Scheduled(job)
        case b"dead":
            return Dead(job)
        case ErrorReply(word="EMQSTALE"):
            return Stale(job)
        case _:
            raise refused(TRANSITION, job, reply)
