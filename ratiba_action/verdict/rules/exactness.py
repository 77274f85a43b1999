"""What is exact must hold: one scenario or gate of a data set that breaks it fails the run."""

from collections.abc import Sequence

from ratiba_action.checks.system_exceptions import exception_of, message_of
from ratiba_action.model.verdict import Conclusion, Verdict
from ratiba_action.util.grammar import part_of
from ratiba_action.verdict.data_set_scores import failed_gates
from ratiba_action.verdict.rules.findings import Findings
from ratiba_action.verdict.rules.phrases import conversations, count, first_of, names
from ratiba_action.verdict.trials import ScenarioOutcome


def judge_exactness(findings: Findings) -> Verdict | None:
    """Failed when a scenario breaks an exact check or a gate of a data set fails, whatever else is not known."""
    raised = [one for one in findings.broken if exception_of(one.deciding)]
    broken, gates = [one for one in findings.broken if one not in raised], failed_gates(findings.data_sets)
    if not raised and not broken and not gates:
        return None
    parts = [_exceptions(raised)] if raised else []
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
    if raised:
        place = exception_of(raised[0].deciding)
        action = f"Fix {place}; reproduce it with: ratiba gate --scenario {raised[0].scenario.id}"
    return Verdict(Conclusion.FAILED, f"{'; '.join(parts)}.", action)


def _exceptions(raised: Sequence[ScenarioOutcome]) -> str:
    """Each place with its scenarios: one defect often ends many of them."""
    places: dict[str, list[ScenarioOutcome]] = {}
    for one in raised:
        places.setdefault(exception_of(one.deciding), []).append(one)
    told = (f"{place}{message_of(outcomes[0].deciding)} ({names(outcomes)})" for place, outcomes in places.items())
    return first_of(list(told), "; ")
