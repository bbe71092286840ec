"""An exception as bounded text: what is stored as a job's last error.

Nothing a handler raises may hurt the worker (weakness W29 of the protocol): exceptions whose text cannot be made,
exceptions without text, groups, text that is no UTF-8, and text of any length all become a few kilobytes that can be
stored.
"""

import contextlib
import traceback
from typing import Final

__all__ = ["describe", "refused_result"]

_MESSAGE_MAX: Final = 2_000
_PARTS_MAX: Final = 10
_FRAMES_MAX: Final = 12
_TRACE_MAX: Final = 8_000


def describe(error: BaseException) -> str:
    """Return type and message, the members of a group, the cause, and the end of the traceback."""
    lines = [_headline(error)]
    if isinstance(error, BaseExceptionGroup):
        lines += [f"  with {_headline(part)}" for part in error.exceptions[:_PARTS_MAX]]
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if cause is not None:
        lines.append(f"after {_headline(cause)}")
    lines.append(_trace(error))
    return "\n".join(line for line in lines if line).encode("utf-8", "replace").decode()


def refused_result(result: object) -> str:
    """Return the error of a handler that returned something else than bytes or None."""
    what = type(result).__name__
    if hasattr(result, "__await__"):
        return (
            f"the handler returned a {what}, which nobody awaits: declare it with `async def`, so that it runs in the"
            " event loop"
        )
    return f"the handler returned a {what}: a result is bytes or None, encode it first"


def _headline(error: BaseException) -> str:
    kind = type(error)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    try:
        text = str(error)
    except BaseException as inner:
        text = f"(its text could not be made: {type(inner).__name__})"
    if len(text) > _MESSAGE_MAX:
        text = f"{text[:_MESSAGE_MAX]} … ({len(text)} characters)"
    return f"{name}: {text}" if text else name


def _trace(error: BaseException) -> str:
    with contextlib.suppress(Exception):  # source files that changed or vanished are no reason to fail
        return "".join(traceback.format_tb(error.__traceback__, limit=-_FRAMES_MAX))[-_TRACE_MAX:].rstrip()
    return ""
