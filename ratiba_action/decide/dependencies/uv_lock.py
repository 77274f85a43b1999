"""``uv.lock``."""

import tomllib
from typing import Any

from ratiba_action.decide.dependencies.manifest import Manifest, Pin, gather, with_hosts
from ratiba_action.decide.dependencies.pep508 import normalise


def parse(text: str) -> Manifest:
    """Read the file; the project's own editable entries are not dependencies.

    Raises:
        ValueError: it is not TOML.
        KeyError: a package has no name.
    """
    packages = tomllib.loads(text)["package"]
    return Manifest(gather(_pin(package) for package in packages if not _is_own(package)))


def _is_own(package: dict[str, Any]) -> bool:
    return bool({"editable", "virtual"} & package.get("source", {}).keys())


def _pin(package: dict[str, Any]) -> tuple[str, Pin]:
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
