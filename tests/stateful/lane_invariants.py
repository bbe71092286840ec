"""What must hold of lanes and the ring in every state: rules 10 to 12 of docs/wire.md, read from the state alone."""

import re
from collections.abc import Set as AbstractSet

from tests.stateful.invariants import View

__all__ = ["WAKES_MAX", "check_counts", "check_lanes", "check_ring", "check_wakes", "untrue_lanes"]

WAKES_MAX = 64
_WORTH = re.compile(rb"[1-9][0-9]{0,3}")
_WATCH = re.compile(rb"\S{1,64} -?[0-9]+")  # hours from the start of the test: a past one is negative


def check_ring(view: View) -> None:
    """A group stands on the ring exactly once while its lane is serviceable, and not at all otherwise (rule 10)."""
    ring = view.ring()
    assert len(set(ring)) == len(ring), f"a group stands twice on the ring {ring}"
    for group in {*view.groups(), *ring}:
        if view.serviceable(group):
            assert group in ring, f"the lane of {group!r} is serviceable and not on the ring {ring}"
        else:
            assert group not in ring, f"the lane of {group!r} cannot be served and is on the ring {ring}"


def check_counts(view: View, disturbed: AbstractSet[bytes]) -> None:
    """The counts in flight are true, but for those of the disturbed groups, and none stays behind at 0."""
    truth = view.in_flight()
    for group in {*view.groups(), *truth} - disturbed:
        act = view.flying(group)
        assert act == truth[group], f"{act} of {group!r} are said to be in flight and {truth[group]} are"
    for group, text in view.fields(view.keys.group_active).items():
        assert text.isdigit(), f"{text!r} of {group!r} are said to be in flight"
        assert int(text) > 0, f"the count of {group!r} stays behind at 0"


def untrue_lanes(view: View) -> set[bytes]:
    """Return the groups that are in `lanes` and not live, or live and not in it (rule 11)."""
    return {group for group in view.groups() if view.live(group) is not (group in view.members(view.keys.lanes))}


def check_lanes(view: View, strangers: AbstractSet[bytes]) -> None:
    """The lanes with jobs waiting or in flight are in `lanes`, with score 0, and no others; but for those of strangers.

    What another speaker did to them is in it as soon as a script of ours sees them empty or full again.
    """
    wrong = untrue_lanes(view) - strangers
    assert not wrong, f"`lanes` is {sorted(view.members(view.keys.lanes))}, which is untrue of {sorted(wrong)}"
    assert not any(view.members(view.keys.lanes).values()), "`lanes` has scores"
    stale = view.owing() - {b""} - view.members(view.keys.lanes).keys() - strangers
    assert not stale, f"{sorted(stale)} owe a place to a fresh job, and nothing of them is left"


def check_wakes(view: View) -> None:
    """Wake tokens, the watch and the rota are well formed."""
    tokens = view.tokens()
    assert len(tokens) <= WAKES_MAX, f"{len(tokens)} wake tokens"
    assert all(_WORTH.fullmatch(token) and int(token) <= 1000 for token in tokens), f"the wake tokens are {tokens}"
    watch = view.state.get(view.keys.watch)
    if watch is not None:
        assert isinstance(watch.value, bytes)
        assert _WATCH.fullmatch(watch.value), f"the watch is {watch.value!r}"
        assert watch.ttl is not None, "the watch never expires"
    _check_rota(view)


def _check_rota(view: View) -> None:
    rota = view.fields(view.keys.rota)
    assert rota.keys() <= {b"flat", b"turn", b"left"}, f"the rota is {rota}"
    assert (b"turn" in rota) is (b"left" in rota), f"the rota is {rota}"
    for field in (b"flat", b"left"):
        assert rota.get(field, b"0").isdigit(), f"the rota is {rota}"
