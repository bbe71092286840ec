"""Writes the blocking faces from the asyncio ones, so that there is one implementation of both.

`python tools/blocking.py` rewrites the files; `--check` exits with 1 when one is stale. The change is word for word:
`async` and `await` go, and names take their blocking form. Whatever needs more than that does not belong into a face.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent / "src" / "echomq"
FACES = ("jobs", "lanes")
WORDS = {
    "async def ": "def ",
    "await ": "",
    "AsyncIterator": "Iterator",
    "the protocol face for asyncio": "the protocol face for plain blocking code",
    "the lane verbs for asyncio": "the lane verbs for plain blocking code",
}
PATTERNS = {
    r"`blocking_(\w+)\.py` is made from this file by `tools/blocking\.py`; change this one\.": (
        r"Made from `\1.py` by `tools/blocking.py`; change that one."
    ),
    r"Made by `EchoMQ\.(\w+)`": r"Made by `EchoMQ.blocking_\1`",
    r"from echomq\.(jobs|lanes) import": r"from echomq.blocking_\1 import",
    r"\b(Jobs|Lanes|Runner)\b": r"Blocking\1",
    # What an asynchronous generator has to spell out.
    r"for (\w+) in (.+):\n +yield \1\n": r"yield from \2\n",
}


def blocking(text: str) -> str:
    """Return the blocking form of an asyncio face."""
    for word, other in WORDS.items():
        text = text.replace(word, other)
    for pattern, other in PATTERNS.items():
        text = re.sub(pattern, other, text)
    for command in (["check", "--select", "I", "--fix-only", "--quiet"], ["format"]):
        text = _ruff(command, text)
    return text


def _ruff(command: list[str], text: str) -> str:
    ruff = [sys.executable, "-m", "ruff", *command, "--stdin-filename", "src/echomq/blocking.py", "-"]
    return subprocess.run(ruff, input=text, capture_output=True, text=True, check=True, cwd=ROOT.parent.parent).stdout


def main() -> int:
    """Write or check the files."""
    stale = []
    for face in FACES:
        wanted = blocking((ROOT / f"{face}.py").read_text(encoding="utf-8"))
        path = ROOT / f"blocking_{face}.py"
        if not path.exists() or path.read_text(encoding="utf-8") != wanted:
            stale.append(path.name)
            if "--check" not in sys.argv:
                path.write_text(wanted, encoding="utf-8")
    if stale and "--check" in sys.argv:
        sys.stderr.write(f"stale: {', '.join(stale)}; run python tools/blocking.py\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
