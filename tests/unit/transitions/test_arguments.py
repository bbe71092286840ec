"""Arguments are checked before anything is sent: no `Call` exists for one that cannot be."""

from collections.abc import Callable
from typing import cast

import pytest

from echomq.batches import BATCH_MAX
from echomq.errors import (
    BadInput,
    InvalidId,
    InvalidName,
    InvalidOption,
    InvalidPayload,
    InvalidToken,
    PayloadTooLarge,
)
from echomq.ids import LAST_MS, BrandedId, JobId
from echomq.records import BrowsedJob, Completion, NewJob, Token
from echomq.states import SetName
from echomq.transitions.add_log import add_log
from echomq.transitions.browse import browse
from echomq.transitions.call import Call
from echomq.transitions.checks import (
    ATTEMPTS_MAX,
    IN_FLIGHT_MAX,
    LEASE_MS_MAX,
    PROGRESS_BYTES_MAX,
    WEIGHT_MAX,
)
from echomq.transitions.claim import claim
from echomq.transitions.claim_many import claim_many
from echomq.transitions.complete import complete
from echomq.transitions.complete_many import complete_many
from echomq.transitions.counts import counts
from echomq.transitions.delay import delay
from echomq.transitions.depth import depth
from echomq.transitions.drain import drain
from echomq.transitions.enqueue import enqueue
from echomq.transitions.enqueue_many import enqueue_many
from echomq.transitions.extend import extend
from echomq.transitions.extend_many import extend_many
from echomq.transitions.gbclaim import gbclaim
from echomq.transitions.gclaim import gclaim
from echomq.transitions.gdrain import gdrain
from echomq.transitions.genqueue import genqueue
from echomq.transitions.glimit import glimit
from echomq.transitions.gpause import gpause
from echomq.transitions.greap_group import greap_group
from echomq.transitions.greassign import greassign
from echomq.transitions.gresume import gresume
from echomq.transitions.gwclaim import gwclaim
from echomq.transitions.gweight import gweight
from echomq.transitions.lanes import lanes, one_lane
from echomq.transitions.lease_node import lease_node
from echomq.transitions.logs import logs
from echomq.transitions.metrics import metrics
from echomq.transitions.obliterate import obliterate
from echomq.transitions.promote import promote
from echomq.transitions.purge import purge
from echomq.transitions.reap import reap
from echomq.transitions.release import release
from echomq.transitions.remove import remove
from echomq.transitions.repair import repair
from echomq.transitions.reprocess_many import reprocess_many
from echomq.transitions.reschedule import reschedule
from echomq.transitions.retry import ERROR_BYTES_MAX, retry
from echomq.transitions.return_node import return_node
from echomq.transitions.schedule import enqueue_at, enqueue_in
from echomq.transitions.set_concurrency import set_concurrency
from echomq.transitions.take import take, take_blocking
from echomq.transitions.update_data import update_data
from echomq.transitions.update_progress import update_progress
from echomq.transitions.waiting import waiting
from echomq.transitions.wake import wake
from tests.unit.transitions.table import KEYS, J, T

Make = Callable[[int], Call[object]]

# Each takes the token; 1 is the first that a claim can give.
TOKENS: dict[str, Make] = {
    "add_log": lambda token: add_log(KEYS, J, b"", token=Token(token)),
    "complete": lambda token: complete(KEYS, J, Token(token)),
    "complete_many": lambda token: complete_many(KEYS, [Completion(J, Token(token))]),
    "delay": lambda token: delay(KEYS, J, Token(token), delay_ms=0),
    "extend": lambda token: extend(KEYS, J, Token(token), lease_ms=1),
    "extend_many": lambda token: extend_many(KEYS, [(J, Token(token))], lease_ms=1),
    "release": lambda token: release(KEYS, J, Token(token)),
    "retry": lambda token: retry(KEYS, J, Token(token), delay_ms=0, max_attempts=0, error=""),
    "update_data": lambda token: update_data(KEYS, J, b"", token=Token(token)),
    "update_progress": lambda token: update_progress(KEYS, J, b"", token=Token(token)),
}

MS_MAX = 2**53 - 1

# Each takes a whole number, with the least and the most that it may be.
NUMBERS: dict[str, tuple[Make, int, int]] = {
    "add_log keep": (lambda n: add_log(KEYS, J, b"", keep=n), 1, MS_MAX),
    "browse limit": (lambda n: browse(KEYS, SetName.DEAD, limit=n), 1, BATCH_MAX),
    "claim lease": (lambda n: claim(KEYS, lease_ms=n), 1, LEASE_MS_MAX),
    "claim_many lease": (lambda n: claim_many(KEYS, lease_ms=n, size=1), 1, LEASE_MS_MAX),
    "claim_many size": (lambda n: claim_many(KEYS, lease_ms=1, size=n), 1, BATCH_MAX),
    "complete ttl": (lambda n: complete(KEYS, J, T, result_ttl_ms=n), 0, MS_MAX),
    "complete_many ttl": (lambda n: complete_many(KEYS, [Completion(J, T, b"", n)]), 0, MS_MAX),
    "delay in": (lambda n: delay(KEYS, J, T, delay_ms=n), 0, MS_MAX),
    "delay at": (lambda n: delay(KEYS, J, T, at_ms=n), 0, MS_MAX),
    "drain limit": (lambda n: drain(KEYS, limit=n), 1, BATCH_MAX),
    "enqueue cap": (lambda n: enqueue(KEYS, J, b"", max_attempts=n), 1, ATTEMPTS_MAX),
    "enqueue_many cap": (lambda n: enqueue_many(KEYS, [NewJob(J, b"", n)]), 1, ATTEMPTS_MAX),
    "enqueue_at instant": (lambda n: enqueue_at(KEYS, J, b"", at_ms=n), 0, MS_MAX),
    "enqueue_in delay": (lambda n: enqueue_in(KEYS, J, b"", delay_ms=n), 0, MS_MAX),
    "enqueue_in cap": (lambda n: enqueue_in(KEYS, J, b"", delay_ms=0, max_attempts=n), 1, ATTEMPTS_MAX),
    "extend lease": (lambda n: extend(KEYS, J, T, lease_ms=n), 1, LEASE_MS_MAX),
    "extend_many lease": (lambda n: extend_many(KEYS, [(J, T)], lease_ms=n), 1, LEASE_MS_MAX),
    "gbclaim lease": (lambda n: gbclaim(KEYS, lease_ms=n), 1, LEASE_MS_MAX),
    "gbclaim cap": (lambda n: gbclaim(KEYS, lease_ms=1, cap=n), 1, BATCH_MAX),
    "gclaim lease": (lambda n: gclaim(KEYS, lease_ms=n), 1, LEASE_MS_MAX),
    "gdrain limit": (lambda n: gdrain(KEYS, "red", limit=n), 1, BATCH_MAX),
    "genqueue cap": (lambda n: genqueue(KEYS, J, b"", lane="red", max_attempts=n), 1, ATTEMPTS_MAX),
    "glimit most": (lambda n: glimit(KEYS, "red", n), 1, IN_FLIGHT_MAX),
    "greap_group limit": (lambda n: greap_group(KEYS, "red", limit=n), 1, BATCH_MAX),
    "greap_group cap": (lambda n: greap_group(KEYS, "red", max_attempts=n), 1, MS_MAX),
    "gweight weight": (lambda n: gweight(KEYS, "red", n), 1, WEIGHT_MAX),
    "gwclaim lease": (lambda n: gwclaim(KEYS, lease_ms=n), 1, LEASE_MS_MAX),
    "lanes limit": (lambda n: lanes(KEYS, limit=n), 1, BATCH_MAX),
    "set_concurrency most": (lambda n: set_concurrency(KEYS, n), 1, IN_FLIGHT_MAX),
    "take lease": (lambda n: take(KEYS, lease_ms=n, size=1), 1, LEASE_MS_MAX),
    "take size": (lambda n: take(KEYS, lease_ms=1, size=n), 1, BATCH_MAX),
    "take park": (lambda n: take(KEYS, lease_ms=1, size=1, park_ms=n), 1, 3_600_000),
    "take block": (lambda n: take_blocking(KEYS, lease_ms=1, size=1, block_ms=n), 1, 3_600_000),
    "waiting limit": (lambda n: waiting(KEYS, limit=n), 1, BATCH_MAX),
    "wake worth": (lambda n: wake(KEYS, worth=n), 1, BATCH_MAX),
    "lease_node node": (lambda n: lease_node(b"me", node=n, mark_ms=0, lease_ms=1), 0, 1023),
    "lease_node mark": (lambda n: lease_node(b"me", node=None, mark_ms=n, lease_ms=1), 0, LAST_MS),
    "lease_node lease": (lambda n: lease_node(b"me", node=None, mark_ms=0, lease_ms=n), 1, LEASE_MS_MAX),
    "logs start": (lambda n: logs(KEYS, J, start=n), 0, MS_MAX),
    "logs count": (lambda n: logs(KEYS, J, count=n), 1, BATCH_MAX),
    "obliterate budget": (lambda n: obliterate(KEYS, budget=n), 1, BATCH_MAX),
    "promote limit": (lambda n: promote(KEYS, limit=n), 1, BATCH_MAX),
    "purge age": (lambda n: purge(KEYS, age_ms=n), 0, MS_MAX),
    "purge limit": (lambda n: purge(KEYS, age_ms=0, limit=n), 1, BATCH_MAX),
    "reap limit": (lambda n: reap(KEYS, limit=n), 1, BATCH_MAX),
    "reap cap": (lambda n: reap(KEYS, max_attempts=n), 1, MS_MAX),
    "repair budget": (lambda n: repair(KEYS, budget=n), 1, BATCH_MAX),
    "reprocess_many limit": (lambda n: reprocess_many(KEYS, limit=n), 1, BATCH_MAX),
    "reschedule in": (lambda n: reschedule(KEYS, J, delay_ms=n), 0, MS_MAX),
    "reschedule at": (lambda n: reschedule(KEYS, J, at_ms=n), 0, MS_MAX),
    "retry delay": (lambda n: retry(KEYS, J, T, delay_ms=n, max_attempts=0, error=""), 0, MS_MAX),
    "retry cap": (lambda n: retry(KEYS, J, T, delay_ms=0, max_attempts=n, error=""), 0, MS_MAX),
    "return_node node": (lambda n: return_node(b"me", n, last_ms=0), 0, 1023),
    "return_node last": (lambda n: return_node(b"me", 0, last_ms=n), 0, MS_MAX),
}

# Each takes bytes of the caller's.
BYTES: dict[str, Callable[[bytes], Call[object]]] = {
    "add_log": lambda value: add_log(KEYS, J, value),
    "complete": lambda value: complete(KEYS, J, T, result=value),
    "complete_many": lambda value: complete_many(KEYS, [Completion(J, T, value)]),
    "enqueue": lambda value: enqueue(KEYS, J, value),
    "enqueue_many": lambda value: enqueue_many(KEYS, [NewJob(J, value)]),
    "enqueue_at": lambda value: enqueue_at(KEYS, J, value, at_ms=0),
    "enqueue_in": lambda value: enqueue_in(KEYS, J, value, delay_ms=0),
    "genqueue": lambda value: genqueue(KEYS, J, value, lane="red"),
    "lease_node": lambda value: lease_node(value, node=None, mark_ms=0, lease_ms=1),
    "return_node": lambda value: return_node(value, 0, last_ms=0),
    "update_data": lambda value: update_data(KEYS, J, value),
    "update_progress": lambda value: update_progress(KEYS, J, value),
}


def named(table: dict[str, object]) -> list[object]:
    return [pytest.param(value, id=name) for name, value in table.items()]


@pytest.mark.parametrize("make", named({**TOKENS}))
@pytest.mark.parametrize("token", [0, -1, 2**53, True, 1.0, "1", b"1"], ids=repr)
def test_a_token_that_no_claim_gave_is_refused(make: Make, token: int) -> None:
    make(1)
    with pytest.raises(InvalidToken):
        make(token)


@pytest.mark.parametrize(("make", "least", "most"), [pytest.param(*row, id=name) for name, row in NUMBERS.items()])
def test_a_number_outside_its_range_is_refused(make: Make, least: int, most: int) -> None:
    make(least)
    make(most)
    for value in (least - 1, most + 1, True, 1.0, "1", float("nan")):
        with pytest.raises(InvalidOption):
            make(value)  # type: ignore[arg-type]  # what a caller without a type checker passes


@pytest.mark.parametrize("make", named({**BYTES}))
@pytest.mark.parametrize(
    "value", ["text", 1, bytearray(b"x"), memoryview(b"x")], ids=lambda value: type(value).__name__
)
def test_what_is_no_bytes_is_refused(make: Callable[[object], object], value: object) -> None:
    make(b"x")
    with pytest.raises(InvalidPayload):
        make(value)


@pytest.mark.parametrize("size", [0, BATCH_MAX + 1])
def test_a_batch_has_one_to_a_thousand_items(size: int) -> None:
    with pytest.raises(InvalidOption):
        enqueue_many(KEYS, [NewJob(J, b"")] * size)
    with pytest.raises(InvalidOption):
        complete_many(KEYS, [Completion(J, T)] * size)
    with pytest.raises(InvalidOption):
        extend_many(KEYS, [(J, T)] * size, lease_ms=1)


def test_a_full_batch_is_possible() -> None:
    assert len(enqueue_many(KEYS, [NewJob(J, b"")] * BATCH_MAX).args) == 4 * BATCH_MAX
    assert len(complete_many(KEYS, [Completion(J, T)] * BATCH_MAX).args) == 4 * BATCH_MAX
    assert len(extend_many(KEYS, [(J, T)] * BATCH_MAX, lease_ms=1).args) == 2 * BATCH_MAX + 2


@pytest.mark.parametrize(
    "make",
    [
        lambda: delay(KEYS, J, T),
        lambda: delay(KEYS, J, T, delay_ms=1, at_ms=1),
        lambda: reschedule(KEYS, J),
        lambda: reschedule(KEYS, J, delay_ms=1, at_ms=1),
    ],
)
def test_a_due_instant_is_given_in_exactly_one_way(make: Callable[[], object]) -> None:
    with pytest.raises(InvalidOption, match="exactly one"):
        make()


@pytest.mark.parametrize("names", [["pendin"], ["pending", "schedulded"], "pending", [None], [["dead"]]], ids=repr)
def test_a_name_that_cannot_be_counted_is_refused_with_those_that_can(names: list[str]) -> None:
    with pytest.raises(InvalidOption):
        counts(KEYS, names)


def test_a_name_is_counted_once_however_often_it_is_given() -> None:
    assert len(counts(KEYS, ["dead", "dead", "failed", "failed"]).keys) == 2


@pytest.mark.parametrize("name", ["pending", "x", None])
def test_only_two_things_have_metrics(name: object) -> None:
    with pytest.raises(InvalidOption, match="completed or failed"):
        metrics(KEYS, name)  # type: ignore[arg-type]  # what a caller without a type checker passes


@pytest.mark.parametrize("name", ["completed", "", None])
def test_only_sets_can_be_browsed(name: object) -> None:
    with pytest.raises(InvalidOption, match="pending, active, schedule, dead"):
        browse(KEYS, name)  # type: ignore[arg-type]  # what a caller without a type checker passes


def test_the_state_scheduled_stands_for_its_set() -> None:
    assert SetName("scheduled") is SetName.SCHEDULE
    assert browse(KEYS, SetName("scheduled")).keys == (KEYS.schedule,)
    assert tuple(counts(KEYS, ["scheduled", "schedule"]).keys) == (KEYS.base, KEYS.schedule)


@pytest.mark.parametrize("name", [SetName.ACTIVE, SetName.SCHEDULE, SetName.DEAD])
def test_a_lane_has_only_jobs_that_wait(name: SetName) -> None:
    with pytest.raises(InvalidOption, match=r"lane='red' is not possible: .* pending"):
        browse(KEYS, name, lane="red")


@pytest.mark.parametrize("cursor", ["", "x", "-1", "1.5", "٣", 17, b"17", "1" * 21], ids=repr)
@pytest.mark.parametrize("verb", [obliterate, repair], ids=["obliterate", "repair"])
def test_a_cursor_is_one_that_an_answer_gave(verb: Callable[..., object], cursor: object) -> None:
    verb(KEYS, cursor="18446744073709551615")
    with pytest.raises(InvalidOption):
        verb(KEYS, cursor=cursor)


@pytest.mark.parametrize("dedup_id", ["", "a b", "{x}", "x" * 256])
def test_a_dedup_id_has_its_characters(dedup_id: str) -> None:
    with pytest.raises(InvalidName):
        remove(KEYS, J, dedup_id=dedup_id)


@pytest.mark.parametrize("owner", [b"", b"x" * 129])
def test_an_owner_has_a_name_of_bounded_length(owner: bytes) -> None:
    with pytest.raises(BadInput):
        lease_node(owner, node=None, mark_ms=0, lease_ms=1)
    with pytest.raises(BadInput):
        return_node(owner, 0, last_ms=0)


@pytest.mark.parametrize(
    ("error", "sent"),
    [
        ("", b""),
        ("é", "é".encode()),
        ("a\ud800b", b"a?b"),
        ("x" * ERROR_BYTES_MAX, b"x" * ERROR_BYTES_MAX),
        ("x" * (ERROR_BYTES_MAX + 1), b"x" * ERROR_BYTES_MAX),
        # A cut inside a character leaves the whole character out.
        ("x" * (ERROR_BYTES_MAX - 1) + "é", b"x" * (ERROR_BYTES_MAX - 1)),
    ],
    ids=["empty", "text", "lone surrogate", "longest", "too long", "cut character"],
)
def test_an_error_text_is_cut_to_its_bound_and_stays_utf8(error: str, sent: bytes) -> None:
    call = retry(KEYS, J, T, delay_ms=0, max_attempts=0, error=error)
    assert call.args[call.transition.args.index("reason")] == sent


IDS: dict[str, Callable[[object], Call[object]]] = {
    "complete_many": lambda job: complete_many(KEYS, [Completion(cast("JobId", job), T)]),
    "enqueue_many": lambda job: enqueue_many(KEYS, [NewJob(cast("JobId", job), b"")]),
    "extend_many": lambda job: extend_many(KEYS, [(cast("JobId", job), T)], lease_ms=1),
    "purge": lambda job: purge(KEYS, age_ms=0, after=cast("JobId", job)),
    "reprocess_many": lambda job: reprocess_many(KEYS, after=cast("JobId", job)),
    "browse": lambda job: browse(KEYS, SetName.DEAD, after=BrowsedJob(cast("JobId", job), None)),
}


@pytest.mark.parametrize("make", named({**IDS}))
@pytest.mark.parametrize(
    "job",
    ["", "JOB!", "ORD0NgWEfAEJfs", BrandedId.parse("ORD0NgWEfAEJfs"), b"JOB\xff", 5, bytearray(bytes(J))],
    ids=repr,
)
def test_what_is_no_id_of_a_job_is_refused(make: Callable[[object], object], job: object) -> None:
    make(J)
    with pytest.raises(InvalidId):
        make(job)


@pytest.mark.parametrize("make", named({**IDS}))
def test_an_id_may_be_text(make: Callable[[object], Call[object]]) -> None:
    assert make(str(J)).args == make(J).args


@pytest.mark.parametrize("error", [None, b"bytes", 5, ValueError("x")], ids=repr)
def test_the_error_of_a_retry_is_text(error: object) -> None:
    with pytest.raises(InvalidOption, match="error="):
        retry(KEYS, J, T, delay_ms=0, max_attempts=0, error=cast("str", error))


def test_progress_has_a_bound_of_its_own() -> None:
    update_progress(KEYS, J, b"x" * PROGRESS_BYTES_MAX)
    with pytest.raises(PayloadTooLarge, match="the limit is 4096: store"):
        update_progress(KEYS, J, b"x" * (PROGRESS_BYTES_MAX + 1))


# Each takes the name of a lane.
LANES: dict[str, Callable[[str], Call[object]]] = {
    "browse": lambda lane: browse(KEYS, SetName.PENDING, lane=lane),
    "depth": lambda lane: depth(KEYS, lane),
    "enqueue_at": lambda lane: enqueue_at(KEYS, J, b"", at_ms=0, lane=lane),
    "enqueue_in": lambda lane: enqueue_in(KEYS, J, b"", delay_ms=0, lane=lane),
    "enqueue_many": lambda lane: enqueue_many(KEYS, [NewJob(J, b"", None, lane)]),
    "gdrain": lambda lane: gdrain(KEYS, lane),
    "genqueue": lambda lane: genqueue(KEYS, J, b"", lane=lane),
    "glimit": lambda lane: glimit(KEYS, lane, 1),
    "gpause": lambda lane: gpause(KEYS, lane),
    "greap_group": lambda lane: greap_group(KEYS, lane),
    "greassign": lambda lane: greassign(KEYS, J, lane),
    "gresume": lambda lane: gresume(KEYS, lane),
    "gweight": lambda lane: gweight(KEYS, lane, 1),
    "one_lane": lambda lane: one_lane(KEYS, lane),
}


@pytest.mark.parametrize("make", named({**LANES}))
@pytest.mark.parametrize("lane", ["", "a b", "a:b", "{x}", "é", "x" * 129, b"red", 7], ids=repr)
def test_a_lane_has_its_characters(make: Callable[[object], object], lane: object) -> None:
    for good in ("PRT00000000001", "acme@eu", "a.b_c-d+e", "x" * 128):
        make(good)
    with pytest.raises(InvalidName, match="lane name" if isinstance(lane, str) else "a lane must be a str"):
        make(lane)


@pytest.mark.parametrize("watcher", ["", "a b", "a\n", "é", "x" * 65, b"me", 7], ids=repr)
def test_a_watcher_has_a_name_without_spaces(watcher: object) -> None:
    for make in (
        lambda name: take(KEYS, lease_ms=1, size=1, watcher=name),
        lambda name: wake(KEYS, worth=1, watcher=name),
    ):
        make("x" * 64)
        with pytest.raises(InvalidOption, match="watcher"):
            make(cast("str", watcher))


@pytest.mark.parametrize("worth", ["1", 1, None, bytearray(b"1")], ids=repr)
def test_a_worth_is_the_bytes_of_a_token(worth: object) -> None:
    take(KEYS, lease_ms=1, size=1, worth=b"whatever lay there")
    with pytest.raises(InvalidOption, match="worth"):
        take(KEYS, lease_ms=1, size=1, worth=cast("bytes", worth))


@pytest.mark.parametrize("cursor", ["", 17, b"lanes red", "\u20ac"], ids=repr)
def test_a_place_among_the_lanes_is_one_that_an_answer_gave(cursor: object) -> None:
    lanes(KEYS, cursor="lanes red")
    with pytest.raises(InvalidOption, match="cursor"):
        lanes(KEYS, cursor=cast("str", cursor))


def test_a_bound_of_nought_is_refused_with_what_stops_everything() -> None:
    with pytest.raises(InvalidOption, match=r"^the limit of a lane cannot be 0: .*; to stop a lane, pause it$"):
        glimit(KEYS, "red", 0)
    with pytest.raises(InvalidOption, match=r"^the ceiling of a queue cannot be 0: .*; to stop a queue, pause it$"):
        set_concurrency(KEYS, 0)


def test_settings_are_taken_away_with_none() -> None:
    for call in (glimit(KEYS, "red", None), gweight(KEYS, "red", None), set_concurrency(KEYS, None)):
        assert call.args[-1] == b""


@pytest.mark.parametrize("after", [b"", "red", 7], ids=repr)
def test_a_count_of_what_waits_goes_on_after_a_name(after: object) -> None:
    waiting(KEYS, after=b"\xff")
    with pytest.raises(InvalidOption, match="after"):
        waiting(KEYS, after=cast("bytes", after))
