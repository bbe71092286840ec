"""Settings, as frozen objects that check themselves when made. Nothing here reads the environment."""

from dataclasses import dataclass

from echomq.errors import InvalidOption

__all__ = ["LOCAL_URL", "OWN_VERSION", "ConnectionOptions"]

OWN_VERSION = "echomq:2.4.2"
"""What this edition writes into ``{emq}:version`` of a fresh deployment (protocol 3.2)."""


LOCAL_URL = "valkey://127.0.0.1:6379"
"""Where a client connects to without an address."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionOptions:
    """How to reach the server, and how long to wait for it. Raises `InvalidOption` for a value outside its range."""

    # valkey://, valkeys://, redis://, rediss:// or unix://, see drivers.address. May hold a password: it is not shown.
    # None leaves the choice to whoever takes the options: LOCAL_URL for a client, see `EchoMQ` for an application.
    url: str | None = None
    # The name shown by CLIENT LIST. None leaves it unset.
    client_name: str | None = None
    # 3 asks for RESP3 and falls back to RESP2 where the server has none; 2 never asks. Subscribing needs 3.
    resp: int = 3
    # For the socket, TLS, the greeting and the version fence together.
    connect_timeout_ms: int = 5_000
    # From the call to its reply. After it the link is given up, since a silent peer may be a dead one.
    reply_timeout_ms: int = 5_000
    # An idle link is tested this often.
    ping_interval_ms: int = 30_000
    # The first wait before connecting again; it doubles up to the last one. Up to half again of jitter is added.
    reconnect_first_ms: int = 100
    reconnect_last_ms: int = 2_000
    # How long a blocking client looks for a reply before it lets the thread sleep. Waking up costs more than a near
    # server takes to answer; a far one is noticed and slept for at once. 0 never looks.
    spin_us: int = 60
    # Calls that may wait for their replies at once, on one connection. One more is refused with `Overloaded`.
    in_flight_max: int = 10_000
    # Messages of a subscription that may wait to be taken. At the bound reading pauses; none is dropped on our side.
    messages_max: int = 10_000
    # Written to a deployment that has no version yet; an existing version is never overwritten.
    version: str = OWN_VERSION
    # What {emq}:version may hold. A `*` at the end stands for anything: minor versions are tolerated.
    accepted_versions: tuple[str, ...] = ("echomq:2.*",)

    def __post_init__(self) -> None:
        for name in _POSITIVE:
            _check(name, getattr(self, name), minimum=1)
        _check("spin_us", self.spin_us, minimum=0)
        if self.resp not in (2, 3):
            raise InvalidOption("resp", self.resp, "2 or 3")
        if self.reconnect_last_ms < self.reconnect_first_ms:
            raise InvalidOption("reconnect_last_ms", self.reconnect_last_ms, "reconnect_first_ms or more")
        if not self.accepted_versions or not all(self.accepted_versions):
            raise InvalidOption("accepted_versions", self.accepted_versions, "one version or more, none of them empty")
        if not self.accepts(self.version.encode()):
            raise InvalidOption("version", self.version, f"one of accepted_versions, {self.accepted_versions}")

    def accepts(self, version: bytes) -> bool:
        """Say whether a deployment of this version may be used (protocol 3.2)."""
        return any(_matches(pattern, version) for pattern in self.accepted_versions)

    def __repr__(self) -> str:
        """Show everything but the address, which may hold a password."""
        shown = (f"{name}={getattr(self, name)!r}" for name in self.__slots__ if name != "url")
        return f"ConnectionOptions({', '.join(shown)})"


_MOST = 7 * 24 * 3600 * 1000  # a week in ms; what waits for longer waits for ever


def _matches(pattern: str, version: bytes) -> bool:
    if pattern.endswith("*"):
        return version.startswith(pattern[:-1].encode())
    return version == pattern.encode()


def _check(name: str, value: int, *, minimum: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not minimum <= value <= _MOST:
        raise InvalidOption(name, value, f"a whole number from {minimum} to {_MOST}")


_POSITIVE = (
    "connect_timeout_ms",
    "reply_timeout_ms",
    "ping_interval_ms",
    "reconnect_first_ms",
    "reconnect_last_ms",
    "in_flight_max",
    "messages_max",
)
