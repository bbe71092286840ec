"""Speaks to the model in raw replies, so that its bodies are tested without the handles."""

from echomq.ids import JobId
from echomq.keys import QueueKeys
from echomq.model.keyspace import Keyspace
from echomq.model.queue import Model
from echomq.resp.reply import ErrorReply, Reply
from echomq.transitions.call import Arg, Call, Transition

__all__ = ["MINTED_MS", "Speaker"]

MINTED_MS = 1_767_225_600_000


class Speaker:
    """One queue on an audited model."""

    def __init__(self) -> None:
        self.space = Keyspace(now_ms=MINTED_MS)
        self.keys = QueueKeys("q")
        self._model = Model(self.space, audit=True)

    def job(self, number: int) -> JobId:
        return JobId.of_snowflake(JobId.smallest_at(MINTED_MS).snowflake + number)

    def say(
        self,
        name: str,
        keys: dict[str, bytes],
        args: dict[str, Arg],
        *,
        more_keys: tuple[bytes, ...] = (),
        more_args: tuple[Arg, ...] = (),
        width: int = 0,
    ) -> Reply:
        transition = Transition(
            name=name,
            keys=tuple(keys),
            args=tuple(args),
            more_keys="key" if more_keys else None,
            more_args=tuple(f"more_{at}" for at in range(width)),
            repeatable=False,
            section="test",
        )
        call = Call(transition, (*keys.values(), *more_keys), (*args.values(), *more_args), lambda reply: reply, name)
        reply = self._model.run(call)
        return reply.text if isinstance(reply, ErrorReply) else reply

    # --- the verbs most tests need ---

    def enqueue(self, job: JobId, payload: bytes = b"p", *, max_attempts: Arg = b"") -> Reply:
        keys = {"job": self.keys.job(job), "pending": self.keys.pending}
        return self.say("enqueue", keys, {"id": job, "payload": payload, "max_attempts": max_attempts})

    def enqueue_grouped(self, job: JobId, group: str = "g") -> None:
        """What another speaker's genqueue leaves behind, but for the ring."""
        row = self.space.hash(self.keys.job(job))
        for name, value in (
            (b"state", b"pending"),
            (b"attempts", b"0"),
            (b"payload", b"p"),
            (b"group", group.encode()),
        ):
            row.set(name, value)
        self.space.zset(self.keys.lane(group)).add(job, 0)

    def claim(self, *, lease_ms: int = 1000) -> Reply:
        keys = {"pending": self.keys.pending, "active": self.keys.active, "base": self.keys.base}
        return self.say("claim", keys, {"lease_ms": lease_ms})

    def lease_grouped(self, job: JobId, group: str = "g", *, lease_ms: int = 1000) -> None:
        """What another speaker's gclaim leaves behind, but for the ring."""
        row = self.space.hash(self.keys.job(job))
        self.space.zset(self.keys.lane(group)).remove(job)
        row.add(b"attempts", 1)
        row.set(b"state", b"active")
        self.space.zset(self.keys.active).add(job, self.space.now_ms + lease_ms)
        self.space.hash(self.keys.group_active).add(group.encode(), 1)

    def complete(self, job: JobId, token: Arg = 1, *, result: bytes = b"", result_ttl_ms: Arg = b"") -> Reply:
        keys = {"active": self.keys.active, "job": self.keys.job(job)}
        args = {"id": job, "token": token, "base": self.keys.base, "result_ttl_ms": result_ttl_ms, "result": result}
        return self.say("complete", keys, args)

    def retry(self, job: JobId, token: Arg = 1, *, max_attempts: int = 3, error: bytes = b"boom") -> Reply:
        keys = {"active": self.keys.active, "schedule": self.keys.schedule, "dead": self.keys.dead}
        args: dict[str, Arg] = {"id": job, "token": token, "delay_ms": 500, "max_attempts": max_attempts}
        return self.say("retry", keys | {"job": self.keys.job(job)}, args | {"reason": error, "base": self.keys.base})

    def reap(self, *, limit: Arg = b"", max_attempts: Arg = b"", ids: bytes = b"ids") -> Reply:
        args = {"base": self.keys.base, "limit": limit, "max_attempts": max_attempts, "naming": ids}
        return self.say("reap", {"active": self.keys.active, "pending": self.keys.pending}, args)

    def promote(self, *, limit: Arg = b"") -> Reply:
        keys = {"schedule": self.keys.schedule, "pending": self.keys.pending}
        return self.say("promote", keys, {"base": self.keys.base, "limit": limit})

    # --- what is there ---

    def row(self, job: JobId) -> dict[bytes, bytes]:
        return dict(self.space.hash(self.keys.job(job)).pairs())

    def members(self, key: bytes) -> list[bytes]:
        return [member for member, _ in self.space.zset(key).pairs()]
