"""After set-up, the files that judge are those of their commit, and nothing else is imported instead of them."""

import subprocess
from pathlib import Path

import pytest

from ratiba_action.errors import WorkerError
from ratiba_action.systems.judging_files import JudgingFiles
from ratiba_action.systems.workplace import Use
from tests.systems.conftest import StartWorker

RULE = "def polite(evidence): return {'passed': False}\n"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "rules.py").write_text(RULE)
    (tmp_path / "own" / "words.txt").write_text("cash")
    (tmp_path / "linked.py").symlink_to("own/rules.py")
    return tmp_path


CHANGED = {
    "rewritten": "echo forged = True >own/rules.py",
    "removed": "rm own/rules.py",
    "a link in its place": "mv own/rules.py x.py; ln -s ../x.py own/rules.py",
    "another goal of a link": "ln -sf own/words.txt linked.py",
    "its folder moved": "mv own x; ln -s x own",
}
HIDDEN = {
    "by a package": "mkdir own/rules; touch own/rules/__init__.py",
    "by a built package": "mkdir own/rules; touch own/rules/__init__.abi3.so",
    "by a built module": "touch own/rules.cpython-311-x86_64-linux-gnu.so",
    "by a link to a package": "mkdir made; touch made/__init__.py; ln -s ../made own/rules",
}


def shell(folder: Path, script: str) -> None:
    """Do what a set-up command would."""
    subprocess.run(["sh", "-ec", script], cwd=folder, check=True)


@pytest.mark.parametrize("change", CHANGED)
def test_a_changed_file_is_refused(copy: Path, change: str) -> None:
    judging = JudgingFiles.of(copy)
    shell(copy, CHANGED[change])
    with pytest.raises(WorkerError, match=r"changed or removed '(own/rules|linked)\.py', by which is judged"):
        judging.require_code()


@pytest.mark.parametrize("change", HIDDEN)
def test_a_hidden_file_is_refused(copy: Path, change: str) -> None:
    judging = JudgingFiles.of(copy)
    shell(copy, HIDDEN[change])
    with pytest.raises(WorkerError, match="which is imported instead of a file"):
        judging.require_code()


def test_what_set_up_makes_besides_is_left_and_compiled_files_of_the_commits_are_not(copy: Path) -> None:
    judging = JudgingFiles.of(copy)
    shell(copy, "mkdir -p env own/__pycache__ own/rules; touch env/rules.py own/made.py own/rules/data.txt")
    shell(copy, "touch own/__pycache__/rules.cpython-311.pyc")
    (copy / "own/rules.py").write_text(RULE)  # written again as it was
    assert judging.require_code() == ()
    assert (copy / "own/made.py").exists()
    assert not list((copy / "own/__pycache__").iterdir())


def test_other_files_that_set_up_changes_are_named(copy: Path) -> None:
    judging = JudgingFiles.of(copy)
    (copy / "own/words.txt").write_text("nothing")
    (warning,) = judging.require_code()
    assert "'own/words.txt'" in warning


async def test_a_set_up_that_changes_what_judges_is_refused(start_worker: StartWorker, tmp_path: Path) -> None:
    (tmp_path / "system").mkdir()
    (tmp_path / "system" / "rules.py").write_text(RULE)
    setup = ["sh", "-c", "echo forged = True >rules.py"]
    with pytest.raises(WorkerError, match=r"changed or removed 'rules\.py'"):
        await start_worker("", use=Use.JUDGING, setup=setup)
