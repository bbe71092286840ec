"""`echomq job …` over a queue in memory."""

import pytest

from echomq.blocking_jobs import BlockingJobs
from echomq.cli import job as verbs
from echomq.cli.exits import Exit
from echomq.errors import BadInput, InvalidId, InvalidOption, WrongType
from echomq.ids import JobId
from echomq.records import Claimed, Taken
from echomq.resp.reply import Reply
from tests.unit.cli.stage import Keys, Memory, Said

ABSENT = "JOB0NgWefAEJfs"


def added(jobs: BlockingJobs, payload: bytes = b"x") -> str:
    said = Said(is_json=True)
    assert verbs.add(jobs, said.view, payload, job=None, delay_ms=None, max_attempts=None) == Exit.DONE
    return str(said.data["job"])


def claimed(jobs: BlockingJobs) -> Claimed:
    answer = jobs.claim(lease_ms=1000)
    assert isinstance(answer, Claimed)
    return answer


def killed(jobs: BlockingJobs, error: str = "boom") -> str:
    job = added(jobs)
    jobs.retry(job, claimed(jobs).token, delay_ms=0, max_attempts=1, error=error)
    return job


def test_add_twice_with_an_id_of_ones_own_is_a_duplicate_and_no_error() -> None:
    jobs = Memory().jobs()
    for word in ("enqueued", "duplicate"):
        said = Said(is_json=True)
        assert verbs.add(jobs, said.view, b"x", job=ABSENT, delay_ms=None, max_attempts=None) == Exit.DONE
        assert said.data == {"queue": "mail", "job": ABSENT, "answer": word}
    assert jobs.counts()["pending"] == 1


def test_add_with_a_delay_schedules() -> None:
    jobs = Memory().jobs()
    said = Said(is_json=True)

    verbs.add(jobs, said.view, b"x", job=None, delay_ms=5000, max_attempts=None)

    assert said.data["answer"] == "scheduled"
    assert jobs.counts()["schedule"] == 1


def test_add_with_a_lane_waits_in_it_at_once_or_after_the_delay() -> None:
    memory = Memory()
    jobs = memory.jobs()
    for delay_ms, lane in ((None, "acme"), (5000, "zoo")):
        said, shown = Said(is_json=True), Said(is_json=True)
        verbs.add(jobs, said.view, b"x", delay_ms=delay_ms, lane=lane)
        verbs.show(jobs, Keys(), shown.view, str(said.data["job"]))
        assert shown.data["lane"] == lane
    assert (memory.lanes().depth("acme"), memory.lanes().depth("zoo")) == (1, 0)


def test_show_tells_the_row_and_keeps_the_payload_whole_in_json() -> None:
    jobs = Memory().jobs()
    job = added(jobs, b"y" * 1000)
    said, data = Said(), Said(is_json=True)

    assert verbs.show(jobs, Keys(), said.view, job) == Exit.DONE
    assert verbs.show(jobs, Keys(), data.view, job) == Exit.DONE

    assert ["state", "pending"] in said.lines
    assert "(1,000 characters)" in said.out.getvalue()
    assert data.data["payload"] == "y" * 1000
    assert data.data["attempts"] == 0


def test_show_of_a_dead_job_names_its_error() -> None:
    jobs = Memory().jobs()
    job = killed(jobs, "no such \x1b[31mhost")
    said = Said()

    verbs.show(jobs, Keys(), said.view, job)

    assert ["state", "dead"] in said.lines
    assert "no such \\x1b[31mhost" in said.out.getvalue()
    assert "\x1b" not in said.out.getvalue()


def test_show_of_a_job_that_is_done_shows_its_kept_result() -> None:
    jobs = Memory().jobs()
    job = added(jobs)
    jobs.complete(job, claimed(jobs).token, result=b"\xff\x00", result_ttl_ms=60_000)
    said = Said(is_json=True)

    assert verbs.show(jobs, Keys(), said.view, job) == Exit.DONE

    assert said.data["state"] == "completed"
    assert said.data["result"] is None
    assert said.data["result_base64"] == "/wA="
    assert said.data["attempts"] == 1


@pytest.mark.parametrize("verb", [verbs.show, verbs.state])
def test_a_job_that_is_not_there_ends_with_its_own_code(verb: object) -> None:
    said = Said()

    assert callable(verb)
    assert verb(Memory().jobs(), Keys(), said.view, ABSENT) == Exit.NOT_SO


def test_an_id_that_is_none_is_refused_before_anything_is_sent() -> None:
    with pytest.raises(InvalidId):
        verbs.show(Memory().jobs(), Keys(), Said().view, "JOB-1")


def test_state_is_one_word_also_after_the_end() -> None:
    jobs = Memory().jobs()
    job = added(jobs)
    words = []
    for step in (lambda: None, lambda: claimed(jobs), lambda: jobs.complete(job, 1, result=b"", result_ttl_ms=9000)):  # type: ignore[arg-type]  # a token is a whole number
        step()
        said = Said()
        assert verbs.state(jobs, Keys(), said.view, job) == Exit.DONE
        words.append(said.out.getvalue())
    assert words == ["pending\n", "active\n", "completed\n"]


def test_list_pages_until_the_limit_and_says_that_there_is_more() -> None:
    jobs = Memory().jobs()
    ids = [str(answer.job) for answer in jobs.enqueue_many([b"x"] * 2300)]
    said = Said(is_json=True)

    assert verbs.list_jobs(jobs, Keys(), said.view, "pending", limit=2200, newest_first=None) == Exit.DONE

    listed = said.data["jobs"]
    assert isinstance(listed, list)
    assert [row["job"] for row in listed] == ids[::-1][:2200]
    assert said.data["is_complete"] is False
    assert "there are more" in said.talk


def test_list_of_the_oldest_first() -> None:
    jobs = Memory().jobs()
    ids = [str(answer.job) for answer in jobs.enqueue_many([b"x"] * 3)]
    said = Said()

    verbs.list_jobs(jobs, Keys(), said.view, "waiting", limit=2, newest_first=False)

    assert [line[0] for line in said.lines] == ["JOB", *ids[:2]]


@pytest.mark.parametrize(
    ("word", "column"), [("schedule", "due_at"), ("scheduled", "due_at"), ("active", "lease_ends_at")]
)
def test_list_shows_the_instant_that_a_set_is_ordered_by(word: str, column: str) -> None:
    jobs = Memory().jobs()
    added(jobs)
    claimed(jobs)
    jobs.enqueue_in(b"later", delay_ms=1000)
    said = Said(is_json=True)

    verbs.list_jobs(jobs, Keys(), said.view, word, limit=10, newest_first=None)

    listed = said.data["jobs"]
    assert isinstance(listed, list)
    assert len(listed) == 1
    assert str(listed[0][column]).endswith("Z")


def test_a_mistyped_state_is_told_the_near_one() -> None:
    with pytest.raises(InvalidOption, match="did you mean pending"):
        verbs.list_jobs(Memory().jobs(), Keys(), Said().view, "peding", limit=1, newest_first=None)


def test_an_empty_list_says_so() -> None:
    said = Said()

    assert verbs.list_jobs(Memory().jobs(), Keys(), said.view, "dead", limit=1, newest_first=None) == Exit.DONE
    assert said.out.getvalue() == ""
    assert said.talk == "echomq: no job of mail is in dead\nechomq: there is nothing in mail on valkey://here:6379/0\n"


def test_a_list_of_what_waits_says_that_lanes_have_jobs_too() -> None:
    memory = Memory()
    memory.jobs().enqueue(b"1")
    for lane in ("acme", "zoo"):
        memory.jobs().enqueue(b"2", lane=lane)
    said, dead = Said(is_json=True), Said()

    verbs.list_jobs(memory.jobs(), Keys(memory=memory), said.view, "pending", limit=9, newest_first=None)
    verbs.list_jobs(
        memory.jobs(), Keys([b"emq:{mail}:ring"], memory=memory), dead.view, "dead", limit=9, newest_first=None
    )

    listed = said.data["jobs"]
    assert isinstance(listed, list)
    assert len(listed) == 1
    assert said.talk == "echomq: jobs that wait in lanes are not listed here: 2 lanes have jobs (`echomq lane list`)\n"
    assert dead.talk == "echomq: no job of mail is in dead\n"


def test_a_list_of_one_lane_has_its_waiting_jobs_newest_first() -> None:
    memory = Memory()
    jobs = memory.jobs()
    ids = [str(answer.job) for answer in jobs.enqueue_many([b"x"] * 3, lane="acme")]
    jobs.enqueue(b"y", lane="zoo")
    jobs.enqueue(b"z")
    said, oldest = Said(is_json=True), Said(is_json=True)

    for each, limit, newest_first in ((said, 9, None), (oldest, 2, False)):
        done = verbs.list_jobs(
            jobs, Keys(memory=memory), each.view, "pending", limit=limit, newest_first=newest_first, lane="acme"
        )
        assert done == Exit.DONE

    assert [row["job"] for row in rows(said)] == ids[::-1]
    assert (said.data["state"], said.data["lane"], said.data["is_complete"], said.talk) == ("pending", "acme", True, "")
    assert [row["job"] for row in rows(oldest)] == ids[:2]
    assert oldest.data["is_complete"] is False


def test_an_empty_list_of_a_lane_says_whether_anything_is_known_of_it() -> None:
    memory = Memory()
    memory.jobs().enqueue(b"x", lane="acme")
    memory.lanes().pause("zoo")
    for lane, told in (
        ("zoo", "echomq: no job of mail waits in lane zoo\n"),
        ("acem", "echomq: no job of mail waits or runs in lane acem; did you mean acme?\n"),
    ):
        said = Said()
        verbs.list_jobs(memory.jobs(), Keys(memory=memory), said.view, "pending", limit=9, newest_first=None, lane=lane)
        assert (said.talk, said.out.getvalue()) == (told, "")


@pytest.mark.parametrize("word", ["dead", "active", "scheduled"])
def test_a_lane_goes_with_what_waits_only(word: str) -> None:
    with pytest.raises(InvalidOption, match="pending only"):
        verbs.list_jobs(Memory().jobs(), Keys(), Said().view, word, limit=1, newest_first=None, lane="acme")


def rows(said: Said) -> list[dict[str, object]]:
    found = said.data["jobs"]
    assert isinstance(found, list)
    return found


def test_an_empty_list_of_a_mistyped_queue_names_the_near_one() -> None:
    said = Said()
    server = Keys([b"emq:{mail}:pending"])

    assert verbs.list_jobs(Memory().jobs("mial"), server, said.view, "dead", limit=1, newest_first=None) == Exit.DONE
    assert said.talk.splitlines()[-1] == "echomq: there is nothing in mial on valkey://here:6379/0; did you mean mail?"


@pytest.mark.parametrize("word", ["completed", "failed"])
def test_what_no_set_holds_is_refused_with_the_reason(word: str) -> None:
    with pytest.raises(BadInput, match="cannot be listed"):
        verbs.list_jobs(Memory().jobs(), Keys(), Said().view, word, limit=1, newest_first=None)


@pytest.mark.parametrize(("answer", "code", "left"), [(True, Exit.DONE, 0), (False, Exit.NOT_CONFIRMED, 1)])
def test_remove_asks_and_says_what_the_job_is_doing(*, answer: bool, code: Exit, left: int) -> None:
    jobs = Memory().jobs()
    job = added(jobs)
    said = Said(answer=answer)

    assert verbs.remove(jobs, Keys(), said.view, job, yes=False) == code

    assert said.questions == [f"Delete job {job} of mail, which is pending?"]
    assert jobs.counts()["pending"] == left


def test_remove_of_nothing_asks_nobody() -> None:
    said = Said(answer=True)

    assert verbs.remove(Memory().jobs(), Keys(), said.view, ABSENT, yes=False) == Exit.NOT_SO
    assert said.questions == []


def test_retry_makes_a_dead_job_ready_and_refuses_any_other() -> None:
    jobs = Memory().jobs()
    job = killed(jobs)

    assert verbs.retry(jobs, Keys(), Said().view, job, fresh=False) == Exit.DONE
    assert jobs.counts()["pending"] == 1
    said = Said()
    assert verbs.retry(jobs, Keys(), said.view, job, fresh=False) == Exit.NOT_SO
    assert "is pending and not dead" in said.talk
    assert verbs.retry(jobs, Keys(), Said().view, ABSENT, fresh=False) == Exit.NOT_SO


def test_retry_all_asks_with_the_count() -> None:
    jobs = Memory().jobs()
    killed(jobs)
    killed(jobs)
    said = Said(answer=True)

    assert verbs.retry_all(jobs, said.view, fresh=True, yes=False) == Exit.DONE

    assert said.questions == ["Run 2 dead jobs of mail again?"]
    assert (jobs.counts()["dead"], jobs.counts()["pending"]) == (0, 2)


def test_logs_are_the_last_lines() -> None:
    jobs = Memory().jobs()
    job = added(jobs)
    for number in range(5):
        jobs.add_log(job, b"line %d\x07" % number)
    said = Said()

    assert verbs.logs(jobs, Keys(), said.view, job, limit=2) == Exit.DONE
    assert said.out.getvalue() == "line 3\\x07\nline 4\\x07\n"
    assert verbs.logs(jobs, Keys(), Said().view, ABSENT, limit=2) == Exit.NOT_SO


def test_every_id_that_is_shown_can_be_read_back() -> None:
    assert JobId.parse(added(Memory().jobs())).minted_at_ms > 0


@pytest.mark.parametrize(
    ("word", "columns"),
    [
        ("scheduled", ["job", "minted_at", "due_at", "lane"]),
        ("active", ["job", "minted_at", "lease_ends_at", "lane"]),
        ("dead", ["job", "minted_at", "lane"]),
    ],
)
def test_a_list_tells_the_lane_of_each_job_and_none_where_there_is_none(word: str, columns: list[str]) -> None:
    memory = Memory()
    jobs = memory.jobs()
    for lane in ("acme", None):
        later = jobs.enqueue_in(b"x", delay_ms=1000, lane=lane).job
        if word != "scheduled":
            jobs.promote_now(later)
            taken = jobs.take(lease_ms=1000, size=1)
            assert isinstance(taken, Taken)
            if word == "dead":
                jobs.retry(later, taken.jobs[0].token, delay_ms=0, max_attempts=1, error="boom")
    said = Said(is_json=True)

    assert verbs.list_jobs(jobs, Keys(memory=memory), said.view, word, limit=9, newest_first=None) == Exit.DONE

    assert sorted(str(row["lane"]) for row in rows(said)) == ["None", "acme"]
    assert [list(row) for row in rows(said)] == [columns] * 2


def test_a_ghost_and_a_broken_row_are_listed_without_a_lane() -> None:
    memory = Memory()
    jobs = memory.jobs()
    job = JobId.parse(killed(jobs))
    memory.body.keyspace.zset(jobs.keys.dead).add(ABSENT.encode(), 0)

    class Broken(Keys):
        def command(self, *parts: bytes | str | int) -> Reply:
            if parts == ("HGET", jobs.keys.job(job), "group"):
                raise WrongType("WRONGTYPE not a hash", about="HGET")
            return super().command(*parts)

    said = Said(is_json=True)

    assert verbs.list_jobs(jobs, Broken(memory=memory), said.view, "dead", limit=9, newest_first=None) == Exit.DONE
    assert {row["job"]: row["lane"] for row in rows(said)} == {str(job): None, ABSENT: None}


def test_show_tells_when_a_scheduled_job_is_due_and_when_the_lease_of_a_running_one_ends() -> None:
    memory = Memory()
    jobs, server = memory.jobs(), Keys(memory=memory)
    later, earlier = jobs.enqueue_at(b"x", at_ms=1704067200007).job, added(jobs)
    claimed(jobs)
    due, leased = Said(is_json=True), Said(is_json=True)

    verbs.show(jobs, server, due.view, str(later))
    verbs.show(jobs, server, leased.view, earlier)

    assert (due.data["state"], due.data["due_at"]) == ("scheduled", "2024-01-01T00:00:00.007Z")
    assert (leased.data["state"], "due_at" in leased.data) == ("active", False)
    assert str(leased.data["lease_ends_at"]).endswith("Z")


def test_a_job_that_is_due_after_all_calendars_is_shown_without_the_instant() -> None:
    memory = Memory()
    jobs, server = memory.jobs(), Keys(memory=memory)
    later = str(jobs.enqueue_at(b"x", at_ms=2**53 - 1).job)
    shown, listed = Said(is_json=True), Said(is_json=True)

    assert verbs.show(jobs, server, shown.view, later) == Exit.DONE
    assert verbs.list_jobs(jobs, server, listed.view, "scheduled", limit=9, newest_first=None) == Exit.DONE
    assert (shown.data["due_at"], rows(listed)[0]["due_at"]) == (None, None)


def test_a_job_that_is_not_there_is_told_with_the_server_that_was_asked() -> None:
    told = f"echomq: mail has no job {ABSENT}, and no kept result of it, on valkey://here:6379/0\n"
    jobs = Memory().jobs()
    shown, logged, removed, retried = Said(), Said(), Said(), Said()

    assert verbs.show(jobs, Keys(), shown.view, ABSENT) == Exit.NOT_SO
    assert verbs.logs(jobs, Keys(), logged.view, ABSENT, limit=1) == Exit.NOT_SO
    assert verbs.remove(jobs, Keys(), removed.view, ABSENT, yes=True) == Exit.NOT_SO
    assert verbs.retry(jobs, Keys(), retried.view, ABSENT, fresh=False) == Exit.NOT_SO

    assert [said.talk for said in (shown, logged, removed, retried)] == [told] * 4
