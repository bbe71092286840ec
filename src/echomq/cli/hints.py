"""What a person may miss: that a queue with nothing in it may be a mistyped name, and that more waits in lanes."""

from echomq.cli.names import Asker, Queues, find_queues, near
from echomq.cli.render import View
from echomq.errors import EchoMQError, UnexpectedReply
from echomq.keys import QueueKeys

__all__ = ["count_lanes", "hint", "hint_at_lanes"]


def hint(queue: str, client: Asker, view: View) -> None:
    """Say that nothing is there, and which queue may have been meant. Says nothing about a queue that has keys."""
    try:
        found = find_queues(client)
    except EchoMQError:  # a user who may not walk the keys is told less
        found = Queues((), is_complete=False)
    if queue in found.names:
        return
    guess = near(queue, found.names)
    view.say(f"echomq: there is nothing in {queue}" + (f"; did you mean {guess}?" if guess else ""))


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
