"""Every transition is whole: a handle, a body and an entry in the catalogue; and every body is bounded."""

import importlib
import re
from importlib.resources import files
from typing import Final

import pytest

from echomq.transitions.call import Transition
from echomq.transitions.catalogue import TRANSITIONS

FOLDER = files("echomq.transitions")
HELPERS: Final = {"__init__", "_bodies", "call", "catalogue", "checks", "replies"}
HANDLES: Final = {"schedule": ("enqueue_at", "enqueue_in"), "take": ("take", "take_blocking")}
each = pytest.mark.parametrize("transition", TRANSITIONS, ids=lambda transition: transition.name)

UNBOUNDED: Final = {
    "every key of the server": r"'KEYS'|'RANDOMKEY'",
    "a walk of the keyspace": r"'SCAN'",
    "a walk of one key": r"'[HSZ]SCAN'",
    "a whole collection": r"'HGETALL'|'HKEYS'|'HVALS'|'SMEMBERS'|'SORT'|'[SZ](?:INTER|UNION|DIFF)",
    "a whole range": r"RANGE'[^)]*\b0,\s*-1\b",
    "a range of scores without a limit": r"'Z(?:REV)?RANGEBY|'BY(?:SCORE|LEX)'(?!, 'LIMIT')",
    "a loop that only a condition ends": r"\brepeat\b|\bwhile true\b",
}

ALLOWED: Final = {
    ("get_job", "a whole collection"): "a row has some ten fields, and reading it is what is asked for",
    ("repair", "a walk of the keyspace"): "one slice a call, for an operator; the answer says where to go on",
    ("repair", "a whole range"): "the ring, once in a slice that has a lane in it; for an operator",
    ("lanes", "a walk of one key"): "settings of lanes without jobs have no order; one slice a call",
    ("obliterate", "a walk of the keyspace"): "one slice a call, for an operator; the answer says where to go on",
}


def stems(suffix: str) -> set[str]:
    return {entry.name.removesuffix(suffix) for entry in FOLDER.iterdir() if entry.name.endswith(suffix)}


def code(path: str) -> str:
    text = (FOLDER / path).read_text(encoding="utf-8")
    return "\n".join(line.split("--", 1)[0] for line in text.splitlines())


def test_there_is_one_handle_one_body_and_one_entry_for_each_name() -> None:
    listed = [transition.name for transition in TRANSITIONS]
    assert len(listed) == len(set(listed))
    assert stems(".lua") == set(listed)
    assert stems(".py") - HELPERS == set(listed)


@each
def test_a_handle_exports_its_transition_and_the_function_of_its_name(transition: Transition) -> None:
    module = importlib.import_module(f"echomq.transitions.{transition.name}")
    assert module.TRANSITION is transition
    for name in ("TRANSITION", *HANDLES.get(transition.name, (transition.name,))):
        assert name in module.__all__


@each
def test_a_handle_is_documented_as_a_contract(transition: Transition) -> None:
    module = importlib.import_module(f"echomq.transitions.{transition.name}")
    assert module.__doc__ is not None
    assert module.__doc__.startswith(f"{transition.name}: ")
    wanted = "ours" if transition.section == "ours" else f"protocol {transition.section}"
    assert wanted in module.__doc__
    for name in HANDLES.get(transition.name, (transition.name,)):
        told = getattr(module, name).__doc__
        assert told is not None
        assert "repeat" in told or "Else as" in told, f"{name} does not say whether repeating it is safe"


@each
@pytest.mark.parametrize("kind", UNBOUNDED)
def test_a_body_reads_nothing_without_a_bound(transition: Transition, kind: str) -> None:
    found = re.search(UNBOUNDED[kind], code(f"{transition.name}.lua"))
    assert (found is not None) == ((transition.name, kind) in ALLOWED)


@pytest.mark.parametrize(
    "fragment", sorted(entry.name for entry in (FOLDER / "shared").iterdir() if entry.name.endswith(".lua"))
)
def test_a_fragment_reads_nothing_without_a_bound(fragment: str) -> None:
    text = code(f"shared/{fragment}")
    assert not [kind for kind, pattern in UNBOUNDED.items() if re.search(pattern, text)]


@each
def test_a_body_leaves_no_global_name_behind(transition: Transition) -> None:
    for number, line in enumerate(code(f"{transition.name}.lua").splitlines(), start=1):
        assert not re.match(r"^function \w", line), f"line {number} defines a global function"
