"""The parts of the comment about the whole run; each is Markdown, or empty if there is nothing to show."""

import re
from collections.abc import Sequence

from ratiba_action.github.attempts import NO_HEAD, CommentAttempt
from ratiba_action.model.attribution import ChangedPart
from ratiba_action.model.case_file import ClassScores
from ratiba_action.model.change import Subject
from ratiba_action.reporting.cases_summary import CasesSummary, LowCase
from ratiba_action.reporting.comment_failures import code_html
from ratiba_action.reporting.cost_summary import CostRow, shown_scenarios
from ratiba_action.reporting.links import SourceLinks, source_links
from ratiba_action.reporting.markdown import code, fenced, folded, inline, linked, named, table
from ratiba_action.reporting.money_facts import AmountPart, Fact
from ratiba_action.reporting.summary import VERDICT_IS_OF, MetricRow, ReportSummary, ScenarioRow, TrialRow, VariantRow
from ratiba_action.reporting.wording import SELF_REPORTED, CauseText, dollars, lines_of, number, what_of
from ratiba_action.util.text import few, plural

_NAMED = 100
_NOTES = 5
_CAVEATS = 2
_ROWS = 50
_QUARANTINED = 20
_MESSAGE = 80
_FACT = 1_000
_PARTS = 20
_VARIANT_METRICS = 6
_DIFFERENCES = 120
_WHY = 200
_TRACES = 60
_SHORT = 7
_CAUSES = 3
_PLACES = 3
_CAUSE = 700
_RUN_URL = re.compile(r"(https?://[A-Za-z0-9._:-]+/[A-Za-z0-9._/-]*/actions/runs/)[0-9]+", re.ASCII)
_STARTED_BY = {
    "pull_request": "the pull request",
    "merge_group": "the merge queue",
    "push": "a push",
    "workflow_dispatch": "hand",
    "other": "another event",
}


def metrics(summary: ReportSummary) -> str:
    """Each metric: number of scores, mean, share that passes, threshold, status; folded."""
    if not summary.metrics:
        return ""
    report, header = summary.report, ("metric", "n:", "mean:", "pass:", "threshold:", "status")
    body = table(header, [_metric_row(row, report.limits.pass_rate) for row in summary.metrics])
    # A run with paid calls has a table of its judges.
    judged = report.judge_model and any(row.figures.judged for row in summary.metrics) and not summary.paid
    judge = f"\n\nJudge: {code(report.judge_model)}." if judged else ""
    return folded("Metrics", body + judge)


def _metric_row(row: MetricRow, rate: float) -> tuple[str, ...]:
    figures = row.figures
    kind = f"judged, {rate:.0%} must pass" if figures.judged else "exact"
    below = figures.count - figures.passed
    status = f"{f'{below} failed' if below else 'all passed'} ({kind})"
    return (
        inline(f"{figures.metric} {figures.version}"),
        str(figures.count),
        number(figures.mean),
        row.passing,
        inline(row.threshold),
        status if row.passing else f"no threshold for single scores ({kind.partition(',')[0]})",
    )


def causes(summary: ReportSummary, maximum: int = _CAUSES) -> str:
    """Which lines of the change make scenarios fail."""
    found = summary.explanation
    if found is None:
        return ""
    shown = [_sentence(cause, summary.links) for cause in found.causes[:maximum]]
    shown += (
        [f"{plural(len(found.causes) - maximum, 'more cause')} in the report."] if len(found.causes) > maximum else []
    )
    return f"**Which line did it:** {' '.join(shown)} {inline(found.note)}"


def _sentence(cause: CauseText, links: SourceLinks) -> str:
    """A cause in Markdown; each place in it is a link where its address is known."""
    written = list[str]()
    for piece in cause.pieces:
        if isinstance(piece, ChangedPart):
            written.append(f"{_place(piece, lines_of(piece), links)} ({inline(what_of(piece), _CAUSE)})")
        else:
            start, end = (" " if piece[:1] == " " else ""), (" " if piece[-1:] == " " and piece.strip() else "")
            written.append(f"{start}{inline(piece, _CAUSE)}{end}")
    return "".join(written)


def _place(part: ChangedPart, lines: str, links: SourceLinks) -> str:
    return linked(code(part.path) + lines, links.line(part.path, 0 if part.whole else part.line))


def what_to_do(summary: ReportSummary) -> str:
    """What to do, and the command that runs again what failed; empty without either."""

    def place(part: ChangedPart) -> str:
        return _place(part, "" if part.whole else f" line {part.line}", summary.links)

    advice = summary.remedy.text(place, lambda text: inline(text, 1_000))
    parts = [f"**What to do:** {advice}"] if advice else []
    parts += [fenced(summary.remedy.command)] if advice and summary.remedy.command else []
    return "\n\n".join(parts)


def why_mode(summary: ReportSummary) -> str:
    """The files and rules that decided the mode, and the dependency bumps; folded."""
    decision = summary.report.decision
    rows = [(code(r.path) if r.path else "", inline(r.rule), r.mode.value, inline(r.why)) for r in decision.reasons]
    if not rows and not decision.dependencies:
        return ""
    parts = [table(("file", "rule", "mode", "why"), rows[:_ROWS])] if rows else []
    parts += [f"{plural(len(rows) - _ROWS, 'more reason')} in the report."] if len(rows) > _ROWS else []
    bumps = [
        (inline(d.package), inline(d.before or "none"), inline(d.after or "none"), inline(d.change), code(d.file))
        for d in decision.dependencies
    ]
    parts += [table(("package", "from", "to", "change", "file"), bumps[:_ROWS])] if bumps else []
    parts += [f"{plural(len(bumps) - _ROWS, 'more package')} in the report."] if len(bumps) > _ROWS else []
    return folded(f"Why {decision.mode.value}{_first_reason(summary)}", "\n\n".join(parts))


def _first_reason(summary: ReportSummary) -> str:
    """The first file that decided the mode, shown without unfolding the table."""
    decision = summary.report.decision
    decisive = [r.path for r in decision.reasons if r.mode is decision.mode and r.path]
    if not decisive:
        return ""
    more = f" and {plural(len(decisive) - 1, 'more file')}" if len(decisive) > 1 else ""
    return f": {code_html(decisive[0])}{more}"


def all_scenarios(summary: ReportSummary) -> str:
    """One row for each scenario, and one for each trial where there are several; folded."""
    rows, left_out = summary.scenarios, summary.report.left_out
    if not rows:
        return ""
    body = _results([(named(row.name, row.scenario.title), row.ended, row.deciding) for row in rows])
    if left_out:
        body += "\n\nNot selected in this mode: " + few([code(name) for name in left_out], _NAMED) + "."
    claimed = summary.report.self_reported
    if claimed:
        body += f"\n\nSelf-reported: {few([code(name) for name in claimed], _NAMED)}. {SELF_REPORTED}"
    parts = [folded(f"{'All ' if len(rows) > 1 else ''}{plural(len(rows), 'scenario')}", body), *_all_trials(rows)]
    return "\n\n".join(parts)


def _all_trials(rows: Sequence[ScenarioRow]) -> list[str]:
    """Every trial of scenarios with several trials, and why trials were retried."""
    trials = [trial for row in rows if len(row.trials) > 1 or row.outcome.retried for trial in row.trials]
    if not trials:
        return []
    numbered = [(trial.result.trial.scenario.id, trial.result.trial.number + 1, trial) for trial in trials]
    body = _results([(code(f"{name}.trial{number}"), trial.ended, trial) for name, number, trial in numbered])
    again = [(code(name), str(number), inline(why, 300)) for name, number, trial in numbered for why in trial.retried]
    body += "\n\n" + table(("scenario", "trial:", "retried after"), again[:_NAMED]) if again else ""
    return [folded(f"{plural(len(trials), 'trial')} of scenarios with several trials", body)]


def _results(rows: Sequence[tuple[str, str, TrialRow]]) -> str:
    header = ("scenario", "result", "language", "checks:", "scores", "seconds:")
    return table(header, [_result_row(*row) for row in rows])


def _result_row(name: str, ended: str, row: TrialRow) -> tuple[str, ...]:
    scores = [f"{inline(score.metric)} {number(score.value)}" for score in row.scores]
    scores += [inline(row.gap, 120)] if row.gap else []
    checks, seconds = ("", "") if row.checks is None else ("{} of {}".format(*row.checks), f"{row.seconds:.1f}")
    return name, ended, inline(row.result.trial.scenario.language), checks, ", ".join(scores), seconds


def quarantine(summary: ReportSummary) -> str:
    """A table of the scenarios in quarantine and one of those whose quarantine has expired; empty without any."""
    apart, expired = summary.quarantined, summary.expired
    parts = [_quarantined("In quarantine: these do not decide", "it would have", apart)] if apart else []
    parts += [_quarantined("Quarantine has expired: these decide again", "it", expired)] if expired else []
    return "\n\n".join(parts)


def _quarantined(heading: str, result_heading: str, rows: Sequence[ScenarioRow]) -> str:
    cells = [_quarantine_row(row) for row in rows[:_QUARANTINED]]
    omitted = len(rows) - _QUARANTINED
    more = f"\n\n{plural(omitted, 'more scenario')} in the report." if omitted > 0 else ""
    return f"### {heading}\n\n" + table(("scenario", "until", "owner", "reason", result_heading), cells) + more


def _quarantine_row(row: ScenarioRow) -> tuple[str, ...]:
    granted = row.scenario.quarantine
    if granted is None:
        raise TypeError("only scenarios with a quarantine are listed")
    ended = row.ended + (f": {row.deciding.why}" if row.deciding.why else "")
    about = (granted.until.isoformat(), inline(granted.owner, 80), inline(granted.reason, 200))
    return code(row.name), *about, inline(ended, 200)


def cases(summary: ReportSummary, *, tables: bool = True) -> str:
    """One block for the cases of each file; empty without one.

    Args:
        tables: whether to add the folded tables of classes and of the lowest cases.
    """
    blocks = [_block(cases_of_file) + (_tables(cases_of_file) if tables else "") for cases_of_file in summary.cases]
    return "\n\n".join(["### Cases", *blocks]) if blocks else ""


def _block(cases: CasesSummary) -> str:
    parts = [f"**{code(cases.scores.id)}** · {code(cases.scores.path)} · {inline(cases.about)}"]
    if cases.gates:
        rows = [
            (code(row.result.gate.metric), row.value, number(row.result.gate.at_least), row.status)
            for row in cases.gates
        ]
        parts.append(table(("threshold", "value:", "at least:", "result"), rows))
    gated = {row.result.gate.metric for row in cases.gates}
    others = [f"{inline(name)} {number(found)}" for name, found in cases.scores.values.items() if name not in gated]
    parts += [f"Without a threshold: {', '.join(others)}." if gated else f"{', '.join(others)}."] if others else []
    return "\n\n".join(parts)


def _tables(cases: CasesSummary) -> str:
    parts = [_classes(cases)] if cases.classes else []
    parts += [_lowest(cases.scores.id, cases.low)] if cases.low else []
    return "".join(f"\n\n{part}" for part in parts)


def _lowest(name: str, low: Sequence[LowCase]) -> str:
    rows = [(code(case.name), inline(case.message, _MESSAGE), inline(case.result)) for case in low[:_ROWS]]
    body = table(("case", "message", "score"), rows) + _more(len(low))
    return folded(f"{plural(len(low), 'case')} of {code_html(name)} below 1, the lowest first", body)


def _more(total: int) -> str:
    return f"\n\n{total - _ROWS} more in the report." if total > _ROWS else ""


def _classes(cases: CasesSummary) -> str:
    header = ("class", "precision:", "recall:", "F1:", "expected:", "given:")
    body = table(header, [_class_row(scores) for scores in cases.classes[:_ROWS]]) + _more(len(cases.classes))
    return folded(f"Classes of {code_html(cases.scores.id)}, the lowest F1 first", body)


def _class_row(scores: ClassScores) -> tuple[str, ...]:
    figures = (number(scores.precision), number(scores.recall), number(scores.f1))
    return (code(scores.label), *figures, str(scores.support), str(scores.given))


def variants(summary: ReportSummary) -> str:
    """One row per variant; empty if none was run."""
    if not summary.variants:
        return ""
    names = summary.variant_metrics[:_VARIANT_METRICS]
    figures = ("passed:", "errors:", *(f"{name}:" for name in names), "estimated cost (USD):")
    header = ("variant", "differs in", "on its own", *figures)
    rows = table(header, [_variant_row(row, names) for row in summary.variants])
    # The verdict's reason for the system itself is shown at the top of the comment.
    speaking = [row for row in summary.variants if row.figures.name and row.why]
    text = [f"- {code(row.name)} {inline(f'{row.ended}: {row.why}', _WHY)}" for row in speaking]
    reasons = ["\n".join(text)] if text else []
    return "\n\n".join(["### Variants", rows, *reasons, VERDICT_IS_OF])


def _variant_row(row: VariantRow, names: Sequence[str]) -> tuple[str, ...]:
    figures, means = row.figures, row.figures.means
    name = code(row.name) if figures.name else row.name
    about = (name, inline(row.differences, _DIFFERENCES), inline(row.ended))
    if figures.problem:
        return (*about, *([""] * (len(names) + 3)))
    return (
        *about,
        row.passed,
        str(figures.errored + figures.not_run),
        *(number(means[metric]) if metric in means else "" for metric in names),
        f"{figures.list_price:.4f}",
    )


def money(summary: ReportSummary) -> str:
    """What was spent, of which cap, by whom and on what; folded, and empty for a run that called no model."""
    if not summary.money:
        return ""
    rows = _facts(summary.money)
    rows[1:1] = [(what, _parts(paid)) for what, paid in summary.spent] if summary.paid else []
    note = f"\n\n{summary.month}" if summary.month else ""
    return folded("Money", f"{table(('what', 'how much'), rows)}{note}")


def cost(summary: ReportSummary) -> str:
    """What a conversation takes on both sides, and the scenarios whose cost changed most; folded."""
    found = summary.cost
    if found is None:
        return ""
    header = ("per conversation", "base:", "this PR:", "change:", "95 % interval:", "limit:")
    body = table(header, [_cost_row(row) for row in found.figures])
    shown, more = shown_scenarios(found)
    if shown:
        rows = [(code(row.name), row.base, row.head, row.change) for row in shown]
        body += "\n\n" + table(("scenario", "base:", "this PR:", "change:"), rows)
        body += f"\n\n{plural(more, 'more scenario')} changed; the report has them." if more else ""
    body += f"\n\n{plural(found.unchanged, 'scenario')} unchanged." if found.unchanged else ""
    return folded("What a conversation costs", body)


def _cost_row(row: CostRow) -> tuple[str, ...]:
    return (row.name, row.base, row.head, row.change, row.interval, row.limit)


def judges(summary: ReportSummary) -> str:
    """The judge, its agreement with the second judge, and repeated scores; folded, empty without paid calls."""
    return folded("Judges", table(("what", "result"), _facts(summary.judges))) if summary.judges else ""


def _parts(paid: Sequence[AmountPart]) -> str:
    text = [f"{inline(part.name, 100)} {dollars(part.usd)} ({part.share:.0%})" for part in paid[:_PARTS]]
    return " · ".join(text) + (f" and {len(paid) - _PARTS} more" if len(paid) > _PARTS else "")


def _facts(facts: Sequence[Fact]) -> list[tuple[str, str]]:
    return [
        (inline(fact.what), " ".join(part for part in (inline(fact.text, _FACT), fact.bar, fact.after) if part))
        for fact in facts
    ]


def traces(summary: ReportSummary) -> str:
    """A folded list of links, failures first; empty if nothing was sent."""
    links = summary.traces
    if not links:
        return ""
    lines = [f"- [{inline(link.label, 120)}]({link.url}): {ended}" for link, ended in links[:_TRACES]]
    lines += [f"- {len(links) - _TRACES} more are in `results.json`"] if len(links) > _TRACES else []
    return folded(f"{plural(len(links), 'scenario')} in Langfuse", "\n".join(lines))


def caveats(summary: ReportSummary) -> list[str]:
    """What qualifies a pass, where everybody sees it."""
    found, omitted = summary.caveats, len(summary.caveats) - _CAVEATS
    shown = [inline(caveat, 400) for caveat in found[:_CAVEATS]]
    more = f" ({omitted} more in the notes below.)" if omitted > 0 else ""
    marks = "- " if len(shown) > 1 else ""
    return [f"{marks}**Keep in mind:** " + f"\n{marks}".join(shown) + more] if shown else []


def notes(summary: ReportSummary) -> str:
    """The other notes about the run; folded, and empty without one."""
    found = (*summary.caveats[_CAVEATS:], *summary.notes)
    shown = [f"- {inline(note, 600)}" for note in found[:_NOTES]]
    shown += [f"- {plural(len(found) - _NOTES, 'more note')} in the report."] if len(found) > _NOTES else []
    return folded(plural(len(found), "note"), "\n".join(shown)) if found else ""


def attempts_table(attempts: Sequence[CommentAttempt], subject: Subject) -> str:
    """The gate's runs on one pull request, the latest first; folded, and empty if there is only one.

    Args:
        attempts: including the current one.
    """
    if len(attempts) <= 1:
        return ""
    links = source_links(subject)
    rows = [_attempt(attempt, subject, links) for attempt in reversed(attempts)]
    header = ("run", "commit", "started by", "mode", "result")
    return folded(f"The last {len(attempts)} runs on this pull request", table(header, rows))


def _attempt(attempt: CommentAttempt, subject: Subject, links: SourceLinks) -> tuple[str, ...]:
    name = f"{attempt.run_id}, attempt {attempt.number}"
    found = _RUN_URL.fullmatch(subject.run_url)
    run = f"[{name}]({found[1]}{attempt.run_id}/attempts/{attempt.number})" if found else name
    present = (attempt.run_id, attempt.number) == (subject.run_id, subject.run_attempt)
    return (
        f"**{run}, this one**" if present else run,
        "unknown" if attempt.head == NO_HEAD else linked(f"`{attempt.head[:_SHORT]}`", links.commit(attempt.head)),
        _STARTED_BY[attempt.event],
        attempt.mode.value,
        attempt.conclusion.value,
    )
