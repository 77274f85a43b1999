"""Version constraints of Python and npm manifests, reduced to the lowest and the highest release that they admit."""

import re
from dataclasses import dataclass
from math import inf

from ratiba_action.decide.dependencies.versions import Version, VersionParser, release_step, step

_CLAUSE = re.compile(r"(===|==|~=|!=|<=|>=|<|>|\^|~>|~|=)?\s*([^\s,<>=!~^|][^\s,<>=~^|]*)")
_UNBOUNDED = (inf,)
_Bound = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Range:
    """What a constraint admits.

    Args:
        lower: the lowest version, None without a limit.
        epoch: of the upper bound.
        upper: the highest release; a part may be infinite: ``(1, inf)`` is any 1.x.
        excluded: versions taken out.
    """

    lower: Version | None
    epoch: int
    upper: _Bound
    excluded: frozenset[str] = frozenset()


def parse_range(text: str, version: VersionParser) -> Range:
    """Read a constraint such as ``>=1.2,<2``, ``~=1.4``, ``^1.2 || ^2`` or ``1.x``.

    Raises:
        ValueError: a part of it is not understood.
    """
    alternatives = [_conjunction(part.strip(), version) for part in text.split("||")]
    first, *others = alternatives
    for other in others:
        lowest = None
        if first.lower is not None and other.lower is not None:
            lowest = min(first.lower, other.lower, key=lambda bound: bound.order)
        epoch, upper = max((first.epoch, first.upper), (other.epoch, other.upper))
        first = Range(lowest, epoch, upper, first.excluded | other.excluded)
    return first


def _conjunction(text: str, version: VersionParser) -> Range:
    hyphen = re.fullmatch(r"(\S+)\s+-\s+(\S+)", text)
    if hyphen:
        text = f">={hyphen[1]},<={hyphen[2]}"
    if _CLAUSE.sub("", text).strip(" ,()"):
        raise ValueError(f"{text!r} is not a version constraint")
    lower: Version | None = None
    epoch = 0
    upper: _Bound = _UNBOUNDED
    excluded: set[str] = set()
    for operator, operand in _CLAUSE.findall(text.strip("()")):
        if operator == "!=":
            excluded.add(operand)
            continue
        low, high_epoch, high = _clause(operator, operand, version)
        if low is not None and (lower is None or low.order > lower.order):
            lower = low
        if high != _UNBOUNDED and (upper == _UNBOUNDED or (high_epoch, high) < (epoch, upper)):
            epoch, upper = high_epoch, high
    return Range(lower, epoch, upper, frozenset(excluded))


def _clause(operator: str, operand: str, version: VersionParser) -> tuple[Version | None, int, _Bound]:
    """Lower bound, epoch of the upper bound, upper bound."""
    if operand in ("*", "x", "X"):
        return None, 0, _UNBOUNDED
    wildcard = re.fullmatch(r"(.*?)(?:\.[*xX])+", operand)
    if wildcard:
        operand = wildcard[1]
    base = version(operand)
    written = tuple(
        int(part) for part in re.findall(r"\d+", re.split(r"[-+a-zA-Z]", operand.lstrip("vV=").split("!")[-1])[0])
    )
    if operator in (">", ">="):
        return base, 0, _UNBOUNDED
    if operator == "<":
        return None, base.epoch, _below(base.release)
    if operator == "<=":
        return None, base.epoch, base.release
    return base, base.epoch, _highest(operator, written, base, wildcard=wildcard is not None)


def _highest(operator: str, written: tuple[int, ...], base: Version, *, wildcard: bool) -> _Bound:
    if operator == "^":
        for index, part in enumerate(written):
            if part:
                return (*written[: index + 1], inf) if index < 2 or len(written) > 3 else written  # noqa: PLR2004 - ^0.0.3 admits 0.0.3 alone
        return (*written[:-1], 0, inf) if len(written) < 3 else written  # noqa: PLR2004 - ^0 and ^0.0 are open below
    if operator in ("~=", "~>"):
        return (*written[:-1], inf)
    if operator == "~":
        return (*written[:2], inf)
    return (*written, inf) if wildcard else base.release


def _below(release: tuple[int, ...]) -> _Bound:
    """The highest releases below one: ``2`` gives any 1.x, ``2.5`` any 2.4.x."""
    *head, last = release
    if last == 0:
        raise ValueError("nothing is below version 0")
    return (*head, last - 1, inf)


def range_step(before: Range, after: Range) -> str | None:
    """Size of the step between two constraints: the larger of what happens to the lowest and to the highest version."""
    steps = [_lower_step(before.lower, after.lower), _upper_step(before, after)]
    if before.excluded != after.excluded:
        steps.append("patch")
    order = ["downgrade", "source", "major", "minor", "patch"]
    return min((step for step in steps if step), key=order.index, default=None)


def _lower_step(before: Version | None, after: Version | None) -> str | None:
    if before is None or after is None:
        return "downgrade" if before is not None else None if after is None else "minor"
    return step(before, after)


def _upper_step(before: Range, after: Range) -> str | None:
    old, new = (before.epoch, before.upper), (after.epoch, after.upper)
    if old == new:
        return None
    if _UNBOUNDED in (before.upper, after.upper) or before.epoch != after.epoch:
        return "downgrade" if before.upper == _UNBOUNDED else "major"
    size = release_step(before.upper, after.upper)
    if new < old:
        return "downgrade" if size == "major" else "minor"
    return size
