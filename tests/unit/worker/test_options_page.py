"""The table of docs/operating.md has every option with its default."""

import re
from dataclasses import fields
from pathlib import Path

from echomq.worker import WorkerOptions

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "operating.md").read_text(encoding="utf-8")


def test_the_table_of_options_is_that_of_the_code() -> None:
    section = PAGE[PAGE.index("## Options") : PAGE.index("## Sizing")]
    table = dict(re.findall(r"^\| `(\w+)` \| ([^|]+) \|", section, re.MULTILINE))
    options = WorkerOptions()

    assert table.pop("retry") == "`Backoff()`"
    assert table == {
        each.name: f"{getattr(options, each.name):,}".replace(",", " ") if getattr(options, each.name) else "None"
        for each in fields(WorkerOptions)
        if each.name != "retry"
    }
