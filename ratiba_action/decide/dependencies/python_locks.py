"""Lock files of uv, Poetry, PDM and Pipenv, and ``pylock.toml`` of PEP 751."""

import json
import tomllib
from collections.abc import Iterable, Mapping
from typing import Any

from ratiba_action.decide.dependencies.manifest import Manifest, Pin, gather, gather_sources, with_hosts
from ratiba_action.decide.dependencies.requirements import normalise

_VCS = ("git", "hg", "svn", "bzr", "ref", "revision", "url", "path", "editable", "subdirectory")


def parse_pdm(text: str) -> Manifest:
    """Read ``pdm.lock``.

    Raises:
        ValueError: it is not TOML.
        KeyError: it has no metadata, or a package no name.
    """
    document = tomllib.loads(text)
    settings = {key: value for key, value in document["metadata"].items() if key not in ("content_hash", "groups")}
    packages = [(normalise(entry["name"]), _pdm_pin(entry)) for entry in document.get("package", [])]
    return Manifest(gather(packages), sources=gather_sources((f"metadata.{key}", settings[key]) for key in settings))


def _pdm_pin(package: Mapping[str, Any]) -> Pin:
    files = package.get("files", [])
    addresses = [str(file["url"]) for file in files if "url" in file]
    named = [(str(file.get("file") or file.get("url", "")).rpartition("/")[2], file) for file in files]
    return Pin(
        str(package.get("version", "")),
        with_hosts(_origin(package, _VCS), addresses),
        frozenset((name, str(file["hash"])) for name, file in named if "hash" in file),
        str(package.get("marker", "")),
    )


def parse_pylock(text: str) -> Manifest:
    """Read ``pylock.toml``.

    Raises:
        ValueError: it is not TOML.
        KeyError: it has no packages, or a package no name.
    """
    document = tomllib.loads(text)
    return Manifest(gather((normalise(entry["name"]), _pylock_pin(entry)) for entry in document["packages"]))


def _pylock_pin(package: Mapping[str, Any]) -> Pin:
    files = [*package.get("wheels", []), *(package[key] for key in ("sdist", "archive") if key in package)]
    addresses = [str(file.get("url") or file.get("path", "")) for file in files]
    hashes = {
        (f"{file.get('name') or address.rpartition('/')[2]} {kind}", str(value))
        for file, address in zip(files, addresses, strict=True)
        for kind, value in file.get("hashes", {}).items()
    }
    source = with_hosts(_origin(package, ("index", "vcs", "directory")), addresses)
    return Pin(str(package.get("version", "")), source, frozenset(hashes), str(package.get("marker", "")))


def parse_pipfile(text: str) -> Manifest:
    """Read ``Pipfile.lock``.

    Raises:
        ValueError: it is not JSON.
        KeyError: it has no part ``_meta``.
    """
    document = json.loads(text)
    meta = document.pop("_meta")
    settings = [(f"sources.{entry.get('name', '')}", entry) for entry in meta.get("sources", [])]
    # The default index may be written out or left out; a package of another one is marked.
    indices = [str(entry.get("name", "")) for entry in meta.get("sources", [])][:1]
    pins = [
        (normalise(name), _pipfile_pin(entry, indices)) for group in document.values() for name, entry in group.items()
    ]
    return Manifest(gather(pins), sources=gather_sources(settings))


def _pipfile_pin(package: Mapping[str, Any], indices: Iterable[str]) -> Pin:
    given = {key: value for key, value in package.items() if key != "index" or value not in indices}
    qualifier = f"{sorted(package.get('extras', []))}{package.get('markers', '')}"
    hashes = frozenset((str(value), str(value)) for value in package.get("hashes", []))
    version = str(package.get("version", "")).removeprefix("==")
    return Pin(version, _origin(given, ("index", "file", *_VCS)), hashes, qualifier)


def _origin(package: Mapping[str, Any], keys: Iterable[str]) -> str:
    """What a package says of where it comes from besides its registry."""
    return " ".join(f"{key}={package[key]}" for key in keys if key in package)


def parse_uv(text: str) -> Manifest:
    """Read ``uv.lock``; the project's own editable entries are not dependencies.

    Raises:
        ValueError: it is not TOML.
        KeyError: a package has no name.
    """
    packages = tomllib.loads(text)["package"]
    return Manifest(gather(_uv_pin(package) for package in packages if not _uv_is_own(package)))


def _uv_is_own(package: dict[str, Any]) -> bool:
    return bool({"editable", "virtual"} & package.get("source", {}).keys())


def _uv_pin(package: dict[str, Any]) -> tuple[str, Pin]:
    source = package.get("source", {})
    shown = " ".join(f"{kind}={value}" for kind, value in sorted(source.items()))
    files = [*package.get("wheels", []), *([package["sdist"]] if "sdist" in package else [])]
    hashes = frozenset(
        (str(file.get("url", file.get("path", file.get("filename", "")))).rpartition("/")[2], file["hash"])
        for file in files
        if "hash" in file
    )
    origin = with_hosts(shown, (str(file["url"]) for file in files if "url" in file))
    return normalise(package["name"]), Pin(str(package.get("version", "")), origin, hashes)


def parse_poetry(text: str) -> Manifest:
    """Read ``poetry.lock``.

    Raises:
        ValueError: it is not TOML.
        KeyError: it has no metadata, or a package no name or version.
    """
    document = tomllib.loads(text)
    shared = document["metadata"].get("files", {})
    return Manifest(gather(_poetry_pin(package, shared) for package in document.get("package", [])))


def _poetry_pin(package: dict[str, Any], shared: dict[str, Any]) -> tuple[str, Pin]:
    source = package.get("source", {})
    shown = " ".join(f"{key}={value}" for key, value in sorted(source.items()))
    files = package.get("files") or shared.get(package["name"], [])
    hashes = frozenset((str(file["file"]), str(file["hash"])) for file in files)
    return normalise(package["name"]), Pin(str(package["version"]), shown, hashes)
