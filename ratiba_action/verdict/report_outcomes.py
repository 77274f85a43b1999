"""The scenarios of a report: those that decide, and those in quarantine."""

from ratiba_action.model.measurement import ScenarioResult
from ratiba_action.model.verdict import Report
from ratiba_action.verdict.quarantine import day_of, expired_quarantine, quarantine_in_force
from ratiba_action.verdict.trials import ScenarioOutcome, outcomes_of


def deciding_outcomes(report: Report) -> tuple[ScenarioOutcome, ...]:
    """Scenarios that count for the verdict, in the report's order."""
    day = day_of(report.started_at)
    return tuple(one for one in outcomes_of(report.results) if not quarantine_in_force(one.scenario, day))


def quarantined_outcomes(report: Report) -> tuple[ScenarioOutcome, ...]:
    """Scenarios that ran and do not count."""
    day = day_of(report.started_at)
    return tuple(one for one in outcomes_of(report.results) if quarantine_in_force(one.scenario, day))


def expired_outcomes(report: Report) -> tuple[ScenarioOutcome, ...]:
    """Scenarios that count again because their quarantine has ended."""
    day = day_of(report.started_at)
    return tuple(one for one in outcomes_of(report.results) if expired_quarantine(one.scenario, day))


def deciding_results(report: Report) -> tuple[ScenarioResult, ...]:
    """Every trial of the scenarios that count."""
    return tuple(trial for one in deciding_outcomes(report) for trial in one.trials)
