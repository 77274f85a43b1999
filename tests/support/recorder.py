"""A recorder that calls no model: what ``ratiba record`` does with answers can be tested without any."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ratiba_action.llm.recordings.lines import Recording
from ratiba_action.model.conversation import Transcript
from ratiba_action.model.measurement import Errored, Phase, Scored
from ratiba_action.model.plan import Arm, Trial
from ratiba_action.model.reads import Reads
from ratiba_action.model.scenario import Scenario
from ratiba_action.run.gate import RunOutcome
from ratiba_action.run.inputs import RunInputs, RunLog
from tests.support.sample_report import sample_check, sample_report


@dataclass
class FakeRecorder:
    """A ``Recorder``: says that the selected scenarios ran, and that these lines were answered.

    Args:
        lines: by scenario id.
        broken: why a scenario's conversation broke off, by its id.
        broken_in: number of the trial in which it did, from 0.
        failing: ids of scenarios whose conversation does not hold what is asked of it.
        reads: what each scenario was seen to read, by its id.
        runs: what it was asked to run, for the test to look at.
    """

    lines: Mapping[str, Sequence[Recording]] = field(default_factory=dict)
    broken: Mapping[str, str] = field(default_factory=dict)
    broken_in: int = 0
    failing: frozenset[str] = frozenset()
    reads: Mapping[str, Reads] = field(default_factory=dict)
    runs: list[RunInputs] = field(default_factory=list)

    def __call__(self, run: RunInputs, log: RunLog) -> RunOutcome:  # noqa: ARG002 - the protocol's name
        """The run as it was described."""
        self.runs.append(run)
        numbers = range(run.trials)
        results = tuple(self._result(one, number) for one in run.selection.scenarios for number in numbers)
        lines = {name: tuple(lines) for name, lines in self.lines.items()}
        return RunOutcome(replace(sample_report(), results=results), lines, reads=self.reads)

    def _result(self, scenario: Scenario, number: int) -> Scored | Errored:
        trial = Trial(scenario, Arm("head", "checkout"), number)
        if scenario.id in self.broken and number == self.broken_in:
            return Errored(trial, Phase.SYSTEM, self.broken[scenario.id])
        check = sample_check(passed=scenario.id not in self.failing)
        return Scored(trial, Transcript(scenario.id, ()), (check,), (), 1.0)
