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
_NODE_SETTINGS = (".npmrc", ".yarnrc.yml", "pnpm-workspace.yaml")
"""What an installation reads besides, if it is there."""
_AT_INSTALLATION = frozenset({"preinstall", "install", "postinstall", "prepare"})
"""Scripts that an installation runs, and that may read any file."""
_YARN_2 = b"__metadata:"
_OTHER_FILE = re.compile(rb"^\s*(?:-[a-z]|--(?!hash)[a-z-]+|\.)|@\s*file:", re.MULTILINE)
"""A line of a requirements file that is an option or names another file or folder."""
_POETRY = "setup: [sh, -c, POETRY_VIRTUALENVS_IN_PROJECT=1 poetry install --no-interaction --only main --no-root]"
_LOCAL_PACKAGE = re.compile(rb"^(?:type = \"(?:directory|file)\"|develop = true)$", re.MULTILINE)
"""In ``poetry.lock``: a package that is a file or a folder of the repository."""
_BUNDLE = "setup: [sh, -c, bundle config set --local path vendor/bundle && bundle install]"
_GEM = r"^\s*gem\s*\(?\s*['\"]{}['\"]"
_RUBY: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("config/application.rb", "rails", ("rails", "server", "-b", "127.0.0.1", "-p", "{port}")),
    ("config.ru", "puma", ("puma", "-b", "tcp://127.0.0.1:{port}")),
    ("config.ru", "", ("rackup", "-o", "127.0.0.1", "-p", "{port}")),
    ("app.rb", "sinatra", ("ruby", "app.rb", "-o", "127.0.0.1", "-p", "{port}")),
)
"""A file, a gem of the ``Gemfile`` (empty for any) and how Bundler starts the server that has both."""


_FOREIGN = frozenset(
    {
        *("bun", "bundle", "cargo", "deno", "dotnet", "go", "java", "mvn", "node", "npm", "npx", "php", "pnpm"),
        *("ruby", "yarn"),
    }
)
"""Programs of other languages, which the gate's image does not have."""


def foreign_program(command: Sequence[str]) -> str:
    """The program that a command starts, if the action's image is known to lack it; else empty."""
    return next((name for word in command[:1] if (name := word.rpartition("/")[2]) in _FOREIGN), "")


_INSTALLED: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        ".venv": (".venv", "uv, sync", "VIRTUALENVS_IN_PROJECT"),
        "node_modules": ("npm", "yarn"),
        "vendor/bundle": ("bundle",),
    }
)
"""Folders that an installation makes, by words of the set-up that makes them."""


def installed_folder(setup: Sequence[str]) -> str:
    """The folder that a set-up fills with packages, which is no part of the repository; empty where none is known."""
    text = " ".join(setup)
    return next((folder for folder, words in _INSTALLED.items() if any(word in text for word in words)), "")


def read_project(folder: Path) -> Project:
    """What the files of a folder say; the first of Python, Node, Go and Ruby whose files are there.

    A Dockerfile says how a server is started where nothing else does.
    """
    names = sorted(entry.name for entry in folder.iterdir() if entry.is_file())
    if python := _python(folder, names):
        return Project((*python, "python: .venv/bin/python"))
    found = _server(folder, names)
    return found if found.serve or _DOCKERFILE not in names else Project(port=_port(folder / _DOCKERFILE))


def _server(folder: Path, names: Sequence[str]) -> Project:
    if "package.json" in names:
        return _node(folder, names)
    if "go.mod" in names:
        return Project(("setup: [go, build, -o, server, .]",), ("./server",))
    return _ruby(folder) if "Gemfile" in names else Project()


def _ruby(folder: Path) -> Project:
    gems = _content(folder / "Gemfile").decode("utf-8", "replace")
    for file, gem, started in _RUBY:
        if (folder / file).is_file() and (not gem or re.search(_GEM.format(gem), gems, re.MULTILINE)):
            return Project((_BUNDLE,), ("bundle", "exec", *started))
    return Project((_BUNDLE,))


def _port(path: Path) -> int:
    """The first port that a Dockerfile exposes; a usual one where it exposes none."""
    exposed = _EXPOSED.search(path.read_bytes()[:_MAX_BYTES].decode("utf-8", "replace"))
    port = int(exposed[1]) if exposed else _USUAL_PORT
    return port if 0 < port <= _LAST_PORT else _USUAL_PORT


def _python(folder: Path, names: Sequence[str]) -> tuple[str, ...]:
    if "uv.lock" in names:
        return ("setup: [uv, sync, --frozen]",)
    if "poetry.lock" in names and "pyproject.toml" in names:
        alone = _LOCAL_PACKAGE.search(_content(folder / "poetry.lock")) is None
        return _POETRY, *(["setup_reads: [pyproject.toml, poetry.lock]"] if alone else ())
    requirements = [name for name in names if name.startswith("requirements") and name.endswith(".txt")]
    if requirements and ("requirements.txt" in names or "pyproject.toml" not in names):
        name = "requirements.txt" if "requirements.txt" in names else requirements[0]
        alone = _OTHER_FILE.search(_content(folder / name)) is None
        return _PIP.format(f"-r {name}"), *([f"setup_reads: [{name}]"] if alone else ())
    return (_PIP.format("."),) if "pyproject.toml" in names else ()


def _node(folder: Path, names: Sequence[str]) -> Project:
    try:
        described = json.loads(_content(folder / "package.json"))
    except (ValueError, RecursionError):
        return Project()
    described = described if isinstance(described, dict) else {}
    given = described.get("scripts")
    scripts = given if isinstance(given, dict) else {}
    serve = ("npm", "start") if "start" in scripts else ()
    lock = next((name for name in _NODE if name in names), None)
    install = ["npm", "install"] if lock is None else list(_NODE[lock])
    if lock == "yarn.lock" and _YARN_2 in _content(folder / lock):
        install[-1] = "--immutable"
    if "build" in scripts:
        return Project((f"setup: [sh, -c, {' '.join(install)} && npm run build]",), serve)
    if lock is None:
        return Project((f"setup: [{', '.join(install)}]",) if described.get("dependencies") else (), serve)
    reads = ["package.json", lock, *(name for name in _NODE_SETTINGS if name in names)]
    alone = not _AT_INSTALLATION & scripts.keys()
    return Project(
        (f"setup: [{', '.join(install)}]", *([f"setup_reads: [{', '.join(reads)}]"] if alone else ())), serve
    )


def _content(path: Path) -> bytes:
    """The beginning of a file; empty where it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(_MAX_BYTES)
    except OSError:
        return b""
