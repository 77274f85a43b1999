"""Files of Git LFS: a commit holds a pointer, and the checkout what the pointer stands for."""

import hashlib
import re
from pathlib import Path

from ratiba_action.util.locked_folder import read_plain_file

POINTER = re.compile(
    rb"version https://git-lfs\.github\.com/spec/v1\n(?:ext-[^\n]+\n)*oid sha256:([0-9a-f]{64})\nsize (\d{1,19})\n"
)
"""A pointer, of which the groups are digest and size."""


def as_checked_out(root: Path, name: str, pointer: bytes, maximum: int) -> bytes | None:
    """What a pointer stands for, from the checkout; its SHA-256 stands in the pointer, so nothing else passes for it.

    Where Git LFS has not fetched the file, the checkout has the pointer itself, and so has everything that reads it.

    Args:
        name: path of the file, relative to it.
        pointer: content of the commit's file.
        maximum: bytes that are still read.

    Returns:
        The content; None where the checkout has another one, none, or a larger one.
    """
    try:
        content = read_plain_file(root, name, maximum)
    except OSError:
        return None
    found = POINTER.fullmatch(pointer)
    same = found is not None and hashlib.sha256(content).hexdigest().encode() == found[1]
    return content if same or content == pointer else None
