"""What both drivers share: a plain command as a `Call`, the answers of a batch, and the greeting of an address."""

from typing import Final, TypeVar

from echomq.drivers.address import Address
from echomq.errors import EchoMQError
from echomq.options import ConnectionOptions
from echomq.resp.greeting import GreetingSettings
from echomq.resp.reply import ErrorReply, Reply
from echomq.transitions.call import Call, Transition, refused

__all__ = ["Part", "answer_or_error", "command_call", "greeting_of"]

Answer = TypeVar("Answer")

Part = bytes | str | int

# Commands whose arguments may be passwords: no message quotes them.
_SECRETIVE: Final = frozenset({"AUTH", "HELLO", "ACL", "CONFIG", "MIGRATE"})


def command_call(parts: tuple[Part, ...]) -> Call[Reply]:
    """Return a Call whose arguments are the whole command. An error reply is raised as a `ServerError` of its word.

    Nothing is known about a plain command, so it is not repeatable.
    """
    words = [part if isinstance(part, bytes | int) else part.encode() for part in parts]
    name = _text(words[0]) if words else "an empty command"
    transition = Transition(name=name, keys=(), args=(), repeatable=False, section="none")
    subject = _text(words[1]) if len(words) > 1 and name.upper() not in _SECRETIVE else "the server"

    def decode(reply: Reply) -> Reply:
        if isinstance(reply, ErrorReply):
            raise refused(transition, subject, reply)
        return reply

    return Call(transition=transition, keys=(), args=words, decode=decode, subject=subject)


def answer_or_error(call: Call[Answer], result: Reply | EchoMQError) -> Answer | EchoMQError:
    """Return what one call of a batch gave: its answer, or the exception in its place."""
    if isinstance(result, EchoMQError):
        return result
    try:
        return call.decode(result)
    except EchoMQError as error:
        return error


def greeting_of(address: Address, options: ConnectionOptions) -> GreetingSettings:
    """Return how to greet the server of an address."""
    return GreetingSettings(
        options=options,
        username=None if address.username is None else address.username.encode(),
        password=None if address.password is None else address.password.encode(),
        database=address.database,
    )


def _text(word: bytes | int) -> str:
    return str(word) if isinstance(word, int) else word[:80].decode("utf-8", "backslashreplace")
