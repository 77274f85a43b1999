"""Which files state dependencies, who parses them, and what differs between base and head."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

from ratiba_action.core.dependencies import versions
from ratiba_action.core.dependencies.compare import StepOf, compare, constraint_steps, version_steps
from ratiba_action.core.dependencies.manifest import Manifest
from ratiba_action.core.model.change import DependencyChange


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of dependency file.

    Args:
        parser: module of this package that parses it; imported when such a file changed.
        lock: it holds the resolver's result, not what a person asked for.
    """

    parser: str
    steps: Callable[[versions.VersionParser], StepOf]
    version: versions.VersionParser
    lock: bool = False

    def parse(self, content: bytes) -> Manifest:
        """Parse a file of this kind.

        Raises:
            ValueError: it is not such a file.
        """
        parse: Callable[[str], Manifest] = import_module(f"ratiba_action.core.dependencies.{self.parser}").parse
        try:
            return parse(content.decode("utf-8"))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ValueError(f"it cannot be parsed: {type(error).__name__}: {str(error)[:200]}") from error


_MANIFEST, _LOCK = constraint_steps, version_steps
_KINDS: tuple[tuple[str, Kind], ...] = (
    (r"pyproject\.toml", Kind("pyproject", _MANIFEST, versions.pep440)),
    (r"uv\.lock", Kind("uv_lock", _LOCK, versions.pep440, lock=True)),
    (r"poetry\.lock", Kind("poetry_lock", _LOCK, versions.pep440, lock=True)),
    (
        r"[\w.-]*requirements[\w.-]*\.(?:txt|in)|requirements/[^/]*\.(?:txt|in)",
        Kind("requirements", _MANIFEST, versions.pep440),
    ),
    (r"package\.json", Kind("package_json", _MANIFEST, versions.semver)),
    (r"package-lock\.json|npm-shrinkwrap\.json", Kind("package_lock", _LOCK, versions.semver, lock=True)),
    (r"pnpm-lock\.yaml", Kind("pnpm_lock", _LOCK, versions.semver, lock=True)),
    (r"Dockerfile(?:\.[^/]*)?|[^/]*\.[Dd]ockerfile", Kind("dockerfile", _LOCK, versions.tag)),
    (r"\.github/workflows/[^/]*\.ya?ml|action\.ya?ml", Kind("workflow", _LOCK, versions.tag)),
)


class KindTable:
    """Finds a path's kind with one expression, as most of a change's files have none."""

    def __init__(self) -> None:
        self._expression = re.compile("(?:.*/)?(?:" + "|".join(f"({name})" for name, _ in _KINDS) + ")", re.DOTALL)

    def kind_of(self, path: str) -> Kind | None:
        """The kind of a dependency file, None for any other file."""
        found = self._expression.fullmatch(path)
        return _KINDS[found.lastindex - 1][1] if found is not None and found.lastindex else None


@dataclass(frozen=True, slots=True)
class FileChange:
    """What happened to one dependency file.

    Args:
        changes: packages that differ.
        rest: something else differs as well, or nothing that this program understands does.
        problem: why the file could not be judged; empty when it was.
    """

    changes: tuple[DependencyChange, ...] = ()
    rest: bool = False
    problem: str = ""


def compare_file(kind: Kind, path: str, before: bytes | None, after: bytes | None) -> FileChange:
    """Compare the two states of a dependency file; None is a file that is not there."""
    if before is None:
        return FileChange(rest=True)
    if after is None:
        return FileChange(rest=True, problem="the lock file was deleted, so versions float" if kind.lock else "")
    if before == after:
        return FileChange(rest=True)
    try:
        old = kind.parse(before)
        new = kind.parse(after)
    except ValueError as error:
        return FileChange(problem=str(error))
    if kind.lock and old.pins and not new.pins:
        return FileChange(problem="no package is left in the lock file")
    changes = tuple(compare(old, new, path, kind.steps(kind.version)))
    return FileChange(changes, rest=not changes or old.rest != new.rest)


def blocks(change: DependencyChange, *, lock: bool, counted: bool) -> bool:
    """Whether one package's change asks for a blocking run; see ``docs/decisions/0001-mode-from-paths.md``.

    Args:
        change: what happened to the package.
        lock: it was found in a lock file.
        counted: the configuration lets this package's bumps count.
    """
    if change.change in ("source", "unreadable"):
        return True
    if change.change == "removed":
        return counted and not lock
    return counted and change.change in ("major", "downgrade")
