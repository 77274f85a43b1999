"""``uv.lock``."""

import re
import tomllib
from typing import Any

from ratiba_action.decide.dependencies.manifest import Manifest, Pin, gather, with_hosts

_REQUIREMENT = re.compile(
    r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[(?P<extras>[^\]]*)\])?\s*"
    r"(?:@\s*(?P<url>\S+)|(?P<constraint>\(?[^;@]*\)?))\s*(?:;(?P<marker>.*))?",
)


def normalise(name: str) -> str:
    """A package's name as PEP 503 spells it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def parse_requirement(line: str) -> tuple[str, Pin]:
    """Name and pin of one requirement.

    Raises:
        ValueError: the line is not a requirement.
    """
    found = _REQUIREMENT.fullmatch(line.strip())
    if found is None:
        raise ValueError(f"{line!r} is not a requirement")
    extras = ",".join(sorted(part.strip() for part in (found["extras"] or "").split(",")))
    qualifier = f"[{extras}]{(found['marker'] or '').strip()}"
    return normalise(found["name"]), Pin((found["constraint"] or "").strip(), found["url"] or "", qualifier=qualifier)


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
