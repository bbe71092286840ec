"""The keyspace behaves as a server's database does: order, expiry, kinds, pictures."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from echomq.model.dump import Dumped, Kind
from echomq.model.keyspace import Keyspace, WrongKind
from echomq.model.view import NotANumber

MEMBERS = st.binary(min_size=1, max_size=3)


@given(st.lists(st.tuples(MEMBERS, st.integers(0, 3))), st.lists(MEMBERS))
def test_a_sorted_set_is_ordered_by_score_and_then_by_bytes(
    added: list[tuple[bytes, int]], removed: list[bytes]
) -> None:
    zset, expected = Keyspace().zset(b"z"), dict(added)
    for member, score in added:
        zset.add(member, score)
    for member in removed:
        assert zset.remove(member) == (expected.pop(member, None) is not None)
    in_order = sorted(expected.items(), key=lambda pair: (pair[1], pair[0]))
    assert list(zset.pairs()) == in_order
    assert list(zset.up_to(1, 2)) == [member for member, score in in_order if score <= 1][:2]


def test_a_set_of_one_score_is_walked_from_after_a_member() -> None:
    zset = Keyspace().zset(b"z")
    for member in (b"a", b"c", b"d"):
        zset.add(member, 0)
    assert zset.after(b"", 2) == (b"a", b"c")
    assert zset.after(b"b", 2) == (b"c", b"d")
    assert zset.after(b"d", 2) == ()


def test_a_key_appears_with_its_first_member_and_goes_with_its_last() -> None:
    space = Keyspace()
    zset, row, items, members = space.zset(b"z"), space.hash(b"h"), space.list(b"l"), space.set(b"s")
    assert space.dump() == {}
    zset.add(b"m", 1)
    row.set(b"f", b"v")
    items.push(b"i")
    members.add(b"m")
    assert set(space.dump()) == {b"z", b"h", b"l", b"s"}
    zset.remove(b"m")
    row.remove(b"f")
    items.remove_all(b"i")
    members.remove(b"m")
    assert space.dump() == {}


@pytest.mark.parametrize("kind", ["zset", "hash", "list", "set", "string"])
def test_a_key_of_another_kind_is_refused(kind: str) -> None:
    space = Keyspace()
    if kind == "string":
        space.list(b"k").push(b"x")
    else:
        space.string(b"k").set(b"x")
    with pytest.raises(WrongKind):
        getattr(space, kind)(b"k")


def test_a_key_vanishes_when_its_time_has_passed() -> None:
    space = Keyspace()
    space.hash(b"h").set(b"f", b"v")
    space.expire_in(b"h", 10)
    space.advance(9)
    assert space.dump()[b"h"].ttl_ms == 1
    space.advance(1)
    assert not space.exists(b"h")
    assert space.dump() == {}


def test_a_field_vanishes_alone_and_takes_an_empty_hash_with_it() -> None:
    space = Keyspace()
    row = space.hash(b"h")
    row.set(b"lock", b"1")
    row.expire_field_in(b"lock", 10)
    row.set(b"state", b"active")
    assert row.field_expires(b"lock")
    assert space.dump()[b"h"].field_ttls == ((b"lock", 10),)
    space.advance(10)
    assert row.pairs() == ((b"state", b"active"),)
    row.set(b"lock", b"1")
    assert not row.field_expires(b"lock")
    row.expire_field_in(b"lock", 10)
    row.remove(b"state")
    space.advance(10)
    assert not space.exists(b"h")


def test_counting_what_is_no_number_is_refused() -> None:
    space = Keyspace()
    space.hash(b"h").set(b"f", b"many")
    with pytest.raises(NotANumber):
        space.hash(b"h").add(b"f", 1)
    assert space.hash(b"h").get(b"f") == b"many"


def test_a_picture_shows_every_kind_in_one_canonical_form() -> None:
    space = Keyspace()
    space.zset(b"z").add(b"b", 2.0)
    space.zset(b"z").add(b"a", 2)
    space.hash(b"h").set(b"y", b"2")
    space.hash(b"h").set(b"x", 1)
    space.list(b"l").push(b"1")
    space.list(b"l").push_head(b"0")
    space.set(b"s").add(b"m")
    space.string(b"t").set(b"v")
    space.expire_in(b"t", 500)
    assert space.dump() == {
        b"z": Dumped(kind=Kind.ZSET, value=((b"a", 2), (b"b", 2))),
        b"h": Dumped(kind=Kind.HASH, value=((b"x", b"1"), (b"y", b"2"))),
        b"l": Dumped(kind=Kind.LIST, value=(b"0", b"1")),
        b"s": Dumped(kind=Kind.SET, value=(b"m",)),
        b"t": Dumped(kind=Kind.STRING, value=b"v", ttl_ms=500),
    }


def test_a_loaded_picture_is_the_same_and_alive() -> None:
    space, other = Keyspace(), Keyspace(now_ms=5)
    space.zset(b"z").add(b"a", 2)
    space.hash(b"h").set(b"lock", b"1")
    space.hash(b"h").expire_field_in(b"lock", 10)
    space.list(b"l").push(b"1")
    space.set(b"s").add(b"m")
    space.string(b"t").set(b"7")
    space.expire_in(b"t", 20)
    other.string(b"old").set(b"gone")
    other.load(space.dump())
    assert other.dump() == space.dump()
    assert other.string(b"t").add(1) == 8
    assert other.dump()[b"t"] == Dumped(kind=Kind.STRING, value=b"8", ttl_ms=20)
    other.advance(20)
    assert set(other.dump()) == {b"z", b"l", b"s"}


@given(st.integers(1, 7), st.integers(0, 20))
def test_a_scan_meets_every_key_once_while_the_visitor_deletes(budget: int, keys: int) -> None:
    space, cursor = Keyspace(), 0
    met: list[bytes] = []
    for at in range(keys):
        space.string(b"k%d" % at).set(b"v")
    space.string(b"other").set(b"v")
    for _slice in range(keys + 2):
        cursor, found = space.scan(b"k", cursor, budget)
        met.extend(found)
        for key in found[::2]:
            space.delete(key)
        if not cursor:
            break
    assert cursor == 0
    assert sorted(met) == sorted(b"k%d" % at for at in range(keys))
