"""The model of a server with every transition on it: a call goes in, an answer comes out.

    space = Keyspace()
    model = Model(space)
    model.run(enqueue(QueueKeys("mail"), job, b"hello"))

Each transition is a function under its name in the file of its subject: `admission`, `claims`, `lane_claims`,
`taking`, `settling`, `moving`, `data`, `reading`, `queues`, `lane_verbs`, `node_numbers`. What they share is in
`script`, `lanes`, `heads`, `flows` and `jobs`; whose turn it is, in `rota` and `manners`.
"""

from typing import Final, TypeVar

from echomq.model import (
    admission,
    claims,
    data,
    lane_claims,
    lane_verbs,
    moving,
    node_numbers,
    queues,
    reading,
    settling,
    taking,
)
from echomq.model.given import Bodies, Given
from echomq.model.keyspace import Damage, Keyspace
from echomq.resp.reply import ErrorReply, Reply
from echomq.transitions.call import Call

__all__ = ["BODIES", "Model"]

T = TypeVar("T")

BODIES: Final[Bodies] = {
    **admission.BODIES,
    **claims.BODIES,
    **lane_claims.BODIES,
    **taking.BODIES,
    **settling.BODIES,
    **moving.BODIES,
    **data.BODIES,
    **reading.BODIES,
    **queues.BODIES,
    **lane_verbs.BODIES,
    **node_numbers.BODIES,
}
"""Every transition that the model knows, by name."""


class Model:
    """Interprets calls over a keyspace, exactly as a server with the scripts would.

    With `audit`, each call that is answered with an error is checked to have changed nothing, at the cost of two
    pictures of the whole keyspace: a body that writes before it has judged everything fails with `AssertionError`.
    """

    def __init__(self, keyspace: Keyspace, *, audit: bool = False) -> None:
        self.keyspace = keyspace
        self._audit = audit

    def run(self, call: Call[T]) -> T:
        """Interpret a call and return its answer. Raises what the call's decoder raises for a refusal."""
        return call.decode(self.reply(call))

    def reply(self, call: Call[T]) -> Reply:
        """Interpret a call and return the reply as a server sends it; an error reply is a value."""
        before = self.keyspace.dump() if self._audit else None
        reply = self._reply(call)
        if before is not None and isinstance(reply, ErrorReply):
            assert self.keyspace.dump() == before, f"{call.about} was refused ({reply.text}) and has changed something"
        return reply

    def _reply(self, call: Call[T]) -> Reply:
        body = BODIES.get(call.transition.name)
        assert body is not None, f"the model has no transition {call.transition.name}"
        if not call.transition.takes(len(call.keys), len(call.args)):
            return ErrorReply(f"ERR {call.transition.arity}")
        given = Given.of(call.transition, tuple(call.keys), tuple(call.args))
        try:
            return body(self.keyspace, given)
        except Damage as damage:
            return ErrorReply(damage.text.decode("utf-8", "replace"))
