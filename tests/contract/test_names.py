"""Case 73: one documented set of characters for each kind of name, checked before anything is sent, everywhere."""

import inspect
from collections.abc import Callable
from typing import Any, Never

import pytest

from echomq.blocking_jobs import BlockingJobs
from echomq.errors import BadInput, InvalidId, InvalidName
from echomq.ids import JobId
from echomq.keys import QueueKeys
from echomq.nodes import NodeHolder
from echomq.records import Completion, NewJob, Token

STRANGE = ["a:b", "a:b:c", "{x}", "", "x" * 300, "é", " ", "\n", "a\n", "\x00", "a b", "a/b"]
STRANGE_IDS = [*STRANGE, "123", "JOB0KHTOWnGLu", "JOB0KHTOWnGLu-", "JOBzzzzzzzzzzz", "ORD0KHTOWnGLuC", "job0KHTOWnGLuC"]

FILLED: dict[str, object] = {
    "payload": b"p",
    "token": 1,
    "lease_ms": 1000,
    "delay_ms": 1000,
    "at_ms": 1000,
    "max_attempts": 3,
    "error": "e",
    "progress": b"p",
    "line": b"l",
}


class NothingIsSent:
    """A client that must not be used."""

    def run(self, call: object) -> Never:
        raise AssertionError(f"{call} was sent")

    run_all = run
    wait = run


def jobs_face(queue: str) -> BlockingJobs:
    return BlockingJobs(queue, NothingIsSent(), NodeHolder(node=1), payload_bytes_max=1 << 20)


def methods_with_a_job() -> list[str]:
    return [
        name
        for name, method in inspect.getmembers(BlockingJobs, inspect.isfunction)
        if not name.startswith("_") and "job" in inspect.signature(method).parameters
    ]


@pytest.mark.parametrize("name", [*STRANGE, "emq", "x" * 129])
def test_a_strange_queue_name_is_refused_everywhere(name: str) -> None:
    with pytest.raises(InvalidName):
        QueueKeys(name)
    with pytest.raises(InvalidName):
        jobs_face(name)


@pytest.mark.parametrize("name", ["123", "a", "a.b", "a-b_c", "x" * 128, "EMQ"])
def test_a_plain_queue_name_is_good_everywhere(name: str) -> None:
    assert QueueKeys(name).pending == b"emq:{%b}:pending" % name.encode()
    assert jobs_face(name).queue == name


def test_there_are_methods_to_be_tested() -> None:
    assert len(methods_with_a_job()) > 12


@pytest.mark.parametrize("job", STRANGE_IDS)
@pytest.mark.parametrize("name", methods_with_a_job())
def test_a_strange_id_is_refused_by_each_method(name: str, job: str) -> None:
    method: Callable[..., Any] = getattr(jobs_face("q"), name)
    needed = {
        parameter.name: FILLED[parameter.name]
        for parameter in inspect.signature(method).parameters.values()
        if parameter.name != "job" and parameter.default is inspect.Parameter.empty
    }
    with pytest.raises(InvalidId):
        method(job=job, **needed)


@pytest.mark.parametrize("job", STRANGE_IDS)
def test_a_strange_id_is_refused_in_batches_too(job: str) -> None:
    face = jobs_face("q")
    with pytest.raises(BadInput):
        face.enqueue_many([NewJob(job, b"p")])  # type: ignore[arg-type]  # the mistake under test
    with pytest.raises(BadInput):
        face.complete_many([Completion(job, Token(1))])  # type: ignore[arg-type]  # the mistake under test
    with pytest.raises(BadInput):
        face.extend_many([(job, Token(1))], lease_ms=1000)  # type: ignore[list-item]  # the mistake under test


@pytest.mark.parametrize("name", STRANGE)
def test_a_strange_group_or_dedup_id_is_refused(name: str) -> None:
    keys = QueueKeys("q")
    with pytest.raises(InvalidName):
        keys.lane(name)
    with pytest.raises(InvalidName):
        keys.dedup(name)
    with pytest.raises(InvalidName):
        jobs_face("q").remove(JobId.of_snowflake(1), dedup_id=name)
