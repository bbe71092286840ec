"""The greeting of a connection (protocol 3.1) and the version fence (3.2), as one generator.

It yields the commands to send, one at a time, and is sent their replies. Its return says what the peer is; what it
raises says why the connection cannot be used:

- `AuthRefused`, `BootRefused`, `UnexpectedHello`, `VersionFence`: a setting is wrong. Trying again cannot help.
- `NotReady`: the server is loading, busy or without its primary. Trying again later can.

The fence holds one case that the protocol leaves open: a server that has no version and refuses to have one written
(a read-only replica, a full server, a user without that permission). Nothing there contradicts this client, so it
passes; whoever may write will set the version. A node of a cluster that does not own the key passes too, since the
owner is asked when it is connected to.
"""

from collections.abc import Generator
from dataclasses import dataclass

from echomq.errors import AuthRefused, BootRefused, Disconnected, UnexpectedHello, VersionFence
from echomq.keys import VERSION
from echomq.options import ConnectionOptions
from echomq.resp.reply import ErrorReply, Reply

__all__ = ["Command", "Greeted", "GreetingSettings", "NotReady", "greet"]

Command = tuple[bytes | int, ...]
Greeting = Generator[Command, Reply, "Greeted"]
Step = Generator[Command, Reply, None]


class NotReady(Disconnected):
    """The server is there but cannot serve at the moment. Connecting again later may succeed."""

    def __init__(self, reply: str) -> None:
        super().__init__(f"the server is not ready to be used ({reply}): it is asked again after a pause")
        self.reply = reply


@dataclass(frozen=True, slots=True, kw_only=True)
class GreetingSettings:
    """Who we are and which database we want."""

    options: ConnectionOptions
    username: bytes | None = None
    password: bytes | None = None
    database: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Greeted:
    """What the greeting found: the protocol spoken, and the deployment's version if the node holds one.

    `module` is the version of the module `echomq` that the server has loaded, `client` the number that the server gave
    this connection. None: none, or the peer does not say, since only HELLO tells.
    """

    resp: int
    version: bytes | None
    module: int | None = None
    client: int | None = None


_LATER = frozenset({"LOADING", "BUSY", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "UNAVAILABLE"})
_AUTH = frozenset({"NOAUTH", "WRONGPASS"})
_ELSEWHERE = frozenset({"MOVED", "ASK"})
_NOT_WRITABLE = frozenset({"READONLY", "NOPERM", "OOM", "MISCONF", "NOREPLICAS"})


def greet(settings: GreetingSettings) -> Greeting:
    """Yield the commands of the greeting and return what was found; see the top of the file for what is raised."""
    hello = (yield from _hello(settings)) if settings.options.resp == 3 else None
    if hello is None:
        yield from _login(settings)
    yield from _select(settings.database)
    yield from _set_name(settings.options.client_name)
    version = yield from _fence(settings.options)
    if hello is None:
        return Greeted(resp=2, version=version)
    client = hello.get(b"id")
    return Greeted(resp=3, version=version, module=_module(hello), client=client if isinstance(client, int) else None)


def _hello(settings: GreetingSettings) -> Generator[Command, Reply, dict[Reply, Reply] | None]:
    """Say HELLO. Return what it told; None when the peer does not speak RESP3, which answers with an error."""
    command: Command = (b"HELLO", 3)
    if settings.password is not None:
        command += (b"AUTH", settings.username or b"default", settings.password)
    reply = yield command
    if isinstance(reply, ErrorReply):
        _raise_if_refused(reply)
        return None
    if not isinstance(reply, dict) or reply.get(b"proto") != 3:
        raise UnexpectedHello(reply)
    return reply


def _module(hello: dict[Reply, Reply]) -> int | None:
    """Return the version of our module among those that HELLO tells of."""
    modules = hello.get(b"modules")
    for module in modules if isinstance(modules, list) else ():
        if isinstance(module, dict) and module.get(b"name") == b"echomq":
            version = module.get(b"ver")
            return version if isinstance(version, int) else None
    return None


def _login(settings: GreetingSettings) -> Step:
    """Log in as RESP2 does, and see that the peer answers a PING."""
    if settings.password is not None:
        who: Command = () if settings.username is None else (settings.username,)
        reply = yield (b"AUTH", *who, settings.password)
        if isinstance(reply, ErrorReply):
            _raise_if_later(reply)
            raise AuthRefused(_auth_sentence(reply.text))
    reply = yield (b"PING",)
    if isinstance(reply, ErrorReply):
        _raise_if_refused(reply)
    if reply != b"PONG":
        raise UnexpectedHello(reply.text if isinstance(reply, ErrorReply) else reply)


def _select(database: int) -> Step:
    if database > 0:
        _raise_if_error("select", (yield (b"SELECT", database)))


def _set_name(name: str | None) -> Step:
    if name is not None:
        _raise_if_error("setname", (yield (b"CLIENT", b"SETNAME", name.encode())))


def _fence(options: ConnectionOptions) -> Generator[Command, Reply, bytes | None]:
    """Compare the deployment's version with the accepted ones; write ours where there is none."""
    found = yield (b"GET", VERSION)
    if found is None:
        wrote = yield (b"SET", VERSION, options.version.encode(), b"NX")
        if isinstance(wrote, ErrorReply) and wrote.word in _NOT_WRITABLE:
            return None
        _raise_if_error("fence", wrote)
        found = yield (b"GET", VERSION)
    if isinstance(found, ErrorReply) and found.word in _ELSEWHERE:
        return None
    _raise_if_error("fence", found)
    if not isinstance(found, bytes) or not options.accepts(found):
        raise VersionFence(found if isinstance(found, bytes) else b"", options.accepted_versions)
    return found


def _raise_if_error(step: str, reply: Reply) -> None:
    if isinstance(reply, ErrorReply):
        _raise_if_refused(reply)
        raise BootRefused(step, reply.text)


def _raise_if_refused(reply: ErrorReply) -> None:
    _raise_if_later(reply)
    if reply.word in _AUTH:
        raise AuthRefused(_auth_sentence(reply.text))


def _raise_if_later(reply: ErrorReply) -> None:
    if reply.word in _LATER:
        raise NotReady(reply.text)


def _auth_sentence(reply: str) -> str:
    return f"the server refused the user name or password ({reply}): correct them in the address"
