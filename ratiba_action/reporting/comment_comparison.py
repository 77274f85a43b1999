"""The part of the comment about the base: differences, what moved, flips with both answers, what cannot be compared."""

from collections.abc import Sequence

from ratiba_action.model.comparison import Flip, Tier
from ratiba_action.reporting.comment_failures import code_html
from ratiba_action.reporting.comparison_words import ComparedScenario, ComparisonSummary, Row
from ratiba_action.reporting.markdown import clip, code, fenced, folded, inline, table
from ratiba_action.reporting.summary import ReportSummary
from ratiba_action.reporting.wording import plural

_MOVED = 10
_ROWS = 100
_NAMES = 5
_FLIPS = 20
_REPLY = 600
_TURNS = 20
_INTERVAL = "Δ in points (90 % interval):"
_POINTS = "Δ in points:"


def render_comparison(summary: ReportSummary) -> str:
    """Everything about the comparison, without the rest of the comment."""
    return "\n\n".join(filter(None, (comparison(summary), flips(summary), compared_scenarios(summary)))) + "\n"


def comparison(summary: ReportSummary) -> str:
    """What changed against the base: the tier, each metric, and the scenarios that moved; empty without a base."""
    compared = summary.comparison
    if compared is None:
        return ""
    parts = [f"### Compared with the base\n\n{_told(summary, compared)}"]
    parts += [_flipped(compared.found.flips)] if compared.flips else []
    parts += [_differences(compared.rows)] if compared.rows else []
    moved = [row for row in compared.scenarios if row.moved]
    hidden = len(moved) - _MOVED
    more = f"\n\n{plural(hidden, 'more scenario')} below." if hidden > 0 else ""
    parts += [_scenarios(moved[:_MOVED]) + more] if moved else []
    return "\n\n".join(parts)


def flips(summary: ReportSummary) -> str:
    """Both answers of each scenario that passed on one side only; folded."""
    found = summary.comparison.flips if summary.comparison else ()
    hidden = len(found) - _FLIPS
    shown = [folded(f"{code_html(one.scenario_id)}: {way}", fenced(_answers(one))) for one, way in found[:_FLIPS]]
    more = [f"{plural(hidden, 'more scenario')} in the report."] if hidden > 0 else []
    return "\n\n".join([*shown, *more])


def compared_scenarios(summary: ReportSummary) -> str:
    """Every scenario on both sides, and what cannot be compared, with the reason; folded."""
    compared = summary.comparison
    if compared is None:
        return ""
    parts, count = [], len(compared.scenarios)
    if count:
        more = f"\n\n{plural(count - _ROWS, 'more scenario')} in the report." if count > _ROWS else ""
        title = f"{plural(count, 'scenario')} on base and this PR, the largest drop first"
        parts.append(folded(title, _scenarios(compared.scenarios[:_ROWS]) + more))
    if compared.obstacles and compared.found.tier is not Tier.NOT_COMPARABLE:
        parts.append(folded(f"Not comparable: {compared.not_comparable}", _obstacles(compared)))
    return "\n\n".join(parts)


def _told(summary: ReportSummary, compared: ComparisonSummary) -> str:
    verdict, seen, count = summary.report.verdict, compared.sensitivity, compared.not_comparable
    # What the comment's first lines say already is not said again.
    told = [] if compared.found.reason in verdict.reason else [inline(compared.found.reason)]
    told += [compared.interval_note] if compared.interval_note else []
    told.append(f"Base: {inline(compared.baseline)}.")
    told += [seen] if seen and not any(seen in warning for warning in verdict.warnings) else []
    told += [f"Not comparable: {count}."] if count else []
    heading = f"**{compared.heading}.** {' '.join(told)}"
    return f"{heading}\n\n{_obstacles(compared)}" if compared.found.tier is Tier.NOT_COMPARABLE and count else heading


def _differences(rows: Sequence[Row]) -> str:
    intervals = any(row.low is not None for row in rows)
    header = ("metric", "base:", "this PR:", _INTERVAL if intervals else _POINTS, "threshold:", "status")
    cells = [
        (inline(row.name), row.base, row.head, row.change, inline(row.threshold), _emphasis(row.tier, row.status))
        for row in rows
    ]
    return table(header, cells)


def _scenarios(rows: Sequence[ComparedScenario]) -> str:
    cells = [(code(row.name), row.base, row.head, row.change, _emphasis(row.tier, row.status)) for row in rows]
    return table(("scenario", "base:", "this PR:", _POINTS, "status"), cells)


def _emphasis(tier: Tier, told: str) -> str:
    return f"**{told}**" if tier is Tier.REGRESSION else told


def _flipped(found: Sequence[Flip]) -> str:
    ways = {"Newly failing": False, "Newly passing": True}
    named = {way: [_flip_name(one) for one in found if one.passes is passes] for way, passes in ways.items()}
    return " ".join(f"{way}: {_names(names)}." for way, names in named.items() if names)


def _flip_name(one: Flip) -> str:
    return code(one.scenario_id) + (" (critical)" if one.critical else "")


def _names(names: Sequence[str]) -> str:
    hidden = len(names) - _NAMES
    return ", ".join(names[:_NAMES]) + (f" and {hidden} more" if hidden > 0 else "")


def _answers(flip: Flip) -> str:
    lines: list[str] = []
    for turn in range(min(max(len(flip.base_replies), len(flip.head_replies)), _TURNS)):
        for side, replies in (("base", flip.base_replies), ("this PR", flip.head_replies)):
            said = clip(replies[turn], _REPLY) if turn < len(replies) else "(no answer)"
            lines.append(f"{turn + 1}  {side + ':':<9}" + "\n            ".join(said.splitlines()))
    return "\n".join(lines) or "(nothing was answered)"


def _obstacles(compared: ComparisonSummary) -> str:
    rows = [
        (
            inline(one.reason),
            ", ".join(map(inline, one.metrics)) or "all",
            str(len(one.scenarios)),
            _names([code(name) for name in one.scenarios]),
        )
        for one in compared.obstacles[:_ROWS]
    ]
    return table(("why not", "metric", "n:", "scenarios"), rows)
