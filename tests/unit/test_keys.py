"""The key grammar (protocol 2): every key's text, every name's charset, the slot vectors."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from echomq.errors import InvalidId, InvalidName
from echomq.ids import BrandedId, JobId
from echomq.keys import NODE_OWNERS, NODES, VERSION, QueueKeys, check_dedup_id, check_group, check_queue, slot_of

JOB = JobId.parse("JOB0JZGkP8smrw")

QUEUE_LEVEL = {
    "base": b"",
    "pending": b"pending",
    "active": b"active",
    "schedule": b"schedule",
    "dead": b"dead",
    "meta": b"meta",
    "metrics_completed": b"metrics:completed",
    "metrics_completed_data": b"metrics:completed:data",
    "metrics_failed": b"metrics:failed",
    "metrics_failed_data": b"metrics:failed:data",
    "limiter": b"limiter",
    "repeat": b"repeat",
    "flow_outbox": b"flow:outbox",
    "events": b"events",
    "ring": b"ring",
    "paused": b"paused",
    "group_limit": b"glimit",
    "group_active": b"gactive",
    "group_weight": b"gweight",
    "wake": b"wake",
    "lanes": b"lanes",
    "rota": b"rota",
    "fresh_next": b"fresh_next",
    "watch": b"watch",
}


@pytest.mark.parametrize(("name", "suffix"), QUEUE_LEVEL.items())
def test_a_queue_level_key_is_the_base_and_its_suffix(name: str, suffix: bytes) -> None:
    assert getattr(QueueKeys("mail.eu"), name) == b"emq:{mail.eu}:" + suffix


def test_every_attribute_of_the_grammar_is_in_the_table() -> None:
    assert set(QueueKeys.__slots__) - {"queue", "_job"} == set(QUEUE_LEVEL)


def test_the_other_keys_are_built_as_the_protocol_says() -> None:
    keys = QueueKeys("q")
    assert keys.job(JOB) == b"emq:{q}:job:JOB0JZGkP8smrw"
    assert keys.job_logs(JOB) == b"emq:{q}:job:JOB0JZGkP8smrw:logs"
    assert keys.job_lock(JOB) == b"emq:{q}:job:JOB0JZGkP8smrw:lock"
    assert keys.job_result(JOB) == b"emq:{q}:job:JOB0JZGkP8smrw:result"
    assert keys.dedup("order-7") == b"emq:{q}:de:order-7"
    assert keys.lane("acme-eu") == b"emq:{q}:g:acme-eu:pending"
    assert keys.lane(BrandedId.parse("PRT0KHTOWnGLuC")) == b"emq:{q}:g:PRT0KHTOWnGLuC:pending"
    assert keys.repeatable(b"nightly") == b"emq:{q}:repeat:nightly"
    assert keys.stream(b"s") == b"emq:{q}:stream:s"
    assert keys.stream_archived(b"s") == b"emq:{q}:stream:s:archived"


@pytest.mark.parametrize("job", ["JOB0JZGkP8smrw", b"JOB0JZGkP8smrw", BrandedId.parse("PRT0KHTOWnGLuC"), None, 7])
def test_a_row_is_named_by_a_job_id_only(job: JobId) -> None:
    with pytest.raises(InvalidId, match=r"JobId\.parse makes one from text"):
        QueueKeys("q").job(job)


@pytest.mark.parametrize("name", ["a", "A.b_c-9", "q" * 128, "123", "emq2"])
def test_a_valid_queue_name_is_taken(name: str) -> None:
    assert check_queue(name) == name


BAD_NAMES = ["", "a:b", "a:b:c", "{x}", "a b", "a\n", "\n", "é", "a\x00b", "a/b", "q" * 300]


@pytest.mark.parametrize("name", [*BAD_NAMES, "emq", "a@b", "a+b", "q" * 129])
def test_an_invalid_queue_name_is_refused_and_says_what_is_allowed(name: str) -> None:
    with pytest.raises(InvalidName, match="queue name: allowed is 1 to 128 of the characters"):
        QueueKeys(name)


@pytest.mark.parametrize("name", [*BAD_NAMES, "a@b", "q" * 256])
def test_an_invalid_dedup_id_is_refused_and_says_what_is_allowed(name: str) -> None:
    with pytest.raises(InvalidName, match="dedup id: allowed is 1 to 255"):
        check_dedup_id(name)


@pytest.mark.parametrize("name", [*BAD_NAMES, "q" * 129])
def test_an_invalid_group_is_refused_and_says_what_is_allowed(name: str) -> None:
    with pytest.raises(InvalidName, match="lane name: allowed is 1 to 128"):
        check_group(name)


@pytest.mark.parametrize(
    ("check", "what"), [(check_queue, "queue"), (check_dedup_id, "dedup id"), (check_group, "lane")]
)
@pytest.mark.parametrize(
    ("name", "said"), [(17, "int: str(17)"), (None, "NoneType"), (b"raw", "bytes")], ids=["int", "None", "bytes"]
)
def test_a_name_that_is_no_text_is_refused_and_says_what_it_is(
    check: Callable[[object], object], what: str, name: object, said: str
) -> None:
    with pytest.raises(InvalidName) as caught:
        check(name)
    assert str(caught.value) == f"a {what} must be a str, not {said}"


@pytest.mark.parametrize("name", ["acme-eu", "a@b.example", "x+y", "PRT0KHTOWnGLuC", "q" * 128])
def test_a_valid_group_is_taken(name: str) -> None:
    assert check_group(name) == name.encode()


@pytest.mark.parametrize(
    ("key", "slot"),
    [
        (b"123456789", 12739),
        (b"orders", 105),
        (b"emq", 9051),
        (b"emq:{orders}:pending", 105),
        (VERSION, 9051),
        (NODES, 9051),
        (NODE_OWNERS, 9051),
        (b"a{}b", slot_of(b"a{}b")),
        (b"", 0),
    ],
)
def test_slots_are_those_of_the_vectors(key: bytes, slot: int) -> None:
    assert slot_of(key) == slot


def test_an_empty_tag_is_no_tag() -> None:
    assert slot_of(b"{}x") != slot_of(b"")
    assert slot_of(b"{}{x}") != slot_of(b"x")


@given(st.from_regex(r"[A-Za-z0-9._-]{1,128}", fullmatch=True).filter(lambda name: name != "emq"))
def test_all_keys_of_a_queue_lie_in_one_slot(name: str) -> None:
    keys = QueueKeys(name)
    everything = [getattr(keys, attribute) for attribute in QUEUE_LEVEL] + [
        keys.job(JOB),
        keys.job_logs(JOB),
        keys.job_result(JOB),
        keys.dedup("d"),
        keys.lane("acme"),
    ]
    assert {slot_of(key) for key in everything} == {slot_of(name.encode())}
