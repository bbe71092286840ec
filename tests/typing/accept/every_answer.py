"""A caller handles every answer with `match`, and the checker proves that none is forgotten."""

from typing import assert_never

from echomq import Claimed, Completed, Duplicate, EchoMQ, Empty, Enqueued, Gone, JobId, Paused, Stale, Token


async def admit_and_run(app: EchoMQ) -> JobId | None:
    jobs = app.jobs("mail")
    match await jobs.enqueue(b"payload", max_attempts=3):
        case Enqueued(job) | Duplicate(job):
            pass
        case never:
            assert_never(never)
    match await jobs.claim(lease_ms=1000):
        case Claimed(job, _, token):
            return await settle(app, job, token)
        case Empty() | Paused():
            return None
        case never_:
            assert_never(never_)


async def settle(app: EchoMQ, job: JobId, token: Token) -> JobId | None:
    match await app.jobs("mail").complete(job, token, result=b"done", result_ttl_ms=1000):
        case Completed():
            return job
        case Gone() | Stale():
            return None
        case never:
            assert_never(never)
