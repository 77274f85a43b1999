"""``uses:`` lines of a GitHub Actions workflow or action."""

import re

from ratiba_action.decide.dependencies.dockerfile import image_pin
from ratiba_action.decide.dependencies.manifest import Manifest, Pin, gather

_USES = re.compile(
    r"(?P<before>\s*(?:-\s+)?[\"']?uses[\"']?\s*:\s*)(?P<quote>[\"']?)(?P<reference>[^\s\"'#]+)(?P=quote)"
    r"\s*(?:#\s*(?P<comment>.*))?"
)
_DIGEST = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_VERSION = re.compile(r"(?:tag[:=]\s*)?(?:\S*@)?(v?\d+(?:\.\d+)*\S*)")


def parse(text: str) -> Manifest:
    """Read the file. A commit is judged by the version in the comment behind it, when there is one."""
    pins: list[tuple[str, Pin]] = []
    rest: list[str] = []
    for line in text.splitlines():
        found = _USES.fullmatch(line)
        if found is None or found["reference"].startswith(("./", "$")):
            rest.append(line)
            continue
        reference = found["reference"]
        if reference.startswith("docker://"):
            pins.append(image_pin(reference.removeprefix("docker://")))
        else:
            name, _, version = reference.partition("@")
            pins.append((name, Pin(_judged(version, found["comment"] or ""))))
        rest.append(found["before"])
    return Manifest(gather(pins), rest)


def _judged(version: str, comment: str) -> str:
    if not _DIGEST.fullmatch(version):
        return version
    named = _VERSION.match(comment.strip())
    return named[1] if named else version
