"""The copy of a system's files: what travels, and what never does."""

import os
import subprocess
from pathlib import Path

import pytest

from ratiba_action.errors import WorkerError
from ratiba_action.systems.scratch import Checkout, copy_files
from ratiba_action.util.git import Git


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    folder.mkdir()
    return folder


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    folder = tmp_path / "copy"
    folder.mkdir()
    return folder


def git(root: Path, *arguments: str) -> None:
    settings = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"]
    subprocess.run(["git", *settings, *arguments], cwd=root, check=True, capture_output=True)


def whole(root: Path) -> Checkout:
    """What a person's own machine copies."""
    return Checkout(Git(root, os.environ))


def committed(root: Path) -> Checkout:
    """What a job copies."""
    return Checkout(Git(root, os.environ), committed=True, untracked=False)


def names(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir() or path.is_symlink())


def write(root: Path, *paths: str) -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(path, encoding="utf-8")


def test_tracked_and_new_files_travel_and_ignored_ones_do_not(root: Path, copy: Path) -> None:
    write(root, ".gitignore", ".env", "a.py", "b/new.py", "deleted.py", "b/__pycache__/x.pyc")
    (root / ".gitignore").write_text(".env\n")
    git(root, "init")
    git(root, "add", "a.py", ".gitignore", "deleted.py")
    git(root, "commit", "-m", "one")
    (root / "deleted.py").unlink()
    assert copy_files(root, copy, whole(root)) == ()
    assert names(copy) == [".gitignore", "a.py", "b/new.py"]
    assert (copy / "b" / "new.py").read_text() == "b/new.py"


def test_where_only_tracked_files_count_a_credential_beside_them_stays_behind(root: Path, copy: Path) -> None:
    write(root, "a.py", "gha-creds-1.json")
    git(root, "init")
    git(root, "add", "a.py")
    git(root, "commit", "-m", "one")
    assert copy_files(root, copy, committed(root)) == ()
    assert names(copy) == ["a.py"]


def test_where_only_tracked_files_count_one_that_a_step_wrote_to_stays_behind(root: Path, copy: Path) -> None:
    write(root, "a.py", ".env")
    git(root, "init")
    git(root, "add", "--force", "a.py", ".env")
    git(root, "commit", "-m", "one")
    (root / ".env").write_text("KEY=planted-secret")
    (warning,) = copy_files(root, copy, committed(root))
    assert "'.env' differs from its commit" in warning
    assert names(copy) == ["a.py"]


def test_where_only_tracked_files_count_a_folder_without_any_is_refused(root: Path, copy: Path) -> None:
    write(root, "a.py", "creds/key.json")
    git(root, "init")
    git(root, "add", "a.py")
    git(root, "commit", "-m", "one")
    with pytest.raises(WorkerError, match="no file of the system's folder"):
        copy_files(root / "creds", copy, committed(root))


def test_where_only_tracked_files_count_the_contents_of_a_gitlink_stay_behind(root: Path, copy: Path) -> None:
    write(root, "a.py")
    git(root, "init")
    git(root, "add", "a.py")
    git(root, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},creds")
    git(root, "commit", "-m", "one")
    write(root, "creds/key.json")
    copy_files(root, copy, committed(root))
    assert names(copy) == ["a.py"]


def test_only_the_systems_own_folder_of_a_repository_travels(root: Path, copy: Path) -> None:
    write(root, "README.md", "system/a.py", "system/jina la faili.py", "system/habari\n.py")
    git(root, "init")
    copy_files(root / "system", copy, whole(root))
    assert names(copy) == ["a.py", "habari\n.py", "jina la faili.py"]


def test_without_a_repository_every_file_travels_but_caches(root: Path, copy: Path) -> None:
    write(root, "a.py", "b/c.md", "b/__pycache__/x.pyc")
    copy_files(root, copy)
    assert names(copy) == ["a.py", "b/c.md"]


def test_a_link_inside_travels_as_a_link_and_one_that_leads_out_does_not(
    root: Path, copy: Path, tmp_path: Path
) -> None:
    write(tmp_path, "outside.txt")
    write(root, "a.md", "b/c.md")
    (root / "b" / "inside").symlink_to("../a.md")
    (root / "relative").symlink_to("../outside.txt")
    (root / "absolute").symlink_to(tmp_path / "outside.txt")
    (root / "folder").symlink_to("..")
    (root / "b" / "by_detour").symlink_to("../folder/outside.txt")
    warnings = copy_files(root, copy)
    assert names(copy) == ["a.md", "b/c.md", "b/inside"]
    assert (copy / "b" / "inside").is_symlink()
    assert sorted(warning.split("'")[1] for warning in warnings) == ["absolute", "b/by_detour", "folder", "relative"]


def test_pipes_and_devices_do_not_travel(root: Path, copy: Path) -> None:
    write(root, "a.md")
    os.mkfifo(root / "pipe")
    copy_files(root, copy)
    assert names(copy) == ["a.md"]


def test_a_repositorys_own_configuration_runs_no_program(root: Path, copy: Path, tmp_path: Path) -> None:
    write(root, "a.md")
    git(root, "init")
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    program.chmod(0o755)
    git(root, "config", "core.fsmonitor", str(program))
    copy_files(root, copy, whole(root))
    assert names(copy) == ["a.md"]
    assert not (tmp_path / "ran").exists()


def test_an_executable_file_stays_executable(root: Path, copy: Path) -> None:
    write(root, "run.sh", "a.md")
    (root / "run.sh").chmod(0o755)
    copy_files(root, copy)
    assert os.access(copy / "run.sh", os.X_OK)
    assert (copy / "a.md").stat().st_mode & 0o111 == 0


def test_a_missing_folder_is_named(tmp_path: Path, copy: Path) -> None:
    with pytest.raises(WorkerError, match="no_such_folder' does not exist"):
        copy_files(tmp_path / "no_such_folder", copy)


def test_a_broken_repository_is_an_error_and_not_a_copy_of_everything(root: Path, copy: Path) -> None:
    write(root, "a.md", ".env")
    (root / ".git").mkdir()
    with pytest.raises(WorkerError, match="git cannot list the files"):
        copy_files(root, copy, Checkout(None))
    assert names(copy) == []


@pytest.mark.parametrize("to", [".", "../other"])
def test_a_link_in_the_place_of_a_submodule_brings_no_files(root: Path, copy: Path, to: str) -> None:
    for folder in (root, root.parent / "other"):
        folder.mkdir(exist_ok=True)
        git(folder, "init", "--quiet")
        (folder / f"{folder.name}.py").write_text("x")
        git(folder, "add", "--all")
        git(folder, "commit", "--quiet", "--message", "A change")
    git(root, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},sub")
    (root / "sub").symlink_to(to)
    copy_files(root, copy, whole(root))
    assert [path.name for path in copy.rglob("*.py")] == ["root.py"]
