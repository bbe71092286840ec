"""The blocking face has the same types, without `await`."""

from echomq import BlockingJobs, Claimed, EchoMQ, NewJob, Page


def use(app: EchoMQ) -> int:
    jobs: BlockingJobs = app.blocking_jobs("mail")
    job = jobs.mint()
    jobs.enqueue_many([b"one", NewJob(job, b"two", max_attempts=2)])
    page: Page = jobs.browse("pending")
    answer = jobs.claim(lease_ms=1000)
    if isinstance(answer, Claimed):
        jobs.retry(answer.job, answer.token, delay_ms=10, max_attempts=3, error="late")
    return len(page.jobs)
