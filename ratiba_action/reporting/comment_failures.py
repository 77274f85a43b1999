"""Failures and missing measurements: the parts of the comment that a developer reads first."""

import json
from collections.abc import Sequence
from html import escape
from typing import Any

from ratiba_action.checks.system_exceptions import KIND
from ratiba_action.model.conversation import Exchange
from ratiba_action.model.measurement import Check, Errored, NotRun, Phase, ScenarioResult, Score, Scored
from ratiba_action.model.scenario import Scenario
from ratiba_action.model.verdict import Conclusion
from ratiba_action.reporting.conversation_changes import FirstDifference, first_difference
from ratiba_action.reporting.markdown import clean, code, defuse, fenced, folded, inline, linked, table
from ratiba_action.reporting.summary import ReportSummary, ScenarioRow, TrialRow
from ratiba_action.reporting.wording import RaisedError, explanation, frames, listed, number, raised_errors
from ratiba_action.util.text import few, part_of, plural

_NAMED = 100
_ROWS = 50
_NAMES = 5
_MESSAGE = 60
_CRASHES = 5
_LINES = 40
_WIDTH = 300


def failing(summary: ReportSummary, limit: int, maximum: int | None = None) -> str:
    """Each scenario that failed, with turn, assertion, expected and got; then those without a result.

    Args:
        limit: characters after which no further scenario that failed is shown, since the comment is too long already.
        maximum: how many scenarios of each kind to show, None for all.
    """
    verdict, decide = summary.report.verdict, summary.deciding
    failed = _by_exception(sorted((row for row in decide if row.failing), key=lambda row: not row.scenario.critical))
    heading = "Scenarios below a threshold" if verdict.conclusion is Conclusion.PASSED else "Failing scenarios"
    parts, characters = [f"### {heading}"] if failed else [], 0
    for first, *others in failed[:maximum]:
        if characters > limit:
            break
        shown = [_failed(first, summary), *_failed_alike(others)]
        parts, characters = [*parts, *shown], characters + sum(map(len, shown))
    parts += _more(sum(map(len, failed)), sum(map(len, failed[:maximum])))
    gaps = [(row, gap) for row in decide if (gap := _gap(row)) is not None]
    if len(gaps) == 1 and gaps[0][1].why in verdict.reason:
        return "\n\n".join(parts)  # the verdict's reason says it already
    return "\n\n".join([*parts, *_missing(gaps, maximum, verdict.action)])


def failing_names(summary: ReportSummary) -> str:
    """The same scenarios by name only."""
    names = [f"{code(row.name)} ({row.deciding.ended})" for row in summary.deciding if row.deciding.ended != "passed"]
    if not names:
        return ""
    more = f", and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"### Scenarios that did not pass\n\n{', '.join(names[:_NAMED])}{more}"


def crashes(summary: ReportSummary) -> str:
    """The tracebacks of the first few errors that the system raised, each with its scenarios; empty without errors."""
    raised = raised_errors(row.deciding.result for row in summary.deciding)
    parts = [
        folded(f"Traceback of {_scenarios(error)}", fenced(_end_of(frames(error.first)))) for error in raised[:_CRASHES]
    ]
    omitted = len(raised) - _CRASHES
    return "\n\n".join([*parts, *([f"{plural(omitted, 'more traceback')} in the report."] if omitted > 0 else [])])


def transcripts(summary: ReportSummary, limit: int) -> str:
    """The transcript of each scenario that failed, or that was run to its end without a result; folded.

    Args:
        limit: characters after which no further one is shown, since the comment is too long already.
    """
    parts, characters = list[str](), 0
    for trial in (row.deciding for row in summary.deciding if row.failing or _ran_whole(row)):
        if characters > limit:
            break
        parts.append(folded(f"Transcript of {code_html(trial.name)}", fenced(transcript_text(trial.result))))
        characters += len(parts[-1])
    return "\n\n".join(parts)


def _ran_whole(row: ScenarioRow) -> bool:
    result = row.deciding.result
    return isinstance(result, Errored) and result.ran_whole


def code_html(name: str) -> str:
    """A name for a ``<summary>`` line, where GitHub renders no Markdown."""
    return f"<code>{escape(defuse(' '.join(clean(name).split())))}</code>"


def transcript_text(result: ScenarioResult) -> str:
    """A transcript as plain lines; text of the conversation is indented, so it never begins a line."""
    lines: list[str] = []
    transcript = None if isinstance(result, NotRun) else result.transcript
    for index, exchange in enumerate(transcript.exchanges if transcript else (), start=1):
        lines += _exchange_lines(index, exchange)
    return "\n".join(lines) or "(no turn was answered)"


def _gap(row: ScenarioRow) -> TrialRow | None:
    """The trial that lacks a measurement if the verdict may depend on it."""
    result = row.deciding.result
    unfit = isinstance(result, Errored) and result.phase is Phase.RECORDING
    if unfit and row.failing and not row.deciding.lacks_score:
        return None  # its table names the request without a recording
    if row.deciding.exception:
        return None
    if not isinstance(result, Scored):
        return row.deciding
    return next((trial for trial in row.trials if row.outcome.open and not isinstance(trial.result, Scored)), None)


def _missing(missing: Sequence[tuple[ScenarioRow, TrialRow]], maximum: int | None, action: str) -> list[str]:
    """Scenarios without a result, one row per cause: one changed prompt can leave many without a result."""
    causes: dict[tuple[str, str], list[str]] = {}
    for row, gap in missing:
        causes.setdefault((gap.ended, _whole_explanation(gap, action)), []).append(code(row.name))
    rows = [(few(names, _NAMES), what, inline(why, 500)) for (what, why), names in causes.items()]
    if not rows:
        return []
    header = ("scenario", "what", "why")
    return ["### Could not be measured", table(header, rows[:maximum]), *_more(len(rows), len(rows[:maximum]))]


_RECORD = "ratiba record"
"""One such command in the verdict's action covers every scenario whose recording no longer applies."""


def _whole_explanation(gap: TrialRow, action: str) -> str:
    """Why there is no result, with the remedy unless the verdict's action already has it."""
    remedy = gap.result.remedy if isinstance(gap.result, Errored) else ""
    repeated = remedy in action or (_RECORD in remedy and _RECORD in action)
    return gap.why if repeated else f"{gap.why} {remedy}"


def _more(total: int, shown: int) -> list[str]:
    omitted = total - shown
    return [f"{plural(omitted, 'more scenario')} in the report."] if omitted else []


def _by_exception(failed: Sequence[ScenarioRow]) -> list[list[ScenarioRow]]:
    """The scenarios, grouped if the same exception of the system is their only failure."""
    groups: dict[tuple[str, str], list[ScenarioRow]] = {}
    for row in failed:
        raised = _only_exception(row)
        groups.setdefault((raised, "" if raised else row.name), []).append(row)
    return list(groups.values())


def _only_exception(row: ScenarioRow) -> str:
    """``file:line Type`` of the exception if it is the only failure of the scenario; else empty."""
    result = row.deciding.result
    if len(row.trials) > 1 or isinstance(result, NotRun) or not all(score.passed for score in result.deciding_scores):
        return ""
    alone = all(check.kind == KIND for check in result.checks if not check.passed)
    return row.deciding.exception if alone else ""


def _failed_alike(others: Sequence[ScenarioRow]) -> list[str]:
    names = [code(row.name) + (" (critical)" if row.scenario.critical else "") for row in others]
    return [f"The same exception failed {listed(names)}."] if names else []


def _failed(row: ScenarioRow, summary: ReportSummary) -> str:
    result, scenario, rate = row.deciding.result, row.scenario, summary.report.limits.pass_rate
    if isinstance(result, NotRun):
        return ""
    about = [code(row.name)]
    about += ["critical"] if scenario.critical else []
    about += ["self-reported"] if scenario.id in summary.report.self_reported else []
    about += [_trials(row)] if len(row.trials) > 1 else []
    about += [f"judged: {rate:.0%} of such scores must pass"] if row.below_threshold else []
    line = next((check.line for check in result.checks if not check.passed and check.line), scenario.line)
    if scenario.path:
        where = code(scenario.path) + (f" line {line}" if line else "")
        about.append(linked(where, summary.links.line(scenario.path, line or 0)))
    rows = [_check_row(check, scenario) for check in result.checks if not check.passed]
    rows += [cells for score in result.deciding_scores if not score.passed for cells in _score_rows(score)]
    heading = (
        f"**{about[0]}**"
        + (f": {inline(scenario.title)}" if scenario.title else "")
        + "".join(f" · {part}" for part in about[1:])
    )
    return "\n\n".join(
        [heading, _assertions(rows), *_cut(result), *_first_difference(row.name, summary), *_stood_in(result)]
    )


def _cut(result: Scored | Errored) -> list[str]:
    """Which replies ended at their output limit: that may be why an assertion failed."""
    exchanges = result.transcript.exchanges if result.transcript is not None else ()
    notes = [f"Turn {number}: {inline(each.cut)}." for number, each in enumerate(exchanges, 1) if each.cut]
    return [" ".join(notes[:_ROWS])] if notes else []


def _first_difference(name: str, summary: ReportSummary) -> list[str]:
    """Where the conversation first differs from the base's, in one line."""
    change = summary.comparison.changes.get(name) if summary.comparison else None
    found = first_difference(change) if change else None
    return [] if found is None else [f"First difference, {shown_difference(found)}"]


def shown_difference(found: FirstDifference) -> str:
    """The turn and both texts, escaped."""
    what = "" if found.what == "assistant" else f", {found.what}"
    base, head = (f"“{inline(text)}”" if text else "nothing" for text in (found.base, found.head))
    return f"turn {found.turn}{what}: {base} → {head}"


def _stood_in(result: Scored | Errored) -> list[str]:
    """That recorded answers to other requests were used, as the base passed with them, or that a script did not fit."""
    if not isinstance(result, Errored):
        return []
    if result.trial.scenario.script is not None and result.phase is Phase.RECORDING:
        return [inline(explanation(result), 500)]
    if not any(check.stand_in and not check.passed for check in result.checks):
        return []
    message = inline(explanation(result), 500)
    command = code(f"ratiba record --scenario {result.trial.scenario.id} --accept")
    if result.phase is Phase.RECORDING:
        message = f"Recorded answers to earlier requests were used where none is recorded. {message}"
        message += " The base passes these assertions with the same answers, so the difference is in the code."
        return [f"{message} If the new behaviour is right, change the scenario, then run {command}."]
    return [f"The turn ended in an error, and the base passes its assertions. {message}"]


def _trials(row: ScenarioRow) -> str:
    outcome, counted = row.outcome, len(row.outcome.counted)
    further = len(outcome.trials) - counted
    shown = f"shown: trial {outcome.deciding.trial.number + 1}"
    passed = f"{part_of(outcome.passed, counted, 'trial', 'passed', 'passed')}, at least {row.must_pass} must pass"
    more = (
        [f"{plural(further, 'further trial')} ran only for the pass rate or the comparison with the base"]
        if further
        else []
    )
    return "; ".join([passed, *more, shown])


def _assertions(rows: list[tuple[str, str, str, str]]) -> str:
    more = f"\n\n{plural(len(rows) - _ROWS, 'more row')} in the report." if len(rows) > _ROWS else ""
    return table(("turn:", "assertion", "expected", "got"), rows[:_ROWS]) + more


def _check_row(check: Check, scenario: Scenario) -> tuple[str, str, str, str]:
    message = scenario.turns[check.turn - 1].user if 0 < check.turn <= len(scenario.turns) else None
    after = f" after “{inline(message, _MESSAGE)}”" if message else ""
    turn = str(check.turn) if check.turn else "all"
    what = check.what.removesuffix(" after the turn") if after else check.what
    return turn, inline(what) + after, inline(check.expected), inline(check.got)


def _score_rows(score: Score) -> list[tuple[str, str, str, str]]:
    violated = [invariant for invariant in score.invariants if not invariant.satisfied]
    if violated:
        return [
            ("all", inline(f"{score.metric}: {invariant.name}"), "satisfied", inline(invariant.detail or "violated"))
            for invariant in violated
        ]
    got = number(score.value) + (f": {inline(score.reason)}" if score.reason else "")
    return [("all", inline(score.metric), f"at least {number(score.threshold)}", got)]


def _exchange_lines(index: int, exchange: Exchange) -> list[str]:
    turn, reply = exchange.turn, exchange.reply
    lines = [("customer", turn.user)] if turn.user is not None else [("event", _json(turn.event))]
    lines += [("tool", f"{call.name} {_json(call.args)} -> {_json(call.output)}") for call in reply.tool_calls]
    lines += [("assistant", reply.text), *([("note", exchange.cut)] if exchange.cut else [])]
    lines += [("state", reply.state)] if reply.state else []
    lines += [("payment", reply.payment)] if reply.payment else []
    return [f"{index}  {speaker + ':':<11}{_indented(text)}" for speaker, text in lines]


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _indented(text: str) -> str:
    return "\n              ".join(text.splitlines()) if text else ""


def _scenarios(raised: RaisedError) -> str:
    first = code_html(raised.scenarios[0])
    return f"{first}, and the same in {code_html(raised.others)}" if raised.others else first


def _end_of(traceback: str) -> str:
    """The last lines, each of bounded width: the exception is at the end."""
    lines = clean(traceback).split("\n")
    cut = ["…"] if len(lines) > _LINES else []
    return "\n".join([*cut, *(line[:_WIDTH] for line in lines[-_LINES:])])
