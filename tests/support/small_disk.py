"""A disk of a few pages, to be filled: a real file system in memory, which says ENOSPC by itself."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def small_disk(folder: Path, size: int, inodes: int = 0) -> Iterator[Path]:
    """Mount a file system of this size on a new folder; skips the test where that is forbidden.

    Args:
        folder: made here.
        size: in bytes; whole pages.
        inodes: how many files and folders it holds; 0 for any number.
    """
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={size},nr_inodes={inodes},mode=1777", "tmpfs", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"needs the right to mount a file system: {done.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(folder: Path) -> None:
    """Take all the room that is left on a folder's disk."""
    with (folder / "filler").open("ab", buffering=0) as file:
        try:
            while file.write(bytes(4096)):
                continue
        except OSError:
            return
