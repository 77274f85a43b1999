import os
from pathlib import Path

import pytest

from ratiba_action.decide.contents import Contents
from ratiba_action.errors import InfrastructureError
from ratiba_action.util.git import Git
from tests.support.git_repository import GitRepository


@pytest.fixture
def base(repository: GitRepository) -> str:
    return repository.commit({"uv.lock": "old", "empty": "", "folder/a b.txt": b"\x00\xff\n"})


@pytest.fixture
def git(repository: GitRepository) -> Git:
    return Git(repository.folder, repository.environment)


def test_contents_of_a_commit_and_of_the_work_tree_are_read(repository: GitRepository, git: Git, base: str) -> None:
    repository.write({"uv.lock": "new", "added": "1"})

    with Contents(git, base, None) as contents:
        assert contents.read("base", "uv.lock") == b"old"
        assert contents.read("base", "empty") == b""
        assert contents.read("base", "folder/a b.txt") == b"\x00\xff\n"
        assert contents.read("base", "added") is None
        assert contents.read("head", "uv.lock") == b"new"
        assert contents.read("head", "added") == b"1"
        assert contents.read("head", "uv.lock/below") is None


def test_a_content_that_was_listed_is_known_by_its_id(git: Git, base: str) -> None:
    with Contents(git, base, None) as contents:
        assert not contents.has("base", "empty", b"")  # not listed yet: nothing is known
        assert "empty" in contents.names("base")
        assert contents.has("base", "empty", b"")
        assert contents.has("base", "folder/a b.txt", b"\x00\xff\n")
        assert not contents.has("base", "uv.lock", b"new")
        assert not contents.has("base", "absent", b"")
        assert not contents.has("base", "folder", b"")


def test_a_folder_is_not_a_file(git: Git, base: str) -> None:
    with Contents(git, base, None) as contents:
        for side in ("base", "head"):
            with pytest.raises(InfrastructureError, match="plain file"):
                contents.read(side, "folder")
        assert contents.read("base", "uv.lock") == b"old"


def test_a_link_of_the_work_tree_is_not_followed(
    repository: GitRepository, git: Git, base: str, tmp_path: Path
) -> None:
    (tmp_path / "secret").write_text("secret")
    (repository.folder / "linked.lock").symlink_to(tmp_path / "secret")

    with Contents(git, base, None) as contents, pytest.raises(InfrastructureError, match="plain file"):
        contents.read("head", "linked.lock")


def test_a_pipe_of_the_work_tree_does_not_hang(repository: GitRepository, git: Git, base: str) -> None:
    os.mkfifo(repository.folder / "requirements.txt")

    with Contents(git, base, None) as contents, pytest.raises(InfrastructureError, match="plain file"):
        contents.read("head", "requirements.txt")


@pytest.mark.parametrize("commit", [None, "c" * 40])
def test_a_base_that_is_not_here_is_not_an_absent_file(git: Git, commit: str | None) -> None:
    with Contents(git, commit, None) as contents, pytest.raises(InfrastructureError, match=r"base|ls-tree"):
        contents.read("base", "uv.lock")


def test_a_name_with_a_line_break_cannot_ask_for_another_file(git: Git, base: str) -> None:
    with Contents(git, base, base) as contents, pytest.raises(InfrastructureError, match="line break"):
        contents.read("base", f"x\n{base}:uv.lock")


@pytest.mark.usefixtures("base")
def test_what_was_listed_is_read_by_its_id(repository: GitRepository, git: Git) -> None:
    commit = repository.commit({"folder/a\nb": "found by no path", "folder/empty": ""})
    with Contents(git, commit, None) as contents:
        assert contents.names("base", "folder/") == ("folder/a\nb", "folder/a b.txt", "folder/empty")
        assert contents.read("base", "folder/a\nb") == b"found by no path"
        assert contents.read("base", "folder/a b.txt") == b"\x00\xff\n"
        assert contents.read("base", "folder/empty") == b""
        assert contents.read("base", "folder/other") is None
        assert contents.read("base", "uv.lock") == b"old"
        assert contents.names("head") == ()


def test_without_a_repository_nothing_can_be_read() -> None:
    with Contents(None, None, None) as contents, pytest.raises(InfrastructureError, match="not available"):
        contents.read("head", "uv.lock")
