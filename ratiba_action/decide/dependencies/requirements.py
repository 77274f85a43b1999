"""``requirements*.txt`` and ``constraints*.txt`` of pip, pip-tools and uv."""

import re

from ratiba_action.decide.dependencies.manifest import Manifest, Pin, gather, gather_sources

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
