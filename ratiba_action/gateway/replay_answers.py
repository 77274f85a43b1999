"""Answers from recordings: the same request gets the same answer, a new one a clear error."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ratiba_action.core.budget import Ledger
from ratiba_action.core.model.conversation import Party
from ratiba_action.core.model_request import ModelAnswer, ModelRequest
from ratiba_action.errors import RecordingError
from ratiba_action.gateway.endpoints import endpoint_named
from ratiba_action.gateway.request_inputs import VOLATILE, changed_inputs
from ratiba_action.ports import Prices
from ratiba_action.recordings.lines import ModelRecording

_MISSING, _CHANGED = "Run:", "If that is meant, run:"
_VOLATILE = (
    "If that value comes from the machine's clock or from chance, take it from the scenario (context.now), since no "
    "recording would ever fit. Then run:"
)


@dataclass(frozen=True, slots=True)
class RecordingAdvice:
    """What the gate knows about a call that no recording fits.

    Args:
        edited_prompts: paths of the prompt files that the change under test edits.
        remedy: the command or setting that ends it, of a request and how the sentence begins.
    """

    edited_prompts: Sequence[str] = ()
    remedy: Callable[[ModelRequest, str], str] = lambda asked, lead: (
        f"{lead} ratiba record --scenario {asked.scenario_id} --accept"
    )


class ReplayAnswers:
    """Recorded answers, by scenario.

    Args:
        recordings: the model answers of each scenario, those of each trial in the order of their first use.
        ledger: counts each call as replayed.
        prices: what the calls would have cost live.
        advice: what explains a call that no recording fits.
    """

    def __init__(
        self,
        recordings: Mapping[str, Sequence[ModelRecording]],
        ledger: Ledger,
        prices: Prices,
        advice: RecordingAdvice | None = None,
    ) -> None:
        self._trials: dict[str, dict[int, list[ModelRecording]]] = {}
        self._answers: dict[tuple[str, int, str, int], ModelRecording] = {}
        for scenario_id, lines in recordings.items():
            trials = self._trials.setdefault(scenario_id, {})
            for line in lines:
                trials.setdefault(line.trial, []).append(line)
                self._answers[scenario_id, line.trial, line.key, line.ordinal] = line
        self._ledger = ledger
        self._advice = RecordingAdvice() if advice is None else advice
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
            difference, lead = self._difference(request)
            raise RecordingError(difference, self._advice.remedy(request, lead))
        usage = endpoint_named(request.provider, request.endpoint).usage(line.response)
        list_price = self._prices.price(line.model, line.provider, usage)
        self._ledger.record_replayed(request.payer, request.scenario_id, line.model, usage, list_price)
        return ModelAnswer(line.response, usage, replayed=True)

    def _difference(self, request: ModelRequest) -> tuple[str, str]:
        """Why no recording fits, in one sentence, and how the one that tells what to do begins."""
        if request.party is Party.SIMULATOR:
            number = request.position // 2 + 1
            told = f"Message {number} of the simulated customer is not recorded for this persona, goal, model and "
            return f"{told}conversation so far.", _MISSING
        trials = self._trials.get(request.scenario_id)
        if not trials:
            return "No model answer is recorded for this scenario.", _MISSING
        lines = trials.get(request.trial)
        if lines is None:
            recorded = "trial is" if len(trials) == 1 else "trials are"
            return (
                f"This is trial {request.trial + 1} of the scenario, and {len(trials)} {recorded} recorded.",
                _MISSING,
            )
        same = sum(line.key == request.key for line in lines)
        if same:
            recorded = f"{same} {'answer is' if same == 1 else 'answers are'} recorded"
            return f"The system makes the same model call {request.ordinal + 1} times, and {recorded}.", _CHANGED
        if request.position >= len(lines):
            number = request.position + 1
            return f"The system makes model call {number} of the scenario, and {len(lines)} are recorded.", _CHANGED
        return _changed(lines[request.position], request, self._advice.edited_prompts)


def _changed(line: ModelRecording, request: ModelRequest, edited_prompts: Sequence[str]) -> tuple[str, str]:
    changes = changed_inputs(line, request, edited_prompts)
    told = "; ".join(changes) or (
        f"model call {request.position + 1} has the recorded system prompt, model and last message, but its earlier "
        "messages, results of tools, tools or parameters changed"
    )
    sentence = f"{told[0].upper()}{told[1:]}, so the recorded model answer no longer applies."
    return sentence, _VOLATILE if VOLATILE in told else _CHANGED
