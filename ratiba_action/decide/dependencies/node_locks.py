"""Lock files of npm, pnpm, Yarn and Bun."""

import json
import re
from collections.abc import Iterator
from typing import Any

from ratiba_action.decide.dependencies.manifest import Manifest, Pin, gather, gather_sources
from ratiba_action.decide.plain_yaml import read_yaml_or_doubt

_FIELD = re.compile(r'  "?(version|resolved|resolution|integrity|checksum|linkType)"?:? "?([^"]+)"?')
_OUTSIDE_STRINGS = re.compile(r'("(?:[^"\\]|\\.)*")|//[^\n]*|/\*.*?\*/|,(?=\s*[}\]])', re.DOTALL)
_BUN_SETTINGS = ("overrides", "patchedDependencies", "trustedDependencies", "catalog", "catalogs")


def parse_yarn(text: str) -> Manifest:
    """Read ``yarn.lock``; members of the repository itself are not dependencies.

    Raises:
        ValueError: it is no such file, or an entry in it is not understood.
    """
    if "# yarn lockfile v1" not in text and not re.search(r"^__metadata:", text, re.MULTILINE):
        raise ValueError("it does not say which version of Yarn's format it has")
    pins = [_yarn_pin(key, fields) for key, fields in _yarn_entries(text) if key != "__metadata"]
    return Manifest(gather(pin for pin in pins if pin is not None))


def _yarn_entries(text: str) -> Iterator[tuple[str, dict[str, str]]]:
    key, fields = "", dict[str, str]()
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        if line[0].isspace():
            found = _FIELD.fullmatch(line.rstrip())
            if found and not line.startswith("   "):
                fields[found[1]] = found[2]
            continue
        if not line.rstrip().endswith(":"):
            raise ValueError(f"{line[:100]!r} is not an entry")
        if key:
            yield key, fields
        key, fields = line.rstrip()[:-1], {}
    if key:
        yield key, fields


def _yarn_pin(key: str, fields: dict[str, str]) -> tuple[str, Pin] | None:
    """The pin of one entry; None for a member of the repository."""
    descriptor = key.partition(",")[0].strip().strip('"')
    name = _split(descriptor)[0]
    if "version" not in fields:
        raise ValueError(f"{key[:100]!r} has no version")
    if "resolution" in fields:
        name, reference = _split(fields["resolution"])
        if reference.startswith("workspace:"):
            return None
        source = "" if reference == f"npm:{fields['version']}" else reference
    else:
        resolved = fields.get("resolved", "")
        registry, own_path, _ = resolved.partition(f"/{name}/-/")
        source = registry if own_path else resolved
    digest = fields.get("integrity") or fields.get("checksum")
    return name, Pin(fields["version"], source, frozenset({("tarball", digest)} if digest else ()))


def parse_bun(text: str) -> Manifest:
    """Read ``bun.lock``, which is JSON with comments and trailing commas.

    Raises:
        ValueError: it is not.
        KeyError: it has no packages.
    """
    document = json.loads(_OUTSIDE_STRINGS.sub(lambda found: found[1] or "", text))
    pins = [_bun_pin(entry) for entry in document["packages"].values()]
    settings = [(key, document[key]) for key in _BUN_SETTINGS if key in document]
    return Manifest(gather(pin for pin in pins if pin is not None), sources=gather_sources(settings))


def _bun_pin(entry: list[Any]) -> tuple[str, Pin] | None:
    """``["name@version", registry, {…}, integrity]``; of another source less of it."""
    name, reference = _split(entry[0])
    if reference.startswith(("workspace:", "root:")):
        return None
    texts = [text for text in entry[1:] if isinstance(text, str) and text]
    digest = next((text for text in reversed(texts) if re.match(r"sha\d+-", text)), "")
    hashes = frozenset({("tarball", digest)} if digest else ())
    if ":" in reference or "/" in reference:
        return name, Pin("", reference, hashes)
    return name, Pin(reference, " ".join(text for text in texts if text != digest), hashes)


def _split(text: str) -> tuple[str, str]:
    """Name and reference of ``name@reference``; a name may begin with an ``@`` of its own."""
    name, _, reference = text[1:].partition("@")
    return text[:1] + name, reference


def parse_npm(text: str) -> Manifest:
    """Read ``package-lock.json`` or ``npm-shrinkwrap.json``, versions 1 to 3.

    Workspace members of the repository itself are not dependencies.

    Raises:
        ValueError: it is not JSON.
        KeyError: it has neither packages nor dependencies.
    """
    document = json.loads(text)
    if "packages" in document:
        entries = [
            (entry.get("name") or path.rpartition("node_modules/")[2], entry)
            for path, entry in document["packages"].items()
            if "node_modules/" in path and not entry.get("link")
        ]
        return Manifest(gather((name, _npm_pin(name, entry)) for name, entry in entries))
    return Manifest(gather(_npm_nested(document["dependencies"])))


def _npm_nested(table: dict[str, Any]) -> Iterator[tuple[str, Pin]]:
    for name, entry in table.items():
        yield name, _npm_pin(name, entry)
        yield from _npm_nested(entry.get("dependencies", {}))


def _npm_pin(name: str, entry: dict[str, Any]) -> Pin:
    version, resolved = str(entry.get("version", "")), str(entry.get("resolved", ""))
    if ":" in version:
        resolved, version = version, ""
    registry, own_path, _ = resolved.partition(f"/{name}/-/")
    source = registry if own_path else resolved
    integrity = entry.get("integrity")
    return Pin(version, source, frozenset({("tarball", str(integrity))}) if integrity else frozenset())


_PNPM_PACKAGE = re.compile(r"/?(?P<name>(?:@[^/@]+/)?[^/@]+)[@/](?P<version>\d[^()_:/]*)(?:[(_].*)?")
_PNPM_MAX_BYTES = 16 << 20


def parse_pnpm(text: str) -> Manifest:
    """Read ``pnpm-lock.yaml``, versions 5 to 9, whose ``packages`` block has one package a key.

    Raises:
        ValueError: it is not a pnpm lock file, or a key in its packages block is not understood.
    """
    lock = read_yaml_or_doubt("pnpm-lock.yaml", text.encode(), max_bytes=_PNPM_MAX_BYTES).entries()
    if "lockfileVersion" not in lock:
        raise ValueError("there is no lockfileVersion")
    pins: list[tuple[str, Pin]] = []
    for key, about in lock["packages"].entries().items() if "packages" in lock else ():
        name, pin = _pnpm_package(key)
        resolution = about.entries().get("resolution")
        integrity = resolution.entries().get("integrity") if resolution is not None else None
        hashes = [("tarball", digest) for digest in integrity.texts()] if integrity is not None else []
        pins.append((name, Pin(pin.requirement, pin.source, frozenset(hashes))))
    return Manifest(gather(pins))


def _pnpm_package(key: str) -> tuple[str, Pin]:
    package = _PNPM_PACKAGE.fullmatch(key)
    if package is not None:
        return package["name"], Pin(package["version"])
    name, at, source = key[1:].partition("@")
    name = key[0] + name
    if at and re.match(r"https?:|git|file:|link:|github", source):
        return name, Pin("", source)
    raise ValueError(f"{key!r} is not a package")
