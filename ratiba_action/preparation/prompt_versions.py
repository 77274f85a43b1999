"""``prompt_version`` of each prompt file: ``<name>@<short commit>`` (``seeds/000`` §5).

In a shallow or dirty tree history cannot tell, so a content hash stands in for the commit.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ratiba_action.changes.git import Git
from ratiba_action.errors import InfrastructureError


@dataclass(frozen=True, slots=True)
class Exported:
    """Files of a commit outside the work tree.

    Args:
        folder: root of the files.
        commit: that they are of.
    """

    folder: Path
    commit: str


def prompt_versions(
    repository: Path,
    system_root: str,
    patterns: Sequence[str],
    environment: Mapping[str, str],
    exported: Exported | None = None,
) -> tuple[str, ...]:
    """Versions of every prompt file that a pattern matches, sorted.

    Args:
        repository: root of the checkout.
        system_root: folder of the system inside it.
        patterns: glob patterns below the system's root.
        environment: of the caller, for git.
        exported: files to look at in the place of the work tree's.
    """
    top = repository if exported is None else exported.folder
    root = top / system_root
    files = sorted({path for pattern in patterns for path in root.glob(pattern) if path.is_file()})
    names = [path.relative_to(top).as_posix() for path in files]
    commits = _commits(repository, environment, names, exported.commit if exported is not None else None)
    versions = zip(files, commits, strict=True)
    return tuple(sorted(f"{path.stem}@{commit or _content_hash(path)}" for path, commit in versions))


def _commits(
    repository: Path, environment: Mapping[str, str], names: Sequence[str], commit: str | None
) -> Iterable[str | None]:
    """The last commit that touched each file; ``commit`` is that of exported files, None for the work tree."""
    unknown = [None] * len(names)
    try:
        git = Git(repository, environment)
        shallow = git.run("rev-parse", "--is-shallow-repository").strip() != "false"
        if not names or shallow or (commit is None and git.run("status", "--porcelain", "-z", "--", *names)):
            return unknown
        return [git.run("log", "-1", "--format=%h", commit or "HEAD", "--", name).strip() or None for name in names]
    except InfrastructureError:
        return unknown


def _content_hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:12]
