"""Puts plain commands to a server, remembers what was refused, and reads the replies of RESP2 and RESP3 alike."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from echomq.errors import NoPermission, ServerError
from echomq.resp.reply import Reply

__all__ = ["Questions", "Sender", "lines_of", "pairs_of", "text_of", "texts_of"]


class Sender(Protocol):
    """What sends plain commands."""

    def command(self, *parts: bytes | str | int) -> Reply:
        """Send a command and return its reply. Raises `ServerError` for one that is refused."""
        ...


@dataclass(slots=True)
class Questions:
    """Asks. `refused` has the names of the questions that were refused, and whether it was for want of a right."""

    sender: Sender
    refused: dict[str, bool] = field(default_factory=dict)

    def ask(self, name: str, *parts: bytes | str | int) -> Reply:
        """Return the reply, or None for a refusal. Raises what losing the connection raises."""
        try:
            return self.sender.command(*parts)
        except ServerError as error:
            self.refused[name] = isinstance(error, NoPermission)
            return None


def pairs_of(reply: Reply) -> dict[str, Reply]:
    """Return a map, which a RESP2 server tells as a list of names and values; empty for anything else."""
    if isinstance(reply, dict):
        return {text_of(name): value for name, value in reply.items()}
    if isinstance(reply, list):
        return {text_of(name): value for name, value in zip(reply[::2], reply[1::2], strict=False)}
    return {}


def texts_of(pairs: Mapping[str, Reply]) -> dict[str, str]:
    """Return the values of a map that are text or numbers, as text."""
    return {name: text_of(value) for name, value in pairs.items() if isinstance(value, bytes | int)}


def lines_of(reply: Reply) -> dict[str, str]:
    """Return the `name:value` lines of INFO and its like; empty for anything else."""
    lines = text_of(reply).splitlines() if isinstance(reply, bytes) else []
    return {name: value for name, mark, value in (line.partition(":") for line in lines) if mark}


def text_of(value: Reply) -> str:
    """Return bytes, or anything else, as text."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
