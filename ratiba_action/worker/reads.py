"""Which files a process opens to read, noted by an audit hook of Python; see ``docs/decisions/0115``.

The hook only keeps paths as they were given; what they mean is found out when somebody asks. A system can lie to it:
what it notes makes a decision stricter and nothing else.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from typing import Any

MAX_PATHS = 50_000
"""Of all files that are opened, those of libraries too."""
MAX_BYTES = 512 * 1024
"""Of all paths that are reported."""
_EVENTS = frozenset({"open", "os.chdir", "sqlite3.connect"})
_PACKAGES = ("/site-packages/", "/dist-packages/")
_COMPILED = "/__pycache__/"


class OpenedPaths:
    """The paths that this process and those that it is a fork of have opened to read."""

    def __init__(self) -> None:
        self._paths: set[str | bytes] = set()

    def install(self) -> None:
        """Note every path from now on. An interpreter keeps its hooks to its end."""
        events, note = _EVENTS, self._note

        def hook(event: str, arguments: tuple[Any, ...]) -> None:
            if event in events:
                note(event, arguments)

        sys.addaudithook(hook)  # a bound method takes three times as long, for each of some 40,000 events of an import

    def keep(self, root: str) -> frozenset[str | bytes]:
        """What was noted so far below a folder, for ``restore``.

        A framework has thousands of files elsewhere, and each conversation would look at all of them again.

        Args:
            root: absolute, without links.
        """
        self._leave()
        return frozenset(path for path in self._paths if os.fsdecode(path).startswith(root + os.sep))

    def restore(self, kept: frozenset[str | bytes]) -> None:
        """Forget what was noted since ``keep``: the worker itself has read it."""
        self._paths = set(kept)

    def _note(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Never raises: what a hook raises is raised where the file is opened."""
        if event == "open":
            path, _, flags = arguments
            if type(flags) is int and flags & os.O_ACCMODE == os.O_WRONLY:
                return
        elif event == "sqlite3.connect":
            path = arguments[0]
            if type(path) is str and path.startswith("file:"):  # as a URI
                path = path[5:].partition("?")[0]
        else:
            self._leave()
            return
        kind = type(path)
        if kind is not str and kind is not bytes:
            if kind is int or not hasattr(kind, "__fspath__"):
                return
            try:
                path = os.fspath(path)
            except Exception:  # noqa: BLE001 - code of the system
                return
        if len(self._paths) < MAX_PATHS:
            self._paths.add(path)

    def _leave(self) -> None:
        """Relative paths mean the folder that is left."""
        with contextlib.suppress(OSError):
            here = os.getcwd()  # noqa: PTH109 - plain strings
            paths = [path if isinstance(path, str) else os.fsdecode(path) for path in list(self._paths)]
            self._paths = {path if path.startswith("/") else f"{here}/{path}" for path in paths}

    def below(self, root: str) -> list[str]:
        """Paths below a folder, relative to it, sorted; the source of a compiled module instead of that.

        Args:
            root: absolute, without links.
        """
        self._leave()
        found: set[str] = set()
        own: dict[str, bool] = {}
        folders: dict[str, str] = {}
        for path in map(os.fsdecode, list(self._paths)):
            if path.startswith(root + os.sep) and "\0" not in path and (name := _relative(path, root, own)):
                found |= {name, _relative(_real(path, folders), root, own) or name}
        reported, size = [], 0
        for name in sorted(found):
            size += len(json.dumps(name)) + 2
            if size > MAX_BYTES:
                break
            reported.append(name)
        return reported


def _real(path: str, folders: dict[str, str]) -> str:
    """What a path leads to; ``folders`` are those that were looked up already, since each takes a tenth of a ms."""
    folder, name = os.path.split(path)
    if folder not in folders:
        folders[folder] = os.path.realpath(folder)
    real = f"{folders[folder]}/{name}"
    return os.path.realpath(real) if os.path.islink(real) else real  # noqa: PTH114 - plain strings


def _relative(path: str, root: str, own: dict[str, bool]) -> str:
    """The path below the root; empty for one elsewhere, and for a library's."""
    path = os.path.normpath(path)
    if not path.startswith(root + os.sep):
        return ""
    name = path[len(root) + 1 :]
    folder, _, package = name.rpartition(next((part for part in _PACKAGES if part in f"/{name}"), "\0"))
    if folder:
        top = package.partition("/")[0]
        if top not in own:  # a package of the repository's own that set-up has installed
            own[top] = any(os.path.exists(os.path.join(root, place, top)) for place in ("", "src"))  # noqa: PTH110, PTH118 - the same
        if not own[top]:
            return ""
    if name.endswith(".pyc"):
        folder, compiled, file = f"/{name}".rpartition(_COMPILED)
        name = f"{folder}/{file.partition('.')[0]}.py".lstrip("/") if compiled else name[:-1]
    return name
