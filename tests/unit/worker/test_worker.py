"""What a worker refuses when it is made."""

import pytest

from echomq import EchoMQ, Run, Worker
from echomq.errors import InvalidName, InvalidOption


async def handler(run: Run) -> None:
    """Do nothing."""


def test_a_handler_is_a_function() -> None:
    with pytest.raises(InvalidOption, match="takes the Run"):
        Worker(EchoMQ("unix:///nowhere"), "q", 5)  # type: ignore[arg-type]  # the mistake under test


def test_a_queue_has_a_valid_name() -> None:
    with pytest.raises(InvalidName):
        Worker(EchoMQ("unix:///nowhere"), "a:b", handler)
