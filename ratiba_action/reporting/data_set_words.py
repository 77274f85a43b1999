"""How the gates of a data set are put into words, the same in every form of the report."""

from collections.abc import Sequence

from ratiba_action.core.model.data_set import DataSetScores, GateResult, GateStatus
from ratiba_action.reporting.wording import number, plural

_VERSION_DIGITS = 12


def about(scores: DataSetScores) -> str:
    """Size and version of a data set."""
    measured = f"{scores.measured} of {plural(scores.results, 'conversation')} measured"
    return f"{plural(scores.cases, 'case')}, {measured}, version {scores.digest[:_VERSION_DIGITS]}"


def status(scores: DataSetScores, result: GateResult) -> str:
    """Whether a gate is passed, and why it may not be known."""
    if result.status is not GateStatus.UNKNOWN:
        missed = result.status is GateStatus.FAILED and scores.measured < scores.results
        return f"failed, at most {number(result.at_most)} was possible" if missed else result.status.value
    if scores.selected < scores.cases:
        return f"not decided, {scores.selected} of {plural(scores.cases, 'case')} selected"
    if scores.measured < scores.results:
        return f"unknown, {scores.results - scores.measured} not measured"
    return "unknown, no answer has what it is made of"


def value(result: GateResult) -> str:
    """The value over what was measured; empty where nothing was."""
    return "" if result.value is None else number(result.value)


def gate_names(data_sets: Sequence[DataSetScores]) -> tuple[tuple[DataSetScores, GateResult, str], ...]:
    """Every gate with its data set and a name for lists, such as ``intents: macro_f1``."""
    return tuple((one, result, f"{one.id}: {result.gate.metric}") for one in data_sets for result in one.gates)
