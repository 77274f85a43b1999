"""``requirements*.txt`` and ``constraints*.txt`` of pip, pip-tools and uv."""

import re

from ratiba_action.decide.dependencies.manifest import Manifest, Pin, gather, gather_sources
from ratiba_action.decide.dependencies.uv_lock import parse_requirement

_HASH = re.compile(r"--hash[= ](\S+)")
_EGG = re.compile(r"#(?:.*&)?egg=([A-Za-z0-9._-]+)")
_OPTION = re.compile(r"(--[\w-]+|-\w)(?:\s*=\s*|\s*)(.*)")
_EDITABLE = ("-e", "--editable")
_INCLUDED = re.compile(r"[^:]*\.(?:txt|in)")


def parse(text: str) -> Manifest:
    """Read the file; every option decides where packages come from, but for the inclusion of a local file.

    Raises:
        ValueError: a line is not a requirement.
    """
    pins: list[tuple[str, Pin]] = []
    rest: list[str] = []
    settings: list[tuple[str, object]] = []
    for raw in re.sub(r"\\\r?\n", " ", text).splitlines():
        line = re.sub(r"(^|\s)#.*", "", raw).strip()
        if not line:
            continue
        egg = _EGG.search(raw)
        option = _OPTION.fullmatch(line)
        if option and option[1] not in _EDITABLE:
            if _includes_local_file(option[1], option[2]):
                rest.append(line)
            else:
                settings.append((option[1], option[2]))
        elif option or "://" in line.split(" ")[0]:
            source = option[2] if option else line
            pins.append((egg[1] if egg else source.partition("@")[0], Pin("", source)))
        else:
            name, pin = parse_requirement(re.split(r"\s--\w", line)[0])
            hashes = frozenset((value, value) for value in _HASH.findall(line))
            pins.append((name, Pin(pin.requirement, pin.source, hashes, pin.qualifier)))
            others = re.findall(r"\s(--\w.*)", _HASH.sub("", line))
            settings += [(f"{name} {other}", other) for other in others]
    return Manifest(gather(pins), rest, gather_sources(settings))


def _includes_local_file(option: str, value: str) -> bool:
    return option in ("-r", "-c", "--requirement", "--constraint") and _INCLUDED.fullmatch(value) is not None
