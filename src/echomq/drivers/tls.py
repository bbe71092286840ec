"""The TLS settings of an address as a context of the `ssl` module."""

import ssl

from echomq.drivers.address import Tls
from echomq.errors import InvalidOption

__all__ = ["tls_context"]


def tls_context(tls: Tls) -> ssl.SSLContext:
    """Return a client context. Raises `InvalidOption` for a file that cannot be used. Reads files, so make it once."""
    try:
        context = ssl.create_default_context(ssl.Purpose.SERVER_AUTH, cafile=tls.ca_file)
        if tls.cert_file is not None:
            context.load_cert_chain(tls.cert_file, tls.key_file)
    except (OSError, ssl.SSLError) as error:
        raise InvalidOption("tls", tls, f"readable PEM files that belong together ({error})") from error
    if tls.verify != "full":
        context.check_hostname = False
    if tls.verify == "none":
        context.verify_mode = ssl.CERT_NONE
    return context
