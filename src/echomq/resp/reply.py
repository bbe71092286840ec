"""What a server can reply, as Python values.

`hiredis` makes every value but one: an error reply becomes an `ErrorReply`, which is a value here, not raised: inside a
pipeline one refused call must not disturb its neighbours.
"""

from typing import TypeAlias

__all__ = ["ErrorReply", "Reply"]


class ErrorReply(Exception):
    """An error reply of the server.

    `text` is the whole reply (``WRONGTYPE Operation against …``), `word` its first word, by which it is mapped
    (protocol 3.5).
    """

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text
        self.word = text.split(" ", 1)[0]


# What the C reader makes of RESP2 and RESP3: None, bool, int, float, bytes, list, dict and ErrorReply, nested.
Reply: TypeAlias = object
