"""A copy of one arm's files that the system under test may write to; the workspace itself stays as it is."""

import os
import shutil
import stat
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ratiba_action.errors import InfrastructureError, WorkerError
from ratiba_action.util.folder_tree import paths_below
from ratiba_action.util.git import SUBMODULE, Git, find_checkout
from ratiba_action.util.work_tree import differing

MAX_DECLARED_BYTES = 256 << 20
"""Of one file in ``setup_reads``; a wheel can be one."""
LEFT_OUT = frozenset({".git", "__pycache__"})


@dataclass(frozen=True, slots=True)
class Checkout:
    """The repository that an arm's files are in, and which of them travel.

    Args:
        git: the repository; None where there is none.
        committed: only files that are as their commit has them: an earlier step of the job may have written to others,
            perhaps a credential.
        untracked: files that git neither tracks nor ignores travel too, such as a prompt that has just been written.
    """

    git: Git | None
    committed: bool = False
    untracked: bool = True


def copy_files(root: Path, destination: Path, checkout: Checkout | None = None) -> tuple[str, ...]:
    """Copy what a commit of ``root`` would hold: tracked files, and untracked ones that are not ignored.

    Ignored files stay behind, so a ``.env`` does not travel. Without a repository every file is taken.

    Args:
        root: folder of the system under test.
        destination: existing empty folder.
        checkout: what the folder is a part of; None to take every file.

    Returns:
        A warning for each file that was left out because it differs from its commit, and for each symbolic link that
        leads out of ``root``.

    Raises:
        WorkerError: ``root`` is missing or unreadable, or git failed.
    """
    if not root.is_dir():
        raise WorkerError(f"the system's folder {str(root)!r} does not exist.", "Correct `system.root`.")
    warnings = []
    try:
        for relative, edited in _files(root.resolve(), checkout):
            if not LEFT_OUT.isdisjoint(part.casefold() for part in relative.parts):
                continue
            if edited:
                warnings.append(f"the file {str(relative)!r} differs from its commit and was not copied")
            else:
                warnings += _copy(root, relative, destination)
    except OSError as problem:
        raise WorkerError(f"cannot copy the system's files from {str(root)!r}: {problem}.") from problem
    except InfrastructureError as problem:
        raise WorkerError(
            f"git cannot list the files of {str(root)!r}: {problem.problem}",
            problem.remedy or "Install git, or run `git status` there and correct what it reports.",
        ) from problem
    return tuple(warnings)


def copied_files(root: Path, checkout: Checkout | None) -> tuple[str, ...]:
    """Paths below ``root`` of the regular files that ``copy_files`` would copy.

    Raises:
        InfrastructureError: git cannot list them.
    """
    return tuple(
        relative.as_posix()
        for relative, edited in _files(root.resolve(), checkout)
        if not edited
        and LEFT_OUT.isdisjoint(part.casefold() for part in relative.parts)
        and _is_regular(root / relative)
    )


def _is_regular(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def _files(root: Path, checkout: Checkout | None) -> Iterator[tuple[Path, bool]]:
    """Paths below the root that travel, with whether one differs from its commit."""
    git = checkout.git if checkout is not None else None
    if checkout is not None and git is None and find_checkout(root) is not None:
        raise InfrastructureError("its repository cannot be read.")
    listed = list(_of_repository(git, root, checkout)) if git is not None and checkout is not None else []
    if checkout is not None and not listed and not checkout.untracked:
        raise WorkerError(f"no file of the system's folder {str(root)!r} is committed.", "Commit it.")
    if not listed:
        listed = [(path, False) for path in _walk(root)]
    for path, edited in listed:
        if path.is_relative_to(root):
            yield path.relative_to(root), edited


def _of_repository(git: Git, root: Path, checkout: Checkout, commit: str = "HEAD") -> Iterator[tuple[Path, bool]]:
    """Absolute paths of a repository's files and of its submodules' that are checked out."""
    under = root.relative_to(git.root).as_posix() if root.is_relative_to(git.root) else "."
    tracked = git.tree(commit) if checkout.committed else git.index()
    files = {name: entry for name, entry in tracked.items() if entry.mode != SUBMODULE and _is_below(name, under)}
    edited = set(differing(git, files)) if checkout.committed else set[str]()
    for name in files:
        yield _path(git, name), name in edited
    for name, entry in tracked.items():
        if entry.mode == SUBMODULE and (_is_below(name, under) or _is_below(under, name)):
            yield from _of_submodule(git, _path(git, name), root, checkout, entry.id)
    if checkout.untracked:
        for name in git.untracked("" if under == "." else under):
            path = _path(git, name)
            # Another repository, which is no submodule, is identified by its folder.
            yield from _of_submodule(git, path, root, checkout, "HEAD") if name.endswith("/") else [(path, False)]


def _of_submodule(git: Git, folder: Path, root: Path, checkout: Checkout, commit: str) -> Iterator[tuple[Path, bool]]:
    if _is_behind_link(git, folder):
        return  # to the repository itself, or to any other
    if os.path.lexists(folder / ".git"):
        yield from _of_repository(git.submodule(folder), root, checkout, commit)
    elif checkout.untracked and folder.is_dir() and not folder.is_symlink():
        yield from ((path, False) for path in _walk(folder))


def _is_behind_link(git: Git, folder: Path) -> bool:
    place = Path(os.path.realpath(git.root)) / folder.relative_to(git.root)
    return os.path.realpath(place) != str(place)


def _path(git: Git, name: str) -> Path:
    return git.root / os.fsdecode(name.encode("utf-8", "surrogateescape"))


def _is_below(name: str, folder: str) -> bool:
    return folder in (".", name) or name.startswith(f"{folder}/")


def _walk(folder: Path) -> Iterator[Path]:
    for entry in sorted(folder.iterdir()):
        if entry.name.casefold() in LEFT_OUT:
            continue
        if entry.is_dir() and not entry.is_symlink():
            yield from _walk(entry)
        else:
            yield entry


def _copy(root: Path, relative: Path, destination: Path) -> list[str]:
    source, target = root / relative, destination / relative
    try:
        kind = source.lstat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return []  # tracked, and deleted in the working tree
    if stat.S_ISLNK(kind):
        if not _stays_inside(root, relative):
            return [f"the symbolic link {str(relative)!r} leads out of the system's folder and was not copied"]
        target.parent.mkdir(parents=True, exist_ok=True)
        target.symlink_to(source.readlink())
    elif stat.S_ISREG(kind):
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target, follow_symlinks=False)
        target.chmod(0o755 if kind & stat.S_IXUSR else 0o644)
    return []


def _stays_inside(root: Path, relative: Path) -> bool:
    goal = (root / relative).readlink()
    if goal.is_absolute():
        return False
    real_root = root.resolve()
    # Not Path.resolve: it raises RuntimeError where links lead in a circle, which does no harm in the copy.
    return Path(os.path.realpath(real_root / relative.parent / goal)).is_relative_to(real_root)


def give_to(folder: Path, uid: int, gid: int) -> None:
    """Make a user the owner of a folder and of all in it, following no link."""
    for path in paths_below(folder):
        os.chown(path, uid, gid, follow_symlinks=False)


def share(folders: Iterable[Path], owner: int) -> None:
    """Make the gate the owner of folders and of all in them, following no link; everybody may read and nobody write.

    Args:
        folders: no process may be left that could write to them.
        owner: uid of the user that all of it belongs to.

    Raises:
        WorkerError: something in them is another user's, or can be written to by a name outside them.
    """
    files = dict[Path, os.stat_result]()
    for path in (path for folder in folders for path in paths_below(folder)):
        found = path.lstat()
        if found.st_uid != owner:
            raise WorkerError(f"the set-up command left {str(path)!r}, which belongs to another user ({found.st_uid}).")
        if stat.S_ISDIR(found.st_mode):
            os.chown(path, os.geteuid(), os.getegid(), follow_symlinks=False)
            path.chmod(0o555)  # one that cannot be listed would hide what is in it
        else:
            files[path] = found
    names = Counter((found.st_dev, found.st_ino) for found in files.values())
    for path, found in files.items():
        if found.st_nlink > names[found.st_dev, found.st_ino]:
            raise WorkerError(
                f"the set-up command left {str(path)!r}, a hard link to a file outside its folder.",
                "Let it copy files instead, such as by UV_LINK_MODE=copy.",
            )
        os.chown(path, os.geteuid(), os.getegid(), follow_symlinks=False)
        if not stat.S_ISLNK(found.st_mode):
            readable = stat.S_IMODE(found.st_mode) & (stat.S_IRUSR | stat.S_IXUSR)
            path.chmod(readable | readable >> 3 | readable >> 6)


def make_read_only(folder: Path, gid: int) -> None:
    """Make the gate the owner of a folder and of all in it, following no link; its group may read it."""
    for path in paths_below(folder):
        os.chown(path, os.geteuid(), gid, follow_symlinks=False)
        if not path.is_symlink():
            mode = stat.S_IMODE(path.stat().st_mode)
            path.chmod((mode & stat.S_IRWXU) | ((mode & (stat.S_IRUSR | stat.S_IXUSR)) >> 3))
