"""``results.csv``: one row for each check, score, gate, comparison and variant, for spreadsheets."""

import csv
import io
import re
from collections.abc import Iterator

from ratiba_action.model.comparison import Tier
from ratiba_action.model.data_set import GateStatus
from ratiba_action.model.measurement import NotRun, ScenarioResult, Scored
from ratiba_action.model.verdict import Conclusion, Report
from ratiba_action.reporting.data_set_words import gate_names
from ratiba_action.reporting.variant_words import ended, name_of, why
from ratiba_action.reporting.wording import explanation, outcome, scenario_ended
from ratiba_action.verdict.quarantine import day_of, quarantine_in_force
from ratiba_action.verdict.runs import metric_tier
from ratiba_action.verdict.trials import outcomes_of

HEADER = (
    "scenario",
    "arm",
    "trial",
    "language",
    "critical",
    "result",
    "kind",
    "turn",
    "assertion",
    "expected",
    "got",
    "passed",
    "seconds",
    "cached",
    "votes",
    "scenario_result",
    "quarantined_until",
)

# A spreadsheet runs a cell that begins with one of these as a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
# Where semicolons or tabs separate cells, as in most of Europe, quotation marks inside a line hold nothing together.
_INNER_FORMULA = re.compile("([;,|\t\r\n])(?=[\\s\"']{0,20}[=+@\uff1d\uff0b\uff0d\uff20-])")


def render_csv(report: Report) -> str:
    """The table as text, its lines ended as RFC 4180 asks."""
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer)
    writer.writerow(HEADER)
    day = day_of(report.started_at)
    for one in outcomes_of(report.results):
        granted = quarantine_in_force(one.scenario, day)
        about = (scenario_ended(one), "" if granted is None else granted.until.isoformat())
        for trial in one.trials:
            writer.writerows([_cell(value) for value in (*row, *about)] for row in _rows(trial))
    others = (*_gate_rows(report), *_comparison_rows(report), *_variant_rows(report))
    writer.writerows([_cell(value) for value in row] for row in others)
    return buffer.getvalue()


def _rows(result: ScenarioResult) -> Iterator[tuple[str, ...]]:
    trial = result.trial
    scenario = trial.scenario
    identity = (scenario.id, trial.arm.name, str(trial.number), scenario.language, _truth(scenario.critical))
    about = (*identity, outcome(result))
    if not isinstance(result, Scored):
        yield (*about, "", "", "", "", explanation(result), _truth(holds=False), "", "", "")
    if isinstance(result, NotRun):
        return
    seconds = f"{result.seconds:.3f}"
    for check in result.checks:
        turn = str(check.turn) if check.turn else ""
        held = _truth(check.passed) if check.measured else ""
        yield (*about, check.kind, turn, check.what, check.expected, check.got, held, seconds, "", "")
    for score in result.scores:
        kind = "judged score" if score.judged else "exact score"
        value, threshold = f"{score.value:.4f}", f"{score.threshold:.4f}"
        measured = (f"{score.metric}:{score.version}", threshold, value, _truth(score.passed), seconds)
        yield (*about, kind, "", *measured, _truth(score.cached), " ".join(f"{vote:.4f}" for vote in score.votes))
    if isinstance(result, Scored) and not result.checks and not result.scores:
        yield (*about, "", "", "", "", "nothing is asserted", _truth(holds=False), seconds, "", "")


def _gate_rows(report: Report) -> Iterator[tuple[str, ...]]:
    for scores, result, _ in gate_names(report.data_sets):
        about = (scores.id, "", "", "", "", result.status.value, "gate", "", result.gate.metric)
        got = "" if result.value is None else f"{result.value:.4f}"
        passed = _truth(result.status is GateStatus.PASSED)
        yield (*about, f"{result.gate.at_least:.4f}", got, passed, "", "", "", "", "")


def _comparison_rows(report: Report) -> Iterator[tuple[str, ...]]:
    """The base's mean as what is expected, and this run's as what it got."""
    compared = report.verdict.comparison
    if compared is None:
        return
    for one in compared.scenarios:
        about = (one.scenario_id, "head", "", "", _truth(one.critical), one.tier.value, "comparison", "")
        yield (*about, "composite", f"{one.base:.4f}", f"{one.head:.4f}", *_held(one.tier))
    for row in compared.metrics:
        tier = metric_tier(row, compared)
        about = ("", "head", "", "", "", tier.value, "comparison", "")
        yield (*about, row.metric, f"{row.base:.4f}", f"{row.head:.4f}", *_held(tier))


def _variant_rows(report: Report) -> Iterator[tuple[str, ...]]:
    """Conversations that passed of all, or why there are none, and the mean of each metric."""
    for one in report.variants:
        about = ("", name_of(one), "", "", "", ended(one), "variant", "")
        passed = _truth(one.conclusion == Conclusion.PASSED.value)
        total = one.passed + one.failed + one.errored + one.not_run
        told = ("", why(one)) if one.problem else (str(total), str(one.passed))
        yield (*about, "scenarios", *told, passed, "", "", "", "", "")
        for metric, mean in sorted(one.means.items()):
            yield (*about, metric, "", f"{mean:.4f}", "", "", "", "", "", "")


def _held(tier: Tier) -> tuple[str, ...]:
    return (_truth(tier is not Tier.REGRESSION), "", "", "", "", "")


def _truth(holds: bool) -> str:  # noqa: FBT001 - the value itself, not a switch
    return "true" if holds else "false"


def _cell(text: str) -> str:
    text = _INNER_FORMULA.sub(r"\1'", text.replace("\x00", ""))
    return f"'{text}" if text.lstrip(" \"'").startswith(_FORMULA) else text
