"""Writes the blocking face from the asyncio one, so that there is one implementation of both.

`python tools/blocking.py` rewrites the files; `--check` exits with 1 when one is stale. The change is word for word:
`async` and `await` go, and names take their blocking form. Whatever needs more than that does not belong into a face.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent / "src" / "echomq"
MADE = {"jobs.py": "blocking_jobs.py"}
WORDS = {
    "async def ": "def ",
    "await ": "",
    "the protocol face for asyncio": "the protocol face for plain blocking code",
    "`blocking_jobs.py` is made from this file by `tools/blocking.py`; change this one.": (
        "Made from `jobs.py` by `tools/blocking.py`; change that one."
    ),
    "Made by `EchoMQ.jobs`": "Made by `EchoMQ.blocking_jobs`",
}
NAMES = {"Jobs": "BlockingJobs", "Runner": "BlockingRunner"}


def blocking(text: str) -> str:
    """Return the blocking form of an asyncio face."""
    for word, other in WORDS.items():
        text = text.replace(word, other)
    for name, other in NAMES.items():
        text = re.sub(rf"\b{name}\b", other, text)
    ruff = [sys.executable, "-m", "ruff", "format", "--stdin-filename", "src/echomq/blocking.py", "-"]
    return subprocess.run(ruff, input=text, capture_output=True, text=True, check=True, cwd=ROOT.parent.parent).stdout


def main() -> int:
    """Write or check the files."""
    stale = []
    for source, target in MADE.items():
        wanted = blocking((ROOT / source).read_text(encoding="utf-8"))
        path = ROOT / target
        if not path.exists() or path.read_text(encoding="utf-8") != wanted:
            stale.append(target)
            if "--check" not in sys.argv:
                path.write_text(wanted, encoding="utf-8")
    if stale and "--check" in sys.argv:
        sys.stderr.write(f"stale: {', '.join(stale)}; run python tools/blocking.py\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
