"""``comment.md``: the pull-request comment, with the summary first and details below."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ratiba_action.github.attempts import CommentAttempt, attempt_of, attempts_line, history
from ratiba_action.github.marker import marker_of
from ratiba_action.model.verdict import Conclusion
from ratiba_action.reporting import comment_failures as failures
from ratiba_action.reporting import comment_sections as sections
from ratiba_action.reporting.comment_comparison import compared_scenarios, comparison, flips, unnoticed
from ratiba_action.reporting.links import site_link
from ratiba_action.reporting.markdown import inline, length, linked
from ratiba_action.reporting.summary import ReportSummary
from ratiba_action.util.text import plural

LIMIT = 60_000
"""Most characters of a comment; GitHub refuses more than 65,536."""

_WARNINGS = 5
_SHOWN = 10
_DROP_ORDER = (
    "transcripts",
    "answers of newly failing or passing scenarios",
    "compared scenarios",
    "cost of a conversation",
    "all scenarios",
    "earlier runs",
    "links to Langfuse",
    "why this mode",
    "tracebacks",
    "tables of cases",
    "tables of failing scenarios",
    "variants",
    "metrics",
    "judges",
    "money",
    "comparison",
    "causes",
    "tables of failing scenarios",
)
_RUN_URL = re.compile(r"https?://[A-Za-z0-9._:-]+/[A-Za-z0-9._/-]*", re.ASCII)


_Top = tuple[Sequence[str], Sequence[str]]
"""The verdict, and what follows it and the causes; neither is ever left out."""

_ALERTS = {Conclusion.FAILED: "CAUTION", Conclusion.PASSED: "TIP", Conclusion.SKIPPED: "NOTE"}
_OTHER_ALERT = "WARNING"


@dataclass(frozen=True, slots=True)
class _Section:
    """A part of the comment in several forms, from full to shortest; an empty form leaves it out."""

    name: str
    forms: tuple[str, ...]


def render_comment(summary: ReportSummary, limit: int = LIMIT, earlier: tuple[CommentAttempt, ...] = ()) -> str:
    """The Markdown of the comment.

    The marker, the hidden line of attempts, the verdict, the reason, what to do, the warnings, the notes and the money
    line always stay. Beyond the limit the transcripts go first, then the answers of newly failing or passing
    scenarios, the list of compared scenarios, the cost of a conversation, the list of all scenarios, earlier runs, the
    links to Langfuse, why the mode was chosen, tracebacks, the tables of cases, all but ten tables of failing
    scenarios, the metrics, the judges, the money table, the comparison, the causes, and last those ten, so that only
    their names are left.

    Args:
        limit: most characters, as GitHub counts them.
        earlier: attempts that the comment on the pull request lists.
    """
    report = summary.report
    attempts = history(earlier, attempt_of(report))
    verdict, rest = _verdict(summary, attempts), _rest_of_top(summary)
    runs = sections.attempts_table(attempts, report.subject)
    if report.verdict.conclusion is Conclusion.SKIPPED:
        return "\n\n".join([*verdict, *rest, *([runs] if runs else [])]) + "\n"
    return _fit(summary, (verdict, rest), [*_sections(summary, limit), _Section("earlier runs", (runs, ""))], limit)


def _verdict(summary: ReportSummary, attempts: tuple[CommentAttempt, ...]) -> list[str]:
    """The hidden lines and the alert: verdict, reason and numbers."""
    report, verdict = summary.report, summary.report.verdict
    hidden_lines = "".join(f"{line}\n" for line in (str(marker_of(report)), attempts_line(attempts)) if line)
    name = inline(report.name, 80)
    first = [f"{summary.numbers}{summary.caveat}", name] if summary.numbers else [f"{name}{summary.caveat}"]
    parts = [f"## {summary.headline}: {' · '.join(first)}"]
    parts += [f"**{inline(summary.replacement, 1_500)}**"] if summary.replacement else []
    parts += [inline(verdict.reason, 2_000)]
    parts += [inline(summary.leniency)] if summary.leniency else []
    parts += [inline(summary.line)] if verdict.conclusion is not Conclusion.SKIPPED else []
    return [hidden_lines + f"> [!{_alert(summary)}]\n> " + "\n>\n> ".join(parts)]


def _alert(summary: ReportSummary) -> str:
    """How GitHub colours the verdict: red for what blocks, green only for a pass that nothing qualifies."""
    report, verdict = summary.report, summary.report.verdict
    if verdict.misconfigured:
        return "CAUTION"
    if report.shard is not None:
        return "NOTE" if report.shard.measured else _OTHER_ALERT
    if verdict.conclusion is Conclusion.FAILED and summary.exit_code == 0:
        return _OTHER_ALERT
    unseen = summary.comparison is not None and bool(unnoticed(summary.comparison))
    if verdict.conclusion is Conclusion.PASSED and (
        summary.caveat or summary.caveats or summary.replacement or verdict.warnings or unseen
    ):
        return "NOTE"
    return _ALERTS.get(verdict.conclusion, _OTHER_ALERT)


def _rest_of_top(summary: ReportSummary) -> list[str]:
    """What to do, the warnings, what qualifies a pass and the cost line; the causes stand before it."""
    warnings = summary.report.verdict.warnings
    action, omitted = sections.what_to_do(summary), max(len(warnings) - _WARNINGS, 0)
    shown = [f"> **Warning:** {inline(warning, 600)}" for warning in warnings[:_WARNINGS]]
    shown += [f"> **Warning:** {plural(omitted, 'more warning')} in the report."] if omitted else []
    parts = [*([action] if action else []), *(["\n>\n".join(shown)] if shown else []), *sections.caveats(summary)]
    return [*parts, *([inline(summary.cost.line)] if summary.cost is not None and summary.cost.line else [])]


def _sections(summary: ReportSummary, limit: int) -> list[_Section]:
    shorter = failures.failing(summary, limit, maximum=_SHOWN)
    failing = (failures.failing(summary, limit), shorter, failures.failing_names(summary))
    compared = _Section("comparison", (comparison(summary), ""))
    failed = _Section("tables of failing scenarios", failing)
    return [
        _Section("causes", (sections.causes(summary), "")),
        # What made the run fail comes first.
        *([compared, failed] if summary.regression else [failed, compared]),
        _Section("tables of cases", (sections.cases(summary), sections.cases(summary, tables=False))),
        _Section("variants", (sections.variants(summary), "")),
        # From here on everything is folded.
        _Section("tracebacks", (failures.crashes(summary), "")),
        _Section("answers of newly failing or passing scenarios", (flips(summary), "")),
        _Section("compared scenarios", (compared_scenarios(summary), "")),
        _Section("cost of a conversation", (sections.cost(summary), "")),
        _Section("quarantine", (sections.quarantine(summary), "")),
        _Section("metrics", (sections.metrics(summary), "")),
        _Section("judges", (sections.judges(summary), "")),
        _Section("money", (sections.money(summary), "")),
        _Section("notes", (sections.notes(summary),)),
        _Section("why this mode", (sections.why_mode(summary), "")),
        _Section("links to Langfuse", (sections.traces(summary), "")),
        _Section("all scenarios", (sections.all_scenarios(summary), "")),
        _Section("transcripts", (failures.transcripts(summary, limit), "")),
    ]


def _fit(summary: ReportSummary, top: _Top, parts: Sequence[_Section], limit: int) -> str:
    dropped: list[str] = []
    optional = (
        "links to Langfuse",
        "tables of cases",
        "variants",
        "comparison",
        "answers of newly failing or passing scenarios",
        "compared scenarios",
        "cost of a conversation",
        "tracebacks",
        "causes",
    )
    absent = {part.name for part in parts if part.name in optional and not part.forms[0]}
    order = [name for name in _DROP_ORDER if name not in absent]
    text = _join(summary, top, parts, dropped)
    for name in order:
        if length(text) <= limit:
            return text
        dropped.append(name)
        text = _join(summary, top, parts, dropped)
    # After the last step some parts that were dropped earlier may fit again.
    for name in reversed(order):
        fewer = [other for other in dropped if other != name]
        longer = _join(summary, top, parts, fewer)
        if length(longer) <= limit:
            dropped, text = fewer, longer
    return text


def _join(summary: ReportSummary, top: _Top, parts: Sequence[_Section], dropped: Sequence[str]) -> str:
    causes, *bodies = [part.forms[min(dropped.count(part.name), len(part.forms) - 1)] for part in parts]
    (verdict, rest) = top
    shown = [*verdict, causes, *rest, *bodies, *_footer(summary, dropped)]
    return "\n\n".join(body for body in shown if body) + "\n"


def _footer(summary: ReportSummary, dropped: Sequence[str]) -> list[str]:
    url = summary.report.subject.run_url
    run = f" of [the run]({url})" if _RUN_URL.fullmatch(url) else " of the run"
    page = linked("`report.html`", summary.links.artifacts)
    names = ", ".join(dict.fromkeys(dropped))
    site = site_link(summary.report)
    all_runs = f" Earlier runs: [the history]({site})." if site else ""
    if dropped:
        return [f"Left out to fit a comment: {names}. They are in {page} and `results.json`{run}.{all_runs}"]
    if not summary.scenarios:
        return [f"More in `results.json`{run}.{all_runs}"]
    return [f"More in {page} and `results.json`{run}.{all_runs}"]
