"""The files that judge, in a copy that a set-up command has run in: they must be those of their commit."""

import contextlib
import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ratiba_action.errors import WorkerError
from ratiba_action.util.locked_folder import read_plain_file
from ratiba_action.util.text import few

_CODE = (".py", ".pyc", ".pyd", ".so")
_BUILT = (".pyc", ".pyd", ".so")
_CACHE = "__pycache__"
_SHOWN = 5
_REMEDY = (
    "Let `system.setup` write files that git does not track, or commit what it makes: rules, metrics and tests run as "
    "they are committed."
)


@dataclass(frozen=True, slots=True)
class JudgingFiles:
    """What a copy held before a set-up command ran in it.

    Args:
        code: a digest of each Python file, by path.
        others: inode and time of the last change of every other file.
    """

    copy: Path
    code: Mapping[str, str]
    others: Mapping[str, tuple[int, int]]

    @classmethod
    def of(cls, copy: Path) -> "JudgingFiles":
        """Read a copy in which no code has run yet."""
        names = list(_files(copy))
        code = {name: _content(copy, name) for name in names if name.endswith(_CODE)}
        return cls(copy, code, {name: _stamp(copy, name) for name in names if name not in code})

    def require_code(self) -> tuple[str, ...]:
        """Check that every Python file is as it was and would still be imported, and forget compiled ones of them.

        Returns:
            A warning of other files that set-up changed or removed, where there are any.

        Raises:
            WorkerError: a Python file was changed, removed, or is hidden behind another one.
        """
        changed = [name for name, digest in self.code.items() if _content(self.copy, name) != digest]
        if changed:
            raise WorkerError(f"the set-up command changed or removed {_listed(changed)}, by which is judged.", _REMEDY)
        hiding = sorted(self._hiding())
        if hiding:
            raise WorkerError(
                f"the set-up command made {_listed(hiding)}, which is imported instead of a file.", _REMEDY
            )
        others = [name for name, stamp in self.others.items() if _stamp(self.copy, name) != stamp]
        return (f"system.setup changed {_listed(others)} where rules, metrics and tests run.",) if others else ()

    def _hiding(self) -> Iterator[str]:
        """New entries that Python would import instead of a file that was there; removes what was compiled of one."""
        modules: dict[str, set[str]] = {}
        for name in self.code:
            folder, _, file = name.rpartition("/")
            modules.setdefault(folder, set()).add(file.partition(".")[0])
        known = {*self.code, *self.others}
        for folder, stems in modules.items():
            for path in sorted((self.copy / folder).iterdir()):
                entry, name = path.name, path.relative_to(self.copy).as_posix()
                if entry == _CACHE:
                    _forget(path, stems)
                elif name not in known and entry.partition(".")[0] in stems and _is_imported(path):
                    yield name


def _is_imported(path: Path) -> bool:
    """Whether Python finds a package or a built module at a path."""
    packages = (path / f"__init__{ending}" for ending in (".py", *_BUILT))
    return path.name.endswith(_BUILT) or any(map(os.path.lexists, packages)) or bool(list(path.glob("__init__.*")))


def _forget(cache: Path, stems: set[str]) -> None:
    with contextlib.suppress(OSError):
        if cache.is_symlink():
            cache.unlink()
            return
        for compiled in cache.iterdir():
            if compiled.name.partition(".")[0] in stems:
                compiled.unlink()


def _files(copy: Path) -> Iterator[str]:
    """Paths of files and links below a folder, with slashes."""
    for folder, folders, names in os.walk(copy):
        linked = [name for name in folders if os.path.islink(os.path.join(folder, name))]  # noqa: PTH114, PTH118 - thousands of them
        for name in (*names, *linked):
            yield os.path.relpath(os.path.join(folder, name), copy)  # noqa: PTH118 - the same


def _content(copy: Path, name: str) -> str:
    """What distinguishes a file from another one: a digest, or where a link leads."""
    try:
        path = copy / name
        return f"-> {path.readlink()}" if path.is_symlink() else hashlib.sha256(read_plain_file(copy, name)).hexdigest()
    except OSError:  # there is none, or it is too large to be read
        return str(_stamp(copy, name))


def _stamp(copy: Path, name: str) -> tuple[int, int]:
    try:
        found = (copy / name).lstat()
    except OSError:
        return 0, 0
    return found.st_ino, found.st_ctime_ns


def _listed(names: list[str]) -> str:
    return few(list(map(repr, names)), _SHOWN)
