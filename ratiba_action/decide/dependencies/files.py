"""Which files state dependencies, who parses them, and what differs between base and head."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module

from ratiba_action.decide.dependencies import versions
from ratiba_action.decide.dependencies.compare import StepOf, compare, constraint_steps, version_steps
from ratiba_action.decide.dependencies.manifest import Manifest
from ratiba_action.model.change import DependencyChange


@dataclass(frozen=True, slots=True)
class DependencyFileKind:
    """One kind of dependency file.

    Args:
        parser: module of this package that parses it, ``module:function`` where it parses more than one kind;
            imported when such a file changed. Empty for a file that only other tools can read.
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
        module, _, function = self.parser.partition(":")
        if not module:
            raise ValueError("it decides which packages are installed, and what changed in it cannot be determined")
        parser = import_module(f"ratiba_action.decide.dependencies.{module}")
        parse: Callable[[str], Manifest] = getattr(parser, function or "parse")
        try:
            return parse(content.decode("utf-8-sig"))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ValueError(f"it cannot be parsed: {type(error).__name__}: {str(error)[:200]}") from error


_MANIFEST, _LOCK = constraint_steps, version_steps
_OPAQUE = (
    r"setup\.py|setup\.cfg|pipfile|environment[\w.-]*\.ya?ml|conda[\w.-]*\.ya?ml|meta\.ya?ml|pixi\.(?:toml|lock)"
    r"|\.?pip\.(?:conf|ini)|uv\.toml|pdm\.toml|poetry\.toml|\.pypirc|\.netrc|\.condarc"
    r"|\.npmrc|\.yarnrc(?:\.ya?ml)?|pnpm-workspace\.yaml|\.pnpmfile\.c?js|bunfig\.toml|bun\.lockb"
    r"|[^/]*\.pth|sitecustomize\.py|usercustomize\.py"
)
"""Files that say which packages are installed, or from where, in a way that is not read here."""
# Each matches a file's name in lower case, whatever folder it is in; a lookbehind says which one it has to be in.
_KINDS: tuple[tuple[str, DependencyFileKind], ...] = (
    (r"pyproject\.toml", DependencyFileKind("pyproject", _MANIFEST, versions.pep440)),
    (r"uv\.lock", DependencyFileKind("python_locks:parse_uv", _LOCK, versions.pep440, lock=True)),
    (r"poetry\.lock", DependencyFileKind("python_locks:parse_poetry", _LOCK, versions.pep440, lock=True)),
    (
        r"(?:[\w.-]*(?:requirements|constraints)[\w.-]*|(?:(?<=/requirements/)|(?<=/constraints/))[^/]*)\.(?:txt|in)",
        DependencyFileKind("requirements", _MANIFEST, versions.pep440),
    ),
    (r"package\.json", DependencyFileKind("package_json", _MANIFEST, versions.semver)),
    (
        r"package-lock\.json|npm-shrinkwrap\.json",
        DependencyFileKind("node_locks:parse_npm", _LOCK, versions.semver, lock=True),
    ),
    (r"pnpm-lock\.yaml", DependencyFileKind("node_locks:parse_pnpm", _LOCK, versions.semver, lock=True)),
    (r"pdm\.lock", DependencyFileKind("python_locks:parse_pdm", _LOCK, versions.pep440, lock=True)),
    (r"pylock(?:\.[^/]*)?\.toml", DependencyFileKind("python_locks:parse_pylock", _LOCK, versions.pep440, lock=True)),
    (r"pipfile\.lock", DependencyFileKind("python_locks:parse_pipfile", _LOCK, versions.pep440, lock=True)),
    (r"yarn\.lock", DependencyFileKind("node_locks:parse_yarn", _LOCK, versions.semver, lock=True)),
    (r"bun\.lock", DependencyFileKind("node_locks:parse_bun", _LOCK, versions.semver, lock=True)),
    (
        r"\.(?:python|node)-version|\.nvmrc|\.tool-versions",
        DependencyFileKind("manifest:parse_interpreters", _LOCK, versions.tag),
    ),
    (_OPAQUE, DependencyFileKind("", _LOCK, versions.tag)),
    (
        r"(?:docker|container)file(?:\.[^/]*)?|[^/]*\.(?:docker|container)file",
        DependencyFileKind("dockerfile", _LOCK, versions.tag),
    ),
    (r"(?<=/\.github/workflows/)[^/]*\.ya?ml|action\.ya?ml", DependencyFileKind("workflow", _LOCK, versions.tag)),
)


class KindTable:
    """Finds a path's kind with one expression, as most of a change's files have none."""

    def __init__(self) -> None:
        self._text = "(?>.*/)(?:" + "|".join(f"({name})" for name, _ in _KINDS) + ")"
        self._lower = re.compile(self._text, re.DOTALL)  # in half the time of one for any letter case

    @cached_property
    def _any_case(self) -> re.Pattern[str]:
        return re.compile(self._text, re.DOTALL | re.IGNORECASE)

    def kind_of(self, path: str) -> DependencyFileKind | None:
        """The kind of a dependency file, None for any other file."""
        name = f"/{path}"
        found = self._lower.fullmatch(name.lower()) if name.isascii() else self._any_case.fullmatch(name)
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


def compare_file(kind: DependencyFileKind, path: str, before: bytes | None, after: bytes | None) -> FileChange:
    """Compare the two states of a dependency file; None is a file that is not there."""
    if after is None and kind.lock and before is not None:
        return FileChange(rest=True, problem="the lock file was deleted, so versions float")
    if before == after:
        return FileChange(rest=True)
    try:
        old = kind.parse(before) if before is not None else Manifest({})
        new = kind.parse(after) if after is not None else Manifest({})
    except ValueError as error:
        return FileChange(problem=str(error))
    if kind.lock and old.pins and not new.pins:
        return FileChange(problem="no package is left in the lock file")
    changes = tuple(compare(old, new, path, kind.steps(kind.version)))
    if before is None or after is None:
        # A whole file that comes or goes is judged as such, and by where it takes packages from. In a new lock file
        # every package names its registry, which says nothing.
        settings = {*old.sources, *new.sources}
        foreign = [
            change for change in changes if change.change == "source" and (change.package in settings or not kind.lock)
        ]
        return FileChange(tuple(foreign), rest=True)
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
