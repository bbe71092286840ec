"""Where the module of this installation is looked for."""

from pathlib import Path

import pytest

from echomq.embedded import module
from echomq.embedded.settings import own_modules


def test_a_wheel_has_it_in_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "echomq"
    built = package / "_native" / "emq.so"
    built.parent.mkdir(parents=True)
    monkeypatch.setattr(module, "_PACKAGE", package)
    assert module.module_path() is None
    assert own_modules() == ()
    built.touch()
    assert module.module_path() == built
    assert own_modules() == (built,)


def test_a_source_tree_has_it_beside_its_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PACKAGE", tmp_path / "src" / "echomq")
    built = tmp_path / "module" / "emq.so"
    built.parent.mkdir()
    built.touch()
    assert module.module_path() is None, "a directory called module may be anybody's"
    (built.parent / "emq.h").touch()
    assert module.module_path() == built
