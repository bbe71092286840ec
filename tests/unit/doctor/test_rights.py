"""Findings about the user's rights, and what they are about: each sentence."""

from dataclasses import replace

import pytest

from echomq.doctor.finding import Level
from echomq.doctor.rights import rights, sight
from echomq.doctor.rights_asked import ON_KEYS, RIGHTS
from echomq.doctor.told import Right, Rights
from tests.contract.test_rights import rights as documented
from tests.unit.doctor.healthy import HEALTHY, granted

WHY = "docs/wire.md has the whole list: a script that is refused in the middle keeps what it has written"


def test_the_rights_asked_about_are_the_documented_ones() -> None:
    known = {word[1:] for word in documented() if word.startswith("+")}

    assert set(RIGHTS) == known | {"hpttl"}  # which a server may not know


def test_a_user_who_may_do_everything() -> None:
    found = rights(HEALTHY)

    assert (found.level, found.says) == (Level.OK, "The user app may do all that echomq needs.")


def test_what_is_missing_is_a_problem_with_the_grant() -> None:
    told = granted(all_but=("hset", "zadd", "blpop"))

    found = rights(replace(told, rights=replace(told.rights, deployment=Right.DENIED)))

    assert (found.level, found.says) == (
        Level.PROBLEM,
        (
            "app may not run hset and zadd, without which jobs cannot be added and run. app may not write the keys of"
            " the deployment, {emq}:*, so no ids can be minted."
        ),
    )
    assert found.todo == ("ACL SETUSER app ~{emq}:* +blpop +hset +zadd", WHY)
    assert found.facts["denied"] == ["blpop", "hset", "zadd"]


def test_keys_that_are_closed_say_nothing_of_the_commands_on_them() -> None:
    told = granted(all_but=(*ON_KEYS, "scan"))

    found = rights(replace(told, rights=replace(told.rights, keys=Right.DENIED)))

    assert (found.level, found.says) == (
        Level.PROBLEM,
        (
            "app may not run scan, without which jobs cannot be added and run. app may not write the keys of the"
            " queue mail (--queue names another)."
        ),
    )
    assert found.todo == ("ACL SETUSER app ~emq:{* +scan", WHY)


def test_what_the_server_has_not_is_a_problem_that_no_grant_mends() -> None:
    found = rights(granted(all_but=("smismember",), instead=Right.ABSENT))

    assert (found.level, found.says, found.todo) == (
        Level.PROBLEM,
        "The server has no command smismember: it is too old, or has renamed it.",
        (),
    )


def test_a_server_without_ttls_of_fields_needs_no_command_for_them() -> None:
    assert rights(granted(all_but=("hpttl",), instead=Right.ABSENT)).level is Level.OK
    assert rights(granted(all_but=("hpttl",))).level is Level.PROBLEM


def test_a_connection_that_stands_needs_no_more_of_its_own_commands() -> None:
    assert rights(granted(all_but=("select", "client|setname"))).level is Level.OK


@pytest.mark.parametrize(
    ("command", "lack", "grant"),
    [
        ("blpop", "run blpop: idle workers cannot park, and jobs start up to two beats late", "+blpop"),
        ("publish", "run publish on the channel of the queue mail: nobody hears of progress", "&emq:{* +publish"),
        (
            "subscribe",
            "run subscribe on the channel of the queue mail: nobody can listen to progress",
            "&emq:{* +subscribe",
        ),
        ("ping", "run ping: idle connections cannot be tested", "+ping"),
        (
            "client|unblock",
            "run client|unblock: a job that an idle worker is given as it stops waits for its lease to end",
            "+client|unblock",
        ),
    ],
)
def test_what_no_job_depends_on_is_a_note(command: str, lack: str, grant: str) -> None:
    found = rights(granted(all_but=(command,)))

    assert (found.level, found.says) == (Level.NOTE, f"app may not {lack}.")
    assert found.todo == (f"ACL SETUSER app {grant}",)


def test_only_the_user_of_the_take_that_waits_needs_to_end_it() -> None:
    without = granted(all_but=("client|unblock",))

    assert rights(granted(without, all_but=("emq.take",), instead=Right.ABSENT)).level is Level.OK
    assert rights(granted(without, all_but=("emq.take",))).level is Level.OK


def test_a_server_that_cannot_be_asked() -> None:
    found = rights(replace(HEALTHY, rights=Rights(queue="mail")))

    assert (found.level, found.says) == (
        Level.NOTE,
        "This server does not tell what app may do; servers from 7.0 on do.",
    )


def test_what_could_not_be_looked_at() -> None:
    found = sight(replace(HEALTHY, refused=("INFO", "CONFIG GET", "EVAL")))

    assert found is not None
    assert (found.level, found.says) == (
        Level.NOTE,
        (
            "app may not ask INFO and CONFIG GET, which echomq does not need: less is said here of memory, persistence,"
            " replicas, connections, snapshots, blocking and MODULE LOAD."
        ),
    )
    assert found.todo == ("for a better look: ACL SETUSER app +info +config|get",)


def test_where_all_could_be_looked_at_nothing_is_said() -> None:
    assert sight(HEALTHY) is None
