"""Payload bytes and their limit.

The protocol carries opaque bytes. What fits is decided here, before anything is sent.
"""

from typing import Final

from echomq.errors import InvalidPayload, PayloadTooLarge

__all__ = ["PAYLOAD_BYTES_MAX", "check_size"]

PAYLOAD_BYTES_MAX: Final = 1024 * 1024
"""The default limit of a payload, a result, a progress text or a log line, in bytes."""


def check_size(what: str, value: bytes, limit_bytes: int) -> None:
    """Raise `InvalidPayload` for what is not bytes and `PayloadTooLarge` for what is over the limit."""
    if not isinstance(value, bytes):
        raise InvalidPayload(what, value)
    if len(value) > limit_bytes:
        raise PayloadTooLarge(what, len(value), limit_bytes)
