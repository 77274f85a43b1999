"""Writes a site into a folder of its own: all of it, or nothing."""

import json
import os
import shutil
import stat
import tempfile
from collections.abc import Iterable
from pathlib import Path

from ratiba_action.errors import UsageError

LISTING = "site.json"
"""Names every file of a site, so that the next one knows what it may replace."""
_SHOWN = 5
_OLD_AND_NEW = 2
"""Links of a page that two sites have, and nothing else."""


def require_own_folder(target: Path) -> None:
    """Refuse a folder that holds anything but an earlier site.

    Raises:
        UsageError: it does, or is no folder.
    """
    if not os.path.lexists(target):
        return
    if target.is_symlink() or not target.is_dir():
        raise UsageError(f"{str(target)!r} is no folder, so no site can be written to it.", "Give another --to.")
    present = {str(path.relative_to(target)) for path in target.rglob("*") if path.is_symlink() or not path.is_dir()}
    foreign = sorted(present - _listed(target))
    if foreign:
        more = f" and {len(foreign) - _SHOWN} more" if len(foreign) > _SHOWN else ""
        raise UsageError(
            f"{str(target)!r} has files that are not of a site: {', '.join(map(repr, foreign[:_SHOWN]))}{more}. "
            "Nothing was written.",
            "Give an empty folder with --to, or move them away.",
        )


def _listed(target: Path) -> set[str]:
    """The files of the site that is there; none where it has no listing that can be read."""
    try:
        content = json.loads((target / LISTING).read_text("utf-8"))
        names = content["files"]
    except (OSError, ValueError, KeyError, TypeError):
        return set()
    return {name for name in names if isinstance(name, str)} if isinstance(names, list) else set()


def write_site(pages: Iterable[tuple[str, bytes]], target: Path) -> tuple[int, int]:
    """Write every page beside the target first, then put the whole into its place.

    Args:
        pages: path below the target, and content of each file.

    Returns:
        How many files there are, and their size in bytes.

    Raises:
        UsageError: the target holds other files, or cannot be written; what was there is unchanged.
    """
    require_own_folder(target)
    parent = target.absolute().parent
    staged = ""
    try:
        parent.mkdir(parents=True, exist_ok=True)
        staged = tempfile.mkdtemp(dir=parent, prefix=f".{target.name}-")
        count, size = _write(pages, Path(staged), target.absolute())
        _replace(Path(staged), target.absolute())
    except OSError as error:
        problem = f"The site cannot be written to {str(target)!r}: {error.strerror or error}. Nothing was changed."
        raise UsageError(problem, "Give a folder that can be written with --to.") from error
    finally:
        if staged:
            shutil.rmtree(staged, ignore_errors=True)
    return count, size


def _write(pages: Iterable[tuple[str, bytes]], folder: Path, earlier: Path) -> tuple[int, int]:
    names, size = [LISTING], 0
    for name, content in pages:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not _taken_over(earlier / name, path, content):
            with path.open("xb") as file:
                file.write(content)
        names.append(name)
        size += len(content)
    (folder / LISTING).write_text(json.dumps({"files": sorted(names)}, indent=0) + "\n", "utf-8")
    folder.chmod(0o755)
    return len(names), size


def _taken_over(old: Path, new: Path, content: bytes) -> bool:
    """Whether the page of the earlier site stands in the new one too, because it has this content and is a plain file.

    It then keeps the time of its last change, by which copies of a site to elsewhere know what to send.
    """
    try:
        # Linked first: what is compared is then what stays.
        os.link(old, new, follow_symlinks=False)
    except (OSError, NotImplementedError):
        return False
    found = new.lstat()
    alone = stat.S_ISREG(found.st_mode) and found.st_nlink == _OLD_AND_NEW
    same = alone and found.st_size == len(content) and new.read_bytes() == content
    if not same:
        new.unlink()
    return same


def _replace(staged: Path, target: Path) -> None:
    """Put a folder into the place of another; where that fails, the other one is back."""
    if not target.exists():
        staged.rename(target)
        return
    old = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}-old-"))
    try:
        target.rename(old / "site")
        try:
            staged.rename(target)
        except BaseException:  # a signal too
            (old / "site").rename(target)
            raise
    finally:
        shutil.rmtree(old, ignore_errors=True)
