import os
import stat
from pathlib import Path

import pytest

from echomq.embedded.paths import SOCKET_PATH_BYTES_MAX, Layout, default_home, refusal, socket_url
from echomq.errors import EmbeddedFailed


@pytest.mark.parametrize(
    ("platform", "environ", "expected"),
    [
        ("linux", {"ECHOMQ_HOME": "/a b", "XDG_STATE_HOME": "/x", "HOME": "/h"}, "/a b"),
        ("linux", {"XDG_STATE_HOME": "/x", "HOME": "/h"}, "/x/echomq"),
        ("linux", {"HOME": "/h"}, "/h/.local/state/echomq"),
        ("linux", {"ECHOMQ_HOME": "", "XDG_STATE_HOME": "", "HOME": "/h"}, "/h/.local/state/echomq"),
        ("darwin", {"HOME": "/h"}, "/h/Library/Application Support/echomq"),
        ("darwin", {"ECHOMQ_HOME": "/a", "HOME": "/h"}, "/a"),
    ],
)
def test_the_home_is_where_the_environment_says(
    monkeypatch: pytest.MonkeyPatch, platform: str, environ: dict[str, str], expected: str
) -> None:
    monkeypatch.setattr("sys.platform", platform)
    assert default_home(environ) == Path(expected)


def test_a_socket_address_is_percent_encoded() -> None:
    assert socket_url(Path("/a b/ü?#%")) == "unix:///a%20b/%C3%BC%3F%23%25"


def test_a_short_home_holds_its_socket() -> None:
    assert Layout.of_home(Path("/srv/emq")).socket == Path("/srv/emq/valkey.sock")


@pytest.mark.parametrize("over", [0, 1])
def test_a_socket_that_would_be_too_long_stands_elsewhere(over: int) -> None:
    home = Path("/" + "h" * (SOCKET_PATH_BYTES_MAX - len("//valkey.sock") + over))
    layout = Layout.of_home(home)
    assert (layout.socket.parent == home) is (over == 0)
    assert len(os.fsencode(layout.socket)) <= SOCKET_PATH_BYTES_MAX


def test_the_limit_counts_bytes_and_not_characters() -> None:
    home = Path("/" + "ü" * 50)
    assert Layout.of_home(home).socket.parent != home


def test_two_long_homes_have_two_sockets_and_one_home_always_the_same() -> None:
    one, other = Path("/" + "a" * 200), Path("/" + "b" * 200)
    assert Layout.of_home(one).socket == Layout.of_home(one).socket
    assert Layout.of_home(one).socket != Layout.of_home(other).socket


def test_a_relative_home_is_made_absolute(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert Layout.of_home(Path("x/../y")).home == tmp_path / "y"


def test_a_given_socket_that_no_socket_can_have_is_refused() -> None:
    with pytest.raises(EmbeddedFailed, match="longer than 100 bytes"):
        Layout.of_home(Path("/srv"), socket=Path("/" + "s" * 100))


def test_preparing_makes_private_directories_and_may_be_repeated(tmp_path: Path) -> None:
    layout = Layout.of_home(tmp_path / "a" / "home")
    layout.prepare()
    layout.prepare()
    assert stat.S_IMODE(layout.home.stat().st_mode) == 0o700
    assert stat.S_IMODE(layout.data.stat().st_mode) == 0o700


def test_a_given_data_directory_keeps_its_mode(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    Layout.of_data_dir(tmp_path).prepare()
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o755


def test_a_data_directory_that_everybody_may_write_to_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o757)
    with pytest.raises(EmbeddedFailed, match="every user may write"):
        Layout.of_data_dir(tmp_path).prepare()


def test_a_directory_of_somebody_else_is_refused(tmp_path: Path) -> None:
    found = tmp_path.stat()
    assert refusal(tmp_path, found, uid=found.st_uid) is None
    assert "belongs to user" in str(refusal(tmp_path, found, uid=found.st_uid + 1))


@pytest.mark.parametrize("mode", [0o710, 0o701, 0o770, 0o704])
def test_a_directory_that_is_open_to_others_is_refused(tmp_path: Path, mode: int) -> None:
    tmp_path.chmod(mode)
    assert f"mode {mode:o}" in str(refusal(tmp_path, tmp_path.stat(), uid=os.geteuid()))


def test_a_link_is_judged_by_where_it_leads(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.mkdir(mode=0o700)
    link.symlink_to(target)
    assert refusal(link, link.lstat(), uid=os.geteuid()) is None
    target.chmod(0o755)
    assert "open to other users" in str(refusal(link, link.lstat(), uid=os.geteuid()))


def test_a_link_that_somebody_else_made_is_refused(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.mkdir(mode=0o700)
    link.symlink_to(target)
    assert refusal(link, link.lstat(), uid=os.geteuid() + 1) is not None
