"""What to say about a queue with nothing in it, which cannot be told from a mistyped name."""

from echomq.cli.names import Asker, Queues, find_queues, near
from echomq.cli.render import View
from echomq.errors import EchoMQError

__all__ = ["hint"]


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
