"""All findings about one server, in the order in which a person wants them."""

from collections.abc import Callable
from typing import Final, TypeAlias

from echomq.doctor.carrier import blocking, carrier
from echomq.doctor.finding import Finding
from echomq.doctor.keeping import cluster, memory, persistence, role
from echomq.doctor.load import clients, notifications
from echomq.doctor.loading import loading
from echomq.doctor.reach import clock, connection, protocol, server
from echomq.doctor.rights import rights, sight
from echomq.doctor.told import Told

__all__ = ["CHECKS", "diagnose"]

Check: TypeAlias = Callable[[Told], Finding | None]

CHECKS: Final[tuple[Check, ...]] = (
    connection,
    server,
    protocol,
    carrier,
    blocking,
    loading,
    rights,
    memory,
    persistence,
    role,
    cluster,
    clients,
    notifications,
    clock,
    sight,
)


def diagnose(told: Told) -> list[Finding]:
    """Return what there is to say. A check says nothing where it has no bearing, or was not told enough."""
    return [finding for check in CHECKS if (finding := check(told)) is not None]
