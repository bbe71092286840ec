"""A folder of a few hundred files, among them everything that is odd about files."""

import os
from pathlib import Path

import pytest

from tests.demo.scene import Recorder, Tree

FILES = 300


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    root = tmp_path / "tree"
    content = {b"plain/%03d.txt" % number: b"line\n" * number for number in range(FILES)}
    content |= {
        b"empty": b"",
        b"one byte": b"x",
        b"no final newline": b"one\ntwo",
        b"only newlines": b"\n\n\n",
        b"carriage\rreturn": b"\r\n\r\n",
        b"new\nline.txt": b"odd\n",
        b"not \xff text \xfe": b"bytes\n",
        "grün ☃".encode(): b"snow\n",
        b"-rf": b"dash\n",
        b"deep/er/and/deeper/still": b"deep\n",
        b"no {lane}: \xff/file": b"a folder whose name no lane can have\n",
        b"large": os.urandom(1 << 20) * 5,
        b"nul": bytes(range(256)) * 5,
    }
    for name, text in content.items():
        path = root / os.fsdecode(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text)
    # None of these is a regular file of the folder.
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("not below the folder")
    (root / "link to a file").symlink_to(outside / "secret")
    (root / "link to a folder").symlink_to(outside)
    (root / "loop").symlink_to(root)
    os.mkfifo(root / "pipe")
    return Tree(root, frozenset(os.fsencode(root) + b"/" + name for name in content))


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()
