"""Where the server is: the address given, or that of the embedded server, which is started or joined on first use."""

from collections.abc import Mapping
from pathlib import Path

from echomq.embedded import EmbeddedServer, acquire, default_home
from echomq.errors import Closed
from echomq.forks import ProcessLock

__all__ = ["ServerAddress", "closed"]


def closed() -> Closed:
    """Return what every use of a closed application raises."""
    return Closed("this EchoMQ was closed: make a new one to go on")


class ServerAddress:
    """An address that may have to be made first. Safe to use from several threads."""

    def __init__(self, url: str | None, *, home: Path | None, environ: Mapping[str, str]) -> None:
        self._url = url
        self._home = home
        self._environ = environ
        self._embedded: EmbeddedServer | None = None
        self._is_closed = False
        self._lock = ProcessLock()

    def resolve(self) -> str:
        """Return the URL; start or join the embedded server first when no address was given. May block for seconds.

        Raises `EmbeddedUnavailable` or `EmbeddedFailed`, and `Closed` after `close`.
        """
        if self._url is not None:
            return self._url
        with self._lock:
            if self._is_closed:  # whoever began to resolve before a close must not hold a share after it
                raise closed()
            if self._embedded is None:
                self._embedded = acquire(self._home or default_home(self._environ))
            return self._embedded.url

    def revive(self) -> bool:
        """Start the embedded server again if it is gone, and say whether this program uses it. May block for seconds.

        The server's keeper starts it again when it dies; this is for when the keeper was killed too. Raises
        `EmbeddedUnavailable` or `EmbeddedFailed`.
        """
        with self._lock:
            if self._embedded is None or self._is_closed:
                return False
            share, self._embedded = self._embedded, acquire(self._embedded.home)
            share.close()
            return True

    def close(self) -> None:
        """Leave the embedded server, which stops when nobody uses it any more. Safe to repeat.

        Waits for another thread that is just starting or joining it.
        """
        with self._lock:
            self._is_closed = True
            embedded, self._embedded = self._embedded, None
        if embedded is not None:
            embedded.close()
