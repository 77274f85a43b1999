"""A share of the scenarios must pass by their judged scores."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from statistics import variance

from ratiba_action.model.measurement import ScenarioResult, Scored
from ratiba_action.model.plan import Plan, Trial
from ratiba_action.model.values import mean
from ratiba_action.model.verdict import Conclusion, PassRateRule, Verdict
from ratiba_action.util.text import part_of
from ratiba_action.verdict.interval import Interval, wilson_interval
from ratiba_action.verdict.rules.findings import Findings, names
from ratiba_action.verdict.trials import Standing

EXTRA_TRIALS = 2
"""Of every judged scenario, where the share is unclear and no base guards the change."""


def judge_pass_rate(findings: Findings) -> Verdict | None:
    """Failed when fewer scenarios than ``pass_rate`` pass by their judged scores, and chance does not explain it.

    Scenarios are counted, not scores: several scores of one scenario say much the same. The whole interval of the
    share must be below the rate, unless ``pass_rate_rule`` is ``strict`` (``docs/statistics.md``).
    """
    rate = findings.evidence.limits.pass_rate
    if _reaches(findings) or is_unclear(findings):
        return None
    passed, judged = _passed(findings), findings.judged
    message = part_of(passed, len(judged), "judged scenario", "passes", "pass")
    reason = f"{message}, and {rate:.0%} must: {names(findings.below_threshold)}."
    first = findings.below_threshold[0].scenario.id
    return Verdict(Conclusion.FAILED, reason, f"Read what the judge says about {first}, then fix the prompt.")


def is_unclear(findings: Findings) -> bool:
    """Whether the share is below the rate, and by no more than chance explains."""
    limits = findings.evidence.limits
    if limits.pass_rate_rule is PassRateRule.STRICT or _reaches(findings):
        return False
    return share_interval(findings).high >= limits.pass_rate


def share_interval(findings: Findings) -> Interval:
    """Where the share of scenarios that pass by their judged scores lies, at 95 %.

    A recording is one sample of what the system answers, so replayed answers leave as much doubt as live ones.
    """
    return wilson_interval(_passed(findings), len(findings.judged))


@dataclass(frozen=True, slots=True)
class ExtendedShare:
    """The share of passing scenarios over all trials of a run whose first ones left it unclear.

    Args:
        share: mean over the scenarios of how often each passed, 0 to 1.
        error: its standard error from the noise within the scenarios; the scenarios themselves are no sample.
        extra: how many more trials each scenario has; 0 before they were run.
    """

    share: float
    error: float
    extra: int

    def is_below(self, rate: float) -> bool:
        """Whether it is below a rate by more than one standard error."""
        return self.share + self.error < rate


def extended_share(findings: Findings) -> ExtendedShare:
    """The share over planned and further trials; at least one scenario must be judged."""
    found = _scored(findings.evidence.results)
    trials = [found[_place(outcome.deciding)] for outcome in findings.judged]
    errors = [variance(passed) / len(passed) for passed in trials if len(passed) > 1]
    extra = min(
        len(passed) - outcome.scenario.strategy.trials for passed, outcome in zip(trials, findings.judged, strict=True)
    )
    return ExtendedShare(
        mean([mean(passed) for passed in trials]), math.sqrt(math.fsum(errors)) / len(trials), max(extra, 0)
    )


def extend(findings: Findings) -> Plan | Verdict | None:
    """What an unclear share asks for where no base guards the change: further trials, then a verdict.

    Returns:
        The trials; the verdict of a share that is below the rate in all trials together; None where it stays unclear
        or reaches the rate after all, or where no further trial can be run.
    """
    measured, rate = extended_share(findings), findings.evidence.limits.pass_rate
    if not measured.extra:
        return _further_trials(findings)
    if not measured.is_below(rate):
        return None
    trials = measured.extra + 1
    reason = (
        f"{measured.share:.0%} of {trials} trials of each judged scenario pass, and {rate:.0%} must: "
        f"{names(findings.below_threshold)}."
    )
    first = findings.below_threshold[0].scenario.id
    return Verdict(Conclusion.FAILED, reason, f"Read what the judge says about {first}, then fix the prompt.")


def reaches_after_all(findings: Findings) -> bool:
    """Whether the share reaches the rate in all trials together, the further ones with the first."""
    measured = extended_share(findings)
    return bool(measured.extra) and measured.share >= findings.evidence.limits.pass_rate


def why_not_extended(findings: Findings) -> str:
    """Why an unclear share was not measured again; empty where it was, or where a base guards the change."""
    if extended_share(findings).extra:
        return ""
    return findings.evidence.no_further or ("further trials were not measured" if _tried(findings) else "")


def _further_trials(findings: Findings) -> Plan | None:
    if findings.evidence.no_further or findings.evidence.interruption or _tried(findings):
        return None
    return Plan(
        tuple(
            Trial(outcome.scenario, outcome.deciding.trial.arm, outcome.scenario.strategy.trials + step)
            for step in range(EXTRA_TRIALS)
            for outcome in findings.judged
        )
    )


def _tried(findings: Findings) -> bool:
    return any(result.trial.number >= result.trial.scenario.strategy.trials for result in findings.evidence.results)


def _scored(results: Iterable[ScenarioResult]) -> dict[tuple[str, str], list[float]]:
    """Whether each measured trial passed, 1 or 0, by scenario and arm."""
    found: dict[tuple[str, str], list[float]] = {}
    for result in results:
        if isinstance(result, Scored):
            found.setdefault(_place(result), []).append(float(result.passed))
    return found


def _place(result: ScenarioResult) -> tuple[str, str]:
    return result.trial.scenario.id, result.trial.arm.name


def _passed(findings: Findings) -> int:
    return sum(outcome.standing is Standing.PASSED for outcome in findings.judged)


def _reaches(findings: Findings) -> bool:
    judged, rate = findings.judged, findings.evidence.limits.pass_rate
    # Fractions of the written number: 0.8 must mean four of five, not the float just above it.
    return not judged or Fraction(_passed(findings), len(judged)) >= Fraction(str(rate))
