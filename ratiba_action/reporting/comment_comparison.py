"""The comparison with the base in the comment: differences, newly failing and passing scenarios, obstacles."""

from collections.abc import Mapping, Sequence

from ratiba_action.model.comparison import OutcomeChange, Tier
from ratiba_action.reporting.comment_failures import code_html, shown_difference
from ratiba_action.reporting.comparison_summary import ComparedScenario, ComparisonRow, ComparisonSummary
from ratiba_action.reporting.conversation_changes import FirstDifference, first_difference
from ratiba_action.reporting.markdown import clip, code, fenced, folded, inline, named, table
from ratiba_action.reporting.summary import ReportSummary
from ratiba_action.util.text import plural

_MOVED = 10
_ROWS = 100
_NAMES = 5
_FLIPS = 20
_UNNOTICED = 3
_REPLY = 600
_TURNS = 20
_INTERVAL = "Δ in points (90 % interval):"
_POINTS = "Δ in points:"
_ALIKE = (
    "Every reply, tool call and state is as on the base: if this change is meant to alter one, no scenario shows it."
)
_MARKS = {Tier.REGRESSION: "🔴", Tier.IMPROVED: "🟢"}


def render_comparison(summary: ReportSummary) -> str:
    """Everything about the comparison, without the rest of the comment."""
    parts = (comparison(summary, whole=True), flips(summary), compared_scenarios(summary))
    return "\n\n".join(filter(None, parts)) + "\n"


def comparison(summary: ReportSummary, *, whole: bool = False) -> str:
    """What changed since the base: the tier, and the metrics and scenarios that changed; empty without a base.

    Args:
        whole: also the metrics that did not change.
    """
    compared = summary.comparison
    if compared is None:
        return ""
    changed = [row for row in compared.rows if whole or row.changed]
    moved = [row for row in compared.scenarios if row.moved]
    listed = compared.found.tier is Tier.NOT_COMPARABLE and compared.obstacles
    if not (changed or moved or compared.flips or listed):
        alike = f" {_ALIKE}" if compared.alike else ""
        first = f"**Compared with the base:** {_summary(summary, compared)}{alike}"
        return "\n\n".join([first, *_unnoticed(compared)])
    parts = [f"### Compared with the base\n\n{_summary(summary, compared)}"]
    parts += [_flipped(compared.found.flips, summary.titles)] if compared.flips else []
    parts += _unnoticed(compared)
    same = len(compared.rows) - len(changed)
    unchanged = f"\n\n{plural(same, 'more metric')} did not change." if same else ""
    parts += [_differences(changed) + unchanged] if changed else []
    omitted = len(moved) - _MOVED
    more = f"\n\n{plural(omitted, 'more scenario')} below." if omitted > 0 else ""
    parts += [_scenarios(moved[:_MOVED]) + more] if moved else []
    return "\n\n".join(parts)


def flips(summary: ReportSummary) -> str:
    """Both answers of each scenario that newly fails or passes; folded."""
    found = summary.comparison.flips if summary.comparison else ()
    omitted = len(found) - _FLIPS
    shown = [
        folded(f"{code_html(flip.scenario_id)}: {direction}", fenced(_answers(flip)))
        for flip, direction in found[:_FLIPS]
    ]
    more = [f"{plural(omitted, 'more scenario')} in the report."] if omitted > 0 else []
    return "\n\n".join([*shown, *more])


def compared_scenarios(summary: ReportSummary) -> str:
    """Every scenario on base and head, and what cannot be compared, with the reason; folded."""
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


def _summary(summary: ReportSummary, compared: ComparisonSummary) -> str:
    verdict, seen, count = summary.report.verdict, compared.sensitivity, compared.not_comparable
    # Do not repeat what the first lines of the comment say.
    sentences = [] if compared.found.reason in verdict.reason else [inline(compared.found.reason)]
    sentences += [compared.interval_note] if compared.interval_note else []
    sentences.append(f"Base: {inline(compared.baseline)}.")
    sentences += [seen] if seen and not any(seen in warning for warning in verdict.warnings) else []
    sentences += [compared.price] if compared.price else []
    sentences += [f"Not comparable: {count}."] if count else []
    heading = f"**{compared.heading}.** {' '.join(sentences)}"
    return f"{heading}\n\n{_obstacles(compared)}" if compared.found.tier is Tier.NOT_COMPARABLE and count else heading


def unnoticed(compared: ComparisonSummary) -> list[tuple[str, FirstDifference]]:
    """Scenarios that pass on both sides and whose conversation differs, with where; replies before all else."""
    moved = {row.name for row in compared.scenarios if row.moved}
    passing = (change for change in compared.changes.values() if change.direction == "still passing")
    differences = [
        (change.scenario_id, first)
        for change in passing
        if change.scenario_id not in moved and (first := first_difference(change)) is not None
    ]
    # What customers read comes first.
    return sorted(differences, key=lambda each: each[1].what != "assistant")


def _unnoticed(compared: ComparisonSummary) -> list[str]:
    """What the system said or did differently in scenarios that pass on both sides, where nothing varies by chance.

    No assertion decides about it, so a person has to.
    """
    found = [f"- {code(name)}, {shown_difference(first)}" for name, first in unnoticed(compared)]
    if not found:
        return []
    one, many = "scenario passes and is not as on the base", "scenarios pass and are not as on the base"
    counted = f"1 {one}" if len(found) == 1 else f"{len(found)} {many}"
    omitted = len(found) - _UNNOTICED
    more = [f"- {omitted} more, in the report"] if omitted > 0 else []
    return ["\n".join([f"{counted}. No assertion decides whether that is right:", "", *found[:_UNNOTICED], *more])]


def _differences(rows: Sequence[ComparisonRow]) -> str:
    intervals = any(row.low is not None for row in rows)
    header = ("metric", "base:", "this PR:", _INTERVAL if intervals else _POINTS, "threshold:", "status")
    cells = [
        (inline(row.name), row.base, row.head, row.change, inline(row.threshold), _marked(row.tier, row.status))
        for row in rows
    ]
    return table(header, cells)


def _scenarios(rows: Sequence[ComparedScenario]) -> str:
    cells = [
        (named(row.name, row.title), row.base, row.head, row.change, _marked(row.tier, row.status)) for row in rows
    ]
    return table(("scenario", "base:", "this PR:", _POINTS, "status"), cells)


def _marked(tier: Tier, status: str) -> str:
    """A status with a red sign for a regression and a green one for an improvement."""
    mark = _MARKS.get(tier, "")
    return f"{mark} **{status}**" if tier is Tier.REGRESSION else f"{mark} {status}".strip()


def _flipped(found: Sequence[OutcomeChange], titles: Mapping[str, str]) -> str:
    directions = {f"{_MARKS[Tier.REGRESSION]} Newly failing": False, f"{_MARKS[Tier.IMPROVED]} Newly passing": True}
    named = {
        direction: [_name(flip, titles) for flip in found if flip.passes is passes]
        for direction, passes in directions.items()
    }
    return " ".join(f"{direction}: {_names(names)}." for direction, names in named.items() if names)


def _name(flip: OutcomeChange, titles: Mapping[str, str]) -> str:
    return named(flip.scenario_id, titles.get(flip.scenario_id, "")) + (" (critical)" if flip.critical else "")


def _names(names: Sequence[str]) -> str:
    omitted = len(names) - _NAMES
    return ", ".join(names[:_NAMES]) + (f" and {omitted} more" if omitted > 0 else "")


def _answers(flip: OutcomeChange) -> str:
    lines: list[str] = []
    for turn in range(min(max(len(flip.base_replies), len(flip.head_replies)), _TURNS)):
        for version, replies in (("base", flip.base_replies), ("this PR", flip.head_replies)):
            reply = clip(replies[turn], _REPLY) if turn < len(replies) else "(no answer)"
            lines.append(f"{turn + 1}  {version + ':':<9}" + "\n            ".join(reply.splitlines()))
    return "\n".join(lines) or "(no answers)"


def _obstacles(compared: ComparisonSummary) -> str:
    rows = [
        (
            inline(obstacle.reason),
            ", ".join(map(inline, obstacle.metrics)) or "all",
            str(len(obstacle.scenarios)),
            _names([code(name) for name in obstacle.scenarios]),
        )
        for obstacle in compared.obstacles[:_ROWS]
    ]
    return table(("reason", "metric", "n:", "scenarios"), rows)
