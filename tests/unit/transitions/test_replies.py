"""What handles send, and what they make of replies: every answer, and an exception for everything else."""

import pytest

from echomq.errors import (
    KindRefused,
    Loading,
    NoPermission,
    ReadOnly,
    ServerError,
    ServerFull,
    UnexpectedReply,
    WrongType,
)
from echomq.resp.reply import ErrorReply, Reply
from echomq.transitions.call import Call
from echomq.transitions.catalogue import TRANSITIONS
from tests.unit.transitions.table import ROWS, J, Row

ANSWERS = [
    pytest.param(row.call, reply, answer, id=f"{row}-{number}")
    for row in ROWS
    for number, (reply, answer) in enumerate(row.answers)
]

# What no transition says, whichever it is.
NONSENSE: tuple[Reply, ...] = (2.5, "text", {}, {b"a": b"b"}, -7, [None], [[]], [b"odd", 1], [7, 7, 7, 7, 7, 7, 7])

# Near misses: replies of the right transition with a part that is missing, of another type or out of range.
MALFORMED: tuple[tuple[str, Reply], ...] = (
    ("add_log", 0),
    ("add_log", b"5"),
    ("browse", [[b"id"]]),
    ("browse", [[b"id", 7]]),
    ("browse", [[None, b"7"]]),
    ("claim", [b"id", 7, 7]),
    ("claim", [b"id", b"p"]),
    ("claim", [b"id", b"p", b"3"]),
    ("claim_many", [b"claimed", 1, [], [[b"id", b"p", b"no number"]]]),
    ("claim_many", [b"claimed", 1, [], [[b"id", b"p"]]]),
    ("claim_many", [b"claimed", b"1", [], []]),
    ("claim_many", [b"claimed", 1, None, []]),
    ("claim_many", [b"claimed", 1, [], None]),
    ("complete", 2),
    ("complete_many", [b"completed"]),
    ("complete_many", [b"completed", b"completed", b"completed"]),
    ("complete_many", [b"completed", b"odd"]),
    ("complete_many", [b"completed", []]),
    ("counts", [1, 2]),
    ("counts", [1, 2, b"3"]),
    ("delay", 0),
    ("drain", b"1"),
    ("enqueue_many", [1]),
    ("enqueue_many", [1, 2]),
    ("extend", 0),
    ("extend_many", [b"id", 1]),
    ("depth", -1),
    ("depth", b"1"),
    ("gclaim", [b"id", b"p", 3]),
    ("gclaim", [b"id", b"p", 3, None]),
    ("gclaim", [b"id", b"p", b"x", b"red"]),
    ("gclaim", [[b"id", b"p", 3, b"red"]]),
    ("gwclaim", [b"id", b"p", 3, b"red"]),
    ("gbclaim", [[b"id", b"p", 3]]),
    ("gbclaim", None),
    ("gdrain", b"1"),
    ("gdrain", -1),
    ("genqueue", 2),
    ("glimit", 0),
    ("gpause", 0),
    ("gresume", 0),
    ("gweight", 0),
    ("greap_group", -1),
    ("greap_group", b"1"),
    ("greassign", 2),
    ("greassign", -3),
    ("lanes", [b"lanes", b""]),
    ("lanes", [b"lanes", None, []]),
    ("lanes", [b"lanes", b"", [[b"red", 7, 2, 9, 3, 1]]]),
    ("lanes", [b"lanes", b"", [[b"red", b"x", 2, 9, 3, 1, b""]]]),
    ("lanes", [b"lanes", b"", [[b"red", 7, 2, 9, 3, 2, b""]]]),
    ("set_concurrency", 0),
    ("take", [b"taken", 1, 0, 0, [], [[b"id", b"p", 3]]]),
    ("take", [b"taken", 1, 0, 0, [], None]),
    ("take", [b"taken", 2, 0, 0, [], []]),
    ("take", [b"taken", 1, 0, b"soon", [], []]),
    ("take", [b"taken", 1, 0, 0, None, []]),
    ("take", [b"odd", 1, 0, 0, [], []]),
    ("waiting", [b"waiting", 7]),
    ("waiting", [b"waiting", b"7", b""]),
    ("waiting", [b"waiting", -1, b""]),
    ("waiting", [b"waiting", 7, None]),
    ("waiting", [b"lanes", 7, b""]),
    ("wake", 2),
    ("wake", b"1"),
    ("get_job", [b"attempts"]),
    ("get_job", [b"attempts", b"many"]),
    ("get_job", [b"attempts", b"1", b"unspent", b"few"]),
    ("get_result", [b"completed", b"r", b"3", b"late"]),
    ("get_result", [b"completed", None, b"3", b"99"]),
    ("get_result", [b"waiting", b"active", None]),
    ("get_result", [b"dead", None, b"1"]),
    ("get_state", b"odd"),
    ("get_state", b"\xff"),
    ("is_paused", 1),
    ("lease_node", [b"leased", b"7", b"0", None]),
    ("lease_node", [b"exhausted", b"soon"]),
    ("logs", [b"logs", 1, [None]]),
    ("logs", [b"logs", b"1", []]),
    ("metrics", [1, b"2"]),
    ("obliterate", 1),
    ("obliterate", b"odd"),
    ("obliterate", ErrorReply("EMQSTATE odd")),
    ("promote", b"1"),
    ("purge", [b"purged", 1, None]),
    ("purge", [b"purged", b"1", b""]),
    ("reap", 3),
    ("reap", [b"reaped", 1, [], []]),
    ("reap", [b"reaped", 1, [], [], None]),
    ("reap", [b"reaped", 1, [7], [], []]),
    ("remove", 0),
    ("repair", [b"repaired", b"x", []]),
    ("repair", [b"repaired", b"0", None]),
    ("reprocess", 0),
    ("reprocess_many", [b"reprocessed", 1, 7]),
    ("reschedule", [b"scheduled", b"soon"]),
    ("reschedule", [b"scheduled"]),
    ("retry", b"odd"),
    ("schedule", 2),
)


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_a_handle_sends_the_keys_and_arguments_of_its_contract(row: Row) -> None:
    assert tuple(row.call.keys) == row.keys
    assert tuple(row.call.args) == row.args
    assert [type(arg) for arg in row.call.args] == [type(arg) for arg in row.args]


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_a_call_has_no_more_keys_and_arguments_than_its_transition_declares(row: Row) -> None:
    declared = row.call.transition
    more_keys = len(row.call.keys) - len(declared.keys)
    more_args = len(row.call.args) - len(declared.args)
    assert more_keys <= 0 or declared.more_keys is not None
    assert more_args <= 0 or more_args % len(declared.more_args) == 0


@pytest.mark.parametrize(("call", "reply", "answer"), ANSWERS)
def test_each_reply_becomes_its_answer(call: Call[object], reply: Reply, answer: object) -> None:
    decoded = call.decode(reply)
    assert decoded == answer
    assert type(decoded) is type(answer)


def test_every_transition_has_a_reply_in_this_table() -> None:
    assert {str(row) for row in ROWS if row.answers} == {transition.name for transition in TRANSITIONS}


@pytest.mark.parametrize("reply", NONSENSE, ids=repr)
@pytest.mark.parametrize("row", ROWS, ids=str)
def test_a_reply_that_no_transition_has_is_unexpected(row: Row, reply: Reply) -> None:
    with pytest.raises(UnexpectedReply) as caught:
        row.call.decode(reply)
    assert caught.value.reply is reply
    assert caught.value.about == row.call.about


@pytest.mark.parametrize(("name", "reply"), MALFORMED, ids=repr)
def test_a_reply_with_a_wrong_part_is_refused_as_a_whole(name: str, reply: Reply) -> None:
    call = next(row.call for row in ROWS if str(row) == name)
    with pytest.raises(ServerError if isinstance(reply, ErrorReply) else UnexpectedReply):
        call.decode(reply)


@pytest.mark.parametrize("row", [row for row in ROWS if row.answers], ids=str)
@pytest.mark.parametrize(
    ("text", "raised"),
    [
        ("EMQKIND x is no job id", KindRefused),
        ("WRONGTYPE the row of x is not a hash", WrongType),
        ("OOM command not allowed", ServerFull),
        ("READONLY You can't write", ReadOnly),
        ("LOADING the dataset", Loading),
        ("NOPERM this user", NoPermission),
        ("ERR lease_ms must be a whole number", ServerError),
        ("EMQRATE of another edition", ServerError),
    ],
)
def test_an_error_reply_becomes_the_exception_of_its_first_word(row: Row, text: str, raised: type[ServerError]) -> None:
    with pytest.raises(raised) as caught:
        row.call.decode(ErrorReply(text))
    assert type(caught.value) is raised
    assert caught.value.word == text.split(maxsplit=1)[0]
    assert text in str(caught.value)


def test_the_message_names_the_job_or_the_queue() -> None:
    for row in ROWS:
        about = row.call.about
        assert str(J) in about or about.endswith(("of mail", "of a node number")), about
