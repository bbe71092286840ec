"""What a worker refuses when it is made."""

import pytest

from echomq import EchoMQ, Run, Worker
from echomq.errors import InvalidName, InvalidOption
from echomq.worker import Backoff


async def handler(run: Run) -> None:
    """Do nothing."""


def test_a_handler_is_a_function() -> None:
    with pytest.raises(InvalidOption, match="takes the Run"):
        Worker(EchoMQ("unix:///nowhere"), "q", 5)  # type: ignore[arg-type]  # the mistake under test


def test_a_queue_has_a_valid_name() -> None:
    with pytest.raises(InvalidName):
        Worker(EchoMQ("unix:///nowhere"), "a:b", handler)


def test_options_are_worker_options() -> None:
    with pytest.raises(InvalidOption, match="a WorkerOptions"):
        Worker(EchoMQ("unix:///nowhere"), "q", handler, options={"concurrency": 3})  # type: ignore[arg-type]  # the mistake


@pytest.mark.parametrize("wrong", [{"factor": "2"}, {"jitter": None}, {"factor": True}, {"factor": float("nan")}])
def test_a_backoff_is_made_of_numbers(wrong: dict[str, float]) -> None:
    with pytest.raises(InvalidOption):
        Backoff(**wrong)  # type: ignore[arg-type]  # the mistake under test
