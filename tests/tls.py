"""TLS for tests: an authority and certificates, and a proxy that ends TLS before a plain server.

The proxy is here because the servers that tests start are built without TLS.
"""

import contextlib
import socket
import ssl
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import trustme

__all__ = ["Certificates", "make_certificates", "tls_proxy"]


@dataclass(frozen=True)
class Certificates:
    """Paths of PEM files: the authority, a server for `localhost` only, and a client."""

    ca: Path
    server: Path
    server_key: Path
    client: Path
    client_key: Path


def make_certificates(directory: Path) -> Certificates:
    """Make an authority and two certificates signed by it. Takes a fraction of a second."""
    authority = trustme.CA()
    made = Certificates(*(directory / f"{name}.pem" for name in ("ca", "server", "server-key", "client", "client-key")))
    authority.cert_pem.write_to_path(made.ca)
    for leaf, chain, key in (
        (authority.issue_cert("localhost"), made.server, made.server_key),
        (authority.issue_cert("client@localhost"), made.client, made.client_key),
    ):
        leaf.cert_chain_pems[0].write_to_path(chain)
        leaf.private_key_pem.write_to_path(key)
    return made


@contextlib.contextmanager
def tls_proxy(unix_path: str, certificates: Certificates, *, wants_client: bool = False) -> Iterator[int]:
    """Run a proxy on loopback in front of a server on a unix socket, and give its port."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.server, certificates.server_key)
    if wants_client:
        context.load_verify_locations(certificates.ca)
        context.verify_mode = ssl.CERT_REQUIRED
    listener = socket.create_server(("127.0.0.1", 0))
    threads: list[threading.Thread] = []
    accepting = threading.Thread(target=_accept, args=(listener, unix_path, context, threads))
    accepting.start()
    try:
        yield listener.getsockname()[1]
    finally:
        with contextlib.suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        accepting.join()
        for thread in threads:
            thread.join()
        listener.close()


def _accept(listener: socket.socket, unix_path: str, context: ssl.SSLContext, threads: list[threading.Thread]) -> None:
    while True:
        try:
            plain, _ = listener.accept()
        except OSError:
            return
        thread = threading.Thread(target=_relay, args=(plain, unix_path, context))
        threads.append(thread)
        thread.start()


def _relay(plain: socket.socket, unix_path: str, context: ssl.SSLContext) -> None:
    """Carry bytes both ways until one side ends."""
    with plain, socket.socket(socket.AF_UNIX) as server:
        try:
            outside = context.wrap_socket(plain, server_side=True)
        except OSError:
            return  # the handshake failed, which the test sees from the client's side
        with outside, contextlib.suppress(OSError):
            server.connect(unix_path)
            inward = threading.Thread(target=_copy_back, args=(server, outside))
            inward.start()
            with contextlib.suppress(OSError):
                while data := outside.recv(65536):
                    server.sendall(data)
            with contextlib.suppress(OSError):
                server.shutdown(socket.SHUT_RDWR)
            inward.join()


def _copy_back(server: socket.socket, outside: ssl.SSLSocket) -> None:
    with contextlib.suppress(OSError):
        while data := server.recv(65536):
            outside.sendall(data)
    with contextlib.suppress(OSError):
        outside.shutdown(socket.SHUT_RDWR)
