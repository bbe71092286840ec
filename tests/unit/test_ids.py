"""Identity (protocol 1): the vectors, the order theorem, and the minter's promises."""

import copy
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from echomq.errors import InvalidId, InvalidOption, NodeLeaseLapsed
from echomq.ids import EPOCH_MS, SNOWFLAKE_MAX, BrandedId, JobId, Minter


def unix_ms(text: str) -> int:
    return round(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


# Protocol 1.6: instant, node, sequence, snowflake, branded.
VECTORS = [
    ("2024-01-01T00:00:00.000", 0, 0, 0, "JOB00000000000"),
    ("2024-01-01T00:00:00.000", 0, 62, 62, "JOB00000000010"),
    ("2024-01-01T00:00:00.001", 0, 0, 4194304, "JOB0000000Hb84"),
    ("2024-01-01T13:53:20.000", 395, 2647, 209715201620567, "EVT000xY9Wvvcd"),
    ("2026-01-01T00:00:00.000", 1, 0, 264905529753604096, "JOB0JZGkP8smrw"),
    ("2026-01-01T00:00:00.000", 1, 1, 264905529753604097, "JOB0JZGkP8smrx"),
    ("2026-01-01T00:00:00.000", 1023, 4095, 264905529757794303, "JOB0JZGkP9AMvv"),
    ("2026-01-01T00:00:00.001", 0, 0, 264905529757794304, "JOB0JZGkP9AMvw"),
    ("2026-01-27T15:11:37.641", 0, 0, 274557032793636864, "USR0KHTOWnGLuC"),
    ("2026-06-03T18:56:10.164", 0, 0, 320636799581945856, "USR0NgWEfAEJfs"),
    ("2093-09-06T15:47:35.551", 1023, 4095, 9223372036854775807, "JOBAzL8n0Y58m7"),
]


class ReadClock:
    """A clock that gives the readings it was made with, one for each look."""

    def __init__(self, *readings: int) -> None:
        self._readings: Iterator[int] = iter(readings)

    def unix_ms(self) -> int:
        return next(self._readings)

    def monotonic_ms(self) -> int:
        raise NotImplementedError


class StoppedClock:
    """A clock that stands where it is put."""

    def __init__(self, now_ms: int) -> None:
        self.now_ms = now_ms

    def unix_ms(self) -> int:
        return self.now_ms

    def monotonic_ms(self) -> int:
        return self.now_ms


@pytest.mark.parametrize(("instant", "node", "sequence", "snowflake", "branded"), VECTORS)
def test_an_id_is_taken_apart_as_the_vectors_say(
    instant: str, node: int, sequence: int, snowflake: int, branded: str
) -> None:
    parsed = BrandedId.parse(branded)
    assert parsed.snowflake == snowflake
    assert parsed.minted_at_ms == unix_ms(instant)
    assert (parsed.node, parsed.sequence) == (node, sequence)
    assert parsed.namespace == branded[:3]
    assert str(parsed) == branded
    assert len(parsed) == 14


@pytest.mark.parametrize(("snowflake", "branded"), [(v[3], v[4]) for v in VECTORS if v[4].startswith("JOB")])
def test_an_id_is_put_together_as_the_vectors_say(snowflake: int, branded: str) -> None:
    assert str(JobId.of_snowflake(snowflake)) == branded


def test_the_mint_run_of_the_protocol() -> None:
    start = unix_ms("2026-01-01T00:00:00.000")
    minter = Minter(7, clock=ReadClock(start, start, start, start + 1, start - 10, start + 1, start + 2))
    assert [str(minter.mint()) for _ in range(6)] == [
        "JOB0JZGkP8stGL",
        "JOB0JZGkP8stGM",
        "JOB0JZGkP9AUOO",
        "JOB0JZGkP9AUOP",
        "JOB0JZGkP9AUOQ",
        "JOB0JZGkP9S5WS",
    ]


def test_five_thousand_mints_in_a_frozen_millisecond_run_into_the_next() -> None:
    clock = StoppedClock(unix_ms("2026-01-01T00:00:00.000"))
    minter = Minter(0, clock=clock)
    last = [minter.mint() for _ in range(5000)][-1]
    assert (last.minted_at_ms - clock.now_ms, last.sequence) == (1, 904)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("JOBzzzzzzzzzzz", "above the largest"),
        ("JOBAzL8n0Y58m8", "above the largest"),
        ("job0KHTOWnGLuC", "three capital letters"),
        ("J0B0KHTOWnGLuC", "three capital letters"),
        ("JOB0KHTOWnGLu", "this has 13"),
        ("JOB0KHTOWnGLu-", "11 of the characters"),
        ("JOB0KHTOWnGLuC\n", "this has 15"),
        ("JOB0KHTOWnGLu\n", "11 of the characters"),
        ("", "this has 0"),
        ("JOB0KHTOWnGLué", "this has 15"),
        (b"JOB0KHTOWnGL\xff\x00", "11 of the characters"),
        (12, "text or bytes, not int"),
        (None, "text or bytes, not NoneType"),
    ],
)
def test_an_invalid_id_is_refused_with_the_rule_it_breaks(value: str, reason: str) -> None:
    with pytest.raises(InvalidId, match=reason):
        BrandedId.parse(value)


def test_a_job_id_refuses_other_namespaces() -> None:
    with pytest.raises(InvalidId, match="begins with JOB"):
        JobId.parse("USR0KHTOWnGLuC")


def test_parsing_a_branded_id_of_another_kind_as_a_job_checks_the_kind() -> None:
    with pytest.raises(InvalidId, match="begins with JOB"):
        JobId.parse(BrandedId.parse("USR0KHTOWnGLuC"))


def test_making_an_id_by_its_name_checks_it_too() -> None:
    assert JobId("JOB0JZGkP8smrw") == JobId(b"JOB0JZGkP8smrw") == JobId.parse("JOB0JZGkP8smrw")
    with pytest.raises(InvalidId):
        JobId(b"")


def test_a_strange_id_of_another_speaker_can_be_shown_copied_and_pickled() -> None:
    strange = JobId.of_server(b"JOB\xff\xfe")
    assert repr(strange) == r"JobId('JOB\\xff\\xfe')"
    assert str(strange) == r"JOB\xff\xfe"
    assert pickle.loads(pickle.dumps(strange)) == copy.copy(strange) == strange
    assert type(pickle.loads(pickle.dumps(strange))) is JobId


def test_repr_shows_the_brand_and_the_value() -> None:
    assert repr(JobId.parse("JOB0JZGkP8smrw")) == "JobId('JOB0JZGkP8smrw')"


@given(st.integers(0, SNOWFLAKE_MAX), st.integers(0, SNOWFLAKE_MAX))
def test_byte_order_is_the_order_of_numbers(a: int, b: int) -> None:
    assert (JobId.of_snowflake(a) < JobId.of_snowflake(b)) == (a < b)


@given(st.integers(0, SNOWFLAKE_MAX))
def test_every_number_survives_the_round_trip(snowflake: int) -> None:
    made = JobId.of_snowflake(snowflake)
    assert JobId.parse(bytes(made)) == made
    assert made.snowflake == snowflake


@given(st.binary(min_size=14, max_size=14))
def test_random_bytes_are_an_id_or_a_clear_refusal(raw: bytes) -> None:
    try:
        parsed = BrandedId.parse(raw)
    except InvalidId:
        return
    assert bytes(parsed) == raw
    assert 0 <= parsed.snowflake <= SNOWFLAKE_MAX


@pytest.mark.parametrize("snowflake", [-1, SNOWFLAKE_MAX + 1])
def test_a_number_outside_the_range_is_refused(snowflake: int) -> None:
    with pytest.raises(InvalidOption, match="snowflake"):
        JobId.of_snowflake(snowflake)


@given(st.integers(0, (1 << 41) - 1), st.integers(0, 1023), st.integers(0, 4095))
def test_the_smallest_id_at_an_instant_parts_before_from_after(offset_ms: int, node: int, sequence: int) -> None:
    job = JobId.of_snowflake(offset_ms << 22 | node << 12 | sequence)
    assert JobId.smallest_at(job.minted_at_ms) <= job
    if offset_ms + 1 < 1 << 41:
        assert job < JobId.smallest_at(job.minted_at_ms + 1)


def test_the_smallest_id_before_the_epoch_is_the_smallest_of_all() -> None:
    assert JobId.smallest_at(0) == JobId.of_snowflake(0)


def test_the_smallest_id_after_the_last_instant_is_refused() -> None:
    with pytest.raises(InvalidOption):
        JobId.smallest_at(EPOCH_MS + (1 << 41))


@given(st.lists(st.integers(0, 10_000), min_size=1, max_size=200))
def test_ids_ascend_whatever_the_clock_does(steps: list[int]) -> None:
    clock = StoppedClock(EPOCH_MS + 5_000)
    minter = Minter(3, clock=clock)
    minted = []
    for step in steps:
        clock.now_ms = EPOCH_MS + step
        minted.append(minter.mint())
    assert minted == sorted(set(minted))


def test_ids_minted_by_many_threads_are_distinct() -> None:
    minter = Minter(5)
    lists: list[list[JobId]] = [[] for _ in range(8)]
    threads = [threading.Thread(target=lambda ids=ids: ids.extend(minter.mint() for _ in range(2000))) for ids in lists]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({job for ids in lists for job in ids}) == 16_000


@pytest.mark.parametrize("node", [-1, 1024])
def test_a_node_outside_the_range_is_refused(node: int) -> None:
    with pytest.raises(InvalidOption, match="node"):
        Minter(node)


def test_a_minter_without_a_node_refuses_to_mint() -> None:
    with pytest.raises(NodeLeaseLapsed):
        Minter.unleased().mint()


def test_a_minter_mints_up_to_its_mark_and_no_further() -> None:
    clock = StoppedClock(EPOCH_MS + 1000)
    minter = Minter.unleased(clock=clock)
    minter.assign(9, after_ms=EPOCH_MS, mark_ms=EPOCH_MS + 1000)
    minted = [minter.mint() for _ in range(4095)]
    assert {job.minted_at_ms for job in minted} == {EPOCH_MS + 1000}
    with pytest.raises(NodeLeaseLapsed):
        minter.mint()
    minter.extend(mark_ms=EPOCH_MS + 1001)
    assert minter.mint().minted_at_ms == EPOCH_MS + 1001


def test_a_minter_starts_above_the_last_holders_mark() -> None:
    clock = StoppedClock(EPOCH_MS + 1000)
    minter = Minter.unleased(clock=clock)
    minter.assign(9, after_ms=EPOCH_MS + 300_000, mark_ms=EPOCH_MS + 400_000)
    assert minter.mint().minted_at_ms == EPOCH_MS + 300_001


def test_withdrawing_a_node_tells_the_last_instant_minted_for() -> None:
    clock = StoppedClock(EPOCH_MS + 1000)
    minter = Minter.unleased(clock=clock)
    minter.assign(9, after_ms=EPOCH_MS, mark_ms=EPOCH_MS + 2000)
    last = minter.mint()
    assert minter.withdraw() == last.minted_at_ms
    with pytest.raises(NodeLeaseLapsed):
        minter.mint()


def test_a_forked_child_does_not_mint_its_parents_ids() -> None:
    program = (
        "import os, sys\n"
        "from echomq.ids import Minter\n"
        "from echomq.errors import NodeLeaseLapsed\n"
        "minter = Minter(1)\n"
        "minter.mint()\n"
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    try:\n"
        "        minter.mint()\n"
        "    except NodeLeaseLapsed:\n"
        "        os._exit(7)\n"
        "    os._exit(1)\n"
        "sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))\n"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False, env=dict(os.environ)).returncode == 7
