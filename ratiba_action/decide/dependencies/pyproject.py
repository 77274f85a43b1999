"""``pyproject.toml``: PEP 621, dependency groups, build requirements, Poetry, PDM and uv."""

import tomllib
from collections.abc import Iterator
from typing import Any

from ratiba_action.decide.dependencies.manifest import Manifest, Pin, gather, gather_sources
from ratiba_action.decide.dependencies.requirements import normalise, parse_requirement

_RESOLVERS = ("uv", "pdm", "rye", "pixi", "pip", "conda-lock")
"""Tools whose tables say where packages come from; only the keys below are known to say nothing of it."""
_HARMLESS = frozenset({"package", "default-groups", "managed", "scripts", "cache-keys", "required-version"})


def parse(text: str) -> Manifest:
    """Read the file.

    Raises:
        ValueError: it is not TOML, or a requirement in it is not understood.
        TypeError: a table is not of the shape that its tool wants.
    """
    document = tomllib.loads(text)
    pins = [parse_requirement(line) for line in _take_requirements(document)]
    pins += _take_poetry(document)
    sources = _take_sources(document)
    project = document.get("project", {})
    if "requires-python" in project:
        pins.append(("python", Pin(project.pop("requires-python"))))
    placed = [
        (name, Pin(pin.requirement, sources[name], qualifier=pin.qualifier) if name in sources else pin)
        for name, pin in pins
    ]
    # A source of a package that only another package asks for.
    indirect = [(f"tool.uv.sources.{name}", sources[name]) for name in sources.keys() - {name for name, _ in pins}]
    return Manifest(gather(placed), document, gather_sources([*indirect, *_take_settings(document)]))


def _take_requirements(document: dict[str, Any]) -> Iterator[str]:
    """Every PEP 508 line; they are removed from the document."""
    project = document.get("project", {})
    tool_uv = document.get("tool", {}).get("uv", {})
    yield from project.pop("dependencies", [])
    yield from document.get("build-system", {}).pop("requires", [])
    for key in ("dev-dependencies", "constraint-dependencies", "override-dependencies"):
        yield from tool_uv.pop(key, [])
    tool_pdm = document.get("tool", {}).get("pdm", {}).get("dev-dependencies", {})
    for table in (project.get("optional-dependencies", {}), document.get("dependency-groups", {}), tool_pdm):
        for group, lines in table.items():
            yield from (line for line in lines if isinstance(line, str))
            table[group] = [line for line in lines if not isinstance(line, str)]


def _take_settings(document: dict[str, Any]) -> Iterator[tuple[str, object]]:
    """What decides where packages come from, and what builds them; it is removed from the document."""
    tools = document.get("tool", {})
    for tool in _RESOLVERS:
        table = tools.get(tool, {})
        for key in [entry for entry in table if entry not in _HARMLESS]:
            value = table.pop(key)
            if key != "dev-dependencies" or any(value.values()):
                yield f"tool.{tool}.{key}", value
    for tool, key in (("poetry", "source"), ("setuptools", "dynamic")):
        if key in tools.get(tool, {}):
            yield f"tool.{tool}.{key}", tools[tool].pop(key)
    built = document.get("build-system", {})
    yield from ((f"build-system.{key}", built.pop(key)) for key in ("build-backend", "backend-path") if key in built)


def _take_poetry(document: dict[str, Any]) -> Iterator[tuple[str, Pin]]:
    poetry = document.get("tool", {}).get("poetry", {})
    tables = [poetry.pop("dependencies", {}), poetry.pop("dev-dependencies", {})]
    tables += [group.pop("dependencies", {}) for group in poetry.get("group", {}).values()]
    for table in tables:
        for name, value in table.items():
            for entry in value if isinstance(value, list) else [value]:
                yield normalise(name), _poetry_pin(entry)


def _poetry_pin(value: Any) -> Pin:
    if isinstance(value, str):
        return Pin(value)
    rest = dict(value)
    version = rest.pop("version", "")
    source = " ".join(
        f"{key}={rest.pop(key)}"
        for key in ("git", "branch", "tag", "rev", "url", "path", "file", "source")
        if key in rest
    )
    return Pin(version, source, qualifier=repr(sorted(rest.items())) if rest else "")


def _take_sources(document: dict[str, Any]) -> dict[str, str]:
    """Sources that uv is configured to take packages from, by name."""
    table = document.get("tool", {}).get("uv", {}).pop("sources", {})
    return {normalise(name): repr(value) for name, value in table.items()}
