"""A message of a subscription."""

from dataclasses import dataclass

__all__ = ["Message", "message_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """What somebody published on a channel (protocol 5.1)."""

    channel: bytes
    payload: bytes


def message_of(push: object) -> Message | None:
    """Return the message of a push, or None for a push of another kind."""
    match push:
        case [b"message", bytes() as channel, bytes() as payload]:
            return Message(channel=channel, payload=payload)
        case _:
            return None
