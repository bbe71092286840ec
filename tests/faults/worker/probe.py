"""Looking at a server from beside: who waits there, and what clients send."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from echomq.drivers.aio import AioClient
from echomq.options import ConnectionOptions
from echomq.transitions._bodies import body_of
from echomq.transitions.catalogue import TRANSITIONS
from tests.faults.worker.scene import eventually
from tests.servers import RealServer

__all__ = ["Probe", "heard", "probing"]


class Probe:
    """Looks at the server from beside."""

    def __init__(self, client: AioClient) -> None:
        self.client = client

    async def parked(self, count: int) -> None:
        """Wait until so many workers are parked."""

        async def are_they() -> bool:
            return len(await self.parking_links()) == count

        await eventually(are_they)

    async def parking_links(self) -> list[str]:
        """Return the ids of the connections that wait on the server."""
        return [link["id"] for link in await self.links() if "b" in link["flags"]]

    async def links(self) -> list[dict[str, str]]:
        """Return what the server says of each connection."""
        listed = await self.client.command("CLIENT", "LIST")
        assert isinstance(listed, bytes)
        return [dict(field.split("=", 1) for field in line.split()) for line in listed.decode().splitlines()]


@contextlib.asynccontextmanager
async def probing(server: RealServer) -> AsyncIterator[Probe]:
    async with AioClient(ConnectionOptions(url=server.url)) as client:
        yield Probe(client)


@contextlib.asynccontextmanager
async def heard(server: RealServer, probe: Probe) -> AsyncIterator[list[str]]:
    """Give the transitions and commands that clients send while the block runs, as the server tells them at its end.

    A take that waits on the server is `take_blocking`. What scripts call does not count, and neither does what the
    probe sends.
    """
    by_sha1 = {body_of(transition).sha1: transition.name for transition in TRANSITIONS}
    names: list[str] = []
    reader, writer = await asyncio.open_unix_connection(server.unix_path)
    writer.write(b"MONITOR\r\n")
    assert await reader.readline() == b"+OK\r\n"
    try:
        yield names
        await probe.client.command("ECHO", "the end")
        while (line := (await reader.readline()).decode()) and '"ECHO" "the end"' not in line:
            words = line.split('"')[1::2]
            # Whoever empties the script cache meanwhile (SCRIPT) makes a client repeat its call (EVAL).
            if " lua]" not in line and words[0] not in {"CLIENT", "ECHO", "SCRIPT", "EVAL"}:
                names.append(_name_of(words, by_sha1))
    finally:
        writer.close()
        await writer.wait_closed()


def _name_of(words: list[str], by_sha1: dict[bytes, str]) -> str:
    if words[0] == "EVALSHA":
        return by_sha1[words[1].encode()]
    if words[0].startswith("EMQ."):
        return words[0].removeprefix("EMQ.").lower() + ("_blocking" if words[-2] == "BLOCK" else "")
    return words[0]
