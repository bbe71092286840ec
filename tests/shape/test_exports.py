"""The public surface: what is exported exists, what exists is exported, and everything public says what it promises."""

import importlib
import inspect
import pkgutil
import re

import pytest

import echomq

PUBLIC_MODULES = sorted(
    info.name
    for info in pkgutil.walk_packages(echomq.__path__, "echomq.")
    if not any(part.startswith("_") for part in info.name.split("."))
)


@pytest.mark.parametrize("name", ["echomq", *PUBLIC_MODULES])
def test_every_name_in_all_exists(name: str) -> None:
    module = importlib.import_module(name)
    exported = getattr(module, "__all__", [])
    assert len(exported) == len(set(exported))
    for each in exported:
        assert hasattr(module, each), each


@pytest.mark.parametrize("name", PUBLIC_MODULES)
def test_a_public_module_exports_exactly_what_it_defines(name: str) -> None:
    module = importlib.import_module(name)
    defined = {
        each
        for each, value in vars(module).items()
        if not each.startswith("_")
        and (inspect.isclass(value) or inspect.isfunction(value))
        and value.__module__ == name
    }
    exported = set(getattr(module, "__all__", ()))
    # The model's bodies are reached through their register, under their transitions' names.
    registered = {body.__name__ for body in getattr(module, "BODIES", {}).values()}
    assert defined - registered <= exported


@pytest.mark.parametrize("name", PUBLIC_MODULES)
def test_everything_public_has_a_docstring(name: str) -> None:
    module = importlib.import_module(name)
    assert module.__doc__, name
    for each in getattr(module, "__all__", ()):
        value = getattr(module, each)
        if not (inspect.isclass(value) or inspect.isfunction(value)) or not value.__module__.startswith("echomq"):
            continue
        assert value.__doc__, f"{name}.{each}"
        if inspect.isclass(value):
            for method, function in vars(value).items():
                if inspect.isfunction(function) and not method.startswith("_"):
                    assert function.__doc__, f"{name}.{each}.{method}"


def test_the_blocking_face_has_every_method_of_the_other() -> None:
    def methods(face: type) -> dict[str, str]:
        return {
            name: re.sub("Blocking|Async", "", str(inspect.signature(value)))
            for name, value in inspect.getmembers(face, inspect.isfunction)
            if not name.startswith("_")
        }

    assert methods(echomq.BlockingJobs) == methods(echomq.Jobs)
    assert methods(echomq.BlockingLanes) == methods(echomq.Lanes)
