"""Workflow commands that no text can forge."""

import io
import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.github.workflow import (
    Annotation,
    WorkflowLog,
    escape_data,
    escape_property,
)


def logged(*annotations: Annotation) -> list[str]:
    stream = io.StringIO()
    WorkflowLog(stream).annotate(annotations)
    return stream.getvalue().splitlines()


def test_an_error_names_its_place() -> None:
    line = logged(Annotation("Ratiba: spa", "expected A, got B", "scenarios/spa.yaml", 12))
    assert line == ["::error file=scenarios/spa.yaml,line=12,title=Ratiba%3A spa::expected A, got B"]


def test_data_and_properties_are_escaped() -> None:
    assert escape_data("50%\r\nmore::x") == "50%25%0Amore::x"
    assert escape_property("a:b,c%") == "a%3Ab%2Cc%25"


@given(st.text(), st.text(), st.text())
def test_any_text_is_one_command_on_one_line(title: str, message: str, path: str) -> None:
    stream = io.StringIO()
    WorkflowLog(stream).annotate([Annotation(title, message, path, 1)])
    line = stream.getvalue()
    assert line.count("\n") == 1
    assert "\r" not in line
    assert "##[" not in line
    assert line.startswith("::error ")
    properties = line.removeprefix("::error ").split("::", 1)[0]
    assert all(re.fullmatch(r"(file|line|title)=[^:,]*", item, re.DOTALL) for item in properties.split(",") if item)


def test_more_than_ten_failures_are_counted_in_the_tenth() -> None:
    lines = logged(*(Annotation("t", f"m{n}") for n in range(13)))
    assert len(lines) == 10
    assert "4 more failures" in lines[-1]
    assert len(logged(*(Annotation("t", f"m{n}") for n in range(10)))) == 10


def test_a_long_message_is_cut_where_the_runner_would() -> None:
    message = logged(Annotation("t", "x" * 5_000))[0].split("::", 2)[2]
    assert len(message) == 4_096


def test_plain_text_is_printed_between_stop_commands() -> None:
    stream = io.StringIO()
    with WorkflowLog(stream, new_token=lambda: "deadbeef").plain():
        stream.write("::error::x\n")
    assert stream.getvalue().splitlines() == ["::stop-commands::deadbeef", "::error::x", "::deadbeef::"]


def test_a_group_is_closed_after_an_error_and_its_title_is_no_command() -> None:
    stream = io.StringIO()
    with pytest.raises(ValueError, match="printer"), WorkflowLog(stream).group("Why\n::error::x"):
        raise ValueError("printer")
    assert stream.getvalue().splitlines() == ["::group::Why%0A::error::x", "::endgroup::"]


def test_commands_come_back_after_an_error() -> None:
    stream = io.StringIO()
    log = WorkflowLog(stream, new_token=lambda: "deadbeef")
    with pytest.raises(ValueError, match="printer"), log.plain():
        raise ValueError("printer")
    assert stream.getvalue().endswith("::deadbeef::\n")


def test_each_stretch_has_its_own_word() -> None:
    stream = io.StringIO()
    log = WorkflowLog(stream)
    for _ in range(2):
        with log.plain():
            stream.write("a\n")
    words = re.findall(r"::stop-commands::(\w{32})", stream.getvalue())
    assert len(set(words)) == 2


def test_each_line_of_a_secret_is_masked() -> None:
    stream = io.StringIO()
    WorkflowLog(stream).mask("one%\n\ntwo")
    assert stream.getvalue() == "::add-mask::one%25\n::add-mask::two\n"


@given(st.text(alphabet="#[]\x1b\r\n a"))
def test_the_older_command_syntax_is_always_broken(text: str) -> None:
    assert "##[" not in escape_data(text)


@given(st.text())
def test_a_message_holds_nothing_that_a_terminal_obeys(text: str) -> None:
    categories = {unicodedata.category(one) for one in escape_data(text)}
    assert not categories & {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def test_a_secret_is_masked_exactly_as_it_is() -> None:
    stream = io.StringIO()
    WorkflowLog(stream).mask("a\x1b##[\u200bb")
    assert stream.getvalue() == "::add-mask::a\x1b##[\u200bb\n"
