"""How many wake-ups are left for parked workers, and as which tokens (docs/wire.md, rule 12).

A parked worker waits in ``BLPOP wake``. A token's text is its worth: how many wake-ups it stands for. A token that lies
there says that nobody is parked, so that nothing needs to be added to it.
"""

from typing import Final

from echomq.model.view import counted

__all__ = ["WAKES_MAX", "WORTH_MAX", "halves", "left_by_moves", "worth_of"]

WAKES_MAX: Final = 64
"""The most tokens that are kept (protocol 0, rule R, step 5)."""

WORTH_MAX: Final = 1000
"""The most wake-ups that one token stands for."""

TOLD_MAX: Final = 1_000_000
"""The most that a token is believed to be worth."""


def left_by_moves(*, lying: int, entered: int, worth: int) -> tuple[bytes, ...]:
    """Return the tokens that a script pushes at the head, in this order, when so many lay there before.

    One of worth 1 for each lane that entered the ring is published (rule R). What these do not cover of `worth`, and
    those for which the list has no room, is one token more, if none lay there: it is popped first.
    """
    ones = min(entered, WAKES_MAX)
    if lying or worth <= ones:
        return (b"1",) * ones
    ones = min(ones, WAKES_MAX - 1)
    return (*(b"1",) * ones, b"%d" % min(worth - ones, WORTH_MAX))


def halves(worth: int) -> tuple[bytes, ...]:
    """Return so many wake-ups as two tokens, the greater half first; one for a single wake-up, none for none."""
    lesser = worth // 2
    return tuple(b"%d" % half for half in (worth - lesser, lesser) if half > 0)


def worth_of(token: bytes) -> int:
    """Return how many wake-ups a token is worth: what is no number is the token of another speaker, worth one."""
    worth = counted(token)
    return worth if worth is not None and 1 <= worth <= TOLD_MAX else 1
