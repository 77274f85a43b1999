"""Answers from recordings: the same request gets the same answer, a new one a clear error."""

from collections.abc import Mapping, Sequence

from ratiba_action.core.budget import Ledger
from ratiba_action.core.model.conversation import Party
from ratiba_action.core.model_request import ModelAnswer, ModelRequest
from ratiba_action.errors import RecordingError
from ratiba_action.gateway.endpoints import endpoint_named
from ratiba_action.ports import Prices
from ratiba_action.recordings.lines import ModelRecording


class ReplayAnswers:
    """Recorded answers, by scenario.

    Args:
        recordings: the model answers of each scenario, those of each trial in the order of their first use.
        ledger: counts each call as replayed.
        prices: what the calls would have cost live.
    """

    def __init__(self, recordings: Mapping[str, Sequence[ModelRecording]], ledger: Ledger, prices: Prices) -> None:
        self._trials: dict[str, dict[int, list[ModelRecording]]] = {}
        self._answers: dict[tuple[str, int, str, int], ModelRecording] = {}
        for scenario_id, lines in recordings.items():
            trials = self._trials.setdefault(scenario_id, {})
            for line in lines:
                trials.setdefault(line.trial, []).append(line)
                self._answers[scenario_id, line.trial, line.key, line.ordinal] = line
        self._ledger = ledger
        self._prices = prices

    async def answer(self, request: ModelRequest) -> ModelAnswer:
        """The answer that was recorded to this very request in this very trial.

        One trial's answers never stand in for another's: repeating them would pass for a second measurement.

        Raises:
            RecordingError: no recording fits; says what differs from the recorded call in the same place.
            ConfigurationError: the model has no list price.
        """
        line = self._answers.get((request.scenario_id, request.trial, request.key, request.ordinal))
        if line is None:
            raise RecordingError(
                f"No recording fits this request: {self._difference(request)}.",
                "Record it again; docs/recordings.md says how.",
            )
        usage = endpoint_named(request.provider, request.endpoint).usage(line.response)
        list_price = self._prices.price(line.model, line.provider, usage)
        self._ledger.record_replayed(request.payer, request.scenario_id, line.model, usage, list_price)
        return ModelAnswer(line.response, usage, replayed=True)

    def _difference(self, request: ModelRequest) -> str:
        if request.party is Party.SIMULATOR:
            return (
                f"message {request.position // 2 + 1} of the simulated customer was never recorded for this persona, "
                "goal, model and conversation so far"
            )
        trials = self._trials.get(request.scenario_id)
        if not trials:
            return f"scenario {request.scenario_id!r} has no recorded model answer"
        lines = trials.get(request.trial)
        if lines is None:
            count = "1 trial is" if len(trials) == 1 else f"{len(trials)} trials are"
            return f"it is trial {request.trial + 1} of the scenario, and {count} recorded"
        if request.position >= len(lines):
            return f"it is call {request.position + 1} of the scenario, and {len(lines)} are recorded"
        return _compare(lines[request.position], request)


def _compare(line: ModelRecording, request: ModelRequest) -> str:
    """What changed since a call was recorded, the likeliest cause first; the system's own words are not repeated."""
    changes = []
    if line.system != request.system:
        changes.append(
            f"the prompt changed since it was recorded (system prompt was {line.system}, is {request.system})"
        )
    if (line.provider, line.model) != (request.provider, request.model):
        changes.append(f"the model was {line.provider} {line.model!r}, is {request.provider} {request.model!r}")
    if line.asked != request.asked:
        changes.append(f"the user's last message is another than in call {request.position + 1}, {line.asked[:80]!r}")
    if not changes:
        changes.append(
            f"call {request.position + 1} has the system prompt, model and last message that were recorded, "
            "but its earlier messages, tools or parameters differ"
        )
    return "; ".join(changes)
