"""`echomq lane …` over a queue in memory."""

from collections.abc import Callable
from typing import TypeAlias, TypeVar

import pytest

from echomq.blocking_lanes import BlockingLanes
from echomq.cli import lane as verbs
from echomq.cli.arguments import number_or_none
from echomq.cli.exits import Exit
from echomq.cli.names import Asker
from echomq.cli.render import View
from echomq.errors import InvalidId, InvalidName, InvalidOption
from echomq.records import Claimed, NewJob, Taken
from echomq.transitions.call import Call
from tests.unit.cli.stage import Keys, Memory, Said, Server

ABSENT = "JOB0NgWefAEJfs"

Answer = TypeVar("Answer")

Setting: TypeAlias = Callable[[BlockingLanes, Asker, View, str, int | None], int]


@pytest.fixture
def memory() -> Memory:
    """Two lanes: acme with three jobs, one of them running, and zoo with one that waits."""
    memory = Memory()
    jobs = memory.jobs()
    jobs.enqueue_many([b"1", b"2", b"3"], lane="acme")
    assert isinstance(memory.lanes().claim(lease_ms=60_000), Claimed)
    jobs.enqueue(b"4", lane="zoo")
    return memory


def lanes_of(said: Said) -> list[dict[str, object]]:
    found = said.data["lanes"]
    assert isinstance(found, list)
    return found


def test_list_shows_every_lane_with_its_jobs_and_settings(memory: Memory) -> None:
    memory.lanes().limit("acme", 7)
    memory.lanes().weight("zoo", 3)
    memory.lanes().pause("zoo")
    said, data = Said(), Said(is_json=True)

    assert verbs.list_lanes(memory.lanes(), Keys(), said.view, most=10) == Exit.DONE
    assert verbs.list_lanes(memory.lanes(), Keys(), data.view, most=10) == Exit.DONE

    assert [line[:6] for line in said.lines[1:]] == [
        ["acme", "2", "1", "7", "1", "False"],
        ["zoo", "1", "0", "none", "3", "True"],
    ]
    acme, zoo = lanes_of(data)
    assert (acme["waiting"], acme["running"], acme["limit"]) == (2, 1, 7)
    assert (zoo["limit"], zoo["weight"], zoo["paused"]) == (None, 3, True)
    assert str(zoo["oldest_minted_at"]).endswith("Z")
    assert data.data["is_complete"] is True


def test_list_stops_at_the_limit_and_says_that_there_is_more() -> None:
    memory = Memory()
    jobs = memory.jobs()
    jobs.enqueue_many([NewJob(jobs.mint(), b"x", lane=f"t{n:04}") for n in range(7)])
    said, exact = Said(is_json=True), Said(is_json=True)

    verbs.list_lanes(memory.lanes(), Keys(), said.view, most=6)
    verbs.list_lanes(memory.lanes(), Keys(), exact.view, most=7)

    assert [row["lane"] for row in lanes_of(said)] == [f"t{n:04}" for n in range(6)]
    assert said.data["is_complete"] is False
    assert "there are more; these are 6" in said.talk
    assert (len(lanes_of(exact)), exact.data["is_complete"]) == (7, True)
    assert "there are more" not in exact.talk


def test_list_reads_more_lanes_than_one_slice_has() -> None:
    memory = Memory()
    jobs = memory.jobs()
    jobs.enqueue_many([NewJob(jobs.mint(), b"x", lane=f"t{n:04}") for n in range(1500)])
    said = Said(is_json=True)

    verbs.list_lanes(memory.lanes(), Keys(), said.view, most=2000)

    assert len(lanes_of(said)) == 1500
    assert said.data["is_complete"] is True


def unequal() -> Memory:
    """Lanes where the oldest jobs, and most jobs, are not in the first by name; one has settings only."""
    memory = Memory()
    jobs, lanes = memory.jobs(), memory.lanes()
    for lane, count in (("old", 1), ("deep", 4), ("acme", 2)):
        jobs.enqueue_many([b"x"] * count, lane=lane)
    jobs.enqueue(b"x", lane="flying")
    while not isinstance(claimed := lanes.claim(lease_ms=60_000), Claimed) or claimed.lane != "flying":
        assert isinstance(claimed, Claimed)
        jobs.release(claimed.job, claimed.token)
    lanes.pause("deep")
    lanes.limit("deep", 5)
    lanes.limit("acme", 6)
    lanes.pause("set-only")
    return memory


@pytest.mark.parametrize(
    ("sort", "names"),
    [
        (verbs.Sort.NAME, ["acme", "deep", "flying", "old", "set-only"]),
        (verbs.Sort.DEPTH, ["deep", "acme", "old", "flying", "set-only"]),
        (verbs.Sort.AGE, ["old", "deep", "acme", "flying", "set-only"]),
    ],
)
def test_lanes_are_listed_in_the_order_that_is_asked_for(sort: verbs.Sort, names: list[str]) -> None:
    memory = unequal()
    said, cut = Said(is_json=True), Said(is_json=True)

    assert verbs.list_lanes(memory.lanes(), Keys(memory=memory), said.view, most=9, sort=sort) == Exit.DONE
    assert verbs.list_lanes(memory.lanes(), Keys(memory=memory), cut.view, most=2, sort=sort) == Exit.DONE

    assert [row["lane"] for row in lanes_of(said)] == names
    assert said.talk == "echomq: in all 4 lanes have jobs, and 7 jobs wait in lanes\n"
    assert [row["lane"] for row in lanes_of(cut)] == names[:2]
    assert cut.talk == "echomq: there are more; these are 2 (--limit)\n" + said.talk, "the total is of all of them"
    assert (said.data["is_complete"], cut.data["is_complete"]) == (True, False)


@pytest.mark.parametrize(
    ("paused", "limited", "names"),
    [(True, False, ["deep", "set-only"]), (False, True, ["acme", "deep"]), (True, True, ["deep"])],
)
def test_only_paused_or_limited_lanes_are_listed_if_asked(*, paused: bool, limited: bool, names: list[str]) -> None:
    memory = unequal()
    said = Said(is_json=True)

    verbs.list_lanes(memory.lanes(), Keys(memory=memory), said.view, most=2, paused=paused, limited=limited)

    assert [row["lane"] for row in lanes_of(said)] == names
    assert said.data["is_complete"] is True
    assert said.talk == "echomq: in all 4 lanes have jobs, and 7 jobs wait in lanes\n"


def test_where_no_lane_is_what_is_asked_for_that_is_said(memory: Memory) -> None:
    said = Said()

    verbs.list_lanes(memory.lanes(), Keys(memory=memory), said.view, most=9, paused=True, limited=True)

    assert said.out.getvalue() == ""
    assert said.talk.splitlines() == [
        "echomq: no lane of mail is paused and limited",
        "echomq: in all 2 lanes have jobs, and 3 jobs wait in lanes",
    ]


def test_a_sort_reads_so_many_lanes_and_says_where_it_stopped(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verbs, "READ_MAX", 1)
    said = Said(is_json=True)

    verbs.list_lanes(memory.lanes(), Keys(memory=memory), said.view, most=9, sort=verbs.Sort.DEPTH)

    assert [row["lane"] for row in lanes_of(said)] == ["acme"]
    assert said.data["is_complete"] is False
    assert said.talk.splitlines() == [
        "echomq: only the first 1 lanes were read",
        "echomq: in all 2 lanes have jobs, and 3 jobs wait in lanes",
    ]


def test_show_says_what_keeps_the_whole_queue_from_starting_jobs(memory: Memory) -> None:
    jobs, told = memory.jobs(), []
    for step in (lambda: jobs.set_concurrency(2), lambda: jobs.set_concurrency(1), jobs.pause):
        step()
        said = Said(is_json=True)
        assert verbs.show(memory.lanes(), Keys(memory=memory), said.view, "zoo") == Exit.DONE
        told.append(said.talk.splitlines())
    full = "echomq: the queue runs 1 of at most 1 jobs (`echomq queue concurrency`)"
    paused = "echomq: the queue is paused: nothing starts (`echomq queue resume` ends that)"
    assert told == [[], [full], [paused, full]]


def test_a_queue_without_lanes_says_so_and_names_the_near_queue() -> None:
    said = Said()
    server = Keys([b"emq:{mail}:pending"])

    assert verbs.list_lanes(Memory().lanes("mial"), server, said.view, most=10) == Exit.DONE

    assert said.out.getvalue() == ""
    assert said.talk.splitlines() == [
        "echomq: mial has no lanes on valkey://here:6379/0",
        "echomq: there is nothing in mial on valkey://here:6379/0; did you mean mail?",
    ]


def test_a_lane_and_an_id_of_strange_bytes_are_shown_and_cannot_move_the_cursor() -> None:
    memory = Memory()
    keys = memory.lanes().keys
    memory.body.keyspace.zset(keys.base + b"g:\xff\x1b[2J:pending").add(b"JOB\x1b!", 0)
    memory.body.keyspace.list(keys.ring).push(b"\xff\x1b[2J")
    said = Said()

    assert verbs.list_lanes(memory.lanes(), Keys(), said.view, most=10) == Exit.DONE

    assert "\x1b" not in said.out.getvalue()
    assert "\\x1b[2J" in said.out.getvalue()
    assert "JOB\\x1b!" in said.out.getvalue()


def test_show_tells_one_lane(memory: Memory) -> None:
    said = Said(is_json=True)

    assert verbs.show(memory.lanes(), Keys(), said.view, "acme") == Exit.DONE

    assert (said.data["queue"], said.data["lane"], said.data["waiting"], said.data["running"]) == ("mail", "acme", 2, 1)


def test_show_of_a_mistyped_lane_names_the_near_one(memory: Memory) -> None:
    said = Said()

    assert verbs.show(memory.lanes(), Keys(memory=memory), said.view, "acem") == Exit.NOT_SO

    assert said.out.getvalue() == ""
    assert said.talk == "echomq: no job of mail waits or runs in lane acem; did you mean acme?\n"


@pytest.mark.parametrize("lane", ["", "a b", "{x}", "a:b", "é", "x" * 129])
def test_a_name_that_no_lane_can_have_is_refused_as_such(memory: Memory, lane: str) -> None:
    for verb in (verbs.show, verbs.pause, verbs.resume):
        with pytest.raises(InvalidName, match="lane name"):
            verb(memory.lanes(), Keys(), Said().view, lane)


def test_a_paused_lane_is_passed_over_until_it_is_resumed(memory: Memory) -> None:
    said = Said(is_json=True)

    assert verbs.pause(memory.lanes(), Keys(), said.view, "acme") == Exit.DONE

    assert said.data == {"queue": "mail", "lane": "acme", "paused": True, "waiting": 2}
    taken = memory.jobs().take(lease_ms=1000, size=10)
    assert isinstance(taken, Taken)
    assert [job.lane for job in taken.jobs] == ["zoo"]

    assert verbs.resume(memory.lanes(), Keys(), Said().view, "acme") == Exit.DONE
    taken = memory.jobs().take(lease_ms=1000, size=10)
    assert isinstance(taken, Taken)
    assert [job.lane for job in taken.jobs] == ["acme", "acme"]


def test_settings_of_a_mistyped_lane_are_made_and_the_near_name_is_mentioned(memory: Memory) -> None:
    # The lane that was meant goes on running, so this must not pass in silence.
    first, second = Said(), Said()
    for said in (first, second):
        assert verbs.pause(memory.lanes(), Keys(memory=memory), said.view, "zooo") == Exit.DONE
        assert ["paused", "True"] in said.lines
    assert first.talk.splitlines() == [
        (
            "echomq: lane zooo of mail is paused now, though nothing is known of it; to undo that: echomq lane resume"
            " mail zooo"
        ),
        "echomq: no job of mail waits or runs in lane zooo; did you mean zoo?",
    ]
    assert second.talk == "", "it is known the second time: it is paused"
    assert verbs.show(memory.lanes(), Keys(), Said().view, "zooo") == Exit.DONE


@pytest.mark.parametrize(
    ("verb", "number", "told"),
    [
        (verbs.limit, 3, "has the limit 3 now, though nothing is known of it; to undo that: echomq lane limit {} none"),
        (
            verbs.weight,
            5,
            "has the weight 5 now, though nothing is known of it; to undo that: echomq lane weight {} none",
        ),
    ],
)
def test_a_number_for_a_mistyped_lane_comes_with_the_command_that_undoes_it(
    memory: Memory, verb: Setting, number: int, told: str
) -> None:
    said, undone = Said(), Said()

    assert verb(memory.lanes(), Keys(memory=memory), said.view, "acem", number) == Exit.DONE
    assert said.talk.splitlines() == [
        "echomq: lane acem of mail " + told.format("mail acem"),
        "echomq: no job of mail waits or runs in lane acem; did you mean acme?",
    ]
    verb(memory.lanes(), Keys(memory=memory), undone.view, "acem", None)
    assert undone.talk == ""
    assert verbs.show(memory.lanes(), Keys(memory=memory), Said().view, "acem") == Exit.NOT_SO


def test_what_sets_nothing_for_a_mistyped_lane_says_so(memory: Memory) -> None:
    for verb in (verbs.limit, verbs.weight):
        said = Said()
        assert verb(memory.lanes(), Keys(memory=memory), said.view, "acem", None) == Exit.DONE
        assert said.talk.startswith("echomq: nothing was set for lane acem of mail, so nothing changed\n")
    resumed = Said()
    verbs.resume(memory.lanes(), Keys(memory=memory), resumed.view, "acem")
    assert resumed.talk.endswith("did you mean acme?\n")
    assert "nothing changed" in resumed.talk


def test_a_setting_in_a_mistyped_queue_names_the_server_and_the_near_queue() -> None:
    said = Said()
    server = Server([b"emq:{mail}:pending"])

    assert verbs.pause(server.memory.lanes("mial"), server, said.view, "acme") == Exit.DONE

    assert said.talk.splitlines() == [
        (
            "echomq: lane acme of mial is paused now, though nothing is known of it; to undo that: echomq lane resume"
            " mial acme"
        ),
        "echomq: no job of mial waits or runs in lane acme",
        "echomq: there is nothing in mial on valkey://here:6379/0; did you mean mail?",
    ]


@pytest.mark.parametrize("setting", ["pause", "limit", "weight"])
def test_a_lane_with_a_setting_and_no_job_is_shown(setting: str) -> None:
    memory = Memory()
    said = Said(is_json=True)
    lanes = memory.lanes()
    match setting:
        case "pause":
            lanes.pause("new")
        case "limit":
            lanes.limit("new", 2)
        case _:
            lanes.weight("new", 3)

    assert verbs.show(lanes, Keys(memory=memory), said.view, "new") == Exit.DONE
    assert (said.data["waiting"], said.data["running"], said.data["oldest"], said.talk) == (0, 0, None, "")


def test_one_lane_is_one_call_and_a_near_name_is_looked_for_among_the_first_thousands_only() -> None:
    memory = Counting()
    jobs = memory.jobs()
    for first in range(0, 7000, 1000):
        jobs.enqueue_many([NewJob(jobs.mint(), b"", lane=f"t{first + n:04}") for n in range(1000)])
    said = Said()

    memory.asked.clear()
    assert verbs.show(memory.lanes(), Keys(memory=memory), said.view, "t6999") == Exit.DONE
    assert memory.asked == ["lanes", "is_paused"]
    assert verbs.limit(memory.lanes(), Keys(memory=memory), said.view, "t6998", 3) == Exit.DONE
    assert memory.asked == ["lanes", "is_paused", "lanes", "glimit", "depth"]

    memory.asked.clear()
    assert verbs.show(memory.lanes(), Keys(memory=memory), said.view, "t4999x") == Exit.NOT_SO
    assert memory.asked == ["lanes"] * 6
    assert "did you mean t4999?" in said.talk


class Counting(Memory):
    """Remembers which transitions were run."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    def run(self, call: Call[Answer]) -> Answer:
        self.asked.append(call.transition.name)
        return super().run(call)


def test_a_lane_whose_only_job_runs_is_known(memory: Memory) -> None:
    memory.lanes().drain("acme")
    said = Said()

    assert verbs.limit(memory.lanes(), Keys(), said.view, "acme", 1) == Exit.DONE
    assert said.talk == ""


def test_a_limit_is_set_and_taken_away(memory: Memory) -> None:
    said, people = Said(is_json=True), Said()

    assert verbs.limit(memory.lanes(), Keys(), said.view, "acme", 1) == Exit.DONE
    assert said.data["limit"] == 1
    taken = memory.jobs().take(lease_ms=1000, size=10)
    assert isinstance(taken, Taken)
    assert [job.lane for job in taken.jobs] == ["zoo"], "one of acme runs already"

    assert verbs.limit(memory.lanes(), Keys(), people.view, "acme", None) == Exit.DONE
    assert ["limit", "none"] in people.lines
    taken = memory.jobs().take(lease_ms=1000, size=10)
    assert isinstance(taken, Taken)
    assert [job.lane for job in taken.jobs] == ["acme", "acme"]


def test_a_weight_is_set_and_taken_away(memory: Memory) -> None:
    said, without = Said(is_json=True), Said(is_json=True)

    assert verbs.weight(memory.lanes(), Keys(), said.view, "acme", 3) == Exit.DONE
    assert said.data["weight"] == 3
    assert verbs.weight(memory.lanes(), Keys(), without.view, "acme", None) == Exit.DONE
    assert without.data["weight"] == 1


@pytest.mark.parametrize(("text", "number"), [("none", None), ("0", 0), ("25", 25)])
def test_a_number_or_none_is_read(text: str, number: int | None) -> None:
    assert number_or_none("limit", text) == number


@pytest.mark.parametrize("text", ["", "None", "1.5", "+1", "٣", "9" * 16])
def test_what_is_neither_a_number_nor_none_is_refused(text: str) -> None:
    with pytest.raises(InvalidOption, match="none, or a whole number"):
        number_or_none("limit", text)


@pytest.mark.parametrize("most", [0, 10**15])
def test_a_limit_out_of_range_is_refused_and_changes_nothing(memory: Memory, most: int) -> None:
    before = memory.body.dump()

    with pytest.raises(InvalidOption):
        verbs.limit(memory.lanes(), Keys(), Said().view, "acme", most)
    assert memory.body.dump() == before


def test_a_waiting_job_is_moved_and_moving_it_again_changes_nothing(memory: Memory) -> None:
    jobs, lanes = memory.jobs(), memory.lanes()
    job = str(jobs.enqueue(b"5", lane="zoo").job)

    for moved in (True, False):
        said = Said(is_json=True)
        assert verbs.move(jobs, lanes, Keys(), said.view, job, "acme") == Exit.DONE
        assert said.data == {"queue": "mail", "job": job, "lane": "acme", "moved": moved}
    assert (lanes.depth("acme"), lanes.depth("zoo")) == (3, 1)


def test_only_a_job_that_waits_in_a_lane_can_be_moved(memory: Memory) -> None:
    jobs, lanes = memory.jobs(), memory.lanes()
    running = memory.lanes().claim(lease_ms=1000)
    assert isinstance(running, Claimed)
    flat = str(jobs.enqueue(b"flat").job)

    for job, words in (
        (str(running.job), "is active"),
        (flat, "is in no lane: only a job that was added with one can be moved"),
        (ABSENT, f"mail has no job {ABSENT} on valkey://here:6379/0\n"),
    ):
        said = Said()
        assert verbs.move(jobs, lanes, Keys(), said.view, job, "zoo") == Exit.NOT_SO
        assert words in said.talk
        assert said.out.getvalue() == ""
    with pytest.raises(InvalidId):
        verbs.move(jobs, lanes, Keys(), Said().view, "JOB-1", "zoo")


def test_drain_asks_with_the_count_and_leaves_what_runs(memory: Memory) -> None:
    said = Said(answer=True)

    assert verbs.drain(memory.lanes(), Keys(), said.view, "acme", yes=False) == Exit.DONE

    assert said.questions == ["Delete 2 jobs that wait in lane acme of mail?"]
    assert ["drained", "2"] in said.lines
    assert (memory.lanes().depth("acme"), memory.lanes().depth("zoo")) == (0, 1)
    assert memory.jobs().counts()["active"] == 1


@pytest.mark.parametrize("answer", [False, None])
def test_no_lane_is_drained_without_a_yes(memory: Memory, *, answer: bool | None) -> None:
    said = Said(answer=answer)

    assert verbs.drain(memory.lanes(), Keys(), said.view, "zoo", yes=False) == Exit.NOT_CONFIRMED

    assert memory.lanes().depth("zoo") == 1
    assert said.out.getvalue() == ""
    if answer is None:
        assert "--yes" in said.talk
    else:
        assert said.questions == ["Delete 1 job that waits in lane zoo of mail?"]


def test_a_lane_is_drained_in_slices_until_nothing_waits() -> None:
    memory = Memory()
    memory.jobs().enqueue_many([b"x"] * 2500, lane="acme")
    said = Said(is_json=True)

    verbs.drain(memory.lanes(), Keys(), said.view, "acme", yes=True)

    assert said.data == {"queue": "mail", "lane": "acme", "drained": 2500}
    assert memory.lanes().depth("acme") == 0


def test_draining_a_mistyped_lane_asks_nobody_and_names_the_near_one(memory: Memory) -> None:
    said = Said(answer=True)

    assert verbs.drain(memory.lanes(), Keys(memory=memory), said.view, "acmee", yes=False) == Exit.DONE

    assert said.questions == []
    assert ["drained", "0"] in said.lines
    assert "did you mean acme?" in said.talk
