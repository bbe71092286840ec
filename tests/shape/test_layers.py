"""The layers of docs/architecture.md: no room imports what stands below it in that table."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "echomq"
ROW = re.compile(r"^\| (\w+) \| ((?:`\w+` ?)+)\|")


def layers() -> list[tuple[str, frozenset[str]]]:
    """Return the layers, lowest first, each with its rooms."""
    found = []
    for line in (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8").splitlines():
        row = ROW.match(line)
        if row:
            found.append((row.group(1), frozenset(re.findall(r"`(\w+)`", row.group(2)))))
    return found


FLOOR_OF = {room: floor for floor, (_, rooms) in enumerate(layers()) for room in rooms}


def room_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported_rooms(path: Path) -> set[str]:
    rooms = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively; name the room"
            parts = (node.module or "").split(".")
            if parts[0] == "echomq":
                rooms.update([parts[1]] if len(parts) > 1 else [alias.name for alias in node.names])
        elif isinstance(node, ast.Import):
            rooms.update(alias.name.split(".")[1] for alias in node.names if alias.name.startswith("echomq."))
    return rooms


def python_files() -> list[Path]:
    return sorted(path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py")


def test_every_room_has_a_layer_and_every_layer_its_rooms() -> None:
    assert {room_of(path) for path in python_files()} == set(FLOOR_OF)


@pytest.mark.parametrize("path", python_files(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_room_imports_only_from_its_own_layer_and_those_above(path: Path) -> None:
    floor = FLOOR_OF[room_of(path)]
    too_high = {room for room in imported_rooms(path) & set(FLOOR_OF) if FLOOR_OF[room] > floor}
    assert not too_high


@pytest.mark.parametrize(
    "room", ["transitions", "resp", "carriers", "model", "nodes.py", "records", "ids.py", "keys.py"]
)
def test_rooms_without_io_import_no_sockets_loops_or_threads_of_their_own(room: str) -> None:
    paths = [SOURCE / room] if room.endswith(".py") else sorted((SOURCE / room).rglob("*.py"))
    forbidden = {"socket", "asyncio", "selectors", "ssl", "subprocess"}
    for path in paths:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = {alias.name.split(".")[0] for n in ast.walk(tree) if isinstance(n, ast.Import) for alias in n.names}
        names |= {(n.module or "").split(".")[0] for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
        assert not names & forbidden, path
