"""``prompt_version`` of each prompt file: ``<name>@<short commit>`` (``seeds/000`` §5).

In a shallow or dirty tree history cannot tell, so a content hash stands in for the commit.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from ratiba_action.changes.git import Git
from ratiba_action.errors import InfrastructureError


def prompt_versions(
    repository: Path, system_root: str, patterns: Sequence[str], environment: Mapping[str, str]
) -> tuple[str, ...]:
    """Versions of every prompt file that a pattern matches, sorted.

    Args:
        repository: root of the checkout.
        system_root: folder of the system inside it.
        patterns: glob patterns below the system's root.
        environment: of the caller, for git.
    """
    root = repository / system_root
    files = sorted({path for pattern in patterns for path in root.glob(pattern) if path.is_file()})
    commits = _commits(repository, environment, [path.relative_to(repository).as_posix() for path in files])
    versions = zip(files, commits, strict=True)
    return tuple(sorted(f"{path.stem}@{commit or _content_hash(path)}" for path, commit in versions))


def _commits(repository: Path, environment: Mapping[str, str], names: Sequence[str]) -> Iterable[str | None]:
    unknown = [None] * len(names)
    try:
        git = Git(repository, environment)
        shallow = git.run("rev-parse", "--is-shallow-repository").strip() != "false"
        if not names or shallow or git.run("status", "--porcelain", "-z", "--", *names):
            return unknown
        return [git.run("log", "-1", "--format=%h", "HEAD", "--", name).strip() or None for name in names]
    except InfrastructureError:
        return unknown


def _content_hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:12]
