import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.util.text import few, printable, printable_lines, ranges


def test_plain_text_stays_as_it_is() -> None:
    assert printable("docs/Habari yako é 漢.md") == "docs/Habari yako é 漢.md"


def test_what_is_not_utf8_and_what_hides_is_spelled_out() -> None:
    name = b"a\xff\n\x1b[31m".decode("utf-8", "surrogateescape") + "\u202e\u2028"

    assert printable(name) == "a\\xff\\n\\x1b[31m\\u202e\\u2028"


@given(st.text())
def test_the_result_is_one_line_that_encodes_and_commands_nothing(text: str) -> None:
    shown = printable(text)

    assert shown.encode("utf-8") is not None
    assert len(shown.splitlines()) <= 1
    assert "##[" not in shown


def test_lines_stay_lines_and_tabs_become_spaces() -> None:
    assert printable_lines("one\r\n\ttwo\rthree\x1b[2J\n") == "one\n    two\nthree\\x1b[2J\n"


@given(st.text())
def test_each_of_several_lines_is_printable(text: str) -> None:
    shown = printable_lines(text)

    assert not {unicodedata.category(one) for one in shown.replace("\n", "")} & {
        "Cc",
        "Cf",
        "Cs",
        "Co",
        "Cn",
        "Zl",
        "Zp",
    }
    assert "##[" not in shown


def test_the_first_of_many_are_listed_with_the_number_of_the_others() -> None:
    assert few(["a", "b"], 2) == "a, b"
    assert few(["a", "b", "c", "d"], 2) == "a, b and 2 more"
    assert few(["a", "b", "c"], 2, "; ") == "a; b; and 1 more"
    assert few([], 2) == ""


def test_neighbouring_numbers_are_one_range() -> None:
    assert ranges([3, 1, 2, 9, 9, 11]) == ["1-3", "9", "11"]
    assert ranges([]) == []
