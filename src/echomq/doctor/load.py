"""Findings: has the server room for more programs, and does it do work that nobody needs."""

from echomq.doctor.finding import Facts, Finding, note, ok
from echomq.doctor.keeping import NEARLY
from echomq.doctor.told import Told

__all__ = ["clients", "notifications"]


def clients(told: Told) -> Finding | None:
    """Return how many connections the server has room for."""
    used, most = told.number("connected_clients"), told.number("maxclients")
    if used is None or most is None:
        return None
    refused = told.number("rejected_connections")
    facts: Facts = {"connected": used, "maxclients": most, "refused": refused}
    says = f"{used:,} of {most:,} connections are in use."
    if used >= most * NEARLY:
        says += " When all are, programs and workers that come are refused; a worker takes three."
        return note("clients", says, "raise `maxclients`, or end what is not needed", **facts)
    if refused:
        says += f" {refused:,} were refused since the server's start, when all were."
        return note("clients", says, "raise `maxclients` if that may happen again", **facts)
    return ok("clients", says, **facts)


def notifications(told: Told) -> Finding | None:
    """Return whether the server publishes what happens to keys, which echomq does not need."""
    events = told.config.get("notify-keyspace-events")
    if events is None:
        return None
    if not events:
        return ok("notifications", "Notifications of keys are off, and echomq needs none.", events=events)
    says = f"Notifications of keys are on (notify-keyspace-events {events}). echomq needs none, and every step pays."
    todo = "CONFIG SET notify-keyspace-events '', unless another program listens to them"
    return note("notifications", says, todo, events=events)
