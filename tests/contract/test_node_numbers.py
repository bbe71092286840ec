"""lease_node and return_node: docs/wire.md, node numbers."""

import pytest

from echomq.errors import BadInput
from echomq.ids import LAST_MS
from echomq.keys import NODE_OWNERS, NODES
from echomq.records import NodeLeased, NodeNotHeld, NodeReturned, NodesTaken
from echomq.transitions.lease_node import lease_node
from echomq.transitions.return_node import return_node
from tests.harness.case import Case
from tests.harness.state import HOUR, Seed

MARK = 1_800_000_000_000


def leased(seed: Seed, node: int, owner: bytes, mark: int, *, ends: int) -> Seed:
    seed.member(NODES, b"%d" % node, ends)
    return seed.fields(NODE_OWNERS, **{str(node): b"%b %d" % (owner, mark)})


def test_the_lowest_number_never_leased_is_taken(case: Case) -> None:
    seed = leased(leased(case.seed(), 0, b"a", MARK, ends=1), 2, b"c", MARK, ends=1)
    case.given(seed)
    call = lease_node(b"me", node=None, mark_ms=MARK + 5, lease_ms=2 * HOUR)
    case.step(call, NodeLeased(1, 0, MARK + 5), leased(seed, 1, b"me", MARK + 5, ends=2))


@pytest.mark.parametrize(("wish", "node"), [(0, 1), (2, 3), (3, 3), (1023, 1023), (130, 130)])
def test_a_wish_is_where_the_search_begins(case: Case, wish: int, node: int) -> None:
    seed = leased(leased(case.seed(), 0, b"a", MARK, ends=1), 2, b"c", MARK, ends=1)
    case.given(seed)
    call = lease_node(b"me", node=None, mark_ms=MARK + 5, lease_ms=2 * HOUR, wish=wish)
    case.step(call, NodeLeased(node, 0, MARK + 5), leased(seed, node, b"me", MARK + 5, ends=2))


def test_the_search_goes_around(case: Case) -> None:
    seed = case.seed()
    for node in (1022, 1023, 0):
        leased(seed, node, b"a", MARK, ends=1)
    case.given(seed)
    call = lease_node(b"me", node=None, mark_ms=MARK, lease_ms=HOUR, wish=1022)
    case.step(call, NodeLeased(1, 0, MARK), leased(seed, 1, b"me", MARK, ends=1))


def test_no_mark_lies_after_the_last_instant_of_ids(case: Case) -> None:
    with pytest.raises(BadInput):
        lease_node(b"me", node=None, mark_ms=LAST_MS + 1, lease_ms=HOUR)
    call = lease_node(b"me", node=None, mark_ms=LAST_MS, lease_ms=HOUR)
    case.step(call, NodeLeased(0, 0, LAST_MS), leased(case.seed(), 0, b"me", LAST_MS, ends=1))


def test_the_first_number_of_all_is_zero(case: Case) -> None:
    call = lease_node(b"me", node=None, mark_ms=MARK, lease_ms=HOUR)
    case.step(call, NodeLeased(0, 0, MARK), leased(case.seed(), 0, b"me", MARK, ends=1))


def test_a_holder_renews_and_its_mark_never_falls(case: Case) -> None:
    seed = leased(case.seed(), 0, b"me", MARK, ends=1)
    case.given(seed)
    call = lease_node(b"me", node=0, mark_ms=MARK + 7, lease_ms=3 * HOUR)
    case.step(call, NodeLeased(0, MARK, MARK + 7), leased(seed, 0, b"me", MARK + 7, ends=3))
    call = lease_node(b"me", node=0, mark_ms=MARK - 9, lease_ms=3 * HOUR)
    case.step(call, NodeLeased(0, MARK + 7, MARK + 7), seed)


def test_a_holder_renews_also_after_its_lease_lapsed(case: Case) -> None:
    seed = leased(case.seed(), 0, b"me", MARK, ends=-1)
    case.given(seed)
    call = lease_node(b"me", node=0, mark_ms=MARK + 7, lease_ms=HOUR)
    case.step(call, NodeLeased(0, MARK, MARK + 7), leased(seed, 0, b"me", MARK + 7, ends=1))


def test_who_lost_its_number_gets_another(case: Case) -> None:
    seed = leased(case.seed(), 0, b"other", MARK, ends=1)
    case.given(seed)
    call = lease_node(b"me", node=0, mark_ms=MARK + 5, lease_ms=HOUR)
    case.step(call, NodeLeased(1, 0, MARK + 5), leased(seed, 1, b"me", MARK + 5, ends=1))


def taken(case: Case, lapsed: int | None) -> Seed:
    seed = case.seed()
    for node in range(1024):
        leased(seed, node, b"o%d" % node, MARK + node, ends=-1 if node == lapsed else 4 + node % 7)
    return seed


def test_when_all_were_leased_the_first_lapsed_one_begins_after_its_old_mark(case: Case) -> None:
    seed = taken(case, 513)
    case.given(seed)
    call = lease_node(b"me", node=None, mark_ms=MARK + 10 * HOUR, lease_ms=HOUR)
    answer = NodeLeased(513, MARK + 513, MARK + 10 * HOUR)
    case.step(call, answer, leased(seed, 513, b"me", MARK + 10 * HOUR, ends=1))


def test_a_mark_behind_the_old_one_is_moved_past_it(case: Case) -> None:
    seed = taken(case, 513)
    case.given(seed)
    call = lease_node(b"me", node=None, mark_ms=5, lease_ms=HOUR)
    answer = NodeLeased(513, MARK + 513, MARK + 513 + HOUR)
    case.step(call, answer, leased(seed, 513, b"me", MARK + 513 + HOUR, ends=1))


def test_when_all_are_held_the_answer_says_when_the_first_lease_ends(case: Case) -> None:
    case.given(taken(case, None))
    case.keeps(lease_node(b"me", node=None, mark_ms=MARK, lease_ms=HOUR), NodesTaken(4))
    case.keeps(lease_node(b"me", node=7, mark_ms=MARK, lease_ms=HOUR), NodesTaken(4))


def test_a_returned_number_ends_its_lease_and_lowers_its_mark(case: Case) -> None:
    seed = leased(case.seed(), 3, b"me", MARK, ends=5)
    case.given(seed)
    call = return_node(b"me", 3, last_ms=MARK - 50)
    case.step(call, NodeReturned(), leased(seed, 3, b"me", MARK - 50, ends=0))


def test_who_does_not_hold_the_number_cannot_return_it(case: Case) -> None:
    case.given(leased(case.seed(), 3, b"other", MARK, ends=5))
    case.keeps(return_node(b"me", 3, last_ms=1), NodeNotHeld())
    case.keeps(return_node(b"me", 4, last_ms=1), NodeNotHeld())
    case.keeps(return_node(b"oth", 3, last_ms=1), NodeNotHeld())


def test_the_raw_replies_are_words_and_decimal_text(case: Case) -> None:
    call = lease_node(b"me", node=None, mark_ms=MARK, lease_ms=HOUR)
    assert case.body.reply(call) == [b"leased", b"0", b"0", b"%d" % MARK]
    case.replies(return_node(b"me", 0, last_ms=MARK), [b"returned"])
    case.replies(return_node(b"you", 0, last_ms=MARK), [b"not_held"])


@pytest.mark.parametrize("node", [-1, 1024])
def test_a_node_is_a_number_below_1024(case: Case, node: int) -> None:
    with pytest.raises(BadInput):
        lease_node(b"me", node=node, mark_ms=MARK, lease_ms=HOUR)
    with pytest.raises(BadInput):
        return_node(b"me", node, last_ms=MARK)
