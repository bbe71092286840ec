"""Sockets around `resp.connection`: `aio` for asyncio, `blocking` for plain threads."""
