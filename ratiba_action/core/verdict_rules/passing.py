"""Nothing to do, and nothing against the change."""

from fractions import Fraction

from ratiba_action.core.model.change import Mode
from ratiba_action.core.model.verdict import Conclusion, Verdict
from ratiba_action.core.verdict_rules.findings import Findings
from ratiba_action.core.verdict_rules.phrases import conversations, ids_of, names


def skipped(findings: Findings) -> Verdict | None:
    """Skipped when the mode is skip and nothing ran."""
    evidence = findings.evidence
    if evidence.mode is not Mode.SKIP or evidence.results:
        return None
    return Verdict(Conclusion.SKIPPED, "Nothing that the gate watches has changed.")


def passed(findings: Findings) -> Verdict:
    """Passed; the reason names what the pass rate allows."""
    total, low = conversations(findings.deciding), findings.below
    apart = f"; {conversations(findings.quarantined)} in quarantine" if findings.quarantined else ""
    if not low:
        single = len(findings.deciding) == 1
        held = f"{'The' if single else 'All'} {total} {'holds' if single else 'hold'}"
        return Verdict(Conclusion.PASSED, f"{held}{apart}.")
    allowed = float(1 - Fraction(str(findings.evidence.limits.pass_rate)))
    reason = (
        f"Every exact check holds; {len(low)} of {total} "
        f"{'has' if len(low) == 1 else 'have'} a judged score below its threshold, "
        f"within the allowed {allowed:.0%}: {names(low)}{apart}."
    )
    return Verdict(Conclusion.PASSED, reason, f"Read what the judge says about {ids_of(low)[0]}.")
