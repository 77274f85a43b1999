"""``requirements*.txt`` of pip, pip-tools and uv."""

import re

from ratiba_action.core.dependencies.manifest import Manifest, Pin, gather
from ratiba_action.core.dependencies.pep508 import parse_requirement

_HASH = re.compile(r"--hash[= ](\S+)")
_EGG = re.compile(r"#(?:.*&)?egg=([A-Za-z0-9._-]+)")


def parse(text: str) -> Manifest:
    """Read the file; options such as ``-r`` and ``--index-url`` count as the rest.

    Raises:
        ValueError: a line is not a requirement.
    """
    pins: list[tuple[str, Pin]] = []
    rest: list[str] = []
    for raw in re.sub(r"\\\r?\n", " ", text).splitlines():
        line = re.sub(r"(^|\s)#.*", "", raw).strip()
        if not line:
            continue
        egg = _EGG.search(raw)
        editable = re.match(r"(?:-e|--editable)[ =]\s*(\S+)", line)
        if editable or "://" in line.split(" ")[0]:
            source = editable[1] if editable else line
            pins.append((egg[1] if egg else source.partition("@")[0], Pin("", source)))
        elif line.startswith("-"):
            rest.append(line)
        else:
            hashes = frozenset((value, value) for value in _HASH.findall(line))
            name, pin = parse_requirement(re.split(r"\s--\w", line)[0])
            pins.append((name, Pin(pin.requirement, pin.source, hashes, pin.qualifier)))
    return Manifest(gather(pins), rest)
