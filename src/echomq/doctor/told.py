"""What a server told when it was asked, as plain values. None, or a name that is missing, is what it did not tell."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from echomq.drivers.address import Address

__all__ = ["LoadedModule", "OwnModule", "Place", "Right", "Rights", "Told"]


class Right(StrEnum):
    """Whether the user may do something."""

    GRANTED = "granted"
    DENIED = "denied"
    ABSENT = "absent"  # the server has no such command
    UNKNOWN = "unknown"  # it could not be asked


@dataclass(frozen=True, slots=True, kw_only=True)
class Rights:
    """What the user may do. Commands have the names of the access lists, `script|load` and `emq.claim` for instance.

    A command is granted when it may be used on a key, or the channel, of the queue. Where no writing one may be, the
    keys are denied, and whether the commands are cannot be told.
    """

    queue: str  # the one whose keys and channel were asked about
    commands: Mapping[str, Right] = field(default_factory=dict)
    keys: Right = Right.UNKNOWN  # emq:{queue}:*
    deployment: Right = Right.UNKNOWN  # {emq}:*

    def of(self, command: str) -> Right:
        """Return whether the user may run a command."""
        return self.commands.get(command, Right.UNKNOWN)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedModule:
    """The module that a server says it has."""

    version: int
    path: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnModule:
    """The module of this installation, if it has one, and what it was built for: `Linux x86_64` for instance."""

    path: Path | None
    system: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where the server is."""

    name: str  # for a person, without a password
    address: Address
    is_embedded: bool = False

    @property
    def user(self) -> str:
        """The name that access lists know this client by."""
        return self.address.username or "default"

    @property
    def is_near(self) -> bool:
        """Whether the server runs on this machine, or in a container of it, as far as the address says."""
        return self.address.unix_path is not None or self.address.host in ("localhost", "::1", "127.0.0.1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """All that was found out about one server."""

    place: Place
    resp: int
    version: bytes | None  # that of the deployment
    accepted_versions: tuple[str, ...]
    is_accepted: bool
    round_trip_ms: float
    clock_ahead_ms: int | None  # the server's clock, of this machine's
    hello: Mapping[str, str]
    loaded: LoadedModule | None
    own: OwnModule
    info: Mapping[str, str]
    config: Mapping[str, str]
    cluster: Mapping[str, str]
    rights: Rights
    refused: tuple[str, ...]  # the questions that were refused

    def number(self, name: str) -> int | None:
        """Return a figure of INFO; None for one that is missing or no whole number."""
        text = self.info.get(name, "")
        return int(text) if text.isascii() and text.isdigit() else None
