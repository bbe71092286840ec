"""`echomq doctor`: what an operator or a newcomer should know of a server."""

from collections import Counter
from collections.abc import Mapping, Sequence
from textwrap import wrap
from typing import Final

from echomq.cli.arguments import server_of
from echomq.cli.exits import Exit
from echomq.cli.render import Plain, View
from echomq.doctor.ask import examine
from echomq.doctor.diagnosis import diagnose
from echomq.doctor.finding import Finding, Level
from echomq.doctor.reach import unreachable
from echomq.doctor.told import Place
from echomq.drivers.address import parse_address
from echomq.drivers.blocking import BlockingClient
from echomq.errors import BadInput, EchoMQError
from echomq.keys import QueueKeys
from echomq.options import ConnectionOptions
from echomq.server_address import ServerAddress

__all__ = ["QUEUE", "doctor"]

QUEUE: Final = "doctor"
"""The queue whose keys the rights are asked about unless one is named. Nothing is read or written there."""

_NARROWEST: Final = 40


def doctor(url: str | None, environ: Mapping[str, str], queue: str, view: View) -> int:
    """Look at the server of an address and say what was found. 1 when there is a problem, no connection included.

    Without an address that is the embedded server, which is started or joined. Writes nothing but the deployment's
    version where there is none, as every connection does. Raises `BadInput` for an address or a name that cannot be.
    """
    name = server_of(url, environ)
    QueueKeys(queue)
    findings = _look(ServerAddress(url, home=None, environ=environ), name, queue, is_embedded=url is None)
    levels = Counter(finding.level for finding in findings)
    _show(findings, {"server": name, "problems": levels[Level.PROBLEM], "notes": levels[Level.NOTE]}, view)
    return Exit.FAILED if levels[Level.PROBLEM] else Exit.DONE


def _look(address: ServerAddress, name: str, queue: str, *, is_embedded: bool) -> list[Finding]:
    """Return all findings, or the one that nothing can be found."""
    try:
        url = address.resolve()
        # Whatever the deployment's version is, it is a finding here and no reason to stay away.
        options = ConnectionOptions(url=url, accepted_versions=("*",))
        with BlockingClient.connect(options) as client:
            place = Place(name=name, address=parse_address(url), is_embedded=is_embedded)
            return diagnose(examine(client, place, queue=queue))
    except BadInput:
        raise
    except EchoMQError as error:
        return [unreachable(name, error)]
    finally:
        address.close()


def _show(findings: Sequence[Finding], head: Mapping[str, Plain], view: View) -> None:
    if view.is_json:
        view.record({"ok": not head["problems"], **head, "checks": [_plain(finding) for finding in findings]})
        return
    width = max(len(finding.check) for finding in findings)
    view.lines({}, "", [line for finding in findings for line in _lines(finding, width, view.columns)])
    view.say(f"echomq: {_count(head['problems'], 'problem')}, {_count(head['notes'], 'note')}")


def _plain(finding: Finding) -> dict[str, Plain]:
    return {
        "check": finding.check,
        "level": str(finding.level),
        "says": finding.says,
        "todo": finding.todo,
        "facts": finding.facts,
    }


def _lines(finding: Finding, width: int, most: int | None) -> list[str]:
    """Return the line of a finding, folded where it is too long for a terminal, and one for each thing to do.

    What is to be done may hold a command, which must stay in one piece.
    """
    head = f"{finding.level:7}  {finding.check:{width}}  "
    space = " " * len(head)
    says = [finding.says] if most is None else wrap(finding.says, max(most - len(head), _NARROWEST))
    return [head + says[0], *(space + line for line in says[1:]), *(f"{space}- {step}" for step in finding.todo)]


def _count(count: Plain, what: str) -> str:
    return f"{count or 'no'} {what}{'' if count == 1 else 's'}"
