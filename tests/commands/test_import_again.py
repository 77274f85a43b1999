"""A second import updates what the first one wrote, and keeps what a person changed."""

import json
from pathlib import Path
from typing import Any

import pytest

from ratiba_action.errors import UsageError
from ratiba_action.util.locked_folder import change_files
from tests.support.command_run import CommandRun

ONE, TWO = "scenarios/a/a_one.yaml", "scenarios/a/a_two.yaml"
REPORT = "scenarios/a/import-report.md"


def source(folder: Path, **values: str) -> None:
    """Write a test for each name, which wants a text."""
    tests = [
        {"description": name, "vars": {"q": name}, "assert": [{"type": "icontains", "value": value}]}
        for name, value in values.items()
    ]
    (folder / "a.json").write_text(json.dumps({"tests": tests}))


def again(command: CommandRun, *words: str) -> dict[str, Any]:
    printed = command.json("import", "promptfoo", "a.json", *words)
    names = ("written", "updated", "kept", "removed")
    return {name: printed[name] for name in names if printed[name]} | {"conflicts": [*printed["conflicts"]]}


def test_what_nobody_changed_follows_its_source(folder: Path, command: CommandRun) -> None:
    source(folder, one="yes", two="no")
    assert again(command) == {"written": [ONE, TWO], "conflicts": []}
    source(folder, one="maybe", three="so")
    changed = {"written": ["scenarios/a/a_three.yaml"], "updated": [ONE], "removed": [TWO], "conflicts": []}
    before = (folder / ONE).read_bytes()
    assert again(command, "--dry-run") == changed
    assert (folder / ONE).read_bytes() == before
    assert again(command) == changed
    assert "maybe" in (folder / ONE).read_text()
    assert not (folder / TWO).exists()
    assert again(command) == {"conflicts": []}


def test_what_a_person_changed_or_removed_stays(folder: Path, command: CommandRun) -> None:
    source(folder, one="yes", two="no")
    again(command)
    mine = (folder / ONE).read_text() + "critical: true\n"
    (folder / ONE).write_text(mine)
    (folder / TWO).unlink()
    assert again(command) == {"kept": [ONE, TWO], "conflicts": []}
    assert (folder / ONE).read_text() == mine
    assert not (folder / TWO).exists()


def test_what_both_changed_stays_and_the_report_has_the_other_content(folder: Path, command: CommandRun) -> None:
    source(folder, one="yes")
    again(command)
    mine = (folder / ONE).read_text() + "critical: true\n"
    (folder / ONE).write_text(mine)
    source(folder, one="maybe")
    assert again(command) == {"conflicts": [ONE]}
    assert (folder / ONE).read_text() == mine
    report = (folder / REPORT).read_text()
    assert ONE in report
    assert "maybe" in report
    assert again(command) == {"kept": [ONE], "conflicts": []}


def test_a_test_that_is_gone_stays_where_a_person_changed_its_scenario(folder: Path, command: CommandRun) -> None:
    source(folder, one="yes", two="no")
    again(command)
    (folder / TWO).write_text((folder / TWO).read_text() + "critical: true\n")
    source(folder, one="yes")
    assert again(command) == {"kept": [TWO], "conflicts": []}


def test_another_import_with_the_same_prefix_removes_nothing(folder: Path, command: CommandRun) -> None:
    source(folder, one="yes")
    again(command)
    (folder / "b.csv").write_text("q,__expected\ntwo,icontains:x\n")
    command("import", "promptfoo", "b.csv", "--prefix", "a")
    assert (folder / ONE).exists()
    assert (folder / TWO).exists()


def test_the_configuration_that_an_import_wrote_is_updated_and_one_of_a_person_is_not(
    folder: Path, command: CommandRun
) -> None:
    def configured(model: str) -> None:
        tests = [{"description": "one", "vars": {"q": "x"}, "assert": [{"type": "icontains", "value": "x"}]}]
        content = {"prompts": ["{{q}}"], "providers": [f"openai:{model}"], "tests": tests}
        (folder / "a.json").write_text(json.dumps(content))

    configured("gpt-4.1")
    again(command)
    configured("gpt-4.1-mini")
    assert again(command) == {"updated": [".github/ratiba.yml"], "conflicts": []}
    path = folder / ".github/ratiba.yml"
    path.write_text(path.read_text() + "suite: {concurrency: 2}\n")
    configured("gpt-4.1")
    assert again(command)["conflicts"] == []
    assert "gpt-4.1-mini" in path.read_text()


@pytest.mark.parametrize("content", ["[]", '{"x": 5}', '{"x": {"y": 1}}', "{"])
def test_a_list_of_imported_files_that_is_none_is_refused(content: str, folder: Path, command: CommandRun) -> None:
    source(folder, one="yes")
    again(command)
    (folder / "scenarios/a/.imported.json").write_text(content)
    with pytest.raises(UsageError, match="does not list files with their digests"):
        again(command)


def test_a_folder_in_the_place_of_a_file_is_named_and_nothing_is_written(folder: Path, command: CommandRun) -> None:
    source(folder, one="yes")
    again(command)
    before = (folder / ONE).read_text()
    source(folder, one="maybe", three="so")
    (folder / "scenarios/a/a_three.yaml").mkdir()
    with pytest.raises(UsageError, match="a_three"):
        again(command)
    assert (folder / ONE).read_text() == before


def test_if_one_file_cannot_be_written_the_others_are_as_before(folder: Path) -> None:
    (folder / "one").write_text("1")
    (folder / "two").write_text("2")
    (folder / "link").symlink_to(folder.parent)
    with pytest.raises(UsageError, match="behind a symbolic link"):
        change_files(folder, {"one": b"new", "two": None, "three": b"new", "link/four": b"new"})
    assert sorted(path.name for path in folder.iterdir()) == ["link", "one", "two"]
    assert ((folder / "one").read_text(), (folder / "two").read_text()) == ("1", "2")


def test_the_report_has_a_row_a_kind_with_its_count(folder: Path, command: CommandRun) -> None:
    asserts = [{"type": "icontains", "value": "{{ none }}"}, {"type": "icontains", "value": "y"}]
    tests = [{"vars": {"q": f"question {each}"}, "assert": asserts} for each in range(30)]
    (folder / "a.json").write_text(json.dumps({"tests": tests}, indent=1))
    again(command)
    report = (folder / REPORT).read_text()
    assert "| 30 | test | a scenario |" in report
    assert len(report.splitlines()) < 40
