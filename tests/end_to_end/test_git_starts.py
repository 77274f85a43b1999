"""How often a small run starts git, by a program of that name that writes down what it is asked."""

import os
import shlex
import shutil
from pathlib import Path

import pytest

from benchmarks.one_scenario import BOT, SMALL
from tests.support.git_repository import GitRepository
from tests.support.small_repository import run_process

pytestmark = pytest.mark.processes

LISTINGS = ("ls-files -z --stage -t", "ls-files -z --others --exclude-standard")


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A folder with git, which leaves the questions in ``asked``."""
    git = tmp_path / "programs/git"
    git.parent.mkdir()
    asked, real = shlex.quote(str(tmp_path / "asked")), shlex.quote(shutil.which("git") or "git")
    git.write_text(f'#!/bin/sh\nprintf "%s\\n" "$*" >> {asked}\nexec {real} "$@"\n')
    git.chmod(0o755)
    return git.parent


def test_a_run_of_one_scenario_asks_git_each_question_once_and_again_after_code_of_the_change_ran(
    tmp_path: Path, programs: Path
) -> None:
    repository = GitRepository(tmp_path / "checkout")
    repository.commit(SMALL)
    repository.write({"bot.py": BOT.replace("Please", "Kindly")})
    variables = {"PATH": f"{programs}:{os.environ['PATH']}", "HOME": str(tmp_path / "home"), "NO_COLOR": "1"}
    report = ("--report-dir", str(tmp_path / "report"))
    ended = run_process(["gate", "--scenario", "opening", *report], repository.folder, variables)
    assert ended.returncode == 0, ended.stderr

    asked = [
        line.partition("--work-tree=")[2].partition(" ")[2] for line in (tmp_path / "asked").read_text().splitlines()
    ]
    assert len(asked) <= 13, asked
    once = [question for question in asked if question not in {*LISTINGS, "cat-file --batch"}]
    assert len(once) == len(set(once)), asked
    assert tuple(asked[-2:]) == LISTINGS, "what a scenario may have changed is listed again"
    assert [asked.count(listing) for listing in LISTINGS] == [2, 2]
