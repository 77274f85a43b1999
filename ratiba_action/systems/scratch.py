"""A copy of one arm's files that the system under test may write to; the workspace itself stays as it is."""

import os
import shutil
import stat
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from ratiba_action.errors import WorkerError

LEFT_OUT = frozenset({".git", "__pycache__"})
GIT_TIMEOUT_SECONDS = 60


def copy_files(root: Path, destination: Path, path: str = os.defpath, *, tracked_only: bool = False) -> tuple[str, ...]:
    """Copy what a commit of ``root`` would hold: tracked files, and untracked ones that are not ignored.

    Ignored files stay behind, so a ``.env`` does not travel. Without a repository every file is taken.

    Args:
        root: folder of the system under test.
        destination: existing empty folder.
        path: where git is looked up.
        tracked_only: leave untracked files behind too, such as credentials that an earlier step wrote.

    Returns:
        A warning for each symbolic link that was left out because it leads out of ``root``.

    Raises:
        WorkerError: ``root`` is missing or unreadable, or git failed.
    """
    if not root.is_dir():
        raise WorkerError(f"the system's folder {str(root)!r} does not exist.", "Correct `system.root`.")
    warnings = []
    try:
        edited = _edited(root, path) if tracked_only else frozenset()
        for relative in _files(root, path, tracked_only=tracked_only):
            if relative in edited:
                warnings.append(f"the file {str(relative)!r} differs from its commit and was not copied")
            elif LEFT_OUT.isdisjoint(relative.parts):
                warnings += _copy(root, relative, destination)
    except OSError as problem:
        raise WorkerError(f"cannot copy the system's files from {str(root)!r}: {problem}.") from problem
    return tuple(warnings)


def _files(root: Path, path: str, *, tracked_only: bool) -> Iterator[Path]:
    listed = _listed_by_git(root, path, tracked_only=tracked_only) if _in_repository(root) else ()
    if tracked_only and not listed:
        raise WorkerError(f"no file of the system's folder {str(root)!r} is committed.", "Commit it.")
    for relative in listed or _walk(root, root):
        if not (root / relative).is_dir() or (root / relative).is_symlink():
            yield relative
        elif not tracked_only:
            yield from _walk(root, root / relative)  # a submodule is one entry of the index


def _in_repository(root: Path) -> bool:
    return any((folder / ".git").exists() for folder in (root.resolve(), *root.resolve().parents))


def _edited(root: Path, path: str) -> frozenset[Path]:
    """Tracked files that an earlier step of the job wrote to, perhaps a credential."""
    return frozenset(
        _git_names(root, path, ["diff", "--no-ext-diff", "--no-renames", "--relative", "--name-only", "-z", "HEAD"])
    )


def _listed_by_git(root: Path, path: str, *, tracked_only: bool) -> tuple[Path, ...]:
    return _git_names(
        root, path, ["ls-files", "--cached", "-z", *([] if tracked_only else ["--others", "--exclude-standard"])]
    )


def _git_names(root: Path, path: str, arguments: Sequence[str]) -> tuple[Path, ...]:
    # A checkout may belong to another user, and its own configuration may name a program to run: neither counts here.
    command = ["git", "-c", "safe.directory=*", "-c", "core.fsmonitor=false", "-c", "core.untrackedCache=false"]
    command += arguments
    try:
        done = subprocess.run(
            command,
            cwd=root,
            env={"PATH": path, "LC_ALL": "C", "HOME": "/nonexistent"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=GIT_TIMEOUT_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError) as problem:
        detail = getattr(problem, "stderr", None) or str(problem).encode()
        raise WorkerError(
            f"git cannot list the files of {str(root)!r}: {detail.decode('utf-8', 'replace').strip()[:500]}.",
            "Install git, or run `git status` there and mend what it reports.",
        ) from problem
    return tuple(dict.fromkeys(Path(os.fsdecode(name)) for name in done.stdout.split(b"\0") if name))


def _walk(root: Path, folder: Path) -> Iterator[Path]:
    for entry in sorted(folder.iterdir()):
        if entry.name in LEFT_OUT:
            continue
        if entry.is_dir() and not entry.is_symlink():
            yield from _walk(root, entry)
        else:
            yield entry.relative_to(root)


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
    return (real_root / relative.parent / goal).resolve().is_relative_to(real_root)


def give_to(folder: Path, uid: int, gid: int) -> None:
    """Make a user the owner of a folder and of all in it, following no link."""
    os.chown(folder, uid, gid)
    for parent, folders, files in os.walk(folder):
        for name in (*folders, *files):
            os.chown(Path(parent) / name, uid, gid, follow_symlinks=False)
