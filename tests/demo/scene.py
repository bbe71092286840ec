"""What the tests of the demo share: a folder of files, and a show that keeps what it is told."""

from dataclasses import dataclass, field
from pathlib import Path

from echomq.demo.show import Moment

__all__ = ["Recorder", "Tree"]


@dataclass(frozen=True)
class Tree:
    """The folder, and the files in it that are to become jobs."""

    directory: Path
    files: frozenset[bytes]


@dataclass
class Recorder:
    """A show that nobody watches: it keeps what it was told."""

    said: list[str] = field(default_factory=list)
    moments: list[Moment] = field(default_factory=list)

    def say(self, sentence: str) -> None:
        self.said.append(sentence)

    def update(self, moment: Moment) -> None:
        self.moments.append(moment)
