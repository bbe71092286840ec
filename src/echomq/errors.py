"""Every exception of echomq.

An answer that a caller must handle (duplicate, stale, empty, …) is a value, see `records`. An exception means that a
promise was broken, and its class says by whom:

- `BadInput`: by the caller, before anything was sent. Nothing happened.
- `ServerError`: the server refused a whole transition. Nothing was written.
- `ConnectionFailed`: the link could not be made or kept. Nothing of this call was sent.
- `Unknown`: the link was lost, or stayed silent, after the call was sent. It may or may not have happened.
- `ProtocolError`: the peer broke RESP, or sent a reply that the protocol does not know.

Each message is one sentence for a person: what happened to which job or key, and what to do next. The facts of the
message are attributes too. `docs/errors.md` is the table of them.
"""

__all__ = [
    "AlreadyRunning",
    "AuthRefused",
    "BadInput",
    "BootRefused",
    "ClockOutOfRange",
    "Closed",
    "ConnectTimeout",
    "ConnectionFailed",
    "DemoFailed",
    "Disconnected",
    "EchoMQError",
    "EmbeddedFailed",
    "EmbeddedUnavailable",
    "InvalidId",
    "InvalidName",
    "InvalidOption",
    "InvalidPayload",
    "InvalidToken",
    "KindRefused",
    "Loading",
    "LoopEnded",
    "NoFiles",
    "NoPermission",
    "NodeLeaseLapsed",
    "NodesExhausted",
    "Overloaded",
    "PayloadTooLarge",
    "ProtocolError",
    "ReadOnly",
    "ReplyTimeout",
    "RequiresResp3",
    "ServerError",
    "ServerFull",
    "UnexpectedHello",
    "UnexpectedReply",
    "Unknown",
    "VersionFence",
    "WrongType",
]


class EchoMQError(Exception):
    """The root of every exception that echomq raises on purpose."""


# --- the caller's side: nothing was sent ---------------------------------------------------------------------------


class BadInput(EchoMQError, ValueError):
    """An argument that cannot be sent. Nothing was sent and nothing changed; correct the argument and call again."""


class InvalidId(BadInput):
    """A value that is not a branded id of the kind asked for (protocol 1.4)."""

    def __init__(self, value: object, reason: str) -> None:
        super().__init__(f"{value!r:.200} is not a valid id: {reason}")
        self.value = value
        self.reason = reason


class InvalidName(BadInput):
    """A queue name, group name or dedup id outside its character set (protocol 2.1)."""

    def __init__(self, what: str, value: object, allowed: str) -> None:
        if isinstance(value, str):
            sentence = f"{value!r:.200} is not a valid {what}: allowed is {allowed}"
        else:
            remedy = f": str({value!r:.200})" if isinstance(value, int) else ""  # ids of accounts are often numbers
            sentence = f"a {what.removesuffix(' name')} must be a str, not {type(value).__name__}{remedy}"
        super().__init__(sentence)
        self.what = what
        self.value = value
        self.allowed = allowed


class InvalidToken(BadInput):
    """A token that no claim can have given: tokens are whole numbers from 1 on."""

    def __init__(self, value: object) -> None:
        super().__init__(f"{value!r:.200} is not a token: use the `token` of the claim, a whole number from 1 on")
        self.value = value


class InvalidPayload(BadInput):
    """A payload, result, progress or log line that is not bytes."""

    def __init__(self, what: str, value: object) -> None:
        super().__init__(f"the {what} must be bytes, not {type(value).__name__}: encode it first")
        self.what = what


class PayloadTooLarge(BadInput):
    """A payload over the limit. Store the data elsewhere and enqueue a reference, or raise the limit."""

    def __init__(self, what: str, size_bytes: int, limit_bytes: int) -> None:
        super().__init__(
            f"the {what} has {size_bytes} bytes and the limit is {limit_bytes}: store the data elsewhere and send a"
            f" reference to it{'' if what == 'progress' else ', or raise `payload_bytes_max`'}"
        )
        self.what = what
        self.size_bytes = size_bytes
        self.limit_bytes = limit_bytes


class InvalidOption(BadInput):
    """A setting or a plain argument outside its range."""

    def __init__(self, name: str, value: object, allowed: str) -> None:
        # A name in words is the beginning of a sentence; any other is the argument's own, as it stands in the call.
        wrong = f"{name} cannot be {value!r:.200}" if " " in name else f"{name}={value!r:.200} is not possible"
        super().__init__(f"{wrong}: allowed is {allowed}")
        self.name = name
        self.value = value
        self.allowed = allowed


class NodeLeaseLapsed(EchoMQError):
    """A minter whose node lease ended was asked for an id. Lease the node again (`Jobs.mint` does it)."""

    def __init__(self) -> None:
        super().__init__(
            "this minter holds no node number at the moment, so the id it would mint could collide: lease the node"
            " again first, as `Jobs.mint` does by itself"
        )


class ClockOutOfRange(EchoMQError):
    """This machine's clock stands after 2093, the last instant that an id can hold. Nothing was minted."""

    def __init__(self, unix_ms: int) -> None:
        super().__init__(
            f"this machine's clock says {unix_ms} ms since 1970, and ids end at {3903090455551} (September 2093): set"
            " the clock right and mint again"
        )
        self.unix_ms = unix_ms


class NodesExhausted(EchoMQError):
    """All 1024 node numbers of the deployment are leased. Wait for a lease to end, or give nodes by hand."""

    def __init__(self, retry_after_ms: int) -> None:
        super().__init__(
            f"all 1024 node numbers of this deployment are leased; the next one may lapse in {retry_after_ms} ms:"
            " try again then, mint in fewer processes, or pass ids of your own"
        )
        self.retry_after_ms = retry_after_ms


# --- the server's side: the transition was refused as a whole ------------------------------------------------------


class ServerError(EchoMQError):
    """The server answered with an error.

    A transition judges everything before its first write, so a refusal of its own changes nothing: the subclasses but
    `NoPermission`, and texts that name a bad argument, number or key. What a server itself forbids in the middle of a
    script leaves the part before it.

    `word` is the first word of the reply (for example ``WRONGTYPE``), `reply` the whole text, `about` the transition
    and the job or key it was for.
    """

    advice = (
        "read the server's message; unless it names what was refused, look at the job (`get_state`) and repeat then"
    )

    def __init__(self, reply: str, *, about: str) -> None:
        super().__init__(f"{about} was refused by the server ({reply}): {self.advice}")
        self.reply = reply
        self.word = reply.split(" ", 1)[0]
        self.about = about


class KindRefused(ServerError):
    """The script refused an id that does not begin with ``JOB`` (protocol 4.0, ``EMQKIND``)."""

    advice = "only ids of the kind JOB can be jobs; mint one, nothing was written"


class WrongType(ServerError):
    """A key of the queue holds a value of another type; another program wrote to it."""

    advice = "another program wrote to a key of this queue; look at it and remove it (`remove` removes a job's row)"


class ServerFull(ServerError):
    """The server has reached its memory limit and refuses writes that need more."""

    advice = "raise maxmemory or let workers empty the queue, then repeat the call; nothing was written"


class ReadOnly(ServerError):
    """The node that answered is a replica."""

    advice = "connect to the primary; nothing was written"


class Loading(ServerError):
    """The server is still loading its data after a start."""

    advice = "wait until it has loaded and repeat the call; nothing was written"


class NoPermission(ServerError):
    """The user of this connection may not run the command, or touch the key or the channel.

    With `NOPERM` the call itself was refused and nothing was written. With `ACL failure in script` a command inside it
    was, and what came before is written.
    """

    advice = (
        "give the user every right that docs/wire.md lists; after an `ACL failure in script` look at the job"
        " (`get_state`), since a part may have been written"
    )


# --- the link -------------------------------------------------------------------------------------------------------


class ConnectionFailed(EchoMQError):
    """The link could not be made or kept, and nothing of this call was sent: repeating it is safe."""


class ConnectTimeout(ConnectionFailed):
    """No connection within `connect_timeout_ms`."""


class Disconnected(ConnectionFailed):
    """There is no link now, and none came within the time allowed."""


class Overloaded(ConnectionFailed):
    """`in_flight_max` calls are waiting for replies already. Await some of them first."""


class Closed(ConnectionFailed):
    """The client was closed. Open a new one."""


class RequiresResp3(ConnectionFailed):
    """Subscribing needs RESP3 and this server speaks RESP2 only."""


class AuthRefused(ConnectionFailed):
    """The server refused the user name or password (``NOAUTH``, ``WRONGPASS``). Not retried."""


class BootRefused(ConnectionFailed):
    """The server refused a step of the greeting (``select``, ``setname``). Not retried."""

    def __init__(self, step: str, reply: str) -> None:
        super().__init__(f"the server refused {step} while connecting ({reply}): correct that setting")
        self.step = step
        self.reply = reply


class UnexpectedHello(ConnectionFailed):
    """The server's greeting is not that of a Valkey or Redis server. Not retried."""

    def __init__(self, reply: object) -> None:
        super().__init__(
            f"the peer greeted with {reply!r:.200}, so it is not a Valkey or Redis server: check the address"
        )
        self.reply = reply


class VersionFence(ConnectionFailed):
    """The deployment's protocol version is not one that this client accepts (protocol 3.2). Not retried."""

    def __init__(self, found: bytes, accepted: tuple[str, ...]) -> None:
        super().__init__(
            f"the deployment says {found.decode('utf-8', 'replace')!r} in {{emq}}:version and this client accepts"
            f" {', '.join(accepted)}: use a matching echomq, or set `accepted_versions` if you know they agree"
        )
        self.found = found
        self.accepted = accepted


class Unknown(EchoMQError):
    """The link was lost after the call was sent and before its reply came: it may or may not have happened.

    `repeatable` says whether sending the same call again is safe (each transition states it). If it is not, look at
    the job first (`get_state`).
    """

    def __init__(self, about: str, *, repeatable: bool, reason: str) -> None:
        todo = "repeating the same call is safe" if repeatable else "look at the job's state before you repeat it"
        super().__init__(
            f"{about} was sent, but {reason} before the answer came, so it may or may not have happened: {todo}"
        )
        self.about = about
        self.repeatable = repeatable
        self.reason = reason


class ReplyTimeout(Unknown):
    """No reply within `reply_timeout_ms`. The link is dropped, since replies could no longer be told apart."""


class ProtocolError(EchoMQError):
    """The peer broke the protocol. The connection is dead; a new one is made by itself."""


class UnexpectedReply(ProtocolError):
    """A reply that this transition cannot have."""

    def __init__(self, about: str, reply: object) -> None:
        super().__init__(
            f"{about} was answered with {reply!r:.200}, which is no reply of it: are all"
            " speakers of this queue up to date?"
        )
        self.about = about
        self.reply = reply


# --- the worker -----------------------------------------------------------------------------------------------------


class AlreadyRunning(EchoMQError, RuntimeError):
    """`Worker.run` was called while it runs. Nothing changed; make a second worker to run twice as many jobs."""

    def __init__(self, queue: str) -> None:
        super().__init__(f"the worker of {queue} runs already: make a second one to run twice as many jobs")
        self.queue = queue


class LoopEnded(EchoMQError, RuntimeError):
    """A loop of the worker ended though nobody told it to, so the worker went down. Start it again.

    `name` is the loop, `how` in which way it ended.
    """

    def __init__(self, name: str, how: str) -> None:
        super().__init__(f"the worker's {name} loop {how}, so the worker went down: start it again")
        self.name = name
        self.how = how


# --- the embedded server --------------------------------------------------------------------------------------------


class EmbeddedUnavailable(EchoMQError):
    """The embedded server cannot run here: its package is missing or has no build for this platform."""


class EmbeddedFailed(EchoMQError):
    """The embedded server did not start. The message holds the end of its log."""


# --- the demo -------------------------------------------------------------------------------------------------------


class NoFiles(BadInput):
    """The directory for the demo is none, or has no file that can be read. Name another."""

    def __init__(self, directory: str, reason: str) -> None:
        super().__init__(f"{directory} {reason}: name a directory with files in it")
        self.directory = directory
        self.reason = reason


class DemoFailed(EchoMQError):
    """The demo could not be played to its end: a worker did not start or ended by itself."""
