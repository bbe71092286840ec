"""A lock that a forked child does not inherit locked.

At a fork another thread of the parent may hold a lock; in the child nobody will ever release it. This one is made for
each process on its first use, by `dict.setdefault`, which is one step.
"""

import os
import threading
from types import TracebackType

__all__ = ["ProcessLock"]


class ProcessLock:
    """A lock between the threads of one process, for ``with``."""

    __slots__ = ("_by_process",)

    def __init__(self) -> None:
        self._by_process: dict[int, threading.Lock] = {}

    def __enter__(self) -> None:
        self._by_process.setdefault(os.getpid(), threading.Lock()).acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._by_process[os.getpid()].release()
