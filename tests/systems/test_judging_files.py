"""After set-up, the files that judge are those of their commit, and nothing else is imported instead of them."""

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

import pytest

from ratiba_action.errors import WorkerError
from ratiba_action.systems.judging_files import JudgingFiles
from ratiba_action.systems.worker_system import WorkerSystem

StartWorker = Callable[..., Awaitable[WorkerSystem]]
RULE = "def polite(evidence): return {'passed': False}\n"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "rules.py").write_text(RULE)
    (tmp_path / "own" / "words.txt").write_text("cash")
    (tmp_path / "linked.py").symlink_to("own/rules.py")
    return tmp_path


def hide(copy: Path, name: str) -> int:
    (copy / name).parent.mkdir(parents=True, exist_ok=True)
    return (copy / name).write_text("forged = True")


CHANGED: Mapping[str, Callable[[Path], object]] = {
    "rewritten": lambda copy: (copy / "own/rules.py").write_text("forged = True"),
    "removed": lambda copy: (copy / "own/rules.py").unlink(),
    "a link in its place": lambda copy: ((copy / "own/rules.py").unlink(), (copy / "own/rules.py").symlink_to("x.py")),
    "another goal of a link": lambda copy: ((copy / "linked.py").unlink(), (copy / "linked.py").symlink_to("x.py")),
    "its folder moved": lambda copy: ((copy / "own").rename(copy / "x"), (copy / "own").symlink_to("x")),
}
HIDDEN: Mapping[str, Callable[[Path], object]] = {
    "by a package": lambda copy: hide(copy, "own/rules/__init__.py"),
    "by a built package": lambda copy: hide(copy, "own/rules/__init__.abi3.so"),
    "by a built module": lambda copy: hide(copy, "own/rules.cpython-311-x86_64-linux-gnu.so"),
    "by a link to a package": lambda copy: (
        hide(copy, "made/__init__.py"),
        (copy / "own" / "rules").symlink_to("../made"),
    ),
}


@pytest.mark.parametrize("change", CHANGED)
def test_a_changed_file_is_refused(copy: Path, change: str) -> None:
    judging = JudgingFiles.of(copy)
    CHANGED[change](copy)
    with pytest.raises(WorkerError, match=r"changed or removed '(own/rules|linked)\.py', by which is judged"):
        judging.require_code()


@pytest.mark.parametrize("change", HIDDEN)
def test_a_hidden_file_is_refused(copy: Path, change: str) -> None:
    judging = JudgingFiles.of(copy)
    HIDDEN[change](copy)
    with pytest.raises(WorkerError, match="which is imported instead of a file"):
        judging.require_code()


def test_what_set_up_makes_besides_is_left_and_compiled_files_of_the_commits_are_not(copy: Path) -> None:
    judging = JudgingFiles.of(copy)
    for name in ("env/lib/rules.py", "own/made.py", "own/__pycache__/rules.cpython-311.pyc", "own/rules/data.txt"):
        hide(copy, name)
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
        await start_worker("", judging=True, isolated=tmp_path / "system", setup=setup)
