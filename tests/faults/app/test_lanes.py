"""The lanes of one queue through the application: both faces on a real server, and mistakes that are never sent."""

import asyncio
from collections.abc import Iterator

import pytest

from echomq import (
    AlreadyThere,
    BlockingJobs,
    Claimed,
    Completed,
    ConcurrencySet,
    Drained,
    Duplicate,
    EchoMQ,
    Empty,
    Enqueued,
    Gone,
    JobId,
    LaneInfo,
    LaneSet,
    NewJob,
    NotInLane,
    Paused,
    Reassigned,
    Scheduled,
    StoredJob,
    Taken,
)
from echomq.errors import Closed, InvalidName, InvalidOption, PayloadTooLarge
from echomq.nodes import NodeHolder
from tests.servers import RealServer, valkey_server


@pytest.fixture(scope="module")
def server() -> Iterator[RealServer]:
    with valkey_server() as started:
        yield started


@pytest.fixture
def app(server: RealServer) -> Iterator[EchoMQ]:
    with EchoMQ(server.url) as opened, opened.new_blocking_client() as client:
        client.command("FLUSHALL")
        yield opened


def lane_of(app: EchoMQ, job: JobId) -> str | None:
    row = app.blocking_jobs("mail").get_job(job)
    assert isinstance(row, StoredJob)
    return row.lane


def taken_lanes(app: EchoMQ, size: int) -> list[str | None]:
    taken = app.blocking_jobs("mail").take(lease_ms=60_000, size=size)
    assert isinstance(taken, Taken)
    return [job.lane for job in taken.jobs]


def test_every_admission_takes_a_lane(app: EchoMQ) -> None:
    mail, lanes = app.blocking_jobs("mail"), app.blocking_lanes("mail")
    ready = mail.enqueue(b"1", lane="acme", max_attempts=2)
    later = mail.enqueue_in(b"2", delay_ms=60_000, lane="acme")
    due = mail.enqueue_at(b"3", at_ms=0, lane="zoo")
    assert [type(answer) for answer in (ready, later, due)] == [Enqueued, Scheduled, Scheduled]
    assert [lane_of(app, answer.job) for answer in (ready, later, due)] == ["acme", "acme", "zoo"]
    assert (lanes.depth("acme"), lanes.depth("zoo")) == (1, 0)

    assert mail.promote().count == 1
    assert (lanes.depth("acme"), lanes.depth("zoo")) == (1, 1)
    assert mail.counts()["pending"] == 0, "none of them is in the flat set"


def test_one_call_fills_many_lanes_and_says_which_jobs_were_there(app: EchoMQ) -> None:
    mail, lanes = app.blocking_jobs("mail"), app.blocking_lanes("mail")
    own = mail.mint()

    answers = mail.enqueue_many([b"1", NewJob(own, b"2", lane="zoo"), NewJob(mail.mint(), b"3"), b"4"], lane="acme")
    again = mail.enqueue_many([NewJob(own, b"2", lane="acme")])

    assert [lane_of(app, answer.job) for answer in answers] == ["acme", "zoo", None, "acme"]
    assert again == [Duplicate(own)]
    assert (lanes.depth("acme"), lanes.depth("zoo"), mail.counts()["pending"]) == (2, 1, 1)


def test_a_job_that_exists_stays_in_its_lane_when_it_is_enqueued_into_another(app: EchoMQ) -> None:
    mail, lanes = app.blocking_jobs("mail"), app.blocking_lanes("mail")
    job = mail.enqueue(b"1", lane="acme").job

    assert mail.enqueue(b"1", job=job, lane="zoo") == Duplicate(job)
    assert (lanes.depth("acme"), lanes.depth("zoo")) == (1, 0)


class Twice(NodeHolder):
    """Mints one id that exists already, and then new ones."""

    __slots__ = ("_first",)

    def __init__(self, first: JobId) -> None:
        super().__init__(node=1)
        self._first = [first]

    def mint(self) -> JobId:
        return self._first.pop() if self._first else super().mint()


@pytest.mark.parametrize("lane", ["acme", None])
def test_an_id_that_was_minted_twice_is_minted_anew_in_a_lane_too(app: EchoMQ, lane: str | None) -> None:
    theirs = app.blocking_jobs("mail").enqueue(b"theirs", lane="zoo").job
    ours = BlockingJobs("mail", app._blocking, Twice(theirs), payload_bytes_max=10)
    many = BlockingJobs("mail", app._blocking, Twice(theirs), payload_bytes_max=10)

    one = ours.enqueue(b"ours", lane=lane)
    others = many.enqueue_many([b"ours", b"ours"], lane=lane)

    assert [type(answer) for answer in (one, *others)] == [Enqueued] * 3
    assert theirs not in [answer.job for answer in (one, *others)]
    assert [lane_of(app, answer.job) for answer in (one, *others)] == [lane] * 3
    assert lane_of(app, theirs) == "zoo"


def test_lanes_have_turns_and_settings_change_them(app: EchoMQ) -> None:
    mail, lanes = app.blocking_jobs("mail"), app.blocking_lanes("mail")
    mail.enqueue_many([b"x"] * 20, lane="acme")
    mail.enqueue_many([b"x"] * 20, lane="zoo")
    assert taken_lanes(app, 4) == ["acme", "zoo", "acme", "zoo"]

    assert lanes.weight("acme", 3) == LaneSet("acme")
    assert taken_lanes(app, 4) == ["acme", "acme", "acme", "zoo"]
    assert lanes.weight("acme", None) == LaneSet("acme")
    assert lanes.limit("zoo", 4) == LaneSet("zoo")
    assert taken_lanes(app, 4) == ["acme", "zoo", "acme", "acme"], "zoo has four in flight"
    assert lanes.limit("zoo", None) == LaneSet("zoo")
    assert lanes.pause("acme") == LaneSet("acme")
    assert taken_lanes(app, 2) == ["zoo", "zoo"]
    assert lanes.resume("acme") == LaneSet("acme")
    assert sorted(map(str, taken_lanes(app, 2))) == ["acme", "zoo"]


def test_a_ceiling_holds_for_all_lanes_together(app: EchoMQ) -> None:
    mail = app.blocking_jobs("mail")
    mail.enqueue_many([b"x"] * 3, lane="acme")
    mail.enqueue_many([b"x"] * 3)

    assert mail.set_concurrency(2) == ConcurrencySet(2)
    assert len(taken_lanes(app, 10)) == 2
    full = mail.take(lease_ms=60_000, size=10)
    assert isinstance(full, Taken)
    assert (full.jobs, full.full) == ((), True)
    assert mail.set_concurrency(None) == ConcurrencySet(None)
    assert len(taken_lanes(app, 10)) == 4


def test_claims_by_hand_name_the_lane_and_are_settled_like_any_other(app: EchoMQ) -> None:
    mail, lanes = app.blocking_jobs("mail"), app.blocking_lanes("mail")
    assert lanes.claim(lease_ms=1000) == Empty()
    assert lanes.claim_weighted(lease_ms=1000) == ()
    mail.enqueue_many([b"x"] * 9, lane="acme")
    lanes.weight("acme", 2)

    one = lanes.claim(lease_ms=60_000)
    two, rest = lanes.claim_weighted(lease_ms=60_000), lanes.claim_lane(lease_ms=60_000, cap=5)
    assert isinstance(one, Claimed)
    assert not isinstance(two, Paused)
    assert not isinstance(rest, Paused)
    assert (one.lane, len(two), len(rest)) == ("acme", 2, 5)
    assert mail.complete(one.job, one.token) == Completed(one.job)

    mail.pause()
    assert lanes.claim(lease_ms=1000) == lanes.claim_weighted(lease_ms=1000) == lanes.claim_lane(lease_ms=1000)
    assert lanes.claim(lease_ms=1000) == Paused()
    assert lanes.depth("acme") == 1


def test_a_lane_takes_back_its_own_lapsed_jobs_only(app: EchoMQ) -> None:
    mail, lanes = app.blocking_jobs("mail"), app.blocking_lanes("mail")
    mail.enqueue(b"x", lane="acme")
    mail.enqueue(b"x", lane="zoo")
    with app.new_blocking_client() as client:
        for _ in range(2):
            claimed = lanes.claim(lease_ms=60_000)
            assert isinstance(claimed, Claimed)
            client.command("ZADD", mail.keys.active, 1, bytes(claimed.job))  # its lease has lapsed long ago

    assert lanes.reap("acme", max_attempts=5) == 1
    assert (lanes.depth("acme"), lanes.depth("zoo"), mail.counts()["active"]) == (1, 0, 1)


def test_a_waiting_job_moves_to_another_lane(app: EchoMQ) -> None:
    mail, lanes = app.blocking_jobs("mail"), app.blocking_lanes("mail")
    job = mail.enqueue(b"x", lane="acme").job

    assert lanes.reassign(str(job), "zoo") == Reassigned(job, "zoo")
    assert lanes.reassign(job, "zoo") == AlreadyThere(job, "zoo")
    scheduled = mail.enqueue_in(b"x", delay_ms=60_000, lane="acme").job
    assert lanes.reassign(scheduled, "zoo") == NotInLane(scheduled)
    flat, absent = mail.enqueue(b"x").job, mail.mint()
    assert (lanes.reassign(flat, "zoo"), lanes.reassign(absent, "zoo")) == (Gone(flat), Gone(absent))


def test_a_lane_is_emptied_in_slices_and_its_settings_stay(app: EchoMQ) -> None:
    mail, lanes = app.blocking_jobs("mail"), app.blocking_lanes("mail")
    mail.enqueue_many([b"x"] * 1500, lane="acme")
    lanes.weight("acme", 5)

    assert lanes.drain("acme") == Drained(1000, more=True)
    assert lanes.drain("acme") == Drained(500, more=False)
    assert list(lanes.list_all()) == [
        LaneInfo(lane="acme", depth=0, in_flight=0, limit=None, weight=5, paused=False, oldest=None)
    ]
    lanes.weight("acme", None)
    assert list(lanes.list_all()) == []


async def test_the_face_for_asyncio_walks_more_lanes_than_a_slice_has(server: RealServer, app: EchoMQ) -> None:
    async with EchoMQ(server.url) as aio:
        mail, lanes = aio.jobs("mail"), aio.lanes("mail")
        names = [f"t{n:04}" for n in range(2500)]
        await mail.enqueue_many([NewJob(await mail.mint(), b"x", lane=name) for name in names])
        await asyncio.gather(lanes.pause("t0001"), lanes.limit("t0002", 3))

        assert [info.lane async for info in lanes.list_all()] == names
        assert [info.lane async for info in lanes.list_all(limit=7)] == names
        first = [info async for info in lanes.list_all() if info.lane < "t0003"]
        assert [(info.depth, info.paused, info.limit) for info in first] == [
            (1, False, None),
            (1, True, None),
            (1, False, 3),
        ]
        assert (await lanes.waiting(), app.blocking_lanes("mail").waiting()) == (2500, 2500)
        page = await lanes.list(limit=10)
        assert (len(page.lanes), page.cursor is None) == (10, False)
        async for info in lanes.list_all():
            assert info.lane == "t0000"
            break


def test_settings_without_jobs_and_lanes_of_other_speakers_are_listed_once_each(app: EchoMQ) -> None:
    mail, lanes = app.blocking_jobs("mail"), app.blocking_lanes("mail")
    mail.enqueue(b"x", lane="t0007")
    with app.new_blocking_client() as client:
        for name in (f"t{n:04}" for n in range(1200)):
            client.command("HSET", mail.keys.group_weight, name, 2)
            client.command("SADD", mail.keys.paused, name)
        # As another speaker leaves them: it keeps no registry of lanes, and may use any bytes.
        client.command("ZADD", mail.keys.base + b"g:\xff\x1b:pending", 0, bytes(mail.mint()))
        client.command("RPUSH", mail.keys.ring, b"\xff\x1b")

    for limit in (1000, 70):
        found = [info.lane for info in lanes.list_all(limit=limit)]
        assert found[0] == "t0007", "those with jobs come first"
        assert len(found) == len(set(found)) == 1201
        assert {f"t{n:04}" for n in range(1200)} < set(found)


async def test_one_lane_and_its_jobs_are_read_by_both_faces(server: RealServer, app: EchoMQ) -> None:
    mail, lanes = app.blocking_jobs("mail"), app.blocking_lanes("mail")
    ids = [answer.job for answer in mail.enqueue_many([b"x"] * 5, lane="acme")]
    mail.enqueue(b"x", lane="zoo")
    lanes.limit("acme", 3)
    running = lanes.claim(lease_ms=60_000)
    assert isinstance(running, Claimed)
    assert running.job == ids[0]

    told = LaneInfo(lane="acme", depth=4, in_flight=1, limit=3, weight=1, paused=False, oldest=ids[1])
    nobody = LaneInfo(lane="nobody", depth=0, in_flight=0, limit=None, weight=1, paused=False, oldest=None)
    assert (lanes.get("acme"), lanes.get("nobody")) == (told, nobody)
    page = lanes.browse("acme", limit=3)
    assert [job.job for job in page.jobs] == ids[:1:-1]
    assert [job.job for job in lanes.browse("acme", limit=3, after=page.after).jobs] == [ids[1]]
    assert mail.browse("pending").jobs == ()
    async with EchoMQ(server.url) as aio:
        assert await aio.lanes("mail").get("acme") == told
        oldest = await aio.lanes("mail").browse("acme", newest_first=False)
        assert [job.job for job in oldest.jobs] == ids[1:]
        assert await aio.jobs("mail").browse("pending", lane="acme", newest_first=False) == oldest
        with pytest.raises(InvalidOption, match="pending only"):
            await aio.jobs("mail").browse("dead", lane="acme")


def test_a_wake_up_is_passed_on_where_something_waits_and_none_lies_there(app: EchoMQ) -> None:
    mail = app.blocking_jobs("mail")
    assert mail.wake(worth=3) is False, "nothing waits"
    mail.enqueue_many([b"x"] * 3, lane="acme")
    with app.new_blocking_client() as client:
        client.command("DEL", mail.keys.wake)
        assert mail.wake(worth=3, watcher="w") is True
        assert mail.wake(worth=3) is False, "one lies there already"
        assert client.command("LRANGE", mail.keys.wake, 0, -1) == [b"3"]


@pytest.mark.parametrize("name", ["", "a b", "{x}", "a:b", "é", "x" * 129])
def test_a_name_that_no_lane_can_have_is_refused_before_anything_is_sent(name: str) -> None:
    app = EchoMQ("unix:///nowhere", node=1)
    mail, lanes = app.blocking_jobs("mail"), app.blocking_lanes("mail")
    for call in (
        lambda: mail.enqueue(b"", lane=name),
        lambda: mail.enqueue_at(b"", at_ms=0, lane=name),
        lambda: mail.enqueue_in(b"", delay_ms=0, lane=name),
        lambda: mail.enqueue_many([b""], lane=name),
        lambda: mail.enqueue_many([NewJob(mail.mint(), b"", lane=name)]),
        lambda: lanes.weight(name, 1),
        lambda: lanes.limit(name, 1),
        lambda: lanes.pause(name),
        lambda: lanes.resume(name),
        lambda: lanes.reassign(mail.mint(), name),
        lambda: lanes.drain(name),
        lambda: lanes.reap(name),
        lambda: lanes.depth(name),
        lambda: lanes.get(name),
        lambda: lanes.browse(name),
        lambda: mail.browse("pending", lane=name),
    ):
        with pytest.raises(InvalidName, match="lane name"):
            call()
    app.close()


def test_numbers_that_cannot_be_are_refused_before_anything_is_sent() -> None:
    app = EchoMQ("unix:///nowhere", node=1)
    mail, lanes = app.blocking_jobs("mail"), app.blocking_lanes("mail")
    for call in (
        lambda: lanes.weight("acme", 0),
        lambda: lanes.weight("acme", 1001),
        lambda: lanes.limit("acme", 0),
        lambda: lanes.claim(lease_ms=0),
        lambda: lanes.claim_lane(lease_ms=1000, cap=1001),
        lambda: lanes.drain("acme", limit=0),
        lambda: lanes.list(limit=1001),
        lambda: list(lanes.list_all(limit=0)),
        lambda: mail.set_concurrency(0),
        lambda: mail.take(lease_ms=1000, size=0),
        lambda: mail.wake(worth=0),
    ):
        with pytest.raises(InvalidOption):
            call()
    with pytest.raises(PayloadTooLarge):
        mail.enqueue(b"x" * (1 << 20) + b"x", lane="acme")
    app.close()


async def test_the_lanes_of_a_closed_application_say_so(server: RealServer) -> None:
    app = EchoMQ(server.url)
    lanes, blocking = app.lanes("closed"), app.blocking_lanes("closed")
    assert await lanes.depth("acme") == blocking.depth("acme") == 0
    await app.aclose()
    with pytest.raises(Closed, match="make a new one"):
        await lanes.depth("acme")
    with pytest.raises(Closed, match="make a new one"):
        blocking.depth("acme")
