"""URLs taken apart."""

import pytest

from echomq.drivers.address import Address, Tls, parse_address
from echomq.errors import InvalidOption


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("valkey://", Address(host="127.0.0.1", port=6379)),
        ("valkey://localhost", Address(host="localhost", port=6379)),
        ("redis://h:7000", Address(host="h", port=7000)),
        ("valkey://h/3", Address(host="h", port=6379, database=3)),
        ("valkey://h?db=3", Address(host="h", port=6379, database=3)),
        ("valkey://h:7000/", Address(host="h", port=7000)),
        ("valkey://[::1]:7000/2", Address(host="::1", port=7000, database=2)),
        ("valkey://ada:pw@h", Address(host="h", port=6379, username="ada", password="pw")),
        ("valkey://:pw@h", Address(host="h", port=6379, password="pw")),
        ("valkey://a%40b:p%2Fw%3A%23%25@h", Address(host="h", port=6379, username="a@b", password="p/w:#%")),
        ("valkeys://h", Address(host="h", port=6379, tls=Tls())),
        (
            "rediss://h/1?ca_file=/ca.pem&cert_file=/c.pem&key_file=/k.pem&verify=ca",
            Address(
                host="h",
                port=6379,
                database=1,
                tls=Tls(ca_file="/ca.pem", cert_file="/c.pem", key_file="/k.pem", verify="ca"),
            ),
        ),
        ("unix:///run/v.sock", Address(unix_path="/run/v.sock")),
        ("unix:///run/v%20x.sock?db=4", Address(unix_path="/run/v x.sock", database=4)),
        ("unix://ada:pw@/run/v.sock", Address(unix_path="/run/v.sock", username="ada", password="pw")),
    ],
)
def test_a_url_has_one_meaning(url: str, address: Address) -> None:
    assert parse_address(url) == address


@pytest.mark.parametrize(
    "url",
    [
        "",
        "localhost:6379",
        "http://h",
        "valkey://h:port",
        "valkey://h:70000",
        "valkey://[::1",
        "valkey://h/x",
        "valkey://h/-1",
        "valkey://h/1?db=1",
        "valkey://h?db=x",
        "valkey://h?db=1&db=2",
        "valkey://h?timeout=5",
        "valkey://h?ca_file=/ca.pem",
        "valkey://h#frag",
        "valkeys://h?verify=maybe",
        "valkeys://h?key_file=/k.pem",
        "unix://",
        "unix:///",
        "unix://run/v.sock",
        "unix:///run/v.sock?verify=none",
    ],
)
def test_another_url_is_refused(url: str) -> None:
    with pytest.raises(InvalidOption):
        parse_address(url)


@pytest.mark.parametrize("url", ["sentinel://h:26379/main", "cluster://h:7000"])
def test_a_deployment_of_many_nodes_is_recognised_and_refused(url: str) -> None:
    with pytest.raises(InvalidOption, match="later"):
        parse_address(url)


@pytest.mark.parametrize("url", ["valkey://ada:s3cret@h/1", "unix://ada:s3cret@/run/v.sock", "valkeys://:s3cret@h"])
def test_no_text_of_an_address_shows_the_password(url: str) -> None:
    address = parse_address(url)
    assert address.password == "s3cret"
    assert "s3cret" not in f"{address} {address!r}"


@pytest.mark.parametrize(
    "url", ["valkey://ada:s3cret@h:x", "valkey://ada:s3cret/x@h", "ftp://ada:s3cret@h", "valkey://ada:s3cret@h?a=b"]
)
def test_no_error_shows_the_password(url: str) -> None:
    with pytest.raises(InvalidOption) as caught:
        parse_address(url)
    assert "s3cret" not in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize("url", ["valkey://h:6379/0", "valkeys://[::1]:1/2", "unix:///run/v.sock", "unix:///v?db=2"])
def test_the_text_of_an_address_means_the_same(url: str) -> None:
    assert parse_address(str(parse_address(url))) == parse_address(url)
