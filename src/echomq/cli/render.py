"""How a command speaks: data to one stream, talk to another, as columns for people or as JSON for programs.

The only file that knows about terminals. What comes from the server is shown with its control characters escaped, so
that no payload can move the cursor or colour the screen, and on a terminal cut where it is long; JSON has all of it.
"""

import base64
import contextlib
import io
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Self, TextIO, TypeAlias

import msgspec

from echomq.errors import InvalidId
from echomq.ids import JobId

__all__ = [
    "Plain",
    "Unwritten",
    "View",
    "as_json_bytes",
    "columns",
    "instant",
    "minted_at",
    "none_for_people",
    "printable",
]

Plain: TypeAlias = "str | int | float | bool | Sequence[Plain] | Mapping[str, Plain] | None"
"""What JSON can hold."""

_INSTANT_MS_MAX: Final = 253_402_300_799_999

SHOWN_MAX: Final = 200
"""How many characters of one value a person is shown."""


class Unwritten(Exception):
    """The data could not be written: the disk is full, for instance. The text says why; the command itself was done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """Where a command writes and whom it may ask.

    `ask` puts a question to a person and returns whether the answer was yes; None: nobody is there to ask. `most` is
    how many characters of one value a person is shown; None: all. `columns` is how wide the terminal is; None: none.
    """

    out: TextIO
    err: TextIO
    is_json: bool = False
    ask: Callable[[str], bool] | None = None
    most: int | None = SHOWN_MAX
    columns: int | None = None

    def say(self, sentence: str) -> None:
        """Tell a person something that is not the data. Where that cannot be written nobody is told."""
        with contextlib.suppress(OSError):
            print(sentence, file=self.err, flush=True)

    def record(self, fields: Mapping[str, Plain]) -> None:
        """Write one thing: a JSON object, or a line for each field that is there."""
        if self.is_json:
            self._json(fields)
            return
        shown = [(name, value) for name, value in fields.items() if value is not None]
        width = max((len(name) for name, _ in shown), default=0)
        self._write(
            f"{name.replace('_', ' ').ljust(width)}  {printable(value, most=self.most)}" for name, value in shown
        )

    def rows(self, head: Mapping[str, Plain], name: str, rows: Sequence[Mapping[str, Plain]]) -> None:
        """Write many things of one kind: a JSON object of `head` with them as a list, or columns."""
        if self.is_json:
            self._json({**head, name: rows})
            return
        self._write(columns(rows, most=self.most))

    def lines(self, head: Mapping[str, Plain], name: str, lines: Sequence[str]) -> None:
        """Write lines of text: a JSON object of `head` with them as a list, or each on its own."""
        if self.is_json:
            self._json({**head, name: lines})
            return
        self._write(printable(line, most=None) for line in lines)

    def may(self, what: str, *, yes: bool) -> bool:
        """Say whether something that destroys may be done: `yes`, or a person's answer to the question."""
        if yes:
            return True
        if self.ask is None:
            self.say(f"echomq: nothing was done, since nobody can be asked here: give --yes to {what}")
            return False
        return self.ask(f"{what[:1].upper()}{what[1:]}?")

    @classmethod
    def of_terminal(cls, *, is_json: bool) -> Self:
        """Return the view of this process: its standard streams, and its person if both are a terminal."""
        out, err = sys.stdout or io.StringIO(), sys.stderr or io.StringIO()  # a stream that is closed is None
        has_person = sys.stdin is not None and sys.stdin.isatty() and err.isatty()
        ask = _ask if has_person else None
        if not out.isatty():  # a file and another program get all of it
            return cls(out=out, err=err, is_json=is_json, ask=ask, most=None)
        return cls(out=out, err=err, is_json=is_json, ask=ask, columns=shutil.get_terminal_size().columns)

    def _json(self, value: Mapping[str, Plain]) -> None:
        self._write([msgspec.json.encode(value).decode()])

    def _write(self, lines: Iterable[str]) -> None:
        try:
            for line in lines:
                print(line, file=self.out)
            self.out.flush()
        except BrokenPipeError:
            raise  # the reader has left, which is its right
        except OSError as error:
            raise Unwritten(error.strerror or str(error)) from error


def _ask(question: str) -> bool:
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def columns(rows: Sequence[Mapping[str, Plain]], *, most: int | None = SHOWN_MAX) -> list[str]:
    """Return the lines of a table with a heading; no lines for no rows. All rows have the same names."""
    if not rows:
        return []
    names = list(rows[0])
    cells = [[name.replace("_", " ").upper() for name in names]]
    cells += [["" if row[name] is None else printable(row[name], most=most) for name in names] for row in rows]
    widths = [max(len(line[at]) for line in cells) for at in range(len(names))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in cells]


def printable(value: Plain, *, most: int | None = SHOWN_MAX) -> str:
    """Return a value as text without control characters, cut to `most` characters (None: not cut)."""
    text = str(value)
    if most is not None and len(text) > most:
        text = f"{text[:most]}… ({len(text):,} characters)"
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)


def none_for_people(view: View, value: int | None) -> Plain:
    """Return a setting that can be missing: null in JSON, and the word none for people."""
    return "none" if value is None and not view.is_json else value


def as_json_bytes(name: str, value: bytes | None) -> dict[str, Plain]:
    """Return bytes under a name: as text where they are UTF-8, else null and the bytes under `<name>_base64`."""
    if value is None:
        return {name: None}
    try:
        return {name: value.decode()}
    except UnicodeDecodeError:
        return {name: None, f"{name}_base64": base64.b64encode(value).decode()}


def instant(unix_ms: int | None) -> str | None:
    """Return an instant as ISO 8601 in UTC, with milliseconds; None for none, and for one after the year 9999."""
    if unix_ms is None or not 0 <= unix_ms <= _INSTANT_MS_MAX:
        return None
    return datetime.fromtimestamp(unix_ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def minted_at(job: JobId | None) -> str | None:
    """Return when an id was minted, as `instant`; None for no id, and for one of another speaker that is none."""
    try:
        return None if job is None else instant(JobId.parse(bytes(job)).minted_at_ms)
    except InvalidId:
        return None
