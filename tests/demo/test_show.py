"""What a person sees."""

import io
import re

import pytest

from echomq.demo.meter import Meter
from echomq.demo.show import LineShow, LiveShow, Moment, show_on

MOMENT = Moment(total=2000, waiting=100, running=20, done=1880, per_s=1234.0, doing="two workers at work")


class Hand:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.now_ms = 1_000_000

    def unix_ms(self) -> int:
        return self.now_ms

    def monotonic_ms(self) -> int:
        return self.now_ms


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_plain_lines_come_at_most_once_a_second() -> None:
    stream, clock = io.StringIO(), Hand()
    show = LineShow(stream, clock=clock)

    for _ in range(41):
        show.update(MOMENT)
        clock.now_ms += 50

    assert (
        stream.getvalue().splitlines()
        == ["  1,880 of 2,000 done, 20 running, 100 waiting, 1,234 a second; two workers at work"] * 3
    )


def test_a_terminal_gets_a_live_line_and_sentences_above_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    stream = Terminal()

    with LiveShow(stream) as show:
        show.say("worker [1] is killed :boom:")
        show.update(MOMENT)

    text = stream.getvalue()
    assert "worker [1] is killed :boom:" in text, "neither markup nor emoji"
    assert "1880/2000" in text
    assert "20 running  100 waiting  1,234/s" in text


def test_no_color_leaves_no_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("NO_COLOR", "1")
    stream = Terminal()

    with LiveShow(stream) as show:
        show.update(MOMENT)

    assert not re.search(r"\x1b\[[0-9;]*3[0-9]", stream.getvalue())


def test_the_show_suits_the_stream() -> None:
    assert isinstance(show_on(io.StringIO()), LineShow)
    assert isinstance(show_on(Terminal()), LiveShow)


def test_the_meter_looks_twenty_times_a_second_and_knows_the_speed() -> None:
    clock = Hand()
    meter = Meter(clock=clock)
    assert meter.per_s == 0.0
    for done in range(0, 500, 50):
        assert meter.is_due()
        assert not meter.is_due()
        meter.note(done)
        clock.now_ms += 50

    assert meter.per_s == 1000.0


def test_a_standstill_is_measured_from_the_last_move() -> None:
    clock = Hand()
    meter = Meter(clock=clock)
    meter.note(1)
    clock.now_ms += 700
    meter.note(1)
    assert meter.standstill_ms == 700
    meter.note(2)
    assert meter.standstill_ms == 0
