"""Node numbers: whoever leases, renews, lapses or returns, no two holders may mint for one instant of one number."""

from dataclasses import dataclass

import hypothesis
import hypothesis.strategies as st
import pytest
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from echomq.keys import NODE_OWNERS, NODES
from echomq.records import NodeLeased, NodeReturned
from echomq.transitions.lease_node import lease_node
from echomq.transitions.return_node import return_node
from tests.harness.body import Body
from tests.harness.state import HOUR, Entry

_PROGRAMS, _STEPS = 60, 40
_EARLY = 1_800_000_000_000
_FREE = 3  # numbers that lapse at once; the others are held for longer than a program lasts


@dataclass
class Process:
    """What a process knows: its number, and the instants that it may mint for."""

    node: int
    after: int
    mark: int


class NodeLeases(RuleBasedStateMachine):
    """Processes with clocks of their own. A crashed one is replaced under a new name."""

    def __init__(self, body: Body) -> None:
        super().__init__()
        self.body = body
        body.restart()
        self.processes: dict[bytes, Process] = {}
        self.granted: dict[int, list[tuple[int, int]]] = {}

    def teardown(self) -> None:
        self.body.drop()

    @initialize()
    def begin(self) -> None:
        """All numbers have been leased, so that they are handed on from one holder to the next."""
        ends = {b"%d" % node: -1 if node < _FREE else 9999 for node in range(1024)}
        owners = {b"%d" % node: b"early%d %d" % (node, _EARLY + node) for node in range(1024)}
        self.body.load({NODES: Entry("zset", ends), NODE_OWNERS: Entry("hash", owners)})
        self.granted = {node: [(0, _EARLY + node)] for node in range(1024)}

    @rule(name=st.sampled_from([b"a", b"b", b"c", b"d", b"e"]), clock=st.integers(-3, 3), lease=st.integers(1, 2))
    def lease(self, name: bytes, clock: int, lease: int) -> None:
        held = self.processes.get(name)
        mark = _EARLY + clock * HOUR
        call = lease_node(name, node=held.node if held else None, mark_ms=mark, lease_ms=lease * HOUR)
        answer = self.body.ask(call)
        if isinstance(answer, NodeLeased):
            self.grant(name, held, answer)
        else:
            self.processes.pop(name, None)

    def grant(self, name: bytes, held: Process | None, answer: NodeLeased) -> None:
        if answer.mark_ms <= answer.after_ms:
            assert held is not None, "a new holder is given nothing to mint for"
        for low, high in self.granted[answer.node]:
            assert answer.after_ms >= high or answer.mark_ms <= low, f"two may mint for one instant of {answer.node}"
        if answer.mark_ms > answer.after_ms:
            self.granted[answer.node].append((answer.after_ms, answer.mark_ms))
        self.processes[name] = Process(answer.node, answer.after_ms, answer.mark_ms)

    @rule(name=st.sampled_from([b"a", b"b", b"c", b"d", b"e"]), share=st.integers(0, 2))
    def give_back(self, name: bytes, share: int) -> None:
        """A process returns its number with the last instant that it minted for: the rest may be granted anew."""
        held = self.processes.pop(name, None)
        if held is None:
            return
        last = held.after + (held.mark - held.after) * share // 2
        if isinstance(self.body.ask(return_node(name, held.node, last_ms=last)), NodeReturned):
            cut = [(low, min(high, last)) for low, high in self.granted[held.node]]
            self.granted[held.node] = [(low, high) for low, high in cut if high > low]

    @rule(name=st.sampled_from([b"a", b"b", b"c"]))
    def crash(self, name: bytes) -> None:
        self.processes.pop(name, None)

    @rule(span=st.integers(1, 2))
    def time_passes(self, span: int) -> None:
        self.body.advance(span)


@pytest.mark.parametrize("body", ["lua", "model"], indirect=True)
def test_w01_no_two_holders_may_mint_for_one_instant_of_a_number(body: Body) -> None:
    class Programs(NodeLeases):
        def __init__(self) -> None:
            super().__init__(body)

    settings = hypothesis.settings(max_examples=_PROGRAMS, stateful_step_count=_STEPS)
    run_state_machine_as_test(Programs, settings=settings)
