"""Finds the Lua body of a transition, binds its names, resolves its fragments and hashes the result.

A body is the file `<name>.lua` beside the handle. What comes first is put before it, and what it shares goes into it:

1. one line that refuses a call with too few or too many keys or arguments, since any program may call a script and a
   missing one would end it between two writes;
2. one `local` line for the keys and one for the arguments, generated from the `Transition`, so that no body ever counts
   positions;
3. each fragment of `shared/` stands once, at the first line ``--@use <fragment>`` that names it, after the fragments
   which that fragment itself uses. Lua makes a function each time it comes by its text, so a body whose ordinary case
   needs few of them names the others behind it.

A server names a line of the whole script in its error messages; `locate` turns it back into a file and a line.
"""

import hashlib
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from echomq.transitions.call import Transition

__all__ = ["Body", "body_of", "locate"]

_HERE = Path(__file__).parent
_USE = re.compile(r"^--@use (\w+)\s*$")
_ERROR_LINE = re.compile(r"(?:user_script|user_function):(\d+)")


@dataclass(frozen=True, slots=True)
class Body:
    """A complete script: its text, the SHA-1 that the server knows it by, and where each line comes from."""

    text: bytes
    sha1: bytes
    origins: tuple[str, ...]


@cache
def body_of(transition: Transition) -> Body:
    """Return the complete script of a transition. Raises `LookupError` naming the file when one is missing."""
    lines: list[str] = []
    origins: list[str] = []
    for number, line in enumerate(_prologue(transition), start=1):
        lines.append(line)
        origins.append(f"{transition.name} (bound names):{number}")
    _append_file(f"{transition.name}.lua", lines, origins, seen=set())
    text = "\n".join(lines).encode()
    return Body(text=text, sha1=hashlib.sha1(text, usedforsecurity=False).hexdigest().encode(), origins=tuple(origins))


def locate(transition: Transition, message: str) -> str | None:
    """Return ``file:line`` of the body for the script line that a server's error message names, if it names one."""
    found = _ERROR_LINE.search(message)
    if found is None:
        return None
    origins = body_of(transition).origins
    index = int(found.group(1)) - 1
    return origins[index] if index < len(origins) else None


def _prologue(transition: Transition) -> list[str]:
    lines = [f"if {_misfit(transition)} then return redis.error_reply('ERR {transition.arity}') end"]
    if transition.keys:
        names = ", ".join(f"{name}_key" for name in transition.keys)
        values = ", ".join(f"KEYS[{i}]" for i in range(1, len(transition.keys) + 1))
        lines.append(f"local {names} = {values}")
    if transition.args:
        values = ", ".join(f"ARGV[{i}]" for i in range(1, len(transition.args) + 1))
        lines.append(f"local {', '.join(transition.args)} = {values}")
    if transition.more_keys:
        lines.append(f"local more_keys_at = {len(transition.keys) + 1}")
    if transition.more_args:
        lines.append(f"local more_args_at, more_args_width = {len(transition.args) + 1}, {len(transition.more_args)}")
    return lines


def _misfit(transition: Transition) -> str:
    """Return the Lua condition that is the opposite of `Transition.takes`: two comparisons in the ordinary case."""
    keys, args, width = len(transition.keys), len(transition.args), len(transition.more_args)
    wrong_keys = _outside("#KEYS", keys - transition.optional_keys, None if transition.more_keys else keys)
    wrong_args = _outside("#ARGV", args - transition.optional, None if width else args)
    ragged = [f"#ARGV % {width} ~= {args % width}"] if width > 1 else []
    return " or ".join([*wrong_keys, *wrong_args, *ragged])


def _outside(count: str, least: int, most: int | None) -> list[str]:
    if most == least:
        return [f"{count} ~= {least}"]
    too_few = [f"{count} < {least}"] if least else []
    return too_few if most is None else [*too_few, f"{count} > {most}"]


def _append_file(path: str, lines: list[str], origins: list[str], *, seen: set[str]) -> None:
    if path in seen:
        return
    seen.add(path)
    for number, line in enumerate(_read(path).splitlines(), start=1):
        used = _USE.match(line)
        if used:
            _append_file(f"shared/{used.group(1)}.lua", lines, origins, seen=seen)
        else:
            lines.append(line)
            origins.append(f"{path}:{number}")


def _read(path: str) -> str:
    # A plain file, not importlib.resources: that takes the import locks, which a child forked while another thread held
    # one would wait for for ever.
    try:
        return (_HERE / path).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise LookupError(f"the script file echomq/transitions/{path} is missing: reinstall echomq") from None
