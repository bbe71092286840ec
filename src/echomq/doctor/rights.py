"""Findings: what the user may not do, and what could therefore not be looked at."""

from typing import Final

from echomq.doctor.finding import Facts, Finding, listed, note, ok, problem
from echomq.doctor.rights_asked import ON_KEYS, RIGHTS
from echomq.doctor.told import Right, Rights, Told

__all__ = ["rights", "sight"]

_WELCOME: Final = {
    "blpop": "idle workers cannot park, and jobs start up to two beats late",
    "publish": "nobody hears of progress",
    "subscribe": "nobody can listen to progress",
    "ping": "idle connections cannot be tested",
    "client|unblock": "a job that an idle worker is given as it stops waits for its lease to end",
}
"""What something depends on, but no job, and what the lack of it means."""

_ON_A_CHANNEL: Final = frozenset({"publish", "subscribe"})

_NOT_MISSED: Final = {
    Right.DENIED: ("select", "client|setname"),  # the connection stands, so it needs no more of them
    Right.ABSENT: ("hpttl",),  # a server without TTLs of fields has none to ask for
}

_FOR_COMMANDS: Final = {"client|unblock": "emq.take"}
"""What only the user of a command of the module needs."""

_WHY: Final = "docs/wire.md has the whole list: a script that is refused in the middle keeps what it has written"

_LOOKS: Final = {
    "INFO": ("+info", ("memory", "persistence", "replicas", "connections")),
    "CONFIG GET": ("+config|get", ("snapshots", "blocking", "MODULE LOAD")),
    "TIME": ("+time", ("the clock",)),
    "CLUSTER INFO": ("+cluster|info", ("the cluster",)),
}


def rights(told: Told) -> Finding:
    """Return what the user needs for adding and running jobs, and may not do."""
    found, user = told.rights, told.place.user
    denied, absent = _having(found, Right.DENIED), _having(found, Right.ABSENT)
    facts: Facts = {
        "user": user,
        "queue": found.queue,
        "denied": denied,
        "absent": absent,
        "keys": str(found.keys),
        "deployment_keys": str(found.deployment),
    }
    if not found.commands:
        return note("rights", f"This server does not tell what {user} may do; servers from 7.0 on do.", **facts)
    grants = _grants(found, denied)
    todo = (f"ACL SETUSER {user} {' '.join(grants)}",) if grants else ()
    if troubles := _troubles(user, found, [name for name in denied if name not in _WELCOME], absent):
        return problem("rights", " ".join(troubles), *todo, *([_WHY] if grants else []), **facts)
    if denied:
        lacks = [f"{user} may not {_said(name, found.queue)}: {_WELCOME[name]}." for name in denied]
        return note("rights", " ".join(lacks), *todo, **facts)
    return ok("rights", f"The user {user} may do all that echomq needs.", **facts)


def _having(found: Rights, right: Right) -> list[str]:
    """Return the commands of which this is known; where the keys are denied it is not of those that have some."""
    names = [name for name in RIGHTS if found.of(name) is right and _is_missed(found, name, right)]
    return [name for name in names if found.keys is not Right.DENIED or name not in ON_KEYS or right is Right.ABSENT]


def _is_missed(found: Rights, name: str, right: Right) -> bool:
    used_by = _FOR_COMMANDS.get(name)
    return name not in _NOT_MISSED.get(right, ()) and (used_by is None or found.of(used_by) is Right.GRANTED)


def _grants(found: Rights, denied: list[str]) -> list[str]:
    """Return what an access list has to be told. A channel is closed by its command or by its pattern."""
    patterns = [
        pattern
        for is_missing, pattern in (
            (found.keys is Right.DENIED, "~emq:{*"),
            (found.deployment is Right.DENIED, "~{emq}:*"),
            (not _ON_A_CHANNEL.isdisjoint(denied), "&emq:{*"),
        )
        if is_missing
    ]
    return patterns + [f"+{name}" for name in denied]


def _troubles(user: str, found: Rights, denied: list[str], absent: list[str]) -> list[str]:
    """Return why jobs cannot be added or run."""
    says = []
    if denied:
        says.append(f"{user} may not run {listed(denied)}, without which jobs cannot be added and run.")
    if absent:
        says.append(f"The server has no command {listed(absent)}: it is too old, or has renamed it.")
    if found.keys is Right.DENIED:
        says.append(f"{user} may not write the keys of the queue {found.queue} (--queue names another).")
    if found.deployment is Right.DENIED:
        says.append(f"{user} may not write the keys of the deployment, {{emq}}:*, so no ids can be minted.")
    return says


def _said(name: str, queue: str) -> str:
    return f"run {name} on the channel of the queue {queue}" if name in _ON_A_CHANNEL else f"run {name}"


def sight(told: Told) -> Finding | None:
    """Return what could not be looked at; nothing where all could."""
    unseen = [name for name in told.refused if name in _LOOKS]
    if not unseen:
        return None
    what = listed([word for name in unseen for word in _LOOKS[name][1]])
    says = f"{told.place.user} may not ask {listed(unseen)}, which echomq does not need: less is said here of {what}."
    todo = f"for a better look: ACL SETUSER {told.place.user} {' '.join(_LOOKS[name][0] for name in unseen)}"
    return note("sight", says, todo, refused=unseen)
