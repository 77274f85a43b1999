"""Of the judged scores, a share must reach what they are held to."""

from collections.abc import Sequence
from fractions import Fraction

from ratiba_action.core.model.measurement import Score
from ratiba_action.core.model.verdict import Conclusion, Verdict
from ratiba_action.core.verdict_rules.findings import Findings
from ratiba_action.core.verdict_rules.phrases import count, names


def judge_pass_rate(findings: Findings) -> Verdict | None:
    """Failed when fewer judged scores than ``pass_rate`` reach their threshold."""
    judged, rate = findings.judged, findings.evidence.limits.pass_rate
    if _reaches(judged, rate):
        return None
    passed = sum(score.passed for score in judged)
    reason = (
        f"{passed} of {count(len(judged), 'judged score')} "
        f"{'reaches its' if passed == 1 else 'reach their'} threshold, and {rate:.0%} must: {names(findings.below)}."
    )
    first = findings.below[0].scenario.id
    return Verdict(Conclusion.FAILED, reason, f"Read what the judge says about {first}, then mend the prompt.")


def _reaches(scores: Sequence[Score], rate: float) -> bool:
    # Fractions of the written number: 0.8 must mean four of five, not the float just above it.
    return not scores or Fraction(sum(score.passed for score in scores), len(scores)) >= Fraction(str(rate))
