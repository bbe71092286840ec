"""What must not type-check about lanes. Each line that is an error says which."""

from typing import assert_never

from echomq import EchoMQ, JobId, Reassigned, Taken


async def wrong(app: EchoMQ, job: JobId) -> None:
    lanes = app.lanes("mail")
    await app.jobs("mail").enqueue(b"", lane=7)  # error: arg-type
    await app.jobs("mail").enqueue(b"", "acme")  # error: call-arg
    await lanes.weight("acme")  # error: call-arg
    await lanes.limit("acme", "3")  # error: arg-type
    await lanes.pause()  # error: call-arg
    await lanes.claim()  # error: call-arg
    for info in lanes.list_all():  # error: attr-defined
        print(info)
    taken: Taken = await app.jobs("mail").take(lease_ms=1, size=1)  # error: assignment
    match await lanes.reassign(job, "zoo"):
        case Reassigned():
            pass
        case forgotten:
            assert_never(forgotten)  # error: arg-type
    app.blocking_lanes("mail").claim_weighted(lease_ms=1)[0]  # error: index
    print(taken.jobs)
