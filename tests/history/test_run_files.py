"""Runs without a database: files of a folder or of a branch."""

import json
import os
from pathlib import Path

import pytest

from ratiba_action.errors import ConfigurationError
from ratiba_action.history.run_files import find_runs
from ratiba_action.model.verdict import Report
from ratiba_action.reporting.results_json import packed, render_results
from ratiba_action.reporting.summary import summarise
from ratiba_action.util.git import Git
from tests.support.git_repository import GitRepository
from tests.support.run_history import branch_run, write_history


def no_git() -> None:
    return None


def text_of(report: Report) -> str:
    return render_results(summarise(report))


def run_of(report: Report) -> int:
    return report.subject.run_id


def test_plain_and_compressed_files_are_read_at_any_depth(tmp_path: Path) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "a/results.json").write_text(text_of(branch_run(0)))
    (tmp_path / "a/b/2.json.gz").write_bytes(packed(text_of(branch_run(1)).encode()))
    (tmp_path / "notes.md").write_text("no run")
    found = find_runs(str(tmp_path), no_git).read(run_of)
    assert found.runs == (("a/b/2.json.gz", 1001), ("a/results.json", 1000))
    assert found.broken == ()


def test_a_file_beside_its_compressed_copy_is_read_once(tmp_path: Path) -> None:
    (tmp_path / "results.json").write_text(text_of(branch_run(0)))
    (tmp_path / "results.json.gz").write_bytes(packed(text_of(branch_run(0)).encode()))
    assert [name for name, _ in find_runs(str(tmp_path), no_git).read(run_of).runs] == ["results.json"]


def test_what_an_earlier_version_wrote_is_read(tmp_path: Path) -> None:
    content = json.loads(text_of(branch_run(0)))
    for new in ("covered", "unfit", "reads", "merges", "caveats", "system_ran", "traces"):
        content["report"].pop(new)
    (tmp_path / "old.json").write_text(json.dumps(content))
    assert find_runs(str(tmp_path), no_git).read(run_of).runs == (("old.json", 1000),)


def test_every_broken_file_is_named_with_its_reason_and_the_others_are_read(tmp_path: Path) -> None:
    write_history(tmp_path, [branch_run(0)])
    (tmp_path / "broken.json").write_text("{")
    (tmp_path / "cut.json.gz").write_bytes(packed(text_of(branch_run(1)).encode())[:-40])
    (tmp_path / "future.json").write_text('{"schema": 9}')
    (tmp_path / "link.json").symlink_to("/etc/hostname")
    found = find_runs(str(tmp_path), no_git).read(run_of)
    assert [run for _, run in found.runs] == [1000]
    problems = {broken.name: broken.problem for broken in found.broken}
    assert list(problems) == ["broken.json", "cut.json.gz", "future.json", "link.json"]
    assert "could not be read as JSON" in problems["broken.json"]
    assert "its end is missing" in problems["cut.json.gz"]
    assert "schema 9" in problems["future.json"]
    assert "symbolic link" in problems["link.json"]


@pytest.mark.parametrize("place", ["refs/heads/ratiba-history", "refs/remotes/origin/ratiba-history"])
def test_a_branch_of_the_repository_or_of_its_remote_is_read(place: str, repository: GitRepository) -> None:
    commit = repository.commit({"runs/1.json.gz": packed(text_of(branch_run(4)).encode()), "runs/2.json": "nothing"})
    repository.git("update-ref", place, commit)
    found = find_runs("ratiba-history", lambda: Git(repository.folder, os.environ)).read(run_of)
    assert found.runs == (("runs/1.json.gz", 1004),)
    assert [broken.name for broken in found.broken] == ["runs/2.json"]


def test_what_is_neither_folder_nor_branch_is_refused_with_what_to_do(repository: GitRepository) -> None:
    repository.commit({"a": "b"})
    for git in (no_git, lambda: Git(repository.folder, os.environ)):
        with pytest.raises(ConfigurationError, match="'elsewhere' is neither a folder nor a branch") as refused:
            find_runs("elsewhere", git)
        assert "git fetch origin ratiba-history:ratiba-history" in refused.value.remedy
