"""The parts of the comment below its first lines; each is Markdown, or empty when there is nothing to say."""

import json
from collections.abc import Sequence
from html import escape
from typing import Any

from ratiba_action.checks.system_exceptions import KIND, exception_of
from ratiba_action.model.conversation import Exchange
from ratiba_action.model.measurement import Check, Errored, NotRun, Phase, ScenarioResult, Score, Scored
from ratiba_action.model.scenario import Scenario
from ratiba_action.model.verdict import Report
from ratiba_action.reporting.data_set_words import passing_told, threshold_told
from ratiba_action.reporting.markdown import clean, code, defuse, fenced, folded, inline, table
from ratiba_action.reporting.money_facts import has_paid
from ratiba_action.reporting.wording import (
    RaisedError,
    explanation,
    frames,
    gap_words,
    label,
    listed,
    number,
    outcome,
    plural,
    raised_errors,
    scenario_ended,
    scenario_label,
)
from ratiba_action.util.text import part_of
from ratiba_action.verdict.tally import (
    MetricSummary,
    deciding_outcomes,
    deciding_results,
    scenario_of,
    summarise_metrics,
)
from ratiba_action.verdict.trials import ScenarioOutcome, Standing, most_failures, outcomes_of

_NAMED = 100
_ROWS = 50
_NAMES = 5
_QUOTED = 60


def failing(report: Report, most: int | None = None) -> str:
    """Each conversation that failed, with turn, assertion, expected and got; then those without a result.

    Args:
        report: what to tell.
        most: how many conversations of each kind to show, None for all.
    """
    outcomes = deciding_outcomes(report)
    failed = _by_exception(sorted(filter(is_failing, outcomes), key=lambda one: not one.scenario.critical))
    parts = ["### Failing scenarios"] if failed else []
    for first, *others in failed[:most]:
        parts += [_failed(first, report.limits.pass_rate), *_failed_alike(others)]
    parts += _more(sum(map(len, failed)), sum(map(len, failed[:most])))
    gaps = [(one, gap) for one in outcomes if (gap := _gap(one)) is not None]
    if len(gaps) == 1 and explanation(gaps[0][1]) in report.verdict.reason:
        return "\n\n".join(parts)  # the headline has told it whole
    return "\n\n".join([*parts, *_missing(gaps, most, report.verdict.action)])


def _gap(one: ScenarioOutcome) -> ScenarioResult | None:
    """The trial that lacks a measurement where that may matter."""
    unfit = isinstance(one.deciding, Errored) and one.deciding.phase is Phase.RECORDING
    if unfit and is_failing(one) and not _lacks_grade(one.deciding):
        return None  # its table says which request no recording fits
    if exception_of(one.deciding):
        return None
    if not isinstance(one.deciding, Scored):
        return one.deciding
    return next((trial for trial in one.trials if one.open and not isinstance(trial, Scored)), None)


def _missing(missing: Sequence[tuple[ScenarioOutcome, ScenarioResult]], most: int | None, action: str) -> list[str]:
    """What has no result, one row a cause: a prompt that changed leaves every conversation without one."""
    causes: dict[tuple[str, str], list[str]] = {}
    for one, gap in missing:
        causes.setdefault((outcome(gap), _whole_explanation(gap, action)), []).append(code(scenario_label(one)))
    rows = [
        (", ".join(names[:_NAMES]) + _others(names), what, inline(why, 500)) for (what, why), names in causes.items()
    ]
    if not rows:
        return []
    header = ("scenario", "what", "why")
    return ["### Could not be measured", table(header, rows[:most]), *_more(len(rows), len(rows[:most]))]


_RECORD = "ratiba record"
"""One command of the verdict's action is for every scenario whose recording no longer applies."""


def _whole_explanation(gap: ScenarioResult, action: str) -> str:
    """Why there is no result, with its remedy where the verdict's action tells another."""
    remedy = gap.remedy if isinstance(gap, Errored) else ""
    told = remedy in action or (_RECORD in remedy and _RECORD in action)
    return explanation(gap) if told else f"{explanation(gap)} {remedy}"


def _others(names: Sequence[str]) -> str:
    return f" and {len(names) - _NAMES} more" if len(names) > _NAMES else ""


def _more(total: int, shown: int) -> list[str]:
    hidden = total - shown
    return [f"{plural(hidden, 'more scenario')} in the report."] if hidden else []


def _by_exception(failed: Sequence[ScenarioOutcome]) -> list[list[ScenarioOutcome]]:
    """The scenarios, those together that one exception of the system failed and nothing else."""
    groups: dict[tuple[str, str], list[ScenarioOutcome]] = {}
    for one in failed:
        raised = _only_exception(one)
        groups.setdefault((raised, "" if raised else scenario_label(one)), []).append(one)
    return list(groups.values())


def _only_exception(one: ScenarioOutcome) -> str:
    """``file:line Type`` of an exception, where a scenario failed by it alone; else empty."""
    result = one.deciding
    if len(one.trials) > 1 or isinstance(result, NotRun) or not all(score.passed for score in result.deciding_scores):
        return ""
    alone = all(check.kind == KIND for check in result.checks if not check.passed)
    return exception_of(result) if alone else ""


def _failed_alike(others: Sequence[ScenarioOutcome]) -> list[str]:
    names = [code(scenario_label(one)) + (" (critical)" if one.scenario.critical else "") for one in others]
    return [f"The same exception failed {listed(names)}."] if names else []


def failing_names(report: Report) -> str:
    """The same conversations by name only."""
    names = [
        f"{code(scenario_label(one))} ({outcome(one.deciding)})"
        for one in deciding_outcomes(report)
        if outcome(one.deciding) != "passed"
    ]
    if not names:
        return ""
    more = f", and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"### Scenarios that did not pass\n\n{', '.join(names[:_NAMED])}{more}"


def is_failing(one: ScenarioOutcome) -> bool:
    """Whether something that was measured in a scenario is below what is asked."""
    result = one.deciding
    if isinstance(result, NotRun):
        return False
    return not all(check.passed for check in result.checks) or not all(score.passed for score in result.deciding_scores)


def _failed(one: ScenarioOutcome, rate: float) -> str:
    result, scenario = one.deciding, one.scenario
    if isinstance(result, NotRun):
        return ""
    about = [code(scenario_label(one))]
    about += ["critical"] if scenario.critical else []
    about += [_trials(one)] if len(one.trials) > 1 else []
    about += [f"judged: {rate:.0%} of such scores must pass"] if one.standing is Standing.BELOW else []
    line = next((check.line for check in result.checks if not check.passed and check.line), scenario.line)
    about += [code(f"{scenario.path}") + (f" line {line}" if line else "")] if scenario.path else []
    rows = [_check_row(check, scenario) for check in result.checks if not check.passed]
    rows += [row for score in result.deciding_scores if not score.passed for row in _score_rows(score)]
    heading = f"**{about[0]}**" + "".join(f" · {part}" for part in about[1:])
    return "\n\n".join([heading, _assertions(rows), *_stood_in(result)])


def _stood_in(result: Scored | Errored) -> list[str]:
    """That recorded answers to other requests stood in; the base passed with them."""
    if not isinstance(result, Errored) or not any(check.stand_in and not check.passed for check in result.checks):
        return []
    told = inline(explanation(result), 500)
    command = code(f"ratiba record --scenario {result.trial.scenario.id} --accept")
    if result.phase is Phase.RECORDING:
        told = f"Recorded answers stood in for answers that are not recorded. {told}"
        told += " The base passes these assertions, so the code is what differs."
        return [f"{told} If the new behaviour is right, change the scenario, then run {command}."]
    return [f"The turn ended in an error, and the base passes its assertions. {told}"]


def _trials(one: ScenarioOutcome) -> str:
    counted = len(one.counted)
    parts = [f"{part_of(one.passed, counted, 'trial', 'passes', 'pass')}, {counted - most_failures(one.scenario)} must"]
    parts += [f"{len(one.trials) - counted} more only compare with the base"] if len(one.trials) > counted else []
    return "; ".join([*parts, f"this is trial {one.deciding.trial.number + 1}"])


def _assertions(rows: list[tuple[str, str, str, str]]) -> str:
    more = f"\n\n{plural(len(rows) - _ROWS, 'more row')} in the report." if len(rows) > _ROWS else ""
    return table(("turn:", "assertion", "expected", "got"), rows[:_ROWS]) + more


def _check_row(check: Check, scenario: Scenario) -> tuple[str, str, str, str]:
    asked = scenario.turns[check.turn - 1].user if 0 < check.turn <= len(scenario.turns) else None
    after = f" after “{inline(asked, _QUOTED)}”" if asked else ""
    turn = str(check.turn) if check.turn else "all"
    what = check.what.removesuffix(" after the turn") if after else check.what
    return turn, inline(what) + after, inline(check.expected), inline(check.got)


def _score_rows(score: Score) -> list[tuple[str, str, str, str]]:
    broken = [invariant for invariant in score.invariants if not invariant.satisfied]
    if broken:
        return [
            ("all", inline(f"{score.metric}: {one.name}"), "holds", inline(one.detail or "broken")) for one in broken
        ]
    got = number(score.value) + (f": {inline(score.reason)}" if score.reason else "")
    return [("all", inline(score.metric), f"at least {number(score.threshold)}", got)]


def metrics(report: Report) -> str:
    """Each metric: number of scores, mean, share that passes, threshold, status."""
    summaries = summarise_metrics(deciding_results(report))
    if not summaries:
        return ""
    header = ("metric", "n:", "mean:", "pass:", "threshold:", "status")
    body = table(header, [_metric_row(summary, report) for summary in summaries])
    # A run that paid has a table of its judges.
    judged = report.judge_model and any(summary.judged for summary in summaries) and not has_paid(report)
    judge = f"\n\nJudge: {code(report.judge_model)}." if judged else ""
    return f"### Metrics\n\n{body}{judge}"


def _metric_row(summary: MetricSummary, report: Report) -> tuple[str, ...]:
    kind = f"judged, {report.limits.pass_rate:.0%} must pass" if summary.judged else "exact"
    below = summary.count - summary.passed
    passing = passing_told(summary)
    status = f"{f'{below} below' if below else 'all reach it'} ({kind})"
    return (
        inline(f"{summary.metric} {summary.version}"),
        str(summary.count),
        number(summary.mean),
        passing,
        inline(threshold_told(summary, report.data_sets)),
        status if passing else f"no threshold of single scores ({kind.partition(',')[0]})",
    )


def why_mode(report: Report) -> str:
    """The files and rules that decided the mode, and the dependency bumps; folded."""
    decision = report.decision
    rows = [(code(r.path) if r.path else "", inline(r.rule), r.mode.value, inline(r.why)) for r in decision.reasons]
    if not rows and not decision.dependencies:
        return ""
    parts = [table(("file", "rule", "asks for", "why"), rows[:_ROWS])] if rows else []
    parts += [f"{plural(len(rows) - _ROWS, 'more reason')} in the report."] if len(rows) > _ROWS else []
    bumps = [
        (inline(d.package), inline(d.before or "none"), inline(d.after or "none"), inline(d.change), code(d.file))
        for d in decision.dependencies
    ]
    parts += [table(("package", "from", "to", "change", "file"), bumps[:_ROWS])] if bumps else []
    parts += [f"{plural(len(bumps) - _ROWS, 'more package')} in the report."] if len(bumps) > _ROWS else []
    return folded(f"Why {decision.mode.value}{_first_reason(report)}", "\n\n".join(parts))


def _first_reason(report: Report) -> str:
    """The file that asked for the mode, so that nobody has to unfold the table to know."""
    decisive = [r.path for r in report.decision.reasons if r.mode is report.decision.mode and r.path]
    if not decisive:
        return ""
    more = f" and {plural(len(decisive) - 1, 'more file')}" if len(decisive) > 1 else ""
    return f": {code_html(decisive[0])}{more}"


def all_conversations(report: Report) -> str:
    """One row for each conversation, and one for each trial where there are several; folded."""
    if not report.results:
        return ""
    outcomes = outcomes_of(report.results)
    body = _results([(scenario_label(one), scenario_ended(one), one.deciding) for one in outcomes])
    if report.left_out:
        body += "\n\nNot selected in this mode: " + ", ".join(code(name) for name in report.left_out[:_NAMED])
        body += f" and {len(report.left_out) - _NAMED} more." if len(report.left_out) > _NAMED else "."
    parts = [
        folded(f"{'All ' if len(outcomes) > 1 else ''}{plural(len(outcomes), 'scenario')}", body),
        *_all_trials(outcomes),
    ]
    return "\n\n".join(parts)


def _all_trials(outcomes: Sequence[ScenarioOutcome]) -> list[str]:
    """Every trial of what was held several times, and why attempts at it broke off."""
    trials = [trial for one in outcomes if len(one.trials) > 1 or one.retried for trial in one.trials]
    if not trials:
        return []
    body = _results([(f"{scenario_of(each).id}.trial{each.trial.number + 1}", outcome(each), each) for each in trials])
    broken = [(each, why) for each in trials if not isinstance(each, NotRun) for why in each.retried]
    rows = [(code(scenario_of(each).id), str(each.trial.number + 1), inline(why, 300)) for each, why in broken]
    body += "\n\n" + table(("scenario", "trial:", "retried after"), rows[:_NAMED]) if rows else ""
    return [folded(f"{plural(len(trials), 'trial')} of scenarios with several trials", body)]


def _results(rows: Sequence[tuple[str, str, ScenarioResult]]) -> str:
    header = ("scenario", "result", "language", "checks:", "scores", "seconds:")
    return table(header, [_result_row(*row) for row in rows])


def _result_row(name: str, ended: str, result: ScenarioResult) -> tuple[str, ...]:
    about = (code(name), ended, inline(scenario_of(result).language))
    if isinstance(result, NotRun):
        return (*about, "", inline(explanation(result), 120), "")
    measured = [check for check in result.checks if check.measured]
    held = sum(check.passed for check in measured)
    scores = [f"{inline(score.metric)} {number(score.value)}" for score in result.scores]
    scores += [inline(gap_words(result), 120)] if isinstance(result, Errored) else []
    if isinstance(result, Errored) and not measured:
        return (*about, "", ", ".join(scores), "")
    return (*about, f"{held} of {len(measured)}", ", ".join(scores), f"{result.seconds:.1f}")


def transcripts(report: Report) -> str:
    """The words of each conversation that failed, or that was held and lacks a grade; folded."""
    failed = [one for one in deciding_outcomes(report) if is_failing(one) or _lacks_grade(one.deciding)]
    return "\n\n".join(
        folded(f"Transcript of {code_html(label(one.deciding))}", fenced(transcript_text(one.deciding)))
        for one in failed
    )


def _lacks_grade(result: ScenarioResult) -> bool:
    return isinstance(result, Errored) and result.lacks_grade


def code_html(name: str) -> str:
    """A name for a summary line, where GitHub does not read Markdown."""
    return f"<code>{escape(defuse(' '.join(clean(name).split())))}</code>"


def transcript_text(result: ScenarioResult) -> str:
    """A conversation as plain lines; those of the conversation never begin a line."""
    lines: list[str] = []
    transcript = None if isinstance(result, NotRun) else result.transcript
    for index, exchange in enumerate(transcript.exchanges if transcript else (), start=1):
        lines += _exchange_lines(index, exchange)
    return "\n".join(lines) or "(no turn was answered)"


def _exchange_lines(index: int, exchange: Exchange) -> list[str]:
    turn, reply = exchange.turn, exchange.reply
    said = [("customer", turn.user)] if turn.user is not None else [("event", _json(turn.event))]
    said += [("tool", f"{call.name} {_json(call.args)} -> {_json(call.output)}") for call in reply.tool_calls]
    said += [("assistant", reply.text)]
    said += [("state", reply.state)] if reply.state else []
    said += [("payment", reply.payment)] if reply.payment else []
    return [f"{index}  {who + ':':<11}{_indented(text)}" for who, text in said]


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _indented(text: str) -> str:
    return "\n              ".join(text.splitlines()) if text else ""


_CRASHES = 5
_LINES = 40
_WIDTH = 300


def crashes(report: Report) -> str:
    """The tracebacks of the first few errors that the system raised, each with its scenarios; empty without one."""
    raised = raised_errors(one.deciding for one in deciding_outcomes(report))
    parts = [folded(f"Traceback of {_scenarios(one)}", fenced(_end_of(frames(one.first)))) for one in raised[:_CRASHES]]
    hidden = len(raised) - _CRASHES
    return "\n\n".join([*parts, *([f"{plural(hidden, 'more traceback')} in the report."] if hidden > 0 else [])])


def _scenarios(raised: RaisedError) -> str:
    first = code_html(raised.scenarios[0])
    return f"{first}, and the same in {code_html(raised.others)}" if raised.others else first


def _end_of(traceback: str) -> str:
    """The last lines, each of bounded width: what was raised stands at the end."""
    lines = clean(traceback).split("\n")
    cut = ["…"] if len(lines) > _LINES else []
    return "\n".join([*cut, *(line[:_WIDTH] for line in lines[-_LINES:])])
