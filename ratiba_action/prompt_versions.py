"""``prompt_version`` of each prompt file: ``<name>@<short commit>`` (``seeds/000`` §5).

In a shallow or dirty tree history cannot tell, so a content hash stands in for the commit.
"""

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path

from ratiba_action.changes.git import Git


def prompt_versions(repository: Path, system_root: str, patterns: Sequence[str]) -> tuple[str, ...]:
    """Versions of every prompt file that a pattern matches, sorted.

    Args:
        repository: root of the checkout.
        system_root: folder of the system inside it.
        patterns: glob patterns below the system's root.
    """
    root = repository / system_root
    files = sorted({path for pattern in patterns for path in root.glob(pattern) if path.is_file()})
    commits = _commits(Git(repository), [path.relative_to(repository).as_posix() for path in files])
    return tuple(sorted(f"{path.stem}@{commit or _content_hash(path)}" for path, commit in zip(files, commits, strict=True)))


def _commits(git: Git, names: Sequence[str]) -> Iterable[str | None]:
    if not names or git.is_shallow() or git.run("status", "--porcelain", "-z", "--", *names) != "":
        return [None] * len(names)
    return [git.run("log", "-1", "--format=%h", "HEAD", "--", name) or None for name in names]


def _content_hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:12]
