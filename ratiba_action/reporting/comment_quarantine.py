"""The part of the comment about scenarios that run and do not decide, and about those that decide again."""

from ratiba_action.model.verdict import Report
from ratiba_action.reporting.markdown import code, inline, table
from ratiba_action.reporting.wording import explanation, plural, scenario_ended, scenario_label
from ratiba_action.verdict.tally import expired_outcomes, quarantined_outcomes
from ratiba_action.verdict.trials import ScenarioOutcome

_ROWS = 20


def quarantine(report: Report) -> str:
    """A table of the scenarios in quarantine and one of those whose quarantine has ended; empty without any."""
    apart, expired = quarantined_outcomes(report), expired_outcomes(report)
    parts = [_table("In quarantine: these do not decide", "it would have", apart)] if apart else []
    parts += [_table("Quarantine has expired: these decide again", "it", expired)] if expired else []
    return "\n\n".join(parts)


def _table(heading: str, told: str, outcomes: tuple[ScenarioOutcome, ...]) -> str:
    rows = [_row(one) for one in outcomes[:_ROWS]]
    more = f"\n\n{plural(len(outcomes) - _ROWS, 'more scenario')} in the report." if len(outcomes) > _ROWS else ""
    return f"### {heading}\n\n" + table(("scenario", "until", "owner", "reason", told), rows) + more


def _row(one: ScenarioOutcome) -> tuple[str, ...]:
    granted = one.scenario.quarantine
    if granted is None:
        raise TypeError("only scenarios with a quarantine are listed")
    why = explanation(one.deciding)
    ended = scenario_ended(one) + (f": {why}" if why else "")
    name = code(scenario_label(one))
    return name, granted.until.isoformat(), inline(granted.owner, 80), inline(granted.reason, 200), inline(ended, 200)
