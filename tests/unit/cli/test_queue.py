"""`echomq queue …` over a queue in memory."""

from collections.abc import Callable

import pytest

from echomq.blocking_jobs import BlockingJobs
from echomq.blocking_lanes import BlockingLanes
from echomq.cli import queue
from echomq.cli.exits import Exit
from echomq.errors import NoPermission
from echomq.records import Claimed, Counts, Taken
from tests.unit.cli.stage import Keys, Memory, Said, Server

MAIL = (b"emq:{mail}:pending", b"emq:{mail}:job:JOB0NgWefAEJfs", b"emq:{news}:meta", b"{emq}:version")


def both(queue: str) -> tuple[BlockingJobs, BlockingLanes]:
    memory = Memory()
    return memory.jobs(queue), memory.lanes(queue)


def test_counts_shows_every_set_and_counter() -> None:
    memory = Memory()
    jobs = memory.jobs()
    jobs.enqueue(b"1")
    jobs.enqueue(b"2")
    jobs.claim(lease_ms=1000)
    said = Said()

    assert queue.counts(jobs, memory.lanes(), Keys(), said.view) == Exit.DONE

    assert ["pending", "1"] in said.lines
    assert ["active", "1"] in said.lines
    assert [line[0] for line in said.lines] == [
        "queue",
        "pending",
        "active",
        "schedule",
        "dead",
        "completed",
        "failed",
        "lanes",
        "waiting",
        "concurrency",
        "paused",
    ]
    assert said.talk == ""


def test_counts_in_json_are_numbers() -> None:
    memory = Memory()
    jobs = memory.jobs()
    jobs.enqueue(b"1")
    said = Said(is_json=True)

    queue.counts(jobs, memory.lanes(), Keys(), said.view)

    assert said.data == {
        "queue": "mail",
        "pending": 1,
        "active": 0,
        "schedule": 0,
        "dead": 0,
        "completed": 0,
        "failed": 0,
        "lanes": 0,
        "waiting_in_lanes": 0,
        "concurrency": None,
        "paused": False,
    }


def test_counts_tells_a_paused_queue() -> None:
    memory = Memory()
    memory.jobs().pause()
    said = Said(is_json=True)

    queue.counts(memory.jobs(), memory.lanes(), Keys(memory=memory), said.view)

    assert said.data["paused"] is True


def test_counts_tells_how_many_lanes_have_jobs_and_the_ceiling() -> None:
    memory = Memory()
    memory.jobs().enqueue(b"1", lane="acme")
    memory.jobs().enqueue_many([b"2", b"3"], lane="zoo")
    memory.jobs().set_concurrency(25)
    said = Said(is_json=True)

    queue.counts(memory.jobs(), memory.lanes(), Keys(memory=memory), said.view)

    assert (said.data["pending"], said.data["lanes"], said.data["concurrency"]) == (0, 2, 25)
    assert said.data["waiting_in_lanes"] == 3


def test_a_ceiling_is_set_and_taken_away() -> None:
    memory = Memory()
    jobs = memory.jobs()
    jobs.enqueue_many([b"x"] * 3)
    said, people = Said(is_json=True), Said()

    assert queue.concurrency(jobs, Keys(), said.view, 1) == Exit.DONE
    assert said.data == {"queue": "mail", "concurrency": 1, "running": 0}
    assert [len(taken.jobs) for taken in (jobs.take(lease_ms=1000, size=9),) if isinstance(taken, Taken)] == [1]

    assert queue.concurrency(jobs, Keys(), people.view, None) == Exit.DONE
    assert people.lines == [["queue", "mail"], ["concurrency", "none"], ["running", "1"]]
    assert [len(taken.jobs) for taken in (jobs.take(lease_ms=1000, size=9),) if isinstance(taken, Taken)] == [2]


def test_a_ceiling_of_a_mistyped_queue_is_told_the_near_name() -> None:
    nothing = "echomq: there is nothing in maill on valkey://here:6379/0; did you mean mail?"
    done = "echomq: its ceiling is set all the same: `echomq queue concurrency maill none` takes it away"
    for most, told in ((5, [nothing, done]), (None, [nothing])):
        said = Said()
        server = Server(MAIL)
        assert queue.concurrency(server.memory.jobs("maill"), server, said.view, most) == Exit.DONE
        assert said.talk.splitlines() == told


def test_drain_says_that_lanes_keep_their_jobs() -> None:
    memory = Memory()
    memory.jobs().enqueue(b"1")
    memory.jobs().enqueue(b"2", lane="acme")
    said = Said(is_json=True)

    queue.drain(memory.jobs(), Keys(memory=memory), said.view, scheduled=False, yes=True)

    assert said.data["drained"] == 1
    assert memory.lanes().depth("acme") == 1
    assert said.talk == "echomq: what waits in lanes stays: 1 lane has jobs (`echomq lane list`)\n"


def test_obliterate_counts_the_jobs_in_lanes_too() -> None:
    memory = Memory()
    jobs = memory.jobs()
    jobs.enqueue(b"x")
    jobs.enqueue_many([b"x"] * 4, lane="acme")
    jobs.enqueue_many([b"x"] * 2, lane="zoo")
    said = Said(answer=True)

    assert queue.obliterate(jobs, memory.lanes(), Keys(), said.view, force=False, yes=False) == Exit.DONE

    assert said.questions == ["Delete the queue mail with 7 jobs (6 waiting in lanes), all results and all counters?"]
    assert memory.body.dump() == {}


def test_a_mistyped_queue_is_told_the_near_name() -> None:
    said = Said()

    assert queue.counts(*both("mial"), Keys(MAIL), said.view) == Exit.DONE

    assert said.talk == "echomq: there is nothing in mial on valkey://here:6379/0; did you mean mail?\n"


def test_a_queue_that_has_keys_gets_no_hint() -> None:
    said = Said()

    queue.counts(*both("news"), Keys(MAIL), said.view)

    assert said.talk == ""


def test_the_keys_are_not_walked_for_a_queue_whose_jobs_are_all_in_lanes() -> None:
    server = Keys(MAIL)
    jobs, lanes = server.memory.jobs("mial"), server.memory.lanes("mial")
    jobs.enqueue(b"x", lane="acme")
    said = Said()

    for verb in (queue.counts, queue.pause, queue.resume):
        assert verb(jobs, lanes, server, said.view) == Exit.DONE
    queue.concurrency(jobs, server, said.view, 5)
    queue.obliterate(jobs, lanes, server, said.view, force=False, yes=True)

    assert (server.asked, said.talk) == (0, "")


def test_a_user_who_may_not_walk_the_keys_gets_the_counts_all_the_same() -> None:
    class Refusing(Keys):
        def command(self, *parts: bytes | str | int) -> object:
            if parts[0] == "SCAN":
                raise NoPermission("NOPERM no scan", about="SCAN")
            return super().command(*parts)

    said = Said()

    assert queue.counts(*both("mial"), Refusing(), said.view) == Exit.DONE
    assert said.talk == "echomq: there is nothing in mial on valkey://here:6379/0\n"


def test_pause_keeps_jobs_from_starting_and_resume_ends_it() -> None:
    memory = Memory()
    jobs = memory.jobs()
    jobs.enqueue(b"1")

    assert queue.pause(jobs, memory.lanes(), Keys(), Said().view) == Exit.DONE
    assert not isinstance(jobs.claim(lease_ms=1000), Claimed)
    assert queue.resume(jobs, memory.lanes(), Keys(), Said().view) == Exit.DONE
    assert isinstance(jobs.claim(lease_ms=1000), Claimed)


@pytest.mark.parametrize(("verb", "paused"), [(queue.pause, True), (queue.resume, False)])
def test_pause_and_resume_tell_what_waits_and_in_how_many_lanes(verb: object, *, paused: bool) -> None:
    memory = Memory()
    memory.jobs().enqueue(b"1")
    memory.jobs().enqueue_many([b"2", b"3"], lane="acme")
    said = Said(is_json=True)

    load = {"waiting": 3, "running": 0, "lanes": 1, "waiting_in_lanes": 2}
    assert callable(verb)
    assert verb(memory.jobs(), memory.lanes(), Keys(memory=memory), said.view) == Exit.DONE

    assert said.data == {"queue": "mail", "paused": paused, **load}


def test_pausing_a_mistyped_queue_is_told_the_near_name() -> None:
    # The queue that was meant goes on running, so this must not pass in silence.
    said = Said()

    server = Server(MAIL)
    queue.pause(server.memory.jobs("maill"), server.memory.lanes("maill"), server, said.view)

    assert said.talk.splitlines() == [
        "echomq: there is nothing in maill on valkey://here:6379/0; did you mean mail?",
        "echomq: it is paused all the same, for jobs that may come: `echomq queue resume maill` ends it",
    ]
    assert ["paused", "True"] in said.lines


@pytest.mark.parametrize("scheduled", [False, True])
def test_drain_deletes_what_waits_and_the_scheduled_only_if_asked(*, scheduled: bool) -> None:
    jobs = Memory().jobs()
    for _ in range(3):
        jobs.enqueue(b"1")
    jobs.enqueue_in(b"later", delay_ms=60_000)
    jobs.claim(lease_ms=1000)
    said = Said(is_json=True)

    assert queue.drain(jobs, Keys(), said.view, scheduled=scheduled, yes=True) == Exit.DONE

    assert said.data == {"queue": "mail", "drained": 3 if scheduled else 2}
    found = jobs.counts()
    assert (found["pending"], found["active"], found["schedule"]) == (0, 1, 0 if scheduled else 1)


def test_drain_works_in_slices_until_nothing_is_left() -> None:
    jobs = Memory().jobs()
    jobs.enqueue_many([b"x"] * 2500)
    said = Said(is_json=True)

    queue.drain(jobs, Keys(), said.view, scheduled=False, yes=True)

    assert said.data["drained"] == 2500


@pytest.mark.parametrize("answer", [False, None])
def test_nothing_is_drained_without_a_yes(*, answer: bool | None) -> None:
    jobs = Memory().jobs()
    jobs.enqueue(b"1")
    said = Said(answer=answer)

    assert queue.drain(jobs, Keys(), said.view, scheduled=False, yes=False) == Exit.NOT_CONFIRMED

    assert jobs.counts()["pending"] == 1
    assert said.out.getvalue() == ""
    if answer is None:
        assert "--yes" in said.talk
    else:
        assert said.questions == ["Delete 1 job that waits in mail?"]


def test_obliterate_asks_with_the_count_and_deletes_everything() -> None:
    memory = Memory()
    jobs = memory.jobs()
    jobs.enqueue_many([b"x"] * 3)
    said = Said(answer=True)

    assert queue.obliterate(jobs, memory.lanes(), Keys(), said.view, force=False, yes=False) == Exit.DONE

    assert said.questions == ["Delete the queue mail with 3 jobs, all results and all counters?"]
    assert memory.body.dump() == {}


def test_obliterate_refuses_while_jobs_run_and_leaves_the_queue_as_it_is() -> None:
    memory = Memory()
    jobs = memory.jobs()
    jobs.enqueue_many([b"x"] * 2)
    jobs.claim(lease_ms=1000)
    said = Said()

    assert queue.obliterate(jobs, memory.lanes(), Keys(), said.view, force=False, yes=True) == Exit.NOT_SO

    assert "1 job of mail still run" in said.talk
    assert isinstance(jobs.claim(lease_ms=1000), Claimed), "it was not paused either"


def test_obliterate_by_force_takes_running_jobs_too() -> None:
    memory = Memory()
    jobs = memory.jobs()
    jobs.enqueue(b"x")
    jobs.claim(lease_ms=1000)

    assert queue.obliterate(jobs, memory.lanes(), Keys(), Said().view, force=True, yes=True) == Exit.DONE
    assert memory.body.dump() == {}


def asked_of(memory: Memory) -> tuple[Callable[[str], Counts], Callable[[str], int]]:
    return lambda name: memory.jobs(name).counts(), lambda name: memory.lanes(name).waiting()


def test_list_shows_each_queue_that_has_a_key() -> None:
    memory = Memory()
    memory.jobs("mail").enqueue(b"1")
    memory.jobs("mail").enqueue(b"2", lane="acme")
    said = Said(is_json=True)

    queue.list_queues(Keys(MAIL, memory=memory), *asked_of(memory), said.view)

    queues = said.data["queues"]
    assert isinstance(queues, list)
    assert [(row["queue"], row["pending"], row["lanes"], row["waiting_in_lanes"]) for row in queues] == [
        ("mail", 1, 1, 1),
        ("news", 0, 0, 0),
    ]
    assert said.data["is_complete"] is True


def test_list_of_no_queues_says_so_beside_empty_data() -> None:
    said = Said()

    queue.list_queues(Keys(), *asked_of(Memory()), said.view)

    assert said.out.getvalue() == ""
    assert said.talk == "echomq: no queue on valkey://here:6379/0 has anything in it\n"
