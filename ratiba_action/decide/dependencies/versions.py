"""Versions of PEP 440, of SemVer and of image and action tags: their order, and how large a step between two is."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

_PEP440 = re.compile(
    r"v?(?:(?P<epoch>\d+)!)?(?P<release>\d+(?:\.\d+)*)"
    r"(?:[-_.]?(?P<pre>alpha|a|beta|b|preview|pre|c|rc)[-_.]?(?P<pre_n>\d*))?"
    r"(?P<post>-(?P<post_n1>\d+)|[-_.]?(?:post|rev|r)[-_.]?(?P<post_n2>\d*))?"
    r"(?P<dev>[-_.]?dev[-_.]?(?P<dev_n>\d*))?"
    r"(?:\+(?P<local>[a-z0-9]+(?:[-_.][a-z0-9]+)*))?",
    re.IGNORECASE | re.ASCII,
)
_SEMVER = re.compile(
    r"[v=]*(?P<release>\d+(?:\.\d+){0,2})(?:-(?P<pre>[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+[0-9A-Za-z.-]+)?",
    re.ASCII,
)
_TAG = re.compile(r"v?(?P<release>\d+(?:\.\d+)*)(?P<suffix>(?:[-_.+a-zA-Z].*)?)", re.ASCII)
_PRE_RELEASES = {"a": 0, "alpha": 0, "b": 1, "beta": 1, "c": 2, "rc": 2, "pre": 2, "preview": 2}
_LONGEST = 200


@dataclass(frozen=True, slots=True)
class Version:
    """A version that can be ordered against others of its own scheme.

    Args:
        epoch: of PEP 440, else 0.
        release: its numbers, without trailing zeros.
        key: orders versions of the same epoch and release.
        flavour: what must not change silently, such as the ``-alpine`` of an image tag or a local version.
    """

    epoch: int
    release: tuple[int, ...]
    key: tuple[Any, ...] = ()
    flavour: str = ""

    @property
    def order(self) -> tuple[Any, ...]:
        """A sort key."""
        return (self.epoch, self.release, self.key)


VersionParser = Callable[[str], Version]


def _release(text: str) -> tuple[int, ...]:
    numbers = [int(part) for part in text.split(".")]
    while len(numbers) > 1 and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


def _full_match(expression: re.Pattern[str], text: str) -> re.Match[str]:
    match = expression.fullmatch(text.strip()) if len(text) <= _LONGEST else None
    if match is None:
        raise ValueError(f"{text[:_LONGEST]!r} is not a version")
    return match


def pep440(text: str) -> Version:
    """Parse a Python version.

    Raises:
        ValueError: the text is not a version of PEP 440.
    """
    found = _full_match(_PEP440, text)
    pre: tuple[int, ...] = (3,)
    if found["pre"]:
        pre = (_PRE_RELEASES[found["pre"].lower()], int(found["pre_n"] or 0))
    elif found["dev"] and not found["post"]:
        pre = (-1,)
    post = int(found["post_n1"] or found["post_n2"] or 0) if found["post"] else -1
    dev = (0, int(found["dev_n"] or 0)) if found["dev"] else (1, 0)
    parts = re.split(r"[-_.]", found["local"].lower()) if found["local"] else []
    local = tuple((1, int(part), "") if part.isdigit() else (0, 0, part) for part in parts)
    key = (pre, post, dev, local)
    # Another local version is another build of unknown origin, not only a later one.
    return Version(int(found["epoch"] or 0), _release(found["release"]), key, "+" + ".".join(parts) if parts else "")


def semver(text: str) -> Version:
    """Parse a version of SemVer; missing numbers count as 0, build metadata is ignored.

    Raises:
        ValueError: the text is not a version.
    """
    found = _full_match(_SEMVER, text)
    key: tuple[Any, ...] = (1,)
    if found["pre"]:
        key = (0, *((0, int(part), "") if part.isdigit() else (1, 0, part) for part in found["pre"].split(".")))
    return Version(0, _release(found["release"]), key)


def tag(text: str) -> Version:
    """Parse the tag of an image or an action, such as ``3.11.4-slim`` or ``v4``.

    Raises:
        ValueError: the tag does not begin with a number.
    """
    found = _full_match(_TAG, text)
    return Version(0, _release(found["release"]), flavour=found["suffix"])


def step(before: Version, after: Version) -> str | None:
    """Size of the step between two versions: ``major``, ``minor``, ``patch``, ``downgrade``, ``source``; None for none.

    A new minor of ``0.x`` is a major, as SemVer promises nothing there.
    """
    if before.flavour != after.flavour:
        return "source"
    if after.order == before.order:
        return None
    if after.order < before.order:
        return "downgrade"
    if after.epoch != before.epoch:
        return "major"
    return release_step(before.release, after.release)


def release_step(before: tuple[float, ...], after: tuple[float, ...]) -> str:
    """Size of the step between two releases of the same epoch, the larger of both ways."""
    (major, minor), (new_major, new_minor) = ((*release, 0, 0)[:2] for release in (before, after))
    if major != new_major or (major == 0 and minor != new_minor):
        return "major"
    return "minor" if minor != new_minor else "patch"
