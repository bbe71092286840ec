"""A private Valkey for one user, started and stopped by itself. `docs/embedded.md` explains how."""

from echomq.embedded.lease import LINGER_MS, START_TIMEOUT_MS, EmbeddedServer, acquire
from echomq.embedded.paths import default_home, socket_url

__all__ = ["LINGER_MS", "START_TIMEOUT_MS", "EmbeddedServer", "acquire", "default_home", "socket_url"]
