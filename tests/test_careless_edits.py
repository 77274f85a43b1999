"""The list of careless and harmless edits fits the examples that it edits; the gate itself takes an hour."""

import pytest

from benchmarks.careless_edits import CARELESS, HARMLESS, UNSEEN, UNSEEN_AGAIN, Edit, is_right


def test_there_are_thirty_careless_and_twenty_harmless_edits_of_five_examples() -> None:
    assert (len(CARELESS), len(HARMLESS)) == (30, 20)
    assert len({edit.example for edit in CARELESS}) == len({edit.example for edit in HARMLESS}) == 5
    assert (len(UNSEEN), len(UNSEEN_AGAIN)) == (10, 15)
    assert len({edit.example for edit in UNSEEN}) == len({edit.example for edit in UNSEEN_AGAIN}) == 5
    assert not any(edit.harmless for edit in (*CARELESS, *UNSEEN, *UNSEEN_AGAIN))
    assert all(edit.harmless for edit in HARMLESS)


@pytest.mark.parametrize(
    "edit", [*CARELESS, *UNSEEN, *UNSEEN_AGAIN, *HARMLESS], ids=lambda edit: f"{edit.example}: {edit.says}"
)
def test_an_edit_changes_one_place_and_leaves_code_that_python_reads(edit: Edit) -> None:
    text = edit.path.read_text("utf-8")
    assert text.count(edit.old) == 1
    edited = text.replace(edit.old, edit.new)
    assert edited != text
    if edit.path.suffix == ".py":
        compile(edited, str(edit.path), "exec")


@pytest.mark.parametrize(
    ("harmless", "conclusion", "named", "right"),
    [
        (False, "failed", False, True),
        (False, "incomplete", True, True),
        (False, "incomplete", False, False),
        (False, "passed", False, False),
        (True, "passed", False, True),
        (True, "incomplete", True, False),
    ],
)
def test_a_careless_edit_is_stopped_or_named_and_a_harmless_one_passes(
    conclusion: str, *, harmless: bool, named: bool, right: bool
) -> None:
    assert is_right(Edit("a", "b", "c", "d", "e", harmless), conclusion, named=named) is right
