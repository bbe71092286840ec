"""A finding: one thing that was looked at, how it is, and what to do about it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

__all__ = ["Fact", "Facts", "Finding", "Level", "listed", "note", "ok", "problem"]

Fact: TypeAlias = "str | int | float | bool | Sequence[str] | None"
Facts: TypeAlias = dict[str, Fact]


class Level(StrEnum):
    """How a thing is."""

    OK = "ok"
    NOTE = "note"  # it works; somebody may want to know
    PROBLEM = "problem"  # jobs are lost, endangered or refused


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was looked at.

    `check` is its name for programs, `says` one or two sentences, `todo` what to do next, a step each. `facts` are what
    was found, for programs: the names of a check are always the same, and what is not known is None.
    """

    check: str
    level: Level
    says: str
    todo: tuple[str, ...] = ()
    facts: Mapping[str, Fact] = field(default_factory=dict)


def ok(check: str, says: str, **facts: Fact) -> Finding:
    """Return a finding about which nothing has to be done."""
    return Finding(check=check, level=Level.OK, says=says, facts=facts)


def note(check: str, says: str, *todo: str, **facts: Fact) -> Finding:
    """Return a finding that somebody may want to know of."""
    return Finding(check=check, level=Level.NOTE, says=says, todo=todo, facts=facts)


def problem(check: str, says: str, *todo: str, **facts: Fact) -> Finding:
    """Return a finding that loses, endangers or refuses jobs."""
    return Finding(check=check, level=Level.PROBLEM, says=says, todo=todo, facts=facts)


def listed(words: Sequence[str]) -> str:
    """Return words as a sentence lists them: `a`, `a and b`, `a, b and c`."""
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))
