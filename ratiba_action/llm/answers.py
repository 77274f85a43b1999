"""Where the answer to a model call of the system comes from: a recording, or a live call that becomes one.

From recordings the same request gets the same answer, and a new request gets an error that says what changed.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ratiba_action.errors import RecordingError
from ratiba_action.llm.endpoints import endpoint_named
from ratiba_action.llm.recordings.lines import ModelRecording
from ratiba_action.model.answer_origin import RecordingSource
from ratiba_action.model.answering_model import answering_model, spelled_otherwise
from ratiba_action.model.conversation import Party
from ratiba_action.model.model_request import ModelAnswer, ModelRequest, PaidRequest
from ratiba_action.model.values import JsonObject
from ratiba_action.money.budget import Ledger
from ratiba_action.ports import PaidCalls, Prices


class AnswerRecorder:
    """Keeps live answers of the system under test, for its recordings."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, int], dict[tuple[bool, int], ModelRecording]] = {}

    def recordings(self, scenario_id: str, trial: int = 0) -> tuple[ModelRecording, ...]:
        """The answers of one trial, in the order in which they were asked for, whichever came first."""
        recorded = self._kept.get((scenario_id, trial), {})
        return tuple(recorded[position] for position in sorted(recorded))

    def keep(self, request: ModelRequest, answer: ModelAnswer) -> None:
        """Keep one answer; a call that fails leaves no line."""
        self._kept.setdefault((request.scenario_id, request.trial), {})[_place(request)] = recording_of(request, answer)


def recording_of(request: ModelRequest, answer: ModelAnswer) -> ModelRecording:
    """The line of a live answer."""
    from ratiba_action.llm.request_inputs import request_inputs

    return ModelRecording(
        key=request.key,
        ordinal=request.ordinal,
        source=RecordingSource.LIVE,
        provider=request.provider,
        model=request.model,
        asked=request.last_message,
        system=request.system,
        response=answer.body,
        trial=request.trial,
        inputs=request_inputs(request),
    )


def _place(request: ModelRequest) -> tuple[bool, int]:
    """Where a line stands: the system's calls in order, then those of the simulated customer, counted apart."""
    return request.party is Party.SIMULATOR, request.position


class LiveAnswers:
    """Implements ``AnswerSource``.

    Args:
        calls: asks the providers and books what it costs.
    """

    def __init__(self, calls: PaidCalls) -> None:
        self._calls = calls

    async def answer(self, request: ModelRequest) -> ModelAnswer:
        """The provider's answer; see ``PaidCalls.call`` for what may go wrong."""
        paid = await self._calls.call(
            PaidRequest(
                party=request.payer,
                scenario_id=request.scenario_id,
                trial=request.trial,
                provider=request.provider,
                endpoint=request.endpoint,
                model=request.model,
                key=request.key,
                ordinal=request.ordinal,
                body=request.body,
                arm=request.arm,
            )
        )
        answered_by = spelled_otherwise(request.model, answering_model(paid.body))
        return ModelAnswer(paid.body, paid.usage, replayed=False, answered_by=answered_by, usd=paid.usd)


_MISSING, _CHANGED = "Run:", "If that is meant, run:"
_VOLATILE = (
    "If that value comes from the machine's clock or from chance, take it from the scenario (context.now), since no "
    "recording would ever fit. If the new value is meant, run:"
)
MOCK = "Without a key, mock the model: give the scenario `layer: fsm`, and its answers under `script`."
"""How a scenario of a system that calls a model runs where there is neither a recording nor a key."""


@dataclass(frozen=True, slots=True)
class RecordingAdvice:
    """What the gate knows about a call that no recording fits.

    Args:
        edited_prompts: paths of the prompt files that the change under test edits.
        remedy: the command or setting that ends it, of a request and how the sentence begins.
    """

    edited_prompts: Sequence[str] = ()
    remedy: Callable[[ModelRequest, str], str] = lambda request, lead: (
        f"{lead} ratiba record --scenario {request.scenario_id} --accept"
    )


class StaleRecordingError(RecordingError):
    """A request differs from the recorded one in its content alone; the answer instead is known.

    Args:
        answer: what was recorded in the same place; it shows what the code does next, and nothing of a model.
    """

    def __init__(self, problem: str, remedy: str, answer: ModelAnswer) -> None:
        super().__init__(problem, remedy)
        self.answer = answer


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
        self._used: dict[tuple[str, int], set[str]] = {}
        self._ledger = ledger
        self._advice = RecordingAdvice() if advice is None else advice
        self._prices = prices

    async def answer(self, request: ModelRequest) -> ModelAnswer:
        """The answer that was recorded to this very request in this very trial.

        One trial's answers never stand in for another's: repeating them would pass for a second measurement.

        Raises:
            RecordingError: no recording fits; says what differs from the recorded call in the same place. A
                ``StaleRecordingError`` where only the content of the request does.
            ConfigurationError: the model has no list price.
        """
        if request.position == 0:
            self._used[request.scenario_id, request.trial] = set()
        line = self._answers.get((request.scenario_id, request.trial, request.key, request.ordinal))
        if line is None:
            raise self._refusal(request)
        self._used.setdefault((request.scenario_id, request.trial), set()).add(_identity(line))
        usage = endpoint_named(request.endpoint).usage(line.response)
        answered_by = spelled_otherwise(line.model, answering_model(line.response))
        list_price = self._prices.price_of_answer(line.model, line.provider, usage, answered_by)
        if list_price is None:
            list_price = self._prices.price(line.model, line.provider, usage)
        self._ledger.record_replayed(
            request.payer, request.scenario_id, line.model, usage, list_price, answered_by=answered_by
        )
        return ModelAnswer(line.response, usage, replayed=True, answered_by=answered_by)

    def _refusal(self, request: ModelRequest) -> RecordingError:
        problem, lead = self._difference(request)
        remedy = self._advice.remedy(request, lead)
        if request.party is Party.SYSTEM and not self._trials.get(request.scenario_id):
            remedy = f"{remedy} {MOCK}"
        line = self._counterpart(request)
        if line is None:
            return RecordingError(problem, remedy)
        self._used.setdefault((request.scenario_id, request.trial), set()).add(_identity(line))
        usage = endpoint_named(request.endpoint).usage(line.response)
        return StaleRecordingError(problem, remedy, ModelAnswer(line.response, usage, replayed=True))

    def _counterpart(self, request: ModelRequest) -> ModelRecording | None:
        """The recorded call that a request stands for: the next one of the same model with the same system prompt.

        Where the system prompt is a new one, it is the call of the same number, if all before it were answered in
        turn: a call that was added, or names another model, has no place.
        """
        from ratiba_action.llm.request_inputs import request_inputs

        if request.party is not Party.SYSTEM or not endpoint_named(request.endpoint).conversational:
            return None
        lines, inputs = self._trials.get(request.scenario_id, {}).get(request.trial, []), request_inputs(request)
        used = self._used.get((request.scenario_id, request.trial), set())
        left = [line for line in lines if _identity(line) not in used and _is_of_kind(line, request, inputs)]
        same = next((line for line in left if line.system == request.system), None)
        if same is not None or any(line.system == request.system for line in lines):
            return same
        counterpart = lines[request.position] if request.position < len(lines) else None
        return counterpart if counterpart in left and len(used) == request.position else None

    def _difference(self, request: ModelRequest) -> tuple[str, str]:
        """Why no recording fits, in one sentence, and how the one that says what to do begins."""
        if request.party is Party.SIMULATOR:
            number = request.position // 2 + 1
            problem = f"Message {number} of the simulated customer is not recorded for this persona, goal, model and "
            return f"{problem}conversation so far.", _MISSING
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
    from ratiba_action.llm.request_inputs import VOLATILE, changed_inputs

    changes = changed_inputs(line, request, edited_prompts)
    difference = "; ".join(changes) or (
        f"model call {request.position + 1} has the recorded system prompt, model and last message, but its earlier "
        "messages, results of tools, tools or parameters changed"
    )
    sentence = f"{difference[0].upper()}{difference[1:]}, so the recorded model answer no longer applies."
    return sentence, _VOLATILE if VOLATILE in difference else _CHANGED


def _identity(line: ModelRecording) -> str:
    return f"{line.key}/{line.ordinal}"


def _is_of_kind(line: ModelRecording, request: ModelRequest, inputs: JsonObject) -> bool:
    """Whether the same model was called with the same tools and parameters, as far as the recording says."""
    if line.inputs is not None and any(line.inputs.get(name) != inputs.get(name) for name in ("tools", "parameters")):
        return False
    kind = line.response.get("object", line.response.get("type"))
    same_model = (line.provider, line.model) == (request.provider, request.model)
    return same_model and kind == endpoint_named(request.endpoint).answers_as
