"""The module's commands on a real server that has it loaded; what the module lacks runs by its script there."""

from dataclasses import replace
from typing import cast

from echomq.resp.reply import Reply
from echomq.transitions.call import Call
from echomq.transitions.catalogue import TRANSITIONS
from tests.harness.lua import LuaBody
from tests.harness.state import State
from tests.harness.wire import Wire

__all__ = ["ModuleBody", "is_served", "served_commands"]

_CLAIMED_AT = b"claimed_at"


def served_commands(wire: Wire) -> frozenset[str]:
    """Return the names of the transitions that the server has commands for."""
    names = [transition.name for transition in TRANSITIONS]
    told = cast("list[Reply]", wire.ask("COMMAND", "INFO", *[f"EMQ.{name.upper()}" for name in names]))
    served = frozenset(name for name, info in zip(names, told, strict=True) if info is not None)
    assert served, "the server has no EMQ.* commands"
    return served


def is_served(commands: frozenset[str], call: Call[object]) -> bool:
    """Whether a call goes by the module. A command takes all keys: one that leaves some out is the script's."""
    return call.transition.name in commands and len(call.keys) == len(call.transition.keys)


class ModuleBody(LuaBody):
    """See `Body`. As `LuaBody`, and each call by EMQ.<NAME> if there is one and the call names all of its keys.

    Nobody but this class knows of `claimed_at`, the one field that a claim by the module adds to a row.
    """

    name = "module"

    def __init__(self, unix_path: str) -> None:
        super().__init__(unix_path)
        self.commands = served_commands(self.wire)

    def reply(self, call: Call[object]) -> Reply:
        if is_served(self.commands, call):
            self._next_millisecond()
            reply = self.wire.ask(f"EMQ.{call.transition.name.upper()}", *call.keys, *call.args)
            self._last_ms = self._time_ms()
            return reply
        reply = super().reply(call)
        return _unclaimed(cast("list[Reply]", reply)) if call.transition.name == "get_job" else reply

    def dump(self) -> State:
        state = super().dump()
        for key, entry in state.items():
            if isinstance(entry.value, dict) and _CLAIMED_AT in entry.value and b":job:" in key:
                state[key] = replace(entry, value={f: v for f, v in entry.value.items() if f != _CLAIMED_AT})
        return state


def _unclaimed(row: list[Reply]) -> list[Reply]:
    """Return the fields and values of a row without the one that a claim by the module adds."""
    if not isinstance(row, list) or _CLAIMED_AT not in row[::2]:
        return row
    place = 2 * row[::2].index(_CLAIMED_AT)
    return row[:place] + row[place + 2 :]
