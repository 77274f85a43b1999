"""What reading one scenario file needs, and what it gives."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ratiba_action.errors import FileProblem
from ratiba_action.model.data_set import DataSet
from ratiba_action.model.scenario import Scenario
from ratiba_action.suite.layers import layer_problems
from ratiba_action.suite.references import MetricCheck, RuleCheck, TruthReaders, reference_problems, unread_truths
from ratiba_action.util.strict_yaml import Document


@dataclass(frozen=True, slots=True)
class Checks:
    """What the shape of a file cannot tell; see ``load_suite``."""

    metric_problems: MetricCheck
    rule_problem: RuleCheck
    readers: TruthReaders | None = None
    added: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def problems(self, document: Document) -> tuple[FileProblem, ...]:
        """Metrics and rules that do not exist or cannot work, and what does not belong to the layer."""
        references = reference_problems(document, self.metric_problems, self.rule_problem)
        return (*references, *layer_problems(document))

    def unread(self, document: Document) -> tuple[FileProblem, ...]:
        """Truths that nobody reads."""
        return () if self.readers is None else tuple(unread_truths(document, self.readers, self.added))


@dataclass(frozen=True, slots=True)
class Loaded:
    """What one file holds.

    Args:
        read: further files that it is made of.
    """

    scenarios: Sequence[Scenario] = ()
    data_sets: Sequence[DataSet] = ()
    problems: Sequence[FileProblem] = ()
    read: Sequence[str] = ()
