"""One queue on one body, and the sentences in which the contract tests speak."""

from dataclasses import replace
from typing import TypeVar

import pytest

from echomq.errors import EchoMQError, WrongType
from echomq.keys import QueueKeys
from echomq.resp.reply import ErrorReply, Reply
from echomq.transitions.call import Arg, Call
from tests.harness.body import Body
from tests.harness.state import Seed, State

__all__ = ["Case", "published_form"]

Answer = TypeVar("Answer")


def published_form(call: Call[Answer], *args: Arg) -> Call[Answer]:
    """Return the call with these arguments in place of its own: what a speaker of the published protocol sends."""
    return replace(call, args=args)


class Case:
    """State before, call, answer, whole state after."""

    def __init__(self, body: Body, keys: QueueKeys) -> None:
        self.body = body
        self.keys = keys

    def seed(self) -> Seed:
        """Return an empty seed of this queue."""
        return Seed(self.keys)

    def given(self, seed: Seed) -> None:
        """Begin with this state, and nothing else."""
        self.body.drop()
        self.body.load(seed.state())
        assert self.body.dump() == seed.state(), "the harness cannot load what it is given"

    def step(self, call: Call[Answer], answer: Answer, after: Seed) -> None:
        """The call answers so, and the whole state is then this one."""
        assert self.body.run(call) == answer
        self.shows(after)

    def keeps(self, call: Call[Answer], answer: Answer) -> None:
        """The call answers so and changes nothing."""
        before = self.body.dump()
        assert self.body.run(call) == answer
        assert self.body.dump() == before

    def refuses(self, call: Call[Answer], error: type[EchoMQError], *, match: str | None = None) -> None:
        """The call raises and changes nothing."""
        before = self.body.dump()
        with pytest.raises(error, match=match):
            self.body.run(call)
        assert self.body.dump() == before

    def refuses_type(self, call: Call[Answer], *, match: str | None = None) -> None:
        self.refuses(call, WrongType, match=match)

    def replies(self, call: Call[Answer], reply: Reply) -> None:
        """The raw reply is this one; an error reply is compared by its whole text."""
        got = self.body.reply(call)
        if isinstance(reply, ErrorReply):
            assert isinstance(got, ErrorReply)
            assert got.text == reply.text
        else:
            assert got == reply

    def errs(self, call: Call[Answer], word: str) -> None:
        """The raw reply is an error of this first word, and nothing changed."""
        before = self.body.dump()
        got = self.body.reply(call)
        assert isinstance(got, ErrorReply), got
        assert got.word == word
        assert self.body.dump() == before

    def shows(self, after: Seed | State) -> None:
        """The whole state is this one."""
        assert self.body.dump() == (after.state() if isinstance(after, Seed) else after)

    def shows_but_tokens(self, after: Seed) -> None:
        """The whole state is this one, whatever wake-ups lie there."""
        state = self.body.dump()
        state.pop(self.keys.wake, None)
        assert state == after.state()
