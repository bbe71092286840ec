"""How long to wait before connecting again, as a pure function (protocol 3.4)."""

from echomq.clock import Dice

__all__ = ["delay_ms"]

_DOUBLINGS_MAX = 32


def delay_ms(attempt: int, dice: Dice, *, first_ms: int = 100, last_ms: int = 2_000) -> float:
    """Return the wait before an attempt, counted from 0: doubling from `first_ms` to `last_ms`, plus jitter.

    The jitter is up to half again, so that the clients of a server that restarts do not all come back at once.
    """
    base = min(last_ms, first_ms << min(attempt, _DOUBLINGS_MAX))
    return base * (1 + dice.fraction() / 2)
