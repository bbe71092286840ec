"""What the demo says about what it found, in a person's words."""

import os
from typing import Final

from echomq.demo.files import Found, shown

__all__ = ["about", "counted"]

_NAMED: Final = 10


def about(found: Found) -> list[str]:
    """Return what was found and what was left out, in sentences."""
    directory = shown(os.fsencode(found.directory))
    said = [f"{directory} has {counted(len(found.files), 'file')} of {found.size_bytes / 1e6:,.1f} MB in all."]
    if found.is_cut:
        said.append("There are more; the demo takes only so many (--limit).")
    if found.unreadable:
        named = ", ".join(shown(path) for path in found.unreadable[:_NAMED])
        rest = len(found.unreadable) - _NAMED
        said.append(f"Left out, because they cannot be read: {named}" + (f" and {rest:,} more." if rest > 0 else "."))
    return said


def counted(count: int, what: str) -> str:
    """Return a number of things: ``1 job``, ``2 jobs``."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"
