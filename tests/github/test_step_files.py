"""Outputs and summary, within the runner's limits."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.errors import PublishError
from ratiba_action.github.step_files import remember, trim, write_outputs, write_summary


def read_outputs(text: str) -> dict[str, str]:
    """Outputs as the runner reads them."""
    values, lines = {}, text.split("\n")
    while lines and lines[0]:
        name, delimiter = lines.pop(0).split("<<", 1)
        end = lines.index(delimiter)
        values[name] = "\n".join(lines[:end])
        lines = lines[end + 1 :]
    return values


@given(value=st.text(alphabet=st.characters(exclude_categories=["Cs"])))
def test_any_value_is_read_back_and_adds_no_output(tmp_path_factory: pytest.TempPathFactory, value: str) -> None:
    path = tmp_path_factory.mktemp("runner") / "output"
    write_outputs(remember(path), {"reasons": value, "passed": "3"})
    assert read_outputs(path.read_bytes().decode()) == {"reasons": value, "passed": "3"}


def test_a_value_that_holds_the_delimiter_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    path = tmp_path / "output"
    with pytest.raises(PublishError, match="'reasons'"):
        write_outputs(remember(path), {"mode": "skip", "reasons": "x\nratiba_word\nforged=1"}, new_token=lambda: "word")
    assert not path.exists()


@pytest.mark.parametrize("name", ["", "a=b", "a\nb", "a<<b"])
def test_a_name_that_is_none_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(PublishError, match="name is not one"):
        write_outputs(remember(tmp_path / "output"), {name: "x"})


def test_outputs_of_earlier_commands_stay(tmp_path: Path) -> None:
    path = tmp_path / "output"
    path.write_text("mode=blocking\n")
    write_outputs(remember(path), {"passed": "1"})
    assert path.read_text().startswith("mode=blocking\npassed<<ratiba_")


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(PublishError, match="missing"):
        write_outputs(remember(tmp_path / "missing" / "output"), {"passed": "1"})
    with pytest.raises(PublishError, match="summary"):
        write_summary(remember(tmp_path), "x")


def test_what_the_step_wrote_before_counts_towards_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "summary"
    path.write_text("x" * 900)
    write_summary(remember(path), "Kept.\n\n" + "y" * 500, limit=1_024)
    assert path.stat().st_size <= 1_024
    assert path.read_text().startswith("x" * 900 + "Kept.\n\nThe summary was cut here")


def test_nothing_is_added_to_a_full_summary(tmp_path: Path) -> None:
    path = tmp_path / "summary"
    path.write_text("x" * 1_024)
    write_summary(remember(path), "more", limit=1_024)
    assert path.stat().st_size == 1_024


def test_the_cut_never_falls_into_a_folded_part_or_a_code_block() -> None:
    text = "Top.\n\n<details><summary>a</summary>\n\n````text\n```\n\nx\n````\n\nlong " + "y" * 400 + "\n\n</details>\n"
    assert trim(text, 300).split("\n\n")[0] == "Top."
    assert "<details>" not in trim(text, 300)


@given(st.text(alphabet="a`\n é🙂<", max_size=400), st.integers(0, 500))
def test_the_limit_holds_in_bytes(text: str, limit: int) -> None:
    assert len(trim(text, limit).encode()) <= limit
