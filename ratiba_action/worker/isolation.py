"""Where a process that judges finds its modules: standard library first, then installed packages, then the repository.

Its interpreter is started with ``-I -S``: without ``PYTHON…`` variables, ``sitecustomize``, ``usercustomize`` and the
lines of ``.pth`` files that run code. What such an interpreter leaves out besides is added here: the folders that
packages are installed in, and those that a ``.pth`` file names, as an editable install does.
"""

from __future__ import annotations

import ast
import json
import os
import re
import site
import sys
from importlib.machinery import PathFinder
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

OF_ANYBODY = frozenset({"benchmarks", "doc", "docs", "example", "examples", "scripts", "test", "tests", "tools"})
"""Names that many repositories use, and that packages leave among installed ones by mistake: nothing needs those."""
_EDITABLE = re.compile(r"import (__editable___\w+_finder); \1\.install\(\)")
_MAPPING = re.compile(r"^MAPPING(?:: [^=\n]*)? = (\{[^\n]*\})", re.MULTILINE)
_MAX_READ = 1 << 20


def enter(checkout: str) -> None:
    """Add installed packages to the path of an interpreter that was started with ``-I -S``; nothing shadows them.

    A second call, and a call in an interpreter that was started in another way, does nothing.

    Args:
        checkout: what the repository's copy is a copy of: an editable install of that means the copy. Empty for none.
    """
    if not sys.flags.no_site or _finder() is not None:
        return
    standard = [entry for entry in sys.path if entry]
    installed = _installed()
    sys.path[:] = [*dict.fromkeys((*standard, *installed))]
    place = sys.meta_path.index(PathFinder) if PathFinder in sys.meta_path else 0
    sys.meta_path.insert(place, InstalledFirst(standard, installed, checkout))


def look_in(root: str) -> None:
    """Let modules of the repository be imported; where it judges, after the standard library and installed packages."""
    finder = _finder()
    if finder is None:
        sys.path.insert(0, root)
        return
    folders = [root]
    for named in [named for folder in finder.installed for named in _named_folders(folder)]:
        own = bool(finder.checkout) and f"{named}/".startswith(f"{finder.checkout}/")
        folders.append(root + named[len(finder.checkout) :] if own else named)
    folders += [os.path.join(root, entry) for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry]  # noqa: PTH118 - the same
    sys.path += [folder for folder in dict.fromkeys(folders) if folder not in sys.path]


class InstalledFirst:
    """Finds a module of the standard library or of an installed package, whatever stands before it on ``sys.path``.

    Args:
        standard: folders of the standard library.
        installed: folders of installed packages.
        checkout: see ``enter``.
    """

    def __init__(self, standard: list[str], installed: list[str], checkout: str = "") -> None:
        self.standard, self.installed, self.checkout = standard, installed, checkout
        self.own = OF_ANYBODY | {name for folder in installed for name in _of_local_folders(folder)}

    def find_spec(self, name: str, path: Any = None, _target: Any = None) -> Any:
        """The spec of a top-level module that lies in one of the folders; None to look elsewhere.

        A name that is the repository's own is looked for in the repository first.
        """
        if path is not None:
            return None
        found = PathFinder.find_spec(name, self.standard)
        if found is not None and name not in OF_ANYBODY:
            return found
        if name in self.own:
            known = {*self.standard, *self.installed}
            return PathFinder.find_spec(name, [entry for entry in sys.path if entry not in known])
        found = PathFinder.find_spec(name, self.installed)
        if found is not None and found.loader is None:  # a namespace, which a folder of the repository may add to
            whole = PathFinder.find_spec(name)
            return whole if whole is not None and whole.loader is None else found
        return found

    def invalidate_caches(self) -> None:
        """Do nothing: ``PathFinder`` keeps what was found."""


def shadowed(root: str) -> list[str]:
    """Files and packages of a folder that are not imported: an installed one or the standard library has their name."""
    finder = _finder()
    if finder is None:
        return []
    found = []
    for entry in sorted(os.listdir(root)):  # noqa: PTH208 - plain strings
        name, _, ending = entry.partition(".")
        place = os.path.join(root, entry)  # noqa: PTH118 - the same
        module = ending in ("py", "pyc", "pyd") or ending.endswith("so")
        if not name.isidentifier() or not (module or os.path.isfile(os.path.join(place, "__init__.py"))):  # noqa: PTH113, PTH118 - the same
            continue
        standard = name in sys.builtin_module_names or name in getattr(sys, "stdlib_module_names", ())
        if name not in finder.own and (standard or finder.find_spec(name) is not None):
            found.append(entry)
    return found


def explanation(root: str) -> str:
    """What an error says besides where modules of the repository were asked for and not imported; empty for nothing."""
    names = [entry for entry in shadowed(root) if entry.partition(".")[0] in sys.modules]
    return f" ({_not_imported(names)})" if names else ""


def warnings(root: str) -> list[str]:
    """What the reader of a report should know about modules of the repository that are not imported."""
    names = shadowed(root)
    return [_not_imported(names)] if names else []


def _not_imported(names: list[str]) -> str:
    return (
        f"{', '.join(names[:10])} of the repository is not imported by rules, metrics and tests, which find modules of "
        "the standard library and of installed packages first: rename it, or do not import it there."
    )


def _finder() -> InstalledFirst | None:
    return next((finder for finder in sys.meta_path if isinstance(finder, InstalledFirst)), None)


def _installed() -> list[str]:
    """Folders of installed packages, as ``site`` would add them; those of the user's own come last."""
    prefixes = [sys.prefix, sys.exec_prefix]
    environment = _virtual_environment()
    if environment is not None:
        folder, with_system = environment
        prefixes = [folder, *(prefixes if with_system else ())]
        sys.prefix = sys.exec_prefix = folder
    folders = site.getsitepackages([*dict.fromkeys(prefixes)])
    if environment is None:
        folders = [*folders, site.getusersitepackages()]
    return [folder for folder in dict.fromkeys(folders) if os.path.isdir(folder)]  # noqa: PTH112 - as above


def _virtual_environment() -> tuple[str, bool] | None:
    """The virtual environment of this interpreter, and whether the system's packages are in it too; None for none."""
    folder = os.path.dirname(os.path.abspath(sys.executable))  # noqa: PTH100, PTH120 - as above
    above = os.path.dirname(folder)  # noqa: PTH120 - the same
    for place in (folder, above):
        lines = _read(os.path.join(place, "pyvenv.cfg")).splitlines()  # noqa: PTH118 - the same
        given = {
            key.strip().lower(): value.strip().lower() for key, _, value in (line.partition("=") for line in lines)
        }
        if given:
            return above, given.get("include-system-site-packages") == "true"
    return None


def _named_folders(folder: str) -> Iterator[str]:
    """Folders that lines of ``.pth`` files name; a line that runs code is not run, and that of setuptools is read."""
    for name in sorted(os.listdir(folder)):  # noqa: PTH208 - plain strings
        if not name.endswith(".pth") or name.startswith("."):
            continue
        for line in _read(os.path.join(folder, name)).splitlines():  # noqa: PTH118 - as above
            finder = _EDITABLE.match(line)
            lines = _mapped_folders(os.path.join(folder, f"{finder[1]}.py")) if finder else [line.rstrip()]  # noqa: PTH118 - the same
            for place in lines if finder or not line.startswith(("#", "import ", "import\t")) else []:
                named = os.path.abspath(os.path.join(folder, place))  # noqa: PTH100, PTH118 - the same
                if place and os.path.isdir(named):  # noqa: PTH112 - the same
                    yield named


def _mapped_folders(file: str) -> list[str]:
    """Folders of the packages that an editable install of setuptools maps, read from the finder that it wrote."""
    found = _MAPPING.search(_read(file))
    try:
        mapping = ast.literal_eval(found[1]) if found else {}
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    places = mapping.values() if isinstance(mapping, dict) else ()
    return [os.path.dirname(place) for place in places if isinstance(place, str)]  # noqa: PTH120 - as above


def _of_local_folders(folder: str) -> Iterator[str]:
    """Top-level names of packages that were installed from a folder of this machine, as the repository's own is."""
    for entry in os.listdir(folder):  # noqa: PTH208 - plain strings
        if not entry.endswith(".dist-info"):
            continue
        try:
            origin = json.loads(_read(os.path.join(folder, entry, "direct_url.json")) or "{}")  # noqa: PTH118 - as above
        except ValueError:
            continue
        if isinstance(origin, dict) and "dir_info" in origin:
            lines = _read(os.path.join(folder, entry, "RECORD")).splitlines()  # noqa: PTH118 - the same
            paths = {line.partition(",")[0].partition("/")[0] for line in lines}
            yield from (path.removesuffix(".py") for path in paths)


def _read(path: str) -> str:
    """The text of a small file; empty where it cannot be read."""
    try:
        with open(path, encoding="utf-8-sig") as file:  # noqa: PTH123 - as above
            return file.read(_MAX_READ)
    except (OSError, UnicodeDecodeError):
        return ""
