"""One requirement line of Python: ``name[extras] (constraint) ; marker`` or ``name @ url``."""

import re

from ratiba_action.decide.dependencies.manifest import Pin

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
