"""The part of the comment about the base: differences, what moved, flips with both answers, what cannot be compared."""

from collections.abc import Sequence

from ratiba_action.model.comparison import Comparison, Flip, ScenarioComparison, Tier
from ratiba_action.model.verdict import Report
from ratiba_action.reporting import comparison_words as words
from ratiba_action.reporting.comment_sections import code_html
from ratiba_action.reporting.markdown import clip, code, fenced, folded, inline, table
from ratiba_action.reporting.wording import plural
from ratiba_action.verdict.weighing import sensitivity

_MOVED = 10
_ROWS = 100
_NAMES = 5
_FLIPS = 20
_REPLY = 600
_TURNS = 20
_INTERVAL = "Δ in points (90 % interval):"
_POINTS = "Δ in points:"


def render_comparison(report: Report) -> str:
    """Everything about the comparison, without the rest of the comment."""
    return "\n\n".join(filter(None, (comparison(report), flips(report), compared_conversations(report)))) + "\n"


def comparison(report: Report) -> str:
    """What changed against the base: the tier, each metric, and the conversations that moved; empty without a base."""
    found = report.verdict.comparison
    if found is None:
        return ""
    parts = [f"### Compared with the base\n\n{_told(report, found)}"]
    parts += [_flipped(found)] if found.flips else []
    rows = words.metric_rows(found, words.thresholds_of(report))
    parts += [_differences(rows)] if rows else []
    parts += [_moved(found)] if words.moved(found) else []
    return "\n\n".join(parts)


def flips(report: Report) -> str:
    """Both answers of each conversation that passed on one side only; folded."""
    found = report.verdict.comparison
    if found is None or not found.flips:
        return ""
    hidden = len(found.flips) - _FLIPS
    parts = [_flip(one) for one in found.flips[:_FLIPS]]
    more = [f"{plural(hidden, 'more scenario')} in the report."] if hidden > 0 else []
    return "\n\n".join([*parts, *more])


def compared_conversations(report: Report) -> str:
    """Every conversation on both sides, and what cannot be compared, with the reason; folded."""
    found = report.verdict.comparison
    if found is None:
        return ""
    parts = []
    if found.scenarios:
        summary = f"{plural(len(found.scenarios), 'scenario')} on base and this PR, the largest drop first"
        parts.append(folded(summary, _conversations(words.by_change(found), found, _ROWS)))
    if found.not_comparable and found.tier is not Tier.NOT_COMPARABLE:
        parts.append(folded(f"Not comparable: {words.not_comparable_told(found)}", _obstacles(found)))
    return "\n\n".join(parts)


def _told(report: Report, found: Comparison) -> str:
    verdict, seen = report.verdict, sensitivity(found)
    # What the comment's first lines say already is not said again.
    told = [] if found.reason in verdict.reason else [inline(found.reason)]
    told += [of_others] if (of_others := words.interval_told(found)) else []
    told.append(f"Base: {inline(words.baseline_told(report.baseline, report.started_at))}.")
    told += [seen] if seen and not any(seen in warning for warning in verdict.warnings) else []
    count = words.not_comparable_told(found)
    told += [f"Not comparable: {count}."] if count else []
    heading = f"**{words.heading(found, verdict.conclusion)}.** {' '.join(told)}"
    return f"{heading}\n\n{_obstacles(found)}" if found.tier is Tier.NOT_COMPARABLE and count else heading


def _differences(rows: Sequence[words.Row]) -> str:
    intervals = any(one.low is not None for one in rows)
    header = ("metric", "base:", "this PR:", _INTERVAL if intervals else _POINTS, "threshold:", "status")
    cells = [
        (inline(one.name), one.base, one.head, one.change, inline(one.threshold), _emphasis(one.tier, one.status))
        for one in rows
    ]
    return table(header, cells)


def _moved(found: Comparison) -> str:
    some = words.moved(found)
    hidden = len(some) - _MOVED
    more = f"\n\n{plural(hidden, 'more scenario')} below." if hidden > 0 else ""
    return _conversations(some, found, _MOVED) + more


def _conversations(scenarios: Sequence[ScenarioComparison], found: Comparison, most: int) -> str:
    rows = [
        (
            code(one.scenario_id),
            words.mean_told(one.base),
            words.mean_told(one.head),
            words.signed_points(one.head - one.base),
            _emphasis(one.tier, words.scenario_status(one, found)),
        )
        for one in scenarios[:most]
    ]
    hidden = len(scenarios) - most
    more = f"\n\n{plural(hidden, 'more scenario')} in the report." if hidden > 0 and most == _ROWS else ""
    return table(("scenario", "base:", "this PR:", _POINTS, "status"), rows) + more


def _emphasis(tier: Tier, told: str) -> str:
    return f"**{told}**" if tier is Tier.REGRESSION else told


def _flipped(found: Comparison) -> str:
    worse = [one for one in found.flips if not one.passes]
    better = [one for one in found.flips if one.passes]
    parts = [f"Newly failing: {_flip_names(worse)}."] if worse else []
    parts += [f"Newly passing: {_flip_names(better)}."] if better else []
    return " ".join(parts)


def _flip_names(flips: Sequence[Flip]) -> str:
    named = [code(one.scenario_id) + (" (critical)" if one.critical else "") for one in flips[:_NAMES]]
    hidden = len(flips) - _NAMES
    return ", ".join(named) + (f" and {hidden} more" if hidden > 0 else "")


def _names(ids: Sequence[str]) -> str:
    hidden = len(ids) - _NAMES
    return ", ".join(map(code, ids[:_NAMES])) + (f" and {hidden} more" if hidden > 0 else "")


def _flip(one: Flip) -> str:
    return folded(f"{code_html(one.scenario_id)}: {words.flip_told(one)}", fenced(_answers(one)))


def _answers(flip: Flip) -> str:
    lines: list[str] = []
    for turn in range(min(max(len(flip.base_replies), len(flip.head_replies)), _TURNS)):
        for side, replies in (("base", flip.base_replies), ("this PR", flip.head_replies)):
            said = clip(replies[turn], _REPLY) if turn < len(replies) else "(no answer)"
            lines.append(f"{turn + 1}  {side + ':':<9}" + "\n            ".join(said.splitlines()))
    return "\n".join(lines) or "(nothing was answered)"


def _obstacles(found: Comparison) -> str:
    rows = [
        (
            inline(one.reason),
            ", ".join(map(inline, one.metrics)) or "all",
            str(len(one.scenarios)),
            _names(one.scenarios),
        )
        for one in words.obstacles(found)[:_ROWS]
    ]
    return table(("why not", "metric", "n:", "scenarios"), rows)
