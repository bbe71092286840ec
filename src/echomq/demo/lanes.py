"""Which lane a file's job waits in: one lane for each folder directly below the directory, as one for each tenant.

Files that lie in the directory itself have no lane; their jobs wait in the flat set, which is one lane more. The
largest folder comes first into the queue, so that a queue without lanes would make all the others wait for it.
"""

import hashlib
import os
import re
from collections import Counter
from pathlib import Path
from typing import Final

__all__ = ["folder_of", "lane_of", "largest_first"]

_REFUSED: Final = re.compile(rb"[^A-Za-z0-9._@+-]")
_NAME_MAX: Final = 128
_MARK_BYTES: Final = 4


def folder_of(path: bytes, directory: Path) -> bytes | None:
    """Return the name of the folder directly below the directory that a file lies in, None for the directory itself."""
    below, is_deeper, _ = path.removeprefix(os.path.join(os.fsencode(directory), b"")).partition(b"/")  # noqa: PTH118
    return below if is_deeper else None


def lane_of(folder: bytes | None) -> str | None:
    """Return the lane for a folder, None for no folder.

    A folder's name is the lane's where it can be. What a lane's name cannot hold is replaced, and the end of the name
    then tells two such folders apart.
    """
    if folder is None:
        return None
    if len(folder) <= _NAME_MAX and not _REFUSED.search(folder):
        return folder.decode()
    mark = hashlib.sha256(folder).digest()[:_MARK_BYTES].hex()
    return f"{_REFUSED.sub(b'_', folder)[: _NAME_MAX - 1 - len(mark)].decode()}.{mark}"


def largest_first(files: tuple[bytes, ...], directory: Path) -> list[tuple[bytes, bytes | None]]:
    """Return the files with their folders: those of the folder with the most files first, else in their order."""
    folders = [folder_of(path, directory) for path in files]
    sizes = Counter(folders)
    ranks = {folder: rank for rank, (folder, _) in enumerate(sizes.most_common())}
    return sorted(zip(files, folders, strict=True), key=lambda item: ranks[item[1]])
