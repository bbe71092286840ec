import pytest

from echomq.worker.failure import describe, refused_result


class Mute(Exception):
    def __str__(self) -> str:
        raise ValueError("no words")


class Wordless(Exception):
    def __str__(self) -> str:
        return 5  # type: ignore[return-value]  # noqa: PLE0307 - on purpose


def raised(error: BaseException) -> BaseException:
    try:
        raise error  # noqa: TRY301 - only a raised one has a traceback
    except BaseException as same:
        return same


def deep(depth: int) -> None:
    if depth == 0:
        raise ValueError("at the bottom")
    deep(depth - 1)


def test_a_failure_tells_type_message_and_where() -> None:
    text = describe(raised(ValueError("boom")))
    assert text.startswith("ValueError: boom\n")
    assert "test_failure.py" in text


def test_a_class_of_the_users_tells_its_module() -> None:
    assert describe(Wordless()).split(".")[-1].startswith("Wordless")


def test_an_exception_without_text_is_its_type() -> None:
    assert describe(KeyError()) == "KeyError"


def test_an_exception_whose_text_cannot_be_made_is_described_all_the_same() -> None:
    assert "its text could not be made: ValueError" in describe(Mute())
    assert "its text could not be made: TypeError" in describe(Wordless())


def test_a_long_message_is_cut_and_says_so() -> None:
    text = describe(ValueError("x" * 10_000_000))
    assert len(text) < 3_000
    assert "(10000000 characters)" in text


def test_lone_surrogates_are_replaced() -> None:
    assert describe(ValueError("\udcff\udcfe")) == "ValueError: ??"


def test_a_group_tells_its_members_up_to_a_bound() -> None:
    text = describe(ExceptionGroup("several", [ValueError(str(n)) for n in range(100)]))
    assert "ValueError: 0" in text
    assert "ValueError: 9" in text
    assert "ValueError: 10" not in text


def test_the_cause_is_told() -> None:
    error = ValueError("outer")
    error.__cause__ = KeyError("inner")
    assert "after KeyError: 'inner'" in describe(error)


def test_a_deep_traceback_keeps_its_end_within_a_bound() -> None:
    with pytest.raises(ValueError) as caught:
        deep(900)
    text = describe(caught.value)
    assert len(text) < 9_000
    assert "at the bottom" in text


def test_a_result_that_is_not_bytes_is_named() -> None:
    assert "returned a dict" in refused_result({})
    assert "bytearray" in refused_result(bytearray())


async def test_a_coroutine_as_result_tells_how_to_mend_it() -> None:
    async def handler() -> None: ...

    made = handler()
    assert "async def" in refused_result(made)
    made.close()
