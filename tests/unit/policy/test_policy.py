"""The module's policy of `take`, which needs no server: it decides as the model does (docs/wire.md, take, 2 to 8)."""

import ctypes
import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from echomq.model.keyspace import Keyspace
from echomq.model.manners import Head, Line, Reads
from echomq.model.names import Names
from echomq.model.parking import park
from echomq.model.rota import Name, Rota, Unfinished, flat_place, walk
from echomq.model.waking import WORTH_MAX, halves, worth_of

HEADS = {"f": Head.FRESH, "r": Head.TRIED, "x": Head.NOTHING}
MODULE = Path(__file__).parents[3] / "module"
SOURCES = ["manners.c", "rota.c", "lanes.c", "parking.c", "parse.c"]


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """The policy files as a library of their own, under the sanitizer that needs no preloading."""
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if compiler is None:
        pytest.skip("no C compiler")
    library = tmp_path_factory.mktemp("policy") / "policy.so"
    files = [str(Path(__file__).with_name("policy.c")), *(str(MODULE / name) for name in SOURCES)]
    checks = ["-fsanitize=undefined,bounds", "-fno-sanitize-recover=all", "-Wall", "-Wextra", "-Werror"]
    command = [compiler, "-std=c11", "-O1", "-fPIC", "-shared", *checks, f"-I{MODULE}", "-o", str(library), *files]
    subprocess.run(command, check=True)
    return ctypes.CDLL(str(library))


# --- turns and manners ------------------------------------------------------------------------------------------------


@dataclass
class Stall:
    """A lane on plain marks: see `echomq.model.rota.Stall`. The first of a rota is the flat set."""

    marks: str = ""
    weight: int = 1
    limit: int = 0
    act: int = 0
    parked: bool = False
    is_damaged: bool = False
    owes: bool = False
    number: int = 0
    starts: list[tuple[int, int]] = field(default_factory=list)
    served: int = 0

    def __post_init__(self) -> None:
        marks = self.marks
        self.line = Line(
            len(marks), lambda place: HEADS[marks[place]], lambda place: marks[place] != "r", owes=self.owes
        )

    @property
    def servable(self) -> int:
        free = max(self.limit - self.act - self.served, 0) if self.limit else self.line.waiting
        return 0 if self.parked else min(self.line.waiting, free)

    def serve(self, most: int, reads: Reads) -> int:
        places = self.line.serve(min(most, self.servable), reads)
        self.starts += ((self.number, place) for place in places)
        self.served += len(places)
        return len(places)


@dataclass(frozen=True)
class Told:
    """A queue before a take: its stalls, the ring by their numbers, and what `rota` says."""

    stalls: tuple[tuple[object, ...], ...]
    ring: tuple[int, ...]
    flat: int | None
    turn: int
    left: int
    room: int
    reads: int


class _Lane(ctypes.Structure):
    _fields_ = (
        ("marks", ctypes.c_char_p),
        *((name, ctypes.c_longlong) for name in ("weight", "limit", "act")),
        *((name, ctypes.c_int) for name in ("parked", "damaged", "owes", "resumes")),
    )


def by_module(policy: ctypes.CDLL, told: Told) -> dict[str, object]:
    stalls = [Stall(*one) for one in told.stalls]  # type: ignore[arg-type]  # the fields in their order
    lanes = (_Lane * len(stalls))(
        *(
            _Lane(
                s.marks.encode(),
                s.weight,
                s.limit,
                s.act,
                s.parked,
                s.is_damaged,
                s.owes,
                bool(told.left) and n == told.turn,
            )
            for n, s in enumerate(stalls)
        )
    )
    length = len(told.ring)
    numbers = (ctypes.c_longlong * 4)(flat_place(told.flat, length), told.left, told.room, told.reads)
    starts, outcome = (ctypes.c_longlong * (2 * told.room + 2))(), (ctypes.c_longlong * 7)()
    after, owes = (ctypes.c_int * (2 * length + 1))(), (ctypes.c_int * len(stalls))()
    ring = (ctypes.c_int * (length + 1))(*told.ring)
    policy.policy_walk(len(stalls), lanes, length, ring, numbers, starts, after, owes, outcome)
    count, entries, flat, damaged, turn, left, reads = outcome
    return {
        "starts": [(starts[2 * n], starts[2 * n + 1]) for n in range(count)],
        "ring": list(after[:entries]),
        "flat": None if flat < 0 else flat,
        "damaged": damaged,
        "turn": (turn, left) if turn else None,
        "owes": [bool(one) for one in owes],
        "reads": reads,
    }


def by_model(told: Told) -> dict[str, object]:
    stalls = [Stall(*one) for one in told.stalls]  # type: ignore[arg-type]  # the fields in their order
    starts: list[tuple[int, int]] = []
    for number, stall in enumerate(stalls):
        stall.number, stall.starts = number, starts
    names: list[Name] = [None, *(b"%d" % n for n in range(1, len(stalls)))]
    flat = flat_place(told.flat, len(told.ring)) if stalls[0].marks else None
    unfinished = Unfinished(b"%d" % told.turn, told.left) if told.left else None
    reads = Reads(told.reads)
    rota = Rota(tuple(b"%d" % n for n in told.ring), flat, unfinished)
    walked = walk(rota, lambda name: stalls[names.index(name)], room=told.room, reads=reads)
    turn = walked.rota.unfinished
    return {
        "starts": starts,
        "ring": [int(group) for group in walked.rota.ring],
        "flat": walked.rota.flat if stalls[0].line.waiting else None,
        "damaged": len(walked.damaged),
        "turn": None if turn is None else (int(turn.group), turn.left),
        "owes": [s.line.owes and s.line.waiting > 0 for s in stalls],
        "reads": reads.left,
    }


def _stalls(*, flat: bool = False) -> st.SearchStrategy[tuple[object, ...]]:
    pieces = st.lists(st.sampled_from(["f", "r", "x", "rr", "fff", "x" * 9]), max_size=8).map("".join)
    mixed = st.text("ffrrrx", max_size=12).map(lambda marks: f"r{marks}f")  # a search finds something there
    marks = pieces | mixed | mixed.map(lambda marks: "r" * 50 + marks)  # and by halving
    rarely = st.integers(0, 9).map(lambda n: n == 0)
    if flat:
        return st.tuples(marks, st.just(1), st.just(0), st.just(0), st.just(False), st.just(False), st.booleans())
    weight, limit = st.sampled_from([1, 1, 2, 3, 1000]), st.sampled_from([0, 0, 1, 2, 3])
    return st.tuples(marks, weight, limit, st.sampled_from([0, 0, 1, -2]), rarely, rarely, st.booleans())


@st.composite
def _told(draw: Callable[[st.SearchStrategy[object]], object]) -> Told:
    lanes = draw(st.lists(_stalls(), max_size=5))
    assert isinstance(lanes, list)
    count = len(lanes)
    ring = draw(st.lists(st.integers(1, count), max_size=8)) if count else []
    assert isinstance(ring, list)
    if draw(st.integers(0, 4)) == 0:
        # More entries than the walk may look at: stale ones, in front or behind.
        stale = list(range(count + 1, count + 111))
        lanes += [("",)] * 110
        ring = [*ring, *stale] if draw(st.booleans()) else [*stale[:98], *ring, *stale[98:]]
    turn = draw(st.sampled_from(ring[:2])) if ring else 0
    return Told(
        (draw(_stalls(flat=True)), *lanes),  # type: ignore[arg-type]  # as drawn
        tuple(ring),
        draw(st.none() | st.integers(0, 120)),  # type: ignore[arg-type]  # as drawn
        turn,  # type: ignore[arg-type]  # as drawn
        draw(st.sampled_from([0, 0, 1, 2])) if turn else 0,  # type: ignore[arg-type]  # as drawn
        draw(st.integers(1, 12)),  # type: ignore[arg-type]  # as drawn
        draw(st.sampled_from([1, 2, 3, 5, 8, 13, 112])),  # type: ignore[arg-type]  # as drawn
    )


@settings(max_examples=400)
@given(told=_told())
@example(told=Told((("rrff", 1, 0, 0, False, False, False), ("ffr",)), (1,), 0, 0, 0, 4, 112))
@example(told=Told((("",), ("rrrrfff", 2, 0, 0, False, False, True), ("f",)), (1, 2, 1), None, 1, 1, 5, 112))
def test_it_gives_the_turns_of_the_model(policy: ctypes.CDLL, told: Told) -> None:
    assert by_module(policy, told) == by_model(told)


# --- handing on and parking -------------------------------------------------------------------------------------------

WORTHS = st.sampled_from([b"", b"1", b"2", b"64", b"1000", b"1000000", b"1000001", b"0", b"-3", b"01", b"x", b"1\0"])


@given(worth=WORTHS | st.just(b"beat"), got=st.integers(0, 1000), left=st.integers(1, 2000))
def test_it_hands_on_what_the_model_does(policy: ctypes.CDLL, worth: bytes, got: int, left: int) -> None:
    policy.policy_hand_on.argtypes = (ctypes.c_char_p, ctypes.c_size_t, ctypes.c_longlong, ctypes.c_longlong)
    policy.policy_hand_on.restype = ctypes.c_longlong
    rest = worth_of(worth) - max(got, 1) if worth else 0
    if worth == b"beat":
        rest = min(left, WORTH_MAX) if got else 0
    found = policy.policy_hand_on(worth, len(worth), got, left)
    assert halves(found) == halves(max(rest, 0))


NOW = 1_700_000_000_000
BASE = Names(b"emq:{q}:")
INSTANTS = st.sampled_from([0.0, -inf, inf, 1e15]) | st.sampled_from([-1.5, 0.0, 0.25, 1.0, 7.5, 999.5, 1000.0, 1000.5])
AWAY = ["", "me", "me ", "me 5", f"me {NOW}", f"mes {NOW + 1}", "you " + "9" * 400]
FORMS = [f"you  {NOW}", f" you {NOW}", f"you {NOW} ", f"you {NOW}x", f"y\tu {NOW}"]
WATCHES = st.sampled_from([*AWAY, *FORMS, *(f"you {NOW + after}" for after in (0, 1, 8, 2000))])


@given(
    after=INSTANTS, watcher=st.sampled_from([b"", b"me"]), watch=WATCHES, offered=st.sampled_from([1, 1000, 3_600_000])
)
def test_it_parks_as_the_model_does(
    policy: ctypes.CDLL, after: float, watcher: bytes, watch: str, offered: int
) -> None:
    space, instant = Keyspace(now_ms=NOW), NOW + after
    if watch:
        space.string(BASE.of(b"watch")).set(watch.encode())
    due, wait_ms = park(space, BASE, watcher, instant, offered)
    written = (space.string(BASE.of(b"watch")).get() or b"").decode()
    outcome = (ctypes.c_longlong * 3)()
    text = watch.encode()
    text_of = (ctypes.c_char_p, ctypes.c_size_t)
    policy.policy_park.argtypes = (
        ctypes.c_double,
        ctypes.c_longlong,
        ctypes.c_longlong,
        *text_of,
        *text_of,
        ctypes.c_void_p,
    )
    policy.policy_park(instant, NOW, offered, watcher, len(watcher), text, len(text), outcome)
    assert tuple(outcome)[:2] == (due, wait_ms)
    assert (f"me {outcome[2]}" if outcome[2] else watch) == written
