"""Findings about the module: whether it is used, whether it blocks, how it is loaded. Each sentence."""

from dataclasses import replace
from pathlib import Path

import pytest

from echomq.carriers.module import COMMANDS
from echomq.doctor.carrier import blocking, carrier
from echomq.doctor.finding import Finding, Level
from echomq.doctor.loading import loading
from echomq.doctor.told import OwnModule, Place, Right, Told
from echomq.drivers.address import parse_address
from tests.unit.doctor.healthy import HEALTHY, PLAIN, granted, informed, set_to, without

ALL = len(COMMANDS)
SO = PLAIN.own.path


def loaded_by(told: Told) -> Finding:
    found = loading(told)
    assert found is not None
    assert found.level is Level.NOTE
    return found


def test_all_goes_by_the_module() -> None:
    found = carrier(HEALTHY)

    assert (found.level, found.todo) == (Level.OK, ())
    assert found.says == f"Calls go by the module (version 1): {ALL} of its {ALL} commands can be used."
    assert found.facts == {
        "carrier": "module",
        "module_version": 1,
        "module_path": "/srv/emq.so",
        "commands": ALL,
        "commands_missing": [],
        "commands_denied": [],
    }


def test_all_goes_by_scripts() -> None:
    found = carrier(PLAIN)

    assert (found.level, found.says) == (
        Level.NOTE,
        (
            "Calls go by scripts, since the server has no module of echomq. All works; each step costs it two to seven"
            " times as much of its time."
        ),
    )
    assert (found.facts["carrier"], found.facts["commands"], found.facts["module_version"]) == ("scripts", 0, None)


def test_a_module_that_resp2_does_not_tell_of_is_not_used() -> None:
    found = carrier(replace(HEALTHY, resp=2))

    assert (found.level, found.says) == (
        Level.NOTE,
        "Calls go by scripts: the server has the module, but with RESP2 it does not say so.",
    )
    assert (found.facts["carrier"], found.todo) == ("scripts", ("leave `resp` out of ConnectionOptions",))


def test_commands_that_another_module_has_not_are_named() -> None:
    found = carrier(granted(all_but=("emq.take", "emq.wake"), instead=Right.ABSENT))

    assert (found.level, found.says) == (
        Level.NOTE,
        (
            f"Calls go by the module (version 1): {ALL - 2} of its {ALL} commands can be used. The server's module is"
            " another one and has not EMQ.TAKE and EMQ.WAKE; scripts do that."
        ),
    )
    assert found.todo == ("load the module that `echomq module path` shows in its place",)
    assert found.facts["commands_missing"] == ["EMQ.TAKE", "EMQ.WAKE"]


def test_commands_that_the_user_may_not_run_are_named_with_the_grant() -> None:
    found = carrier(granted(all_but=("emq.claim", "emq.take", "emq.wake")))

    assert (found.level, found.says) == (
        Level.NOTE,
        (
            f"Calls go by the module (version 1): {ALL - 3} of its {ALL} commands can be used. app may not run"
            " EMQ.CLAIM, EMQ.TAKE and EMQ.WAKE; scripts do that."
        ),
    )
    assert found.todo == ("ACL SETUSER app +emq.claim +emq.take +emq.wake",)
    assert found.facts["commands_denied"] == ["EMQ.CLAIM", "EMQ.TAKE", "EMQ.WAKE"]


def test_a_module_of_which_no_command_is_permitted_is_no_carrier() -> None:
    found = carrier(granted(all_but=tuple(f"emq.{name}" for name in COMMANDS)))

    assert (found.level, found.says) == (
        Level.NOTE,
        "Calls go by scripts: the server has the module (version 1), and app may run none of it.",
    )
    assert found.todo == (f"ACL SETUSER app {' '.join(f'+emq.{name}' for name in sorted(COMMANDS))}",)
    assert (found.facts["carrier"], found.facts["commands"]) == ("scripts", 0)


@pytest.mark.parametrize(
    ("told", "level", "says", "is_on"),
    [
        (HEALTHY, Level.OK, "Idle workers may wait in EMQ.TAKE (echomq.blocking yes).", True),
        (
            replace(HEALTHY, config={"echomq.blocking": "no"}),
            Level.NOTE,
            "Idle workers wait on the list `wake`, since blocking is switched off (echomq.blocking no).",
            False,
        ),
        (
            without(HEALTHY, "echomq.blocking"),
            Level.NOTE,
            "Idle workers wait on the list `wake`, since the server's module cannot block.",
            None,
        ),
    ],
)
def test_where_idle_workers_wait(told: Told, level: Level, says: str, is_on: bool | None) -> None:
    found = blocking(told)

    assert found is not None
    assert (found.level, found.says, found.facts) == (level, says, {"blocking": is_on})


@pytest.mark.parametrize("told", [PLAIN, replace(HEALTHY, resp=2), replace(HEALTHY, refused=("CONFIG GET",))])
def test_nothing_is_said_of_blocking_where_it_has_no_bearing_or_is_not_known(told: Told) -> None:
    assert blocking(told) is None


def test_a_module_that_is_loaded_needs_no_loading() -> None:
    assert loading(HEALTHY) is None


def test_how_the_module_is_loaded() -> None:
    found = loaded_by(PLAIN)

    assert found.says == f"The module of this installation is {SO}, built for Linux x86_64 like the server."
    assert found.todo == (
        "the file must be where the server may read and execute it; docs/module.md has the steps for Debian and Docker",
        f"at each start, by a line in valkey.conf:  loadmodule {SO}",
        "not without a restart, since MODULE LOAD is switched off there (enable-module-command is no)",
        "where a managed server loads no modules of yours, leave it: scripts do everything (docs/module.md)",
    )
    assert found.facts == {
        "path": str(SO),
        "system": "Linux x86_64",
        "server_system": "Linux x86_64",
        "enable_module_command": "no",
    }


@pytest.mark.parametrize(
    ("told", "step"),
    [
        (set_to(PLAIN, enable_module_command="yes"), f"at once, without a restart:  valkey-cli MODULE LOAD {SO}"),
        (
            set_to(PLAIN, enable_module_command="local"),
            (
                f"at once, without a restart:  valkey-cli MODULE LOAD {SO}  (on the server's machine, since"
                " enable-module-command is local)"
            ),
        ),
        (
            without(PLAIN, "enable-module-command"),
            (
                f"at once, without a restart:  valkey-cli MODULE LOAD {SO}  (where enable-module-command is yes, or"
                " local and you are on its machine)"
            ),
        ),
    ],
)
def test_module_load_depends_on_a_setting(told: Told, step: str) -> None:
    assert loaded_by(told).todo[2] == step


def test_a_path_with_spaces_is_quoted() -> None:
    found = loaded_by(replace(PLAIN, own=replace(PLAIN.own, path=Path("/my lib/emq.so"))))

    assert found.todo[1].endswith('loadmodule "/my lib/emq.so"')


def test_a_machine_that_was_not_told_must_be_the_same() -> None:
    found = loaded_by(without(PLAIN, "os"))

    assert found.says.endswith("emq.so, built for Linux x86_64; the server must be the same.")


def test_a_machine_of_another_kind_needs_a_module_of_its_own() -> None:
    found = loaded_by(informed(PLAIN, os="Linux 6.1.0 aarch64"))

    assert found.says == "The module of this installation is for Linux x86_64, and the server runs on Linux aarch64."
    assert found.todo[0] == "build it there: copy the directory `module` of the sources, and run  make -C module"
    assert str(SO) not in " ".join(found.todo)


def test_an_installation_without_a_module_says_how_it_gets_one() -> None:
    found = loaded_by(replace(PLAIN, own=OwnModule(path=None, system="Linux x86_64")))

    assert found.says == "This installation has no module, since no C compiler was there when it was built."
    assert found.todo == (
        "install a compiler and then echomq once more, from its sources; `echomq module path` says where it is then",
        "where a managed server loads no modules of yours, leave it: scripts do everything (docs/module.md)",
    )


def test_the_embedded_server_loads_it_by_itself() -> None:
    place = Place(name="the embedded server", address=parse_address("unix:///x"), is_embedded=True)

    assert loaded_by(replace(PLAIN, place=place)).todo == (
        "the embedded server loads it at its next start: end the programs that use it, and wait ten seconds",
    )
