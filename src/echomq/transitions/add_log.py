"""add_log: append a line to a job's log (protocol 4.13)."""

from functools import partial

from echomq.ids import JobId
from echomq.keys import QueueKeys
from echomq.records import Gone, Logged, Stale, Token
from echomq.resp.reply import ErrorReply, Reply
from echomq.transitions.call import Arg, Call, Transition, refused
from echomq.transitions.checks import check_bytes, check_number, check_token

__all__ = ["TRANSITION", "add_log"]

TRANSITION = Transition(
    name="add_log",
    keys=("job", "logs"),
    args=("line", "keep", "token"),
    optional=1,
    repeatable=False,
    section="4.13",
)


def add_log(
    keys: QueueKeys, job: JobId, line: bytes, *, keep: int | None = 1000, token: Token | None = None
) -> Call[Logged | Gone | Stale]:
    """Append a line to a job's log, of which the last `keep` lines are kept; None keeps all, without a bound.

    Whoever runs the job gives the token, and on `Stale` stops: another attempt runs. Without one, whoever asks may. On
    `Gone`, there is no such job. The log is deleted with the job. Not safe to repeat: the line would stand there twice.
    """
    args: tuple[Arg, ...] = (
        check_bytes("line", line),
        b"" if keep is None else check_number("keep", keep, least=1),
    )
    if token is not None:
        args = (*args, check_token(token))
    return Call(TRANSITION, (keys.job(job), keys.job_logs(job)), args, partial(_answer, job), job)


def _answer(job: JobId, reply: Reply) -> Logged | Gone | Stale:
    match reply:
        case int(-1):
            return Gone(job)
        case int(lines) if lines > 0:
            return Logged(job, lines)
        case ErrorReply(word="EMQSTALE"):
            return Stale(job)
        case _:
            raise refused(TRANSITION, job, reply)
