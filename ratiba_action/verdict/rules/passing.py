"""Nothing to do, and nothing against the change."""

from fractions import Fraction

from ratiba_action.model.change import Mode
from ratiba_action.model.verdict import Conclusion, Verdict
from ratiba_action.util.grammar import part_of
from ratiba_action.verdict.rules.findings import Findings
from ratiba_action.verdict.rules.pass_rate import (
    extended_share,
    is_unclear,
    reaches_after_all,
    share_interval,
    why_not_extended,
)
from ratiba_action.verdict.rules.phrases import conversations, ids_of, names, sentence
from ratiba_action.verdict.trials import Standing


def skipped(findings: Findings) -> Verdict | None:
    """Skipped when the mode is skip and nothing ran."""
    evidence = findings.evidence
    if evidence.mode is not Mode.SKIP or evidence.results:
        return None
    return Verdict(Conclusion.SKIPPED, "Nothing that the gate watches has changed.")


def passed(findings: Findings) -> Verdict:
    """Passed, or inconclusive where the pass rate is; the reason names what the pass rate allows."""
    if is_unclear(findings) and not reaches_after_all(findings):
        return _unclear(findings)
    low = findings.below
    apart = f"; {conversations(findings.quarantined)} in quarantine" if findings.quarantined else ""
    if not low:
        single = len(findings.deciding) == 1
        held = "The conversation holds" if single else f"All {conversations(findings.deciding)} hold"
        return Verdict(Conclusion.PASSED, f"{held}{apart}.")
    allowed = float(1 - Fraction(str(findings.evidence.limits.pass_rate)))
    reason = (
        f"Every exact check holds; {part_of(len(low), len(findings.deciding), 'conversation', 'has', 'have')} "
        "a judged score below its threshold, "
        f"within the allowed {allowed:.0%}: {names(low)}{apart}."
    )
    return Verdict(Conclusion.PASSED, reason, f"Read what the judge says about {ids_of(low)[0]}.")


def _unclear(findings: Findings) -> Verdict:
    rate = findings.evidence.limits.pass_rate
    doubt = _doubt(findings)
    missing = why_not_extended(findings)
    if missing:
        doubt += f" It was not measured again: {sentence(missing)}"
    return Verdict(
        Conclusion.INCONCLUSIVE,
        f"Every deterministic assertion passes. {doubt}",
        f"Read what the judge says about {ids_of(findings.below)[0]}, or set pass_rate_rule: strict to fail every run "
        f"below {rate:.0%}.",
        warnings=(doubt,),
    )


def _doubt(findings: Findings) -> str:
    judged, rate = findings.judged, findings.evidence.limits.pass_rate
    measured = extended_share(findings)
    if measured.extra:
        return (
            f"{measured.share:.0%} of {measured.extra + 1} trials of each judged scenario pass, within one standard "
            f"error ({measured.error:.0%}) of the {rate:.0%} that must."
        )
    interval, passing = share_interval(findings), sum(one.standing is Standing.PASSED for one in judged)
    return (
        f"{part_of(passing, len(judged), 'judged scenario', 'passes', 'pass')}, and {rate:.0%} must: "
        f"{names(findings.below)}. The true share lies between {interval.low:.0%} and {interval.high:.0%}, so this may "
        "be chance."
    )
