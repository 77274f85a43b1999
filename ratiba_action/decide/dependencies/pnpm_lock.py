"""``pnpm-lock.yaml``, versions 5 to 9, read line by line: its ``packages`` block has one package a key."""

import re

from ratiba_action.decide.dependencies.manifest import Manifest, Pin, gather

_KEY = re.compile(r"  (?P<quote>['\"]?)(?P<key>[^\s'\"].*?)(?P=quote):(?:\s*\{\})?\s*")
_PACKAGE = re.compile(r"/?(?P<name>(?:@[^/@]+/)?[^/@]+)[@/](?P<version>\d[^()_:/]*)(?:[(_].*)?")
_INTEGRITY = re.compile(r"\bintegrity: ([^,}\s]+)")


def parse(text: str) -> Manifest:
    """Read the file.

    Raises:
        ValueError: it is not a pnpm lock file, or a key in its packages block is not understood.
    """
    if not re.search(r"^lockfileVersion:", text, re.MULTILINE):
        raise ValueError("there is no lockfileVersion")
    pins: list[tuple[str, Pin]] = []
    block = ""
    for line in text.splitlines():
        if line and not line[0].isspace():
            block = line.split(":")[0]
        elif block == "packages" and line.startswith("  ") and line[2:3].strip():
            pins.append(_package(line))
        elif block == "packages" and pins:
            integrity = _INTEGRITY.search(line)
            if integrity:
                name, pin = pins[-1]
                pins[-1] = (name, Pin(pin.requirement, pin.source, frozenset({("tarball", integrity[1])})))
    return Manifest(gather(pins))


def _package(line: str) -> tuple[str, Pin]:
    found = _KEY.fullmatch(line)
    if found is None:
        raise ValueError(f"{line!r} is not a package")
    key = found["key"]
    package = _PACKAGE.fullmatch(key)
    if package is not None:
        return package["name"], Pin(package["version"])
    name, at, source = key[1:].partition("@")
    name = key[0] + name
    if at and re.match(r"https?:|git|file:|link:|github", source):
        return name, Pin("", source)
    raise ValueError(f"{key!r} is not a package")
