"""What a person may miss: that a queue or lane without anything may be a mistyped name, that more waits in lanes."""

from typing import Final

from echomq.cli.names import Asker, Queues, find_queues, near
from echomq.cli.render import View
from echomq.errors import EchoMQError, UnexpectedReply
from echomq.keys import QueueKeys
from echomq.records import LaneInfo
from echomq.transitions.is_paused import is_paused
from echomq.transitions.lanes import lanes

__all__ = [
    "ceiling",
    "count_lanes",
    "hint",
    "hint_at_lanes",
    "hint_at_queue",
    "is_known",
    "nothing_in",
    "say_unknown_lane",
    "unknown_lane",
]

COMPARED_PAGES_MAX: Final = 5
"""Among how many thousand lanes a near name is looked for: reading and comparing them takes a quarter of a second."""


def hint(queue: str, client: Asker, view: View) -> None:
    """Say that nothing is there, and which queue may have been meant. Says nothing about a queue that has keys."""
    if sentence := nothing_in(queue, client):
        view.say(f"echomq: {sentence}")


def nothing_in(queue: str, client: Asker) -> str | None:
    """Return the sentence that a queue has nothing, and which may have been meant; None for one that has keys."""
    try:
        found = find_queues(client)
    except EchoMQError:  # a user who may not walk the keys is told less
        found = Queues((), is_complete=False)
    if queue in found.names:
        return None
    return f"there is nothing in {queue} on {client.server}" + _or(near(queue, found.names))


def is_known(lane: LaneInfo) -> bool:
    """Say whether jobs of a lane wait or run, or something is set for it."""
    return bool(lane.depth or lane.in_flight or lane.limit is not None or lane.weight != 1 or lane.paused)


def say_unknown_lane(keys: QueueKeys, lane: str, client: Asker, view: View) -> None:
    """Say that nothing is known of a lane, and which one may have been meant."""
    for sentence in unknown_lane(keys, lane, client):
        view.say(f"echomq: {sentence}")


def unknown_lane(keys: QueueKeys, lane: str, client: Asker) -> tuple[str, ...]:
    """Return the sentences that nothing is known of a lane, nor maybe of its queue, and what may have been meant."""
    names: list[str] = []
    cursor: str | None = None
    for _ in range(COMPARED_PAGES_MAX):
        page = client.run(lanes(keys, cursor=cursor, limit=1000))
        names += [info.lane for info in page.lanes]
        cursor = page.cursor
        if cursor is None:
            break
    sentence = f"no job of {keys.queue} waits or runs in lane {lane}" + _or(near(lane, names))
    if not names and (about_queue := nothing_in(keys.queue, client)):
        return sentence, about_queue
    return (sentence,)


def _or(guess: str | None) -> str:
    return f"; did you mean {guess}?" if guess else ""


def count_lanes(client: Asker, keys: QueueKeys) -> int:
    """Return how many lanes have jobs that wait or run."""
    reply = client.command("ZCARD", keys.lanes)
    if not isinstance(reply, int):
        raise UnexpectedReply(f"ZCARD of the lanes of {keys.queue}", reply)
    return reply


def hint_at_lanes(keys: QueueKeys, what: str, client: Asker, view: View) -> None:
    """Say, where lanes have jobs, what this means for those that wait there. Says nothing of a queue without lanes."""
    if lanes := count_lanes(client, keys):
        view.say(f"echomq: {what}: {lanes:,} lane{' has' if lanes == 1 else 's have'} jobs (`echomq lane list`)")


def ceiling(client: Asker, keys: QueueKeys) -> int | None:
    """Return how many jobs of the queue may run at once; what is no number, and sets no ceiling, reads as None."""
    reply = client.command("HGET", keys.meta, "concurrency")
    return int(reply) if isinstance(reply, bytes) and reply.isdigit() else None


def hint_at_queue(keys: QueueKeys, client: Asker, view: View) -> None:
    """Say what keeps every lane of a queue from starting jobs: its pause, or its ceiling."""
    if client.run(is_paused(keys)):
        view.say("echomq: the queue is paused: nothing starts (`echomq queue resume` ends that)")
    most = ceiling(client, keys)
    if most is None:
        return
    running = client.command("ZCARD", keys.active)
    if isinstance(running, int) and running >= most:
        view.say(f"echomq: the queue runs {running:,} of at most {most:,} jobs (`echomq queue concurrency`)")
