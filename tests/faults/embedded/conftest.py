"""Homes for the tests of the embedded server. Every home must be without processes when its test ends."""

from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.faults.embedded.homes import Home


@pytest.fixture
def make_home() -> Iterator[Callable[[str], Home]]:
    """Make homes by name, below a short directory so that their sockets fit."""
    homes: list[Home] = []
    with TemporaryDirectory(prefix="emq") as root:

        def make(name: str) -> Home:
            homes.append(Home(Path(root) / name))
            return homes[-1]

        yield make
        for made in homes:
            made.clean()


@pytest.fixture
def home(make_home: Callable[[str], Home]) -> Home:
    return make_home("home")
