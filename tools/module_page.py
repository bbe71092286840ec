"""Keeps docs/module.md true: the list of commands and the rights are those of module/emq.c, the figures are measured.

    python tools/module_page.py            writes the list and the line
    python tools/module_page.py --check    exits with 1 when one is stale
    python tools/module_page.py --figures  measures, for some minutes, and writes the figures too

What is written stands between `<!-- name: … -->` and `<!-- end -->`.
"""

import json
import os
import platform
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
PAGE: Final = ROOT / "docs" / "module.md"

_ENTRY: Final = re.compile(r'X\("(EMQ\.\w+)",(.*?"\s*)\)(?=\s*(?:X\(|$))', re.DOTALL)
_MORE: Final = {"EMQ.TAKE": " [BLOCK block_ms]"}
"""What no script takes, so that it does not stand among the arguments of the transition."""

_TITLE: Final = re.compile(r"^µs a job: (.+?)  .*script +module", re.MULTILINE)
_ROW: Final = re.compile(r"^(\w+) +(\d+) a call +([\d.]+) +([\d.]+) +[\d.]+ +([\d.]+) +([\d.]+)$", re.MULTILINE)

SHOWN: Final = (
    ("enqueue", 1),
    ("claim", 1),
    ("complete", 1),
    ("take", 1),
    ("retry", 1),
    ("enqueue_many", 100),
    ("take", 100),
    ("complete_many", 100),
    ("promote", 100),
    ("reap", 100),
)
"""The steps of the page, and how many jobs are in one call."""

LIFE: Final = ("enqueue_many", "take", "complete_many")

Costs = dict[tuple[str, int], tuple[float, float, float, float]]


def commands_of(source: str) -> dict[str, tuple[str, str, str]]:
    """Return the commands of module/emq.c: keys, arguments and summary of each, in the order of the table."""
    table = source.partition("#define EMQ_COMMANDS(X)")[2].partition("\n\n")[0].replace("\\\n", "\n")
    found: dict[str, tuple[str, str, str]] = {}
    for name, rest in _ENTRY.findall(table.strip()):
        keys, arguments, summary = re.findall(r'"([^"]*)"', rest)[-3:]
        found[name] = (re.sub(r"[\[\]]", "", keys), arguments, summary)
    return found


def list_of(commands: dict[str, tuple[str, str, str]]) -> str:
    """Return the list of commands as a table."""
    rows = [
        f"| `{name} {keys} {arguments}{_MORE.get(name, '')}` | {summary} |"
        for name, (keys, arguments, summary) in commands.items()
    ]
    return "\n".join(["| command | what it does |", "| --- | --- |", *rows])


def rights_of(commands: dict[str, tuple[str, str, str]]) -> str:
    """Return the line that permits all commands to a user."""
    names = [f"+{name.lower()}" for name in sorted(commands)]
    half = len(names) // 2
    return "\n".join(["```", "ACL SETUSER app " + " ".join(names[:half]), "  " + " ".join(names[half:]), "```"])


def costs_of(output: str) -> dict[str, Costs]:
    """Return what bench/transitions.py printed, by server: script, module, and all told script, module."""
    parts = _TITLE.split(output)[1:]
    return {
        title: {
            (name, int(size)): (float(a), float(b), float(c), float(d)) for name, size, a, b, c, d in _ROW.findall(text)
        }
        for title, text in zip(parts[::2], parts[1::2], strict=True)
    }


def steps_table(costs: dict[str, Costs]) -> str:
    """Return what each step costs on the first server."""
    flat = next(iter(costs.values()))
    rows = [
        f"| {name} | {size} | {script:.1f} | {module:.1f} | {script / module:.1f} |"
        for name, size in SHOWN
        for script, module, *_ in [flat[name, size]]
    ]
    return "\n".join(["| step | jobs in a call | script | module | times |", "| --- | --: | --: | --: | --: |", *rows])


def lives_table(costs: dict[str, Costs]) -> str:
    """Return what the life of a job costs on each server, in calls for 100 jobs."""
    rows = []
    for title, found in costs.items():
        sums = [sum(found[name, 100][place] for name in LIFE) for place in range(4)]
        rows.append(f"| {title} | {' | '.join(f'{each:.1f}' for each in sums)} |")
    head = "| server | script | module | all told: script | module |"
    return "\n".join([head, "| --- | --: | --: | --: | --: |", *rows])


def waits_table(output: str) -> str:
    """Return how soon a job starts that arrives at an idle worker, of bench/waking.py."""
    told = json.loads(output.splitlines()[-1])
    rows = [
        f"| {what} | {' | '.join(f'{told[carrier][name]:.2f}' for carrier in ('lua', 'module'))} |"
        for what, name in (
            ("half of the jobs start within, ms", "flat_p50_ms"),
            ("99 of 100 within, ms", "flat_p99_ms"),
            ("commands of an idle worker in a beat", "idle_commands_per_beat_and_worker"),
        )
    ]
    return "\n".join(["| | scripts | module |", "| --- | --: | --: |", *rows])


def machine() -> str:
    """Return what the figures were measured on."""
    load = os.getloadavg()[0]
    return f"{os.cpu_count()} cores ({platform.machine()}), with a load of {load:.1f} by other programs."


def replaced(page: str, name: str, text: str) -> str:
    """Return the page with another text under a name. Raises `ValueError` when it has no such place, or two."""
    pattern = re.compile(rf"(<!-- {name}: [^>]*-->\n).*?(<!-- end -->\n)", re.DOTALL)
    page, count = pattern.subn(lambda match: f"{match[1]}{text}\n{match[2]}", page)
    if count != 1:
        raise ValueError(f"docs/module.md has {count} places for {name}")
    return page


def with_commands(page: str) -> str:
    """Return the page with the list and the line of module/emq.c."""
    commands = commands_of((ROOT / "module" / "emq.c").read_text(encoding="utf-8"))
    return replaced(replaced(page, "commands", list_of(commands)), "rights", rights_of(commands))


def with_figures(page: str) -> str:
    """Measure, and return the page with the figures."""
    on = machine()
    costs = costs_of(_run("bench/transitions.py"))
    page = replaced(replaced(page, "steps", steps_table(costs)), "lives", lives_table(costs))
    page = replaced(page, "waits", waits_table(_run("bench/waking.py", "--stream", "0", "--json")))
    return replaced(page, "machine", f"Measured on {on}")


def _run(*command: str) -> str:
    return subprocess.run([sys.executable, *command], cwd=ROOT, check=True, capture_output=True, text=True).stdout


def main() -> int:
    """Write or check the page."""
    page = PAGE.read_text(encoding="utf-8")
    current = with_commands(page)
    if "--figures" in sys.argv:
        current = with_figures(current)
    if "--check" not in sys.argv:
        PAGE.write_text(current, encoding="utf-8")
        return 0
    if page != current:
        sys.stderr.write("stale: module.md; run make tables\n")
    return 1 if page != current else 0


if __name__ == "__main__":
    sys.exit(main())
