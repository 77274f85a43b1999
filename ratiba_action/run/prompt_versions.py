"""``prompt_version`` of each prompt file: ``<name>@<short commit>`` (``seeds/000`` §5).

In a shallow or dirty tree history cannot tell, so a content hash stands in for the commit.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ratiba_action.errors import InfrastructureError
from ratiba_action.util.git import Git
from ratiba_action.util.plain_file import is_file
from ratiba_action.util.work_tree import differing


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
    git: Git | None,
    exported: Exported | None = None,
) -> tuple[str, ...]:
    """Versions of every prompt file that a pattern matches, sorted.

    Args:
        repository: root of the checkout.
        system_root: folder of the system inside it.
        patterns: glob patterns below the system's root.
        git: the repository; None where there is none.
        exported: files to look at in the place of the work tree's.
    """
    top = repository if exported is None else exported.folder
    files = _prompt_files(top / system_root, patterns)
    names = [path.relative_to(top).as_posix() for path in files]
    commits = _commits(git, names, exported.commit if exported is not None else None)
    versions = zip(files, commits, strict=True)
    return tuple(sorted(f"{path.stem}@{commit or _content_hash(path)}" for path, commit in versions))


def edited_prompts(
    repository: Path, system_root: str, patterns: Sequence[str], changed: Iterable[str]
) -> tuple[str, ...]:
    """Paths of the prompt files among those that a change touches, sorted.

    Args:
        repository: root of the checkout.
        system_root: folder of the system inside it.
        patterns: glob patterns below the system's root.
        changed: paths in the repository.
    """
    files = {path.relative_to(repository).as_posix() for path in _prompt_files(repository / system_root, patterns)}
    return tuple(sorted(files & set(changed)))


def _prompt_files(root: Path, patterns: Sequence[str]) -> Sequence[Path]:
    return sorted({path for pattern in patterns for path in root.glob(pattern) if is_file(path)})


def _commits(git: Git | None, names: Sequence[str], commit: str | None) -> Iterable[str | None]:
    """The last commit that touched each file; ``commit`` is that of exported files, None for the work tree."""
    unknown = [None] * len(names)
    if git is None or not names:
        return unknown
    try:
        if commit is None and _edited(git, names):
            return unknown
        return [git.last_commit(name, commit or "HEAD") or None for name in names]
    except InfrastructureError:
        return unknown


def _edited(git: Git, names: Sequence[str]) -> bool:
    tree = git.tree("HEAD")
    committed = {name: tree[name] for name in names if name in tree}
    return len(committed) < len(names) or bool(differing(git, committed))


def _content_hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:12]
