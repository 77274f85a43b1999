import hashlib
import subprocess
from pathlib import Path

import pytest

from ratiba_action.errors import InfrastructureError
from ratiba_action.run.base_commit import export_commit
from ratiba_action.util.git import Git
from tests.support.git_repository import GitRepository


def files(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_text()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }


def test_every_file_of_the_commit_is_written_and_the_work_tree_stays(repository: GitRepository, tmp_path: Path) -> None:
    attributes = "secret.txt export-ignore\n*.txt filter=shout\n"
    commit = repository.commit({"a/b.txt": "base", "secret.txt": "kept", ".gitattributes": attributes, "ü.txt": "u"})
    repository.commit({"a/b.txt": "head"})
    repository.write({"a/b.txt": "edited"})
    repository.git("config", "filter.shout.smudge", "false")
    export_commit(Git(repository.folder, repository.environment), commit, tmp_path)
    written = files(tmp_path / "a") | {name: (tmp_path / name).read_text() for name in ("secret.txt", "ü.txt")}
    assert written == {"b.txt": "base", "secret.txt": "kept", "ü.txt": "u"}
    assert (repository.folder / "a/b.txt").read_text() == "edited"
    assert repository.git("status", "--porcelain", "--", "a/b.txt") == "M a/b.txt"


def test_modes_stay_and_links_that_lead_out_are_left_behind(repository: GitRepository, tmp_path: Path) -> None:
    repository.write({"run.sh": "#!/bin/sh", "sub/plain": "x"})
    (repository.folder / "run.sh").chmod(0o755)
    (repository.folder / "inside").symlink_to("sub/plain")
    (repository.folder / "sub/up").symlink_to("../../../outside")
    (repository.folder / "absolute").symlink_to("/etc/passwd")
    # By way of another link: as it is written, it stays inside.
    (repository.folder / "sub/top").symlink_to("..")
    (repository.folder / "sub/out").symlink_to("top/../outside")
    (tmp_path / "outside").write_text("a key")
    folder = tmp_path / "base"
    folder.mkdir()
    export_commit(Git(repository.folder, repository.environment), repository.commit({}), folder)
    assert (folder / "run.sh").stat().st_mode & 0o777 == 0o755
    assert (folder / "inside").read_text() == "x"
    assert not (folder / "sub/up").is_symlink()
    assert not (folder / "sub/out").is_symlink()
    assert (folder / "sub/top/inside").read_text() == "x"
    assert not (folder / "absolute").is_symlink()


def test_a_submodule_that_is_checked_out_is_written_at_the_commit_that_the_base_names(
    repository: GitRepository, tmp_path: Path
) -> None:
    library = GitRepository(repository.folder / "lib")
    wanted = library.commit({"answer.py": "base"})
    library.commit({"answer.py": "head"})
    absent = "1" * 40
    repository.write({"app.py": "x", "gone/.keep": ""})
    repository.git("update-index", "--add", "--cacheinfo", f"160000,{wanted},lib")
    repository.git("update-index", "--add", "--cacheinfo", f"160000,{absent},gone")
    repository.git("add", "app.py")
    repository.git("commit", "--quiet", "--message", "A change")
    export_commit(
        Git(repository.folder, repository.environment), repository.git("rev-parse", "HEAD"), tmp_path / "base"
    )
    assert files(tmp_path / "base") == {"app.py": "x", "lib/answer.py": "base"}


def test_a_shallow_clone_that_holds_the_commit_is_enough_and_one_that_does_not_says_so(
    repository: GitRepository, tmp_path: Path
) -> None:
    before = repository.commit({"a": "old"})
    base = repository.commit({"a": "base"})
    repository.commit({"a": "head"})
    clone = tmp_path / "clone"
    source = repository.folder.as_uri()
    subprocess.run(["git", "clone", "--quiet", "--depth=2", source, str(clone)], check=True, env=repository.environment)
    git = Git(clone, repository.environment)
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    export_commit(git, base, tmp_path / "one")
    assert files(tmp_path / "one") == {"a": "base"}
    with pytest.raises(InfrastructureError):
        export_commit(git, before, tmp_path / "two")


def test_files_that_lie_elsewhere_are_refused(repository: GitRepository, tmp_path: Path) -> None:
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"
    commit = repository.commit({"weights.bin": pointer})
    repository.write({"weights.bin": "of the change"})
    with pytest.raises(InfrastructureError, match="is kept in Git LFS"):
        export_commit(Git(repository.folder, repository.environment), commit, tmp_path)


@pytest.mark.parametrize("checked_out", ["weights", None])
def test_a_file_of_git_lfs_that_the_checkout_has_is_written_as_it_is_there(
    repository: GitRepository, tmp_path: Path, checked_out: str | None
) -> None:
    digest = hashlib.sha256(b"weights").hexdigest()
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{digest}\nsize 7\n"
    commit = repository.commit({"weights.bin": pointer})
    repository.write({"weights.bin": checked_out or pointer})
    (tmp_path / "base").mkdir()
    export_commit(Git(repository.folder, repository.environment), commit, tmp_path / "base")
    assert files(tmp_path / "base") == {"weights.bin": checked_out or pointer}
