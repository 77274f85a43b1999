"""Whether as many trials are recorded as a replay needs."""

from collections.abc import Iterator, Mapping, Sequence

from ratiba_action.errors import FileProblem, SuiteError
from ratiba_action.llm.recordings.lines import ModelRecording, Recording
from ratiba_action.model.scenario import Scenario


def require_recorded_trials(
    scenarios: Sequence[Scenario], recordings: Mapping[str, Sequence[Recording]], folder: str
) -> None:
    """Check before a replay that no trial would lack its answers.

    Args:
        scenarios: to be held, each as often as its strategy says.
        recordings: by scenario id.
        folder: of the recordings, for messages.

    Raises:
        SuiteError: some scenarios have fewer trials recorded; names all of them.
    """
    problems = list(_problems(scenarios, recordings, folder))
    if problems:
        raise SuiteError(problems)


def _problems(
    scenarios: Sequence[Scenario], recordings: Mapping[str, Sequence[Recording]], folder: str
) -> Iterator[FileProblem]:
    for scenario in scenarios:
        wanted = scenario.strategy.trials
        lines = [line for line in recordings.get(scenario.id, ()) if isinstance(line, ModelRecording)]
        recorded = len({line.trial for line in lines if line.trial < wanted})
        # A scenario without any answers asks no model, or says so itself when it does.
        if 0 < recorded < wanted:
            told = f"{recorded} {'trial is' if recorded == 1 else 'trials are'} recorded, and {wanted} are asked for"
            remedy = f"record them with 'ratiba record --scenario {scenario.id} --accept'"
            yield FileProblem(f"{folder}/{scenario.id}.jsonl", 0, f"{told}; {remedy}")
