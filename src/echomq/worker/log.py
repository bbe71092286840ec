"""The worker's log: one line for each outcome that is not ordinary, DEBUG for those that are."""

import logging
from typing import Final

__all__ = ["LOG"]

LOG: Final = logging.getLogger("echomq.worker")
