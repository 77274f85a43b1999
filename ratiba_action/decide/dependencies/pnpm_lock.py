"""``pnpm-lock.yaml``, versions 5 to 9, whose ``packages`` block has one package a key."""

import re

from ratiba_action.decide.dependencies.manifest import Manifest, Pin, gather
from ratiba_action.decide.plain_yaml import read_yaml_or_doubt

_PACKAGE = re.compile(r"/?(?P<name>(?:@[^/@]+/)?[^/@]+)[@/](?P<version>\d[^()_:/]*)(?:[(_].*)?")
_MAX_BYTES = 16 << 20


def parse(text: str) -> Manifest:
    """Read the file.

    Raises:
        ValueError: it is not a pnpm lock file, or a key in its packages block is not understood.
    """
    lock = read_yaml_or_doubt("pnpm-lock.yaml", text.encode(), max_bytes=_MAX_BYTES).entries()
    if "lockfileVersion" not in lock:
        raise ValueError("there is no lockfileVersion")
    pins: list[tuple[str, Pin]] = []
    for key, about in lock["packages"].entries().items() if "packages" in lock else ():
        name, pin = _package(key)
        resolution = about.entries().get("resolution")
        integrity = resolution.entries().get("integrity") if resolution is not None else None
        hashes = [("tarball", digest) for digest in integrity.texts()] if integrity is not None else []
        pins.append((name, Pin(pin.requirement, pin.source, frozenset(hashes))))
    return Manifest(gather(pins))


def _package(key: str) -> tuple[str, Pin]:
    package = _PACKAGE.fullmatch(key)
    if package is not None:
        return package["name"], Pin(package["version"])
    name, at, source = key[1:].partition("@")
    name = key[0] + name
    if at and re.match(r"https?:|git|file:|link:|github", source):
        return name, Pin("", source)
    raise ValueError(f"{key!r} is not a package")
