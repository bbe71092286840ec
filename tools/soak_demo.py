"""Play the demo again and again, each time with a worker killed, and fail if any run loses anything.

    python tools/soak_demo.py --times 20
    python tools/soak_demo.py --times 200 --directory src --url unix:///run/valkey.sock

Prints one line for each run and the sums at the end. Exit status 1 if a run lost, doubled wrongly or changed a result,
did not kill a worker, or did not end.
"""

import argparse
import json
import subprocess
import sys
import time

_RUN_S_MAX = 120.0


def main() -> int:
    """Run the demo so many times and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=20, help="how many runs (20)")
    parser.add_argument("--directory", help="whose files to read; Python's own library if left out")
    parser.add_argument("--url", help="the server; the embedded one if left out")
    given = parser.parse_args()
    command = [sys.executable, "-m", "echomq.cli.main", "demo", "--json"]
    command += [given.directory] if given.directory else []
    command += ["--url", given.url] if given.url else []
    began = time.monotonic()
    failed = results = recovered = 0
    for number in range(1, given.times + 1):
        figures = play(command)
        good = figures is not None and bool(figures["good"] and figures["killed"] and figures["held"])
        failed += not good
        if figures is not None:
            results += number_in(figures, "results")
            recovered += number_in(figures, "recovered")
        print(f"{number:4} {line_of(figures, good=good)}", flush=True)
    print(
        f"{given.times} runs, {results:,} results, {recovered:,} recovered,"
        f" {failed} runs that failed, {time.monotonic() - began:.0f} s"
    )
    return 1 if failed else 0


def play(command: list[str]) -> dict[str, object] | None:
    """Play once and return the figures, or None when there are none; then the demo's words are shown."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_RUN_S_MAX, check=False)
    except subprocess.TimeoutExpired as late:
        print(f"the demo did not end within {_RUN_S_MAX:.0f} s:\n{late.stderr!r}", file=sys.stderr)
        return None
    try:
        figures = json.loads(done.stdout)
    except ValueError:
        print(f"the demo ended with {done.returncode}:\n{done.stderr}", file=sys.stderr)
        return None
    if done.returncode or not isinstance(figures, dict):
        print(f"the demo ended with {done.returncode}:\n{done.stderr}\n{done.stdout}", file=sys.stderr)
    return figures if isinstance(figures, dict) else None


def number_in(figures: dict[str, object], name: str) -> int:
    """Return a whole number of the figures."""
    value = figures[name]
    assert isinstance(value, int), (name, value)
    return value


def line_of(figures: dict[str, object] | None, *, good: bool) -> str:
    """Return what a run showed in one line."""
    if figures is None:
        return "FAILED"
    names = ("files", "results", "lost", "different", "failed", "killed_at", "held", "held_back", "recovered")
    shown = "  ".join(f"{name} {figures[name]}" for name in (*names, "jobs_per_s", "total_s"))
    fairness = figures["fairness"]
    if isinstance(fairness, dict):
        shown += f"  fairness {fairness['median']} worst {fairness['worst']}"
    return f"{'good  ' if good else 'FAILED'}  {shown}"


if __name__ == "__main__":
    sys.exit(main())
