"""Files of the work tree against commits: no edit is missed, and no conversion of git's own is taken for one."""

import hashlib
import os
import stat
from pathlib import Path

import pytest

from ratiba_action.util.git import Git
from ratiba_action.util.work_tree import changed_since, changes_digest, differing
from tests.support.git_repository import GitRepository

PATH = os.environ["PATH"]
CONTENT = b"Karibu.\nHabari?\n"
LARGE = b"weights" * 1000


@pytest.fixture
def repository(tmp_path: Path) -> GitRepository:
    return GitRepository(tmp_path / "checkout")


def opened(repository: GitRepository) -> Git:
    return Git(repository.folder, {"PATH": PATH, "HOME": str(repository.folder.parent / "home")})


def changed(repository: GitRepository) -> tuple[str, ...]:
    return changed_since(opened(repository), "HEAD")


def pointer(content: bytes) -> str:
    digest = hashlib.sha256(content).hexdigest()
    return f"version https://git-lfs.github.com/spec/v1\noid sha256:{digest}\nsize {len(content)}\n"


def test_a_checkout_is_equal_to_its_commit(repository: GitRepository) -> None:
    (repository.folder / "link").symlink_to("a")
    repository.write({"a": "1", "run.sh": "#!/bin/sh", "empty": "", "jina la faili": b"\x00\xff\r\n"})
    (repository.folder / "run.sh").chmod(0o755)
    repository.commit({})
    assert changed(repository) == ()


def test_every_kind_of_edit_is_seen(repository: GitRepository) -> None:
    files = ["removed", "edited", "mode", "to_link", "to_folder", "folder/inside", "same", "linked/inside"]
    (repository.folder / "link").symlink_to("a")
    repository.commit(dict.fromkeys(files, "1"))
    top = repository.folder
    repository.write({"edited": "2", "new": "1", "removed": None, "to_link": None, "to_folder": None})
    (top / "mode").chmod(0o755)
    (top / "to_link").symlink_to("same")
    (top / "link").unlink()
    (top / "link").symlink_to("b")
    (top / "to_folder").mkdir()
    (top / "linked").rename(top.parent / "elsewhere")
    (top / "linked").symlink_to(top.parent / "elsewhere")  # what stands behind a link is not the checkout's
    (top / "staged").write_text("1")
    repository.git("add", "staged")
    found = ("edited", "link", "linked/inside", "mode", "removed", "staged", "to_folder", "to_link", "linked", "new")
    assert changed(repository) == found


def test_an_edit_with_the_size_and_times_of_before_is_seen(repository: GitRepository) -> None:
    repository.commit({"a": "1111"})
    path = repository.folder / "a"
    before = path.stat()
    path.write_bytes(b"2222")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    repository.git("update-index", "--assume-unchanged", "a")
    assert changed(repository) == ("a",)


def test_a_pipe_is_an_edit_and_nobody_waits_for_it(repository: GitRepository) -> None:
    repository.commit({"a": "1"})
    (repository.folder / "a").unlink()
    os.mkfifo(repository.folder / "a")
    assert changed(repository) == ("a",)


@pytest.mark.parametrize(
    ("attributes", "configured"),
    [
        ("* text", ""),
        ("* text=auto", ""),
        ("* eol=crlf", ""),
        ("* text=auto eol=crlf", ""),
        ("", "true"),
        ("", "input"),
    ],
)
def test_carriage_returns_that_a_commit_would_lose_are_no_edit(
    repository: GitRepository, attributes: str, configured: str
) -> None:
    repository.commit({".gitattributes": f"{attributes}\n", "a.md": CONTENT})
    if configured:
        repository.git("config", "core.autocrlf", configured)
    repository.write({"a.md": CONTENT.replace(b"\n", b"\r\n")})
    assert changed(repository) == ()
    repository.write({"a.md": CONTENT.replace(b"\n", b"\r\n") + b"more\r\n"})
    assert changed(repository) == ("a.md",)


@pytest.mark.parametrize("attributes", ["", "* -text", "* -text eol=crlf", "* binary"])
def test_carriage_returns_that_a_commit_would_keep_are_an_edit(repository: GitRepository, attributes: str) -> None:
    repository.commit({".gitattributes": f"{attributes}\n", "a.md": CONTENT})
    repository.write({"a.md": CONTENT.replace(b"\n", b"\r\n")})
    assert changed(repository) == ("a.md",)


def test_what_looks_binary_keeps_its_bytes(repository: GitRepository) -> None:
    repository.commit({".gitattributes": "* text=auto\n", "a": b"\x00\n", "b": b"\r \n"})
    repository.write({"a": b"\x00\r\n", "b": b"\r \r\n"})
    assert changed(repository) == ("a", "b")


def test_an_encoding_and_a_keyword_are_converted_back(repository: GitRepository) -> None:
    repository.write({".gitattributes": "*.txt working-tree-encoding=UTF-16LE\n*.c ident\n"})
    repository.commit({"a.txt": "Habari".encode("utf-16-le"), "b.c": "/* $Id$ */"})
    repository.write({"b.c": "/* $Id: 0123456789 $ */"})
    assert changed(repository) == ()
    repository.write({"a.txt": "Hujambo".encode("utf-16-le"), "b.c": "/* $Id: 1 $ more */"})
    assert changed(repository) == ("a.txt", "b.c")


def test_a_file_of_git_lfs_is_equal_to_its_pointer(repository: GitRepository) -> None:
    repository.commit(
        {".gitattributes": "*.bin filter=lfs diff=lfs -text\n", "a.bin": pointer(LARGE), "b.bin": pointer(LARGE)}
    )
    assert changed(repository) == (), "as a pointer, where it was not pulled"
    repository.write({"a.bin": LARGE, "b.bin": LARGE[:-1] + b"!"})
    assert changed(repository) == ("b.bin",)


def test_a_pointer_stands_for_a_content_only_where_git_lfs_is_used(repository: GitRepository) -> None:
    repository.commit({"a.bin": pointer(LARGE)})
    repository.write({"a.bin": LARGE})
    assert changed(repository) == ("a.bin",)


def test_a_file_that_only_a_program_could_compare_counts_as_edited(repository: GitRepository, tmp_path: Path) -> None:
    repository.commit({".gitattributes": "*.key filter=crypt\n", "a.key": "ciphertext"})
    repository.git("config", "filter.crypt.clean", f"touch {tmp_path}/ran; echo ciphertext")
    repository.write({"a.key": "plain"})
    assert changed(repository) == ("a.key",)
    assert not (tmp_path / "ran").exists()


def test_a_sparse_checkout_is_equal_to_its_commit(repository: GitRepository) -> None:
    repository.commit({"in/a": "1", "out/b": "1", "top": "1"})
    repository.git("sparse-checkout", "set", "in")
    assert not (repository.folder / "out").exists()
    assert changed(repository) == ()
    repository.write({"in/a": "2"})
    (repository.folder / "top").unlink()
    assert changed(repository) == ("in/a", "top")


def test_a_sparse_index_is_equal_to_its_commit(repository: GitRepository) -> None:
    repository.commit({"in/a": "1", "out/deep/b": "1"})
    repository.git("sparse-checkout", "set", "--cone", "--sparse-index", "in")
    assert changed(repository) == ()


def test_a_partial_clone_is_equal_to_its_commit(repository: GitRepository, tmp_path: Path) -> None:
    repository.commit({"a": "1"})
    repository.commit({"a": "2", "b": "1"})
    repository.git("config", "uploadpack.allowFilter", "true")
    target = str(tmp_path / "clone")
    repository.git("clone", "--quiet", "--filter=blob:none", f"file://{repository.folder}", target)
    git = Git(tmp_path / "clone", {"PATH": PATH})
    assert changed_since(git, "HEAD") == ()
    assert changed_since(git, "HEAD~1") == ("a", "b")


@pytest.fixture
def outer(repository: GitRepository, tmp_path: Path) -> GitRepository:
    """A repository with a submodule at ``sub``."""
    inner = GitRepository(tmp_path / "inner")
    inner.commit({"a": "1"})
    inner.commit({"a": "2"})
    repository.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner.folder), "sub")
    repository.commit({"a": "1"})
    return repository


def test_a_submodule_counts_by_the_commit_that_it_is_at(outer: GitRepository) -> None:
    assert changed(outer) == ()
    outer.write({"sub/a": "edited, which is the submodule's own affair"})
    assert changed(outer) == ()
    outer.git("-C", "sub", "checkout", "--quiet", "--force", "HEAD~1")
    assert changed(outer) == ("sub",)
    outer.git("add", "sub")
    assert changed(outer) == ("sub",)


def test_a_submodule_that_is_not_checked_out_is_no_edit(outer: GitRepository) -> None:
    outer.git("submodule", "--quiet", "deinit", "--force", "sub")
    assert changed(outer) == ()


def test_a_file_that_cannot_be_read_is_reported(repository: GitRepository) -> None:
    if os.geteuid() == 0:
        pytest.skip("root reads every file")
    repository.commit({"a": "1"})
    (repository.folder / "a").chmod(stat.S_IWUSR)
    with pytest.raises(Exception, match="'a' of the work tree cannot be read"):
        changed(repository)


def test_only_what_is_asked_for_is_compared(repository: GitRepository) -> None:
    repository.commit({"a": "1", "b": "1"})
    repository.write({"a": "2", "b": "2"})
    git = opened(repository)
    assert differing(git, {"b": git.tree("HEAD")["b"]}) == ("b",)


def test_modes_count_only_where_the_file_system_has_them(repository: GitRepository) -> None:
    repository.commit({"a": "1"})
    (repository.folder / "a").chmod(0o755)
    repository.git("config", "core.fileMode", "false")
    assert changed(repository) == ()
    repository.git("config", "--unset", "core.fileMode")
    assert changed(repository) == ("a",)


def test_the_digest_of_changes_is_that_of_their_paths_kinds_and_contents(repository: GitRepository) -> None:
    folder, git = repository.folder, opened(repository)
    repository.commit({"a": "1"})
    head = git.commit("HEAD")
    assert head is not None
    seen = [changes_digest(git, head)]

    def differs() -> None:
        assert changes_digest(git, head) == changes_digest(git, head)
        seen.append(changes_digest(git, head))
        assert len(set(seen)) == len(seen)

    new = folder / "new.txt"
    new.write_text("one")
    differs()
    new.write_text("two")
    differs()
    new.chmod(0o755)
    differs()
    new.rename(folder / "renamed.txt")
    differs()
    (folder / "renamed.txt").unlink()
    (folder / "renamed.txt").symlink_to("two")
    differs()
    (folder / "renamed.txt").unlink()
    assert changes_digest(git, head) == seen[0]
