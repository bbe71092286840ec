"""The route of a single node."""

import pytest

from echomq.drivers.address import parse_address
from echomq.drivers.route import SingleNode
from echomq.resp.reply import ErrorReply

ADDRESS = parse_address("valkey://h")


def test_one_node_answers_for_every_key() -> None:
    route = SingleNode(ADDRESS)
    assert route.node_for(b"emq:{a}:pending") is ADDRESS
    assert route.node_for(None) is ADDRESS


@pytest.mark.parametrize("word", ["READONLY", "LOADING", "CLUSTERDOWN", "MASTERDOWN"])
def test_a_node_that_cannot_serve_is_looked_for_again(word: str) -> None:
    assert SingleNode(ADDRESS).refused(ADDRESS, ErrorReply(f"{word} no"))


@pytest.mark.parametrize("word", ["MOVED", "ASK", "WRONGTYPE", "OOM", "EMQSTALE", "NOSCRIPT"])
def test_another_error_leaves_the_link_alone(word: str) -> None:
    assert not SingleNode(ADDRESS).refused(ADDRESS, ErrorReply(f"{word} no"))
