"""What a repository's own files say of its system: how its packages are installed and its server is started."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

_PIP = "setup: [sh, -c, python3 -m venv .venv && .venv/bin/pip install {}]"
_MAX_BYTES = 1 << 20
_DOCKERFILE = "Dockerfile"
_EXPOSED = re.compile(r"^\s*EXPOSE\s+(\d{1,5})\b", re.IGNORECASE | re.MULTILINE)
_USUAL_PORT, _LAST_PORT = 8000, 65_535


@dataclass(frozen=True, slots=True)
class Project:
    """What was found.

    Args:
        setup: lines of YAML for the block ``system``; empty where nothing is to be installed, or nothing is known.
        serve: the server's command; empty where none is known.
        port: that a container built from the Dockerfile listens on; None where a simpler way is known.
    """

    setup: tuple[str, ...] = ()
    serve: tuple[str, ...] = ()
    port: int | None = None


NO_PROJECT = Project()
_NODE: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "package-lock.json": ("npm", "ci"),
        "pnpm-lock.yaml": ("pnpm", "install", "--frozen-lockfile"),
        "yarn.lock": ("yarn", "install", "--frozen-lockfile"),
    }
)
"""How packages are installed as each lock file has them."""


def read_project(folder: Path) -> Project:
    """What the files of a folder say; the first of Python, Node, Go and Ruby whose files are there.

    A Dockerfile says how a server is started where nothing else does.
    """
    names = sorted(entry.name for entry in folder.iterdir() if entry.is_file())
    if python := _python(names):
        return Project((*python, "python: .venv/bin/python"))
    found = _server(folder, names)
    return found if found.serve or _DOCKERFILE not in names else Project(port=_port(folder / _DOCKERFILE))


def _server(folder: Path, names: Sequence[str]) -> Project:
    if "package.json" in names:
        return _node(folder / "package.json", names)
    if "go.mod" in names:
        return Project(("setup: [go, build, -o, server, .]",), ("./server",))
    return Project(("setup: [bundle, install]",) if "Gemfile" in names else ())


def _port(path: Path) -> int:
    """The first port that a Dockerfile exposes; a usual one where it exposes none."""
    exposed = _EXPOSED.search(path.read_bytes()[:_MAX_BYTES].decode("utf-8", "replace"))
    port = int(exposed[1]) if exposed else _USUAL_PORT
    return port if 0 < port <= _LAST_PORT else _USUAL_PORT


def _python(names: Sequence[str]) -> tuple[str, ...]:
    if "uv.lock" in names:
        return ("setup: [uv, sync, --frozen]",)
    requirements = [name for name in names if name.startswith("requirements") and name.endswith(".txt")]
    if requirements:
        name = "requirements.txt" if "requirements.txt" in names else requirements[0]
        return _PIP.format(f"-r {name}"), f"setup_reads: [{name}]"
    return (_PIP.format("."),) if "pyproject.toml" in names else ()


def _node(path: Path, names: Sequence[str]) -> Project:
    try:
        described = json.loads(path.read_bytes()[:_MAX_BYTES])
    except (OSError, ValueError, RecursionError):
        return Project()
    described = described if isinstance(described, dict) else {}
    scripts = described.get("scripts")
    serve = ("npm", "start") if isinstance(scripts, dict) and "start" in scripts else ()
    lock = next((name for name in _NODE if name in names), None)
    if lock is None:
        return Project(("setup: [npm, install]",) if described.get("dependencies") else (), serve)
    return Project((f"setup: [{', '.join(_NODE[lock])}]", f"setup_reads: [package.json, {lock}]"), serve)
