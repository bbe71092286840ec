"""How a body is put together, and that each body says what it is given and uses what it is given."""

import hashlib
import re
from collections.abc import Iterator
from importlib.resources import files

import pytest

from echomq.transitions import complete, counts, enqueue, extend_many
from echomq.transitions._bodies import body_of, locate
from echomq.transitions.call import Transition
from echomq.transitions.catalogue import TRANSITIONS

FOLDER = files("echomq.transitions")
FRAGMENTS = sorted(
    entry.name.removesuffix(".lua") for entry in (FOLDER / "shared").iterdir() if entry.name.endswith(".lua")
)
USE = re.compile(r"^--@use (\w+)$", re.MULTILINE)
SUFFIXES = {"lane": "g:"}
each = pytest.mark.parametrize("transition", TRANSITIONS, ids=lambda transition: transition.name)


def source(name: str) -> str:
    return (FOLDER / f"{name}.lua").read_text(encoding="utf-8")


def shared(name: str) -> str:
    return source(f"shared/{name}")


def code(text: str) -> str:
    """Return a body without its comments."""
    return "\n".join(line.split("--", 1)[0] for line in text.splitlines())


def uses(text: str) -> set[str]:
    """Return every fragment that a text uses, also through others."""
    found = set(USE.findall(text))
    return found | {deeper for name in found for deeper in uses(shared(name))}


def defined(text: str) -> set[str]:
    """Return the names that a fragment brings into a script: its functions, and the values that it keeps."""
    found = set(re.findall(r"^local function (\w+)\(", text, re.MULTILINE))
    for names_of in re.findall(r"^local (?!function\b)([\w, ]+)", text, re.MULTILINE):
        found |= set(re.split(r",\s*", names_of.strip()))
    return found - {"_"}


def mentions(text: str, name: str) -> bool:
    """Whether the code uses a name that another fragment brings: calls it, reads it or writes it."""
    return re.search(rf"(?<![\w.'])(?<!local ){name}\b(?!')", code(text)) is not None


BRINGS = {name: defined(shared(name)) for name in FRAGMENTS}


def header(text: str) -> Iterator[tuple[str, str]]:
    """Return the lines of the opening comment, each with the section it stands in."""
    section = ""
    for line in text.splitlines():
        if not line.startswith("--") or line.startswith("--@"):
            return
        begun = re.match(r"^-- (keys|args|reply)  *(?=\S)", line)
        if begun:
            section = begun.group(1)
            yield section, line[begun.end() :]
        elif section and line.startswith("--        "):
            yield section, line[10:]
        else:
            section = ""


def names(text: str, section: str) -> list[str]:
    """Return the names that a section of the header lists: the words before two blanks, a bracket or a semicolon."""
    found: list[str] = []
    for where, line in header(text):
        if where == section and not line.startswith(" "):
            listed = re.split(r"   |\(|;", line)[0]
            found += [word for word in re.split(r",\s*", listed.strip().removesuffix(",")) if word != "then"]
    return [] if found == ["none"] else found


@each
def test_the_header_lists_exactly_the_declared_keys_and_arguments(transition: Transition) -> None:
    text = source(transition.name)
    more_keys = (transition.more_keys,) if transition.more_keys else ()
    assert names(text, "keys") == [*transition.keys, *more_keys]
    assert names(text, "args") == [*transition.args, *transition.more_args]


@each
def test_the_header_opens_with_the_name_and_has_a_reply(transition: Transition) -> None:
    text = source(transition.name)
    assert text.startswith(f"-- {transition.name}: ")
    assert any(section == "reply" for section, _ in header(text))
    told = "ours" if transition.section == "ours" else transition.section
    assert told in text.splitlines()[0] or transition.name == "browse"


@each
def test_a_body_uses_every_key_and_argument_it_is_given(transition: Transition) -> None:
    text = code(source(transition.name))
    for name in transition.args:
        assert re.search(rf"\b{name}\b", text), f"{transition.name} never looks at {name}"
    whole = code(body_of(transition).text.decode())
    for key in transition.keys:
        # A fragment that many bodies share builds the key from the base, as it does for jobs that a body comes upon.
        used = re.search(rf"\b{key}_key\b", text) or f"'{SUFFIXES.get(key, key)}'" in whole
        assert used, f"{transition.name} never looks at {key}"
    for given, bound in ((transition.more_keys, "more_keys_at"), (transition.more_args, "more_args_at")):
        assert bool(given) == (bound in text)


@each
def test_no_argument_hides_a_function_of_lua(transition: Transition) -> None:
    taken = {"error", "type", "next", "pairs", "select", "string", "table", "math", "redis", "cjson", "unpack"}
    assert not taken & {*transition.args, *[f"{key}_key" for key in transition.keys]}


@each
def test_a_body_uses_the_fragments_it_names_and_names_those_it_uses(transition: Transition) -> None:
    check_fragments(source(transition.name))


@pytest.mark.parametrize("fragment", FRAGMENTS)
def test_a_fragment_names_the_fragments_it_uses_and_defines_the_function_of_its_name(fragment: str) -> None:
    text = shared(fragment)
    opening = re.match(r"-- (\w+)(?:\(|: )", text)
    assert opening is not None
    assert opening.group(1) in BRINGS[fragment], "the first line names what the fragment brings"
    assert fragment in BRINGS[fragment] or fragment in NAMED_FOR_A_THING
    check_fragments(text)


NAMED_FOR_A_THING = {"parking"}
"""Fragments of several functions, none of which is the one that matters."""


def check_fragments(text: str) -> None:
    own = defined(text)
    brought = {name: BRINGS[name] - own for name in FRAGMENTS}
    used = {name for name, names_of in brought.items() if any(mentions(text, each_name) for each_name in names_of)}
    called = {name for name in used if any(re.search(rf"\b{each_name}\(", code(text)) for each_name in brought[name])}
    assert called <= uses(text), "a function is called that no fragment brings"
    assert set(USE.findall(text)) <= used, "a fragment is named and not used"


def test_every_fragment_is_used_by_a_body() -> None:
    used = {name for transition in TRANSITIONS for name in uses(source(transition.name))}
    assert used == set(FRAGMENTS)


@each
def test_a_whole_script_has_each_fragment_once_and_before_its_use(transition: Transition) -> None:
    text = body_of(transition).text.decode()
    for fragment in uses(source(transition.name)):
        for name in {fragment} & BRINGS[fragment]:
            definitions = [*re.finditer(rf"^local (?:function )?(?:\w+, )*{name}\b", code(text), re.MULTILINE)]
            assert len(definitions) == 1, name
            begun, ended = definitions[0].span()
            uses_of = [match.start() for match in re.finditer(rf"\b{name}[(.[]", code(text))]
            others = [at for at in uses_of if not begun <= at < ended]
            assert others, name
            assert begun < others[0]


@each
def test_a_script_is_known_by_the_hash_of_its_text(transition: Transition) -> None:
    body = body_of(transition)
    assert body.sha1.decode() == hashlib.sha1(body.text, usedforsecurity=False).hexdigest()
    assert len(body.origins) == len(body.text.decode().split("\n"))
    assert body_of(transition) is body


@each
def test_each_line_of_a_script_can_be_found_again_in_its_file(transition: Transition) -> None:
    lines = body_of(transition).text.decode().split("\n")
    for number, line in enumerate(lines, start=1):
        place = locate(transition, f"ERR odd script: abc, on @user_script:{number}.")
        assert place is not None
        file, _, row = place.rpartition(":")
        if "bound names" not in file:
            text = (FOLDER / file).read_text(encoding="utf-8")
            assert text.splitlines()[int(row) - 1] == line


def test_a_message_that_names_no_line_has_no_place() -> None:
    assert locate(enqueue.TRANSITION, "ERR odd") is None
    assert locate(enqueue.TRANSITION, "ERR odd on @user_script:99999.") is None


def test_a_function_of_a_library_is_found_like_a_script() -> None:
    assert locate(enqueue.TRANSITION, "ERR on @user_function:1.") == "enqueue (bound names):1"


def test_names_are_bound_to_their_positions() -> None:
    assert body_of(complete.TRANSITION).text.decode().splitlines()[1:3] == [
        "local active_key, job_key = KEYS[1], KEYS[2]",
        "local id, token, base, result_ttl_ms, result = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]",
    ]
    assert body_of(counts.TRANSITION).text.decode().splitlines()[1:4] == [
        "local base_key = KEYS[1]",
        "local more_keys_at = 2",
        "local more_args_at, more_args_width = 1, 1",
    ]


def test_a_script_opens_with_the_refusal_of_too_few_and_too_many_keys_and_arguments() -> None:
    refusal = "complete takes the keys active job and the arguments id token base [result_ttl_ms] [result]"
    assert complete.TRANSITION.arity == refusal
    assert body_of(complete.TRANSITION).text.decode().splitlines()[0] == (
        f"if #KEYS ~= 2 or #ARGV < 3 or #ARGV > 5 then return redis.error_reply('ERR {refusal}') end"
    )
    assert (
        body_of(extend_many.TRANSITION)
        .text.decode()
        .splitlines()[0]
        .startswith("if #KEYS ~= 1 or #ARGV < 2 or #ARGV % 2 ~= 0 then")
    )
    assert body_of(counts.TRANSITION).text.decode().splitlines()[0].startswith("if #KEYS < 1 then")
    assert counts.TRANSITION.arity == "counts takes the keys base {set} and the arguments {metric}"


@each
def test_a_transition_takes_its_names_less_the_optional_ones_and_whole_groups(transition: Transition) -> None:
    keys, args = len(transition.keys), len(transition.args)
    for count in range(max(keys, args) + 9):
        fits = keys - transition.optional_keys <= count <= keys or (count > keys and transition.more_keys is not None)
        assert transition.takes(count, args) == fits
        further = count - args
        whole = bool(transition.more_args) and further > 0 and further % len(transition.more_args) == 0
        assert transition.takes(keys, count) == (-transition.optional <= further <= 0 or whole)


def test_a_missing_body_is_named() -> None:
    odd = Transition(name="no_such_thing", keys=(), args=(), repeatable=True, section="ours")
    with pytest.raises(LookupError, match=r"echomq/transitions/no_such_thing\.lua is missing"):
        body_of(odd)
