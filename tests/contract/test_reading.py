"""counts, get_job, get_state, get_result, metrics, pause, resume: protocol 4.18; docs/wire.md, reading."""

import pytest

from echomq.errors import BadInput
from echomq.records import Absent, Counts, Failed, Finished, Gone, Metrics, Paused, Resumed, StoredJob, Waiting
from echomq.states import CountName, JobState
from echomq.transitions.counts import counts
from echomq.transitions.get_job import get_job
from echomq.transitions.get_result import get_result
from echomq.transitions.get_state import get_state
from echomq.transitions.metrics import metrics
from echomq.transitions.pause import pause
from echomq.transitions.resume import resume
from tests.harness.case import Case
from tests.harness.jobs import J1, J2, J3, J4, J5, J6, PARENT, RED
from tests.harness.state import Seed


def everywhere(case: Case) -> Seed:
    seed = case.seed().pending(J1).active(J2, 1, ends=1).scheduled(J3, due=1).dead(J4, 3)
    seed.pending(J5, 2, group=RED.encode()).row(PARENT, state=b"awaiting_children").completed(7).failed(2)
    return seed


def test_counts_are_cardinalities_and_metrics(case: Case) -> None:
    case.given(everywhere(case))
    found = dict.fromkeys(("pending", "active", "schedule", "dead"), 1) | {"completed": 7, "failed": 2}
    case.keeps(counts(case.keys), Counts({CountName(name): n for name, n in found.items()}))
    case.keeps(counts(case.keys, ["failed", "dead"]), Counts({CountName.FAILED: 2, CountName.DEAD: 1}))


def test_an_empty_queue_counts_zero(case: Case) -> None:
    case.keeps(counts(case.keys), Counts(dict.fromkeys(CountName, 0)))


def test_an_unknown_name_is_refused_before_the_wire(case: Case) -> None:
    with pytest.raises(BadInput, match="asleep"):
        counts(case.keys, ["pending", "asleep"])


def test_the_word_of_a_scheduled_job_names_its_set_as_well(case: Case) -> None:
    case.given(case.seed().scheduled(J1, due=1))
    case.keeps(counts(case.keys, ["scheduled"]), Counts({CountName.SCHEDULE: 1}))


def test_a_row_is_read_whole(case: Case) -> None:
    fields: dict[str, bytes | int] = {
        "last_error": b"e",
        "progress": b"\xff",
        "max_attempts": 9,
        "unspent": 2,
        "died_at": -3,
        "other": b"\x00",
    }
    case.given(case.seed().dead(J1, 4, payload=b"\x01", group=RED.encode(), **fields).pending(J2))
    stored = StoredJob(
        job=J1,
        state=JobState.DEAD,
        attempts=4,
        payload=b"\x01",
        lane=RED,
        last_error="e",
        progress=b"\xff",
        max_attempts=9,
        unspent=2,
        died_at_ms=-3,
        extra={b"other": b"\x00"},
    )
    case.keeps(get_job(case.keys, J1), stored)
    plain = StoredJob(job=J2, state=JobState.PENDING, attempts=0, payload=b"p")
    case.keeps(get_job(case.keys, J2), plain)


def test_no_row_and_a_skeleton_are_absent(case: Case) -> None:
    case.given(case.seed().fields(case.keys.job(J2), lock=b"1"))
    case.keeps(get_job(case.keys, J1), Absent(J1))
    case.keeps(get_job(case.keys, J2), Absent(J2))


def test_an_error_text_that_is_no_utf8_is_still_read(case: Case) -> None:
    case.given(case.seed().dead(J1, 1, last_error=b"\xff\xfe"))
    stored = case.body.run(get_job(case.keys, J1))
    assert isinstance(stored, StoredJob)
    assert stored.last_error


def test_the_state_is_the_set_that_holds_the_job(case: Case) -> None:
    case.given(everywhere(case))
    states = {J1: JobState.PENDING, J2: JobState.ACTIVE, J3: JobState.SCHEDULED, J4: JobState.DEAD}
    for job, state in states.items():
        case.keeps(get_state(case.keys, job), state)
    case.keeps(get_state(case.keys, PARENT), JobState.AWAITING_CHILDREN)
    case.keeps(get_state(case.keys, J6), JobState.ABSENT)


def test_d11_a_grouped_job_in_its_lane_is_pending(case: Case) -> None:
    case.given(everywhere(case))
    case.keeps(get_state(case.keys, J5), JobState.PENDING)


def test_a_row_in_no_set_is_unknown(case: Case) -> None:
    case.given(case.seed().row(J1, state=b"active", attempts=1))
    case.keeps(get_state(case.keys, J1), JobState.UNKNOWN)


def test_the_raw_states(case: Case) -> None:
    case.given(everywhere(case))
    for job, state in {J1: b"pending", J2: b"active", J3: b"scheduled", J4: b"dead", J6: b"absent"}.items():
        case.replies(get_state(case.keys, job), state)


def test_throughput(case: Case) -> None:
    seed = everywhere(case).lines(case.keys.metrics_failed_data, b"1", b"2")
    case.given(seed)
    case.keeps(metrics(case.keys, CountName.COMPLETED), Metrics(7, 0))
    case.keeps(metrics(case.keys, CountName.FAILED), Metrics(2, 2))
    case.given(case.seed())
    case.keeps(metrics(case.keys, CountName.FAILED), Metrics(0, 0))
    with pytest.raises(BadInput):
        metrics(case.keys, CountName.PENDING)


def test_a_pause_is_a_field_and_moves_nothing(case: Case) -> None:
    seed = case.seed().pending(J1).fields(case.keys.meta, concurrency=2)
    case.given(seed)
    case.step(pause(case.keys), Paused(), seed.copy().paused())
    case.keeps(pause(case.keys), Paused())
    case.step(resume(case.keys), Resumed(), seed.wakes(1))
    case.keeps(resume(case.keys), Resumed())
    case.replies(pause(case.keys), 1)
    case.replies(resume(case.keys), 1)


def test_a_result_and_what_comes_before_it(case: Case) -> None:
    seed = everywhere(case).fields(case.keys.job_result(J6), result=b"\x00r", attempts=2, completed_at=-1)
    seed.ttls[case.keys.job_result(J6)] = 2
    case.given(seed.row(J4, last_error=b"boom"))
    case.keeps(get_result(case.keys, J6), Finished(J6, b"\x00r", 2, -1))
    case.keeps(get_result(case.keys, J4), Failed(J4, "boom", 3))
    case.keeps(get_result(case.keys, J1), Waiting(J1, JobState.PENDING, 0))
    case.keeps(get_result(case.keys, J2), Waiting(J2, JobState.ACTIVE, 1))
    case.keeps(get_result(case.keys, J3), Waiting(J3, JobState.SCHEDULED, 0))
    case.keeps(get_result(case.keys, J5), Waiting(J5, JobState.PENDING, 2))
    case.keeps(get_result(case.keys, PARENT), Waiting(PARENT, JobState.AWAITING_CHILDREN, 0))
    case.body.advance(2)
    case.keeps(get_result(case.keys, J6), Gone(J6))


def test_a_death_without_an_error_has_an_empty_one(case: Case) -> None:
    case.given(case.seed().dead(J1, 1))
    case.keeps(get_result(case.keys, J1), Failed(J1, "", 1))


def test_a_skeleton_has_no_result(case: Case) -> None:
    case.given(case.seed().fields(case.keys.job(J1), lock=b"1"))
    case.keeps(get_result(case.keys, J1), Gone(J1))
