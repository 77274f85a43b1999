"""Of the judged scores, a share must reach what they are held to."""

from collections.abc import Sequence
from fractions import Fraction

from ratiba_action.core.comparison.runs import REPLAY
from ratiba_action.core.grammar import part_of
from ratiba_action.core.model.measurement import Score
from ratiba_action.core.model.verdict import Conclusion, Verdict
from ratiba_action.core.statistics.interval import Interval, wilson_interval
from ratiba_action.core.verdict_rules.findings import Findings
from ratiba_action.core.verdict_rules.phrases import names


def judge_pass_rate(findings: Findings) -> Verdict | None:
    """Failed when fewer judged scores than ``pass_rate`` reach their threshold.

    Where answers vary by chance the whole interval of the share must be below the rate (``docs/statistics.md``): a
    share that lies just below it says little about the next run.
    """
    judged, rate = findings.judged, findings.evidence.limits.pass_rate
    if _reaches(judged, rate) or is_unclear(findings):
        return None
    passed = sum(score.passed for score in judged)
    told = part_of(passed, len(judged), "judged score", "reaches its", "reach their")
    reason = f"{told} threshold, and {rate:.0%} must: {names(findings.below)}."
    first = findings.below[0].scenario.id
    return Verdict(Conclusion.FAILED, reason, f"Read what the judge says about {first}, then mend the prompt.")


def is_unclear(findings: Findings) -> bool:
    """Whether the share is below the rate, and by no more than chance explains."""
    judged, rate = findings.judged, findings.evidence.limits.pass_rate
    return not _reaches(judged, rate) and share_interval(findings).high >= rate


def share_interval(findings: Findings) -> Interval:
    """Where the share of judged scores that reach their threshold lies, at 95 %; recordings leave no doubt."""
    judged = findings.judged
    reached = sum(score.passed for score in judged)
    if findings.evidence.answers == REPLAY:
        return Interval(reached / len(judged), reached / len(judged))
    return wilson_interval(reached, len(judged))


def _reaches(scores: Sequence[Score], rate: float) -> bool:
    # Fractions of the written number: 0.8 must mean four of five, not the float just above it.
    return not scores or Fraction(sum(score.passed for score in scores), len(scores)) >= Fraction(str(rate))
