"""What is exact must hold: one scenario or gate of a data set that breaks it fails the run."""

from ratiba_action.core.data_set_scores import failed_gates
from ratiba_action.core.grammar import part_of
from ratiba_action.core.model.verdict import Conclusion, Verdict
from ratiba_action.core.verdict_rules.findings import Findings
from ratiba_action.core.verdict_rules.phrases import conversations, count, first_of, names


def judge_exactness(findings: Findings) -> Verdict | None:
    """Failed when a scenario breaks an exact check or a gate of a data set fails, whatever else is not known."""
    broken, gates = findings.broken, failed_gates(findings.data_sets)
    if not broken and not gates:
        return None
    parts = []
    if broken:
        several = part_of(len(broken), len(findings.deciding), "conversation", "breaks", "break")
        told = "The conversation breaks" if len(findings.deciding) == 1 else several
        parts.append(f"{told} an exact check: {names(broken)}")
    if gates:
        parts.append(f"{count(len(gates), 'gate')} {'fails' if len(gates) == 1 else 'fail'}: {first_of(gates, '; ')}")
    if findings.open:
        parts.append(f"{conversations(findings.open)} could not be measured")
    if findings.evidence.interruption:
        parts.append(f"the run was interrupted ({findings.evidence.interruption})")
    action = "Look at the lowest cases of the data set, then mend the change."
    if broken:
        action = f"Compare expected with got for {broken[0].scenario.id}, then mend the change or update the scenario."
    return Verdict(Conclusion.FAILED, f"{'; '.join(parts)}.", action)
