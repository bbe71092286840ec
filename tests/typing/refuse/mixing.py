"""What must not type-check. Each line that is an error says which."""

from typing import assert_never

from echomq import BrandedId, Claimed, EchoMQ, Empty, JobId
from echomq.keys import QueueKeys
from echomq.transitions.complete import complete
from echomq.transitions.enqueue import enqueue


async def wrong(app: EchoMQ, claimed: Claimed, event: BrandedId) -> None:
    keys = QueueKeys("mail")
    enqueue(keys, "JOB0JZGkP8smrw", b"")  # error: arg-type
    enqueue(keys, event, b"")  # error: arg-type
    enqueue(keys, claimed.job, "text")  # error: arg-type
    complete(keys, claimed.job, 7)  # error: arg-type
    claimed.token = claimed.token  # error: misc
    await app.jobs("mail").enqueue(b"", None)  # error: call-arg
    app.blocking_jobs("mail").claim()  # error: call-arg
    job: JobId = await app.jobs("mail").enqueue(b"")  # error: assignment
    match await app.jobs("mail").claim(lease_ms=1):
        case Claimed() | Empty():
            pass
        case forgotten:
            assert_never(forgotten)  # error: arg-type
    print(job)
