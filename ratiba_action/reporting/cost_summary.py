"""What a conversation takes on both sides as text, the same in every report format."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ratiba_action.model.comparison import ConversationCost, Figure, FigureChange, ScenarioCost
from ratiba_action.util.text import plural
from ratiba_action.verdict.conversation_cost import WORDS, increase

_FEW = 10
_ALIKE = 0.01
"""Share of the base's below which a figure counts as unchanged: the line breaks of a prompt move its tokens too."""


@dataclass(frozen=True, slots=True)
class CostRow:
    """One figure of all scenarios, or of one; texts are not escaped.

    Args:
        interval: of head minus base; empty if nothing varies by chance.
        limit: empty if there is none.
    """

    name: str
    base: str
    head: str
    change: str
    interval: str = ""
    limit: str = ""


@dataclass(frozen=True, slots=True)
class CostSummary:
    """What a conversation takes.

    Args:
        line: cost, calls and time in one sentence; empty if none of them changed by a hundredth.
        scenarios: the cost of scenarios that changed, the largest rise first; calls where no cost is known.
        unchanged: how many scenarios did not change.
    """

    line: str
    figures: tuple[CostRow, ...]
    scenarios: tuple[CostRow, ...]
    unchanged: int


def summarise_cost(cost: ConversationCost | None) -> CostSummary | None:
    """What a report shows of the cost of a conversation; None if nothing can be compared."""
    if cost is None:
        return None
    moved = sorted((row for row in cost.scenarios if _moved(row)), key=lambda row: (-_rise(row), row.scenario_id))
    return CostSummary(
        line=_line(cost),
        figures=tuple(row for change in cost.figures for row in _rows(change)),
        scenarios=tuple(_scenario(row) for row in moved),
        unchanged=len(cost.scenarios) - len(moved),
    )


def shown_scenarios(cost: CostSummary) -> tuple[Sequence[CostRow], int]:
    """The scenarios that a short table shows, and how many more changed."""
    return cost.scenarios[:_FEW], max(len(cost.scenarios) - _FEW, 0)


def _line(cost: ConversationCost) -> str:
    found = {change.figure: change for change in cost.figures}
    shown = [found[name] for name in (Figure.USD, Figure.CALLS, Figure.SECONDS) if name in found]
    if not any(_differ(change.base, change.head) for change in shown):
        return ""
    parts = []
    if Figure.USD in found:
        parts.append(f"USD {_both(found[Figure.USD])}{_share(found[Figure.USD])}")
    if Figure.CALLS in found:
        calls = found[Figure.CALLS]
        parts.append(f"{_both(calls)} model calls" + ("" if parts else _share(calls)))
    if Figure.SECONDS in found:
        seconds = found[Figure.SECONDS]
        before, after = seconds.median
        parts.append(f"{before:.1f} → {after:.1f} s to a reply (median)")
    counted = max(change.scenarios for change in cost.figures)
    verb = "costs" if Figure.USD in found else "takes"
    return f"A conversation {verb} {', '.join(parts)}; mean of {plural(counted, 'scenario')}, base → this PR."


def _share(change: FigureChange) -> str:
    if not _differ(change.base, change.head):
        return " (unchanged)"
    rise = increase(change)
    return "" if rise is None else f" ({rise:+.0%})"


def _differ(base: float, head: float) -> bool:
    return abs(head - base) >= _ALIKE * base if base else bool(head)


def _both(change: FigureChange) -> str:
    return f"{_amount(change.figure, change.base)} → {_amount(change.figure, change.head)}"


def _rows(change: FigureChange) -> list[CostRow]:
    figure = change.figure
    interval = ""
    if change.low is not None and change.high is not None:
        interval = f"{_amount(figure, change.low, sign=True)} to {_amount(figure, change.high, sign=True)}"
    limit = "" if change.limit is None else f"+{change.limit:.0%}{', exceeded' if change.exceeded else ''}"
    rows = [_row(f"{WORDS[figure]}, mean", figure, (change.base, change.head), interval, limit)]
    quantiles: Mapping[str, tuple[float, ...]] = {"median": change.median, "95th percentile": change.p95}
    rows += [_row(f"{WORDS[figure]}, {name}", figure, sides) for name, sides in quantiles.items() if sides]
    return rows


def _row(name: str, figure: Figure, sides: tuple[float, ...], interval: str = "", limit: str = "") -> CostRow:
    base, head = sides
    share = f" ({head / base - 1:+.0%})" if base else ""
    change = _amount(figure, head - base, sign=True) + share if _differ(base, head) else "unchanged"
    return CostRow(name, _amount(figure, base), _amount(figure, head), change, interval, limit)


def _amount(figure: Figure, value: float, *, sign: bool = False) -> str:
    decimals = {Figure.USD: 4, Figure.CALLS: 1, Figure.SECONDS: 1}.get(figure, 0)
    return f"{value:{'+' if sign else ''},.{decimals}f}"


def _figure(row: ScenarioCost) -> Figure:
    return Figure.USD if Figure.USD in row.base else Figure.CALLS


def _rise(row: ScenarioCost) -> float:
    figure = _figure(row)
    return row.head.get(figure, 0.0) - row.base.get(figure, 0.0)


def _moved(row: ScenarioCost) -> bool:
    figure = _figure(row)
    return _differ(row.base.get(figure, 0.0), row.head.get(figure, 0.0))


def _scenario(row: ScenarioCost) -> CostRow:
    figure = _figure(row)
    return _row(row.scenario_id, figure, (row.base.get(figure, 0.0), row.head.get(figure, 0.0)))
