"""``FROM`` lines of a Dockerfile."""

import re

from ratiba_action.core.dependencies.manifest import Manifest, Pin, gather

_FROM = re.compile(r"\s*FROM\s+(?:--\S+\s+)*(?P<image>\S+)(?:\s+AS\s+(?P<stage>\S+))?\s*", re.IGNORECASE)
_ARG = re.compile(r"\s*ARG\s+(?P<name>\w+)=(?P<value>\S+)\s*", re.IGNORECASE)
_VARIABLE = re.compile(r"\$(?:\{(?P<braced>\w+)(?::-(?P<default>[^}]*))?\}|(?P<plain>\w+))")


def parse(text: str) -> Manifest:
    """Read the file; ``ARG`` defaults before the first ``FROM`` are filled in."""
    pins: list[tuple[str, Pin]] = []
    rest: list[str] = []
    arguments: dict[str, str] = {}
    stages: set[str] = {"scratch"}
    for line in text.splitlines():
        argument = _ARG.fullmatch(line)
        found = _FROM.fullmatch(line)
        if found is None:
            if argument and not pins:
                arguments[argument["name"]] = argument["value"].strip("\"'")
            rest.append(_without_versions(line) if argument and not pins else line)
            continue
        rest.append(f"FROM AS {found['stage']}")
        if found["image"] not in stages:
            pins.append(image_pin(_VARIABLE.sub(lambda match: _value(match, arguments), found["image"])))
        if found["stage"]:
            stages.add(found["stage"])
    return Manifest(gather(pins), rest)


def _value(match: re.Match[str], arguments: dict[str, str]) -> str:
    name = match["braced"] or match["plain"]
    return arguments.get(name, match["default"] or match[0])


def _without_versions(line: str) -> str:
    """An ``ARG`` line less its value, which the images that use it are judged by."""
    return line.partition("=")[0]


def image_pin(reference: str) -> tuple[str, Pin]:
    """Name and pin of an image reference; its tag is the version, its digest counts only without a tag."""
    named, _, digest = reference.partition("@")
    name, colon, tag = named.rpartition(":")
    if not colon or "/" in tag:
        name, tag = named, ""
    return name, Pin(tag or digest or "latest")
