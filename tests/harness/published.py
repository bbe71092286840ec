"""Calls as a speaker of the published protocol makes them: without the keys and arguments that are ours."""

from dataclasses import replace
from typing import Final, TypeVar

from echomq.keys import QueueKeys
from echomq.transitions.call import Call

__all__ = ["as_published"]

Answer = TypeVar("Answer")

_KEYS: Final = {"enqueue": 2, "schedule": 2, "genqueue": 7, "gclaim": 2, "gwclaim": 2, "gbclaim": 2, "resume": 1}
_ARGS: Final = {"enqueue": 2, "schedule": 4, "genqueue": 3, "gclaim": 2, "gwclaim": 2, "gbclaim": 2, "gdrain": 1}


def as_published(call: Call[Answer], keys: QueueKeys) -> Call[Answer]:
    """Return the call with as many keys and arguments as the protocol gives it."""
    name = call.transition.name
    assert all(key.startswith(keys.base) for key in call.keys)
    return replace(
        call,
        keys=call.keys[: _KEYS.get(name, len(call.keys))],
        args=call.args[: _ARGS.get(name, len(call.args))],
    )
