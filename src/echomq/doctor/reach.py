"""Findings: can it be reached, what is there, is it of our protocol, and do the clocks agree."""

import re
from typing import Final

from echomq.doctor.finding import Facts, Finding, listed, note, ok, problem
from echomq.doctor.told import Right, Told
from echomq.errors import AuthRefused, BootRefused, EchoMQError, EmbeddedFailed, EmbeddedUnavailable

__all__ = ["TESTED", "clock", "connection", "product", "protocol", "server", "unreachable"]

TESTED: Final = ("Valkey 9.1", "Valkey 8.1", "Redis 7.0")
"""The servers that the tests run on; docs/operating.md names the same."""

FAR_MS: Final = 5.0
CLOCKS_MS: Final = 1000

_OLDEST: Final = (7, 0)
_NUMBERS: Final = re.compile(r"(\d+)\.(\d+)")


def unreachable(name: str, error: EchoMQError) -> Finding:
    """Return the finding that no connection stands. Its text is the error's, which has no password."""
    where = "" if name in str(error) else f" to {name}"
    return problem("connection", f"No connection{where}: {error}.", *_advice(error), error=type(error).__name__)


def _advice(error: EchoMQError) -> tuple[str, ...]:
    match error:
        case EmbeddedUnavailable() | EmbeddedFailed():
            return ()  # it says itself what to do
        case AuthRefused():
            return (
                "name and password stand in the address: valkey://user:password@host:port/db, special signs as %xx",
            )
        case BootRefused():
            return (
                "give the user the rights of docs/wire.md, and see that the server has the database of the address",
            )
        case _:
            return (
                "see that a server runs there, that it listens on that address, and that nothing stands between",
                "without an address (no --url, no ECHOMQ_URL) echomq starts a private server by itself",
            )


def connection(told: Told) -> Finding:
    """Return how the server was reached and how long a round trip takes."""
    tls, took_ms = told.place.address.tls, told.round_trip_ms
    name = told.place.name[:1].upper() + told.place.name[1:] if told.place.is_embedded else told.place.name
    says = f"{name} answers {_way(told)}, and a round trip takes {took_ms:.2f} ms."
    facts: Facts = {"round_trip_ms": round(took_ms, 3), "tls": tls is not None, "user": told.place.user}
    if tls is not None and tls.verify == "none":
        says += " Its certificate is not checked, so whoever stands between can read and change everything."
        todo = "leave `verify=none` out of the address; name the authority with `ca_file=` if it is your own"
        return note("connection", says, todo, **facts)
    if took_ms >= FAR_MS:
        says += " Each step of a job is at least one of them."
        todo = "run workers near the server, or give them more `concurrency` to fill the wait"
        return note("connection", says, todo, **facts)
    return ok("connection", says, **facts)


def _way(told: Told) -> str:
    address = told.place.address
    if address.unix_path is not None:
        return "on its unix socket"
    return "without TLS" if address.tls is None else "over TLS"


def product(told: Told) -> tuple[str, str | None]:
    """Return the server's product and version. INFO tells a Valkey also where it is told to call itself Redis."""
    if "valkey_version" in told.info:
        return "Valkey", told.info["valkey_version"]
    name = told.hello.get("server") or "redis"
    version = told.hello.get("version") or told.info.get("redis_version")
    return {"valkey": "Valkey", "redis": "Redis"}.get(name, name), version


def server(told: Told) -> Finding:
    """Return which server that is, and what it lacks."""
    name, version = product(told)
    says = f"It is {name} {version or 'of an unknown version'} and speaks RESP{told.resp}."
    facts: Facts = {"product": name, "version": version, "resp": told.resp}
    remarks: list[str] = []
    if not any(f"{name} {version}.".startswith(f"{tested}.") for tested in TESTED):
        remarks.append(f"The tests of echomq run on {listed(TESTED)}, not on this one.")
    if _is_older(version):
        remarks.append("It is older than 7.0, and may not have all that echomq needs.")
    if told.resp == 2:
        remarks.append("With RESP2 nobody can subscribe, and the module is not used.")
    if told.rights.of("hpttl") is Right.ABSENT:
        remarks.append("It has no TTLs of fields: a `lock` of another speaker counts only while its job runs.")
    return note("server", " ".join([says, *remarks]), **facts) if remarks else ok("server", says, **facts)


def _is_older(version: str | None) -> bool:
    found = _NUMBERS.match(version or "")
    return found is not None and (int(found[1]), int(found[2])) < _OLDEST


def protocol(told: Told) -> Finding:
    """Return whether the deployment's version is one that this echomq accepts (protocol 3.2)."""
    if told.version is None:
        says = "The deployment has no version yet, and none could be written here: whoever may write first sets it."
        return note("version", says, version=None)
    found = told.version.decode("utf-8", "replace")
    if told.is_accepted:
        return ok("version", f"The deployment is {found}, which this echomq accepts.", version=found)
    return problem(
        "version",
        f"The deployment says {found!r} in {{emq}}:version, and this echomq accepts"
        f" {', '.join(told.accepted_versions)}: its programs are refused here.",
        "use a matching echomq, or set `accepted_versions` if you know that they agree",
        version=found,
    )


def clock(told: Told) -> Finding | None:
    """Return whether the clocks agree. Leases and due times are the server's alone; ids are minted by ours."""
    ahead = told.clock_ahead_ms
    if ahead is None:
        return None
    if abs(ahead) < CLOCKS_MS:
        return ok("clock", f"The clocks of the server and of this machine differ by {abs(ahead)} ms.", ahead_ms=ahead)
    return note(
        "clock",
        f"The server's clock is {abs(ahead) / 1000:,.1f} s {'ahead of' if ahead > 0 else 'behind'} this machine's."
        " Leases and due times go by the server's; jobs run in the order of their ids, which go by the clocks of those"
        " who add them.",
        "let both follow a time server (NTP)",
        ahead_ms=ahead,
    )
