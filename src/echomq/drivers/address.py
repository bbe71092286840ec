"""Addresses: a URL taken apart once, at the edge.

    valkey://[user[:password]@]host[:port][/db]      redis:// is the same
    valkeys://…                                      with TLS; rediss:// is the same
    unix://[user[:password]@]/path/of/socket[?db=n]

Options after `?`: `db`; with TLS also `ca_file`, `cert_file`, `key_file` and `verify` (`full`, the default; `ca` checks
the certificate but not the host name; `none` checks nothing). User, password and path are percent-decoded. An address
never shows its password.
"""

from dataclasses import dataclass, field
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from echomq.errors import InvalidOption

__all__ = ["Address", "Tls", "parse_address"]

_PLAIN = frozenset({"valkey", "redis"})
_WITH_TLS = frozenset({"valkeys", "rediss"})
_LATER = frozenset({"sentinel", "sentinels", "cluster", "clusters"})
_VERIFY = ("full", "ca", "none")
_PORT = 6379


@dataclass(frozen=True, slots=True, kw_only=True)
class Tls:
    """How to protect a link. Files are paths of PEM files; without `ca_file` the system's authorities are trusted."""

    ca_file: str | None = None
    cert_file: str | None = None
    key_file: str | None = None
    verify: str = "full"


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where a server is and who we are there. Either `unix_path` is set, or `host` and `port` are."""

    host: str = ""
    port: int = 0
    unix_path: str | None = None
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    database: int = 0
    tls: Tls | None = None

    def __str__(self) -> str:
        """Return the address as a URL, without the password."""
        who = "" if self.username is None else f"{self.username}@"
        if self.unix_path is not None:
            database = f"?db={self.database}" if self.database else ""
            return f"unix://{who}{self.unix_path}{database}"
        host = f"[{self.host}]" if ":" in self.host else self.host
        scheme = "valkey" if self.tls is None else "valkeys"
        return f"{scheme}://{who}{host}:{self.port}/{self.database}"


def parse_address(url: str) -> Address:
    """Take a URL apart. Raises `InvalidOption`, whose text shows no more of the URL than is safe."""
    if not isinstance(url, str):
        raise InvalidOption("url", url, "an address as text, such as valkey://host:6379")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        # The reason would quote what stands where the port should, which may be half a password.
        raise InvalidOption("url", "…", "scheme://user:password@host:port/db, special characters as %xx") from None
    scheme = parts.scheme
    if scheme in _LATER:
        raise InvalidOption("url", f"{scheme}://…", "a single server (Sentinel and Cluster addresses come later)")
    query = _query_of(parts)
    if scheme == "unix":
        return _unix(parts, query)
    if scheme not in _PLAIN | _WITH_TLS:
        raise InvalidOption("url", f"{scheme}://…", "valkey://, valkeys://, redis://, rediss:// or unix://")
    return Address(
        host=unquote(parts.hostname or "127.0.0.1"),
        port=_PORT if port is None else port,
        username=_decoded(parts.username),
        password=_decoded(parts.password),
        database=_database(parts.path.strip("/"), query.pop("db", None)),
        tls=_tls(scheme, query),
    )


def _unix(parts: SplitResult, query: dict[str, str]) -> Address:
    database = _database("", query.pop("db", None))
    path = unquote(parts.path)
    if not path.strip("/") or parts.hostname is not None:
        raise InvalidOption("url", "unix://…", "an absolute path after unix://, as in unix:///run/valkey.sock")
    _refuse_rest(query)
    return Address(
        unix_path=path, username=_decoded(parts.username), password=_decoded(parts.password), database=database
    )


def _query_of(parts: SplitResult) -> dict[str, str]:
    pairs = parse_qsl(parts.query, keep_blank_values=True)
    query = dict(pairs)
    if len(query) != len(pairs):
        raise InvalidOption("url", f"{parts.scheme}://…", "each option after ? once")
    if parts.fragment:
        raise InvalidOption("url", f"{parts.scheme}://…", "no # (write %23 for one in a password)")
    return query


def _database(path: str, option: str | None) -> int:
    if path and option is not None:
        raise InvalidOption("db", option, "the database as a path or as ?db=, not both")
    text = path or option or "0"
    if not (text.isascii() and text.isdigit()) or len(text) > 9:
        raise InvalidOption("db", text, "a whole number from 0 on")
    return int(text)


def _tls(scheme: str, query: dict[str, str]) -> Tls | None:
    if scheme in _PLAIN:
        _refuse_rest(query)
        return None
    tls = Tls(
        ca_file=query.pop("ca_file", None),
        cert_file=query.pop("cert_file", None),
        key_file=query.pop("key_file", None),
        verify=query.pop("verify", "full"),
    )
    _refuse_rest(query)
    if tls.verify not in _VERIFY:
        raise InvalidOption("verify", tls.verify, f"one of {', '.join(_VERIFY)}")
    if tls.key_file is not None and tls.cert_file is None:
        raise InvalidOption("key_file", tls.key_file, "a key together with its cert_file")
    return tls


def _refuse_rest(query: dict[str, str]) -> None:
    for name in query:
        raise InvalidOption("url", f"…?{name}=", "db; with TLS also ca_file, cert_file, key_file and verify")


def _decoded(text: str | None) -> str | None:
    return unquote(text) if text else None
