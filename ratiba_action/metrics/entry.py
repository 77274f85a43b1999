"""What the table of metrics says about each."""

from collections.abc import Sequence
from dataclasses import dataclass

SYSTEM_TYPES = ("chatbot", "agent", "rag", "search", "classifier")


@dataclass(frozen=True, slots=True)
class MetricEntry:
    """One built-in metric.

    A class that takes parameters has a ``Parameters`` attribute, a ``StrictModel``, and its constructor takes an
    instance of it as ``parameters``.

    Args:
        address: ``module:Class``.
        measures: what it measures, as one line of the catalogue.
        judge_calls: the most calls of a judge that one measurement makes whatever its turns; 0 for an exact one.
        judge_calls_a_turn: the most that each turn adds.
        system_types: the types of system that it is made for.
        needs: what of a turn's ``expect``, or of a reply, it reads; without it there is nothing to measure. Of several
            names such as ``expect.label or expect.labels`` some turn must say one, or the scenario is refused.
        package: what it imports beyond the gate's own dependencies; empty for nothing.
        extra: the extra of the gate that installs the package.
    """

    address: str
    measures: str
    judge_calls: int = 0
    judge_calls_a_turn: int = 0
    system_types: Sequence[str] = SYSTEM_TYPES
    needs: str = ""
    package: str = ""
    extra: str = "semantic"
