"""A judge that answers from recordings, and what its answers would have cost."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace

from ratiba_action.errors import RecordingError
from ratiba_action.llm.recordings.lines import JudgeRecording
from ratiba_action.metrics.judging.answer import require_same_model, validated
from ratiba_action.model.answer_origin import RecordingSource
from ratiba_action.model.canonical import digest
from ratiba_action.model.conversation import Party, Usage, payer
from ratiba_action.model.measurement import Answer, Question
from ratiba_action.model.values import JsonObject
from ratiba_action.money.budget import Ledger
from ratiba_action.ports import Judge, Prices

_FLUENCY = ("english_fluency", "swahili_fluency")
"""Metrics that the language of a scenario adds."""

NEEDS_JUDGE = "With a judge's key"
"""Begins what to do where a judge's answer is not recorded."""


def judge_recording_key(metric: str, model: str, transcript: str, ordinal: int) -> str:
    """Key of a judge line: SHA-256 of the canonical JSON of what identifies the question, without its wording.

    Args:
        metric: ``name:version`` of the metric.
        transcript: digest of what the metric shows of the case.
        ordinal: number of the question within the metric, from 0.
    """
    return digest({"metric": metric, "model": model, "transcript": transcript, "ordinal": ordinal})


class ReplayJudge:
    """Implements ``Judge`` from recorded answers.

    Args:
        model: identifier of the model whose answers are replayed.
        recorded: the body of each answer by ``judge_recording_key``.
        answered_by: the model that gave an answer, by the same key, where it named itself otherwise than ``model``.
    """

    def __init__(
        self, model: str, recorded: Mapping[str, JsonObject], answered_by: Mapping[str, str] | None = None
    ) -> None:
        self._model = model
        self._recorded = recorded
        self._answered_by = answered_by or {}

    @property
    def model(self) -> str:
        """Identifier of the replayed model."""
        return self._model

    async def answer(self, question: Question) -> Answer:
        """The recorded answer to exactly this question.

        Raises:
            RecordingError: there is none; says how to record it.
            JudgeError: the recorded answer is outside the contract, or another model's.
        """
        key = judge_recording_key(question.metric, self._model, question.transcript, question.ordinal)
        body = self._recorded.get(key)
        if body is None:
            raise RecordingError(
                f"No recorded score of {question.metric} by {self._model!r} for scenario {question.scenario_id!r}: "
                "it was never judged, or the conversation changed since.",
                _remedy(question),
            )
        answered_by = self._answered_by.get(key, "")
        require_same_model(self._model, answered_by)
        return validated(Answer(body, replayed=True, answered_by=answered_by), question)


def _remedy(question: Question) -> str:
    name = question.metric.partition(":")[0]
    without = {
        **dict.fromkeys(_FLUENCY, "set metrics: {fluency: false} in .github/ratiba.yml"),
        "pytest": "remove the test",
        "refusal_by_judge": "let phrases alone decide, with its turn: {type: must_refuse, value: {judge: false}}",
    }.get(name, "leave the metric out")
    return f"{to_record(question.scenario_id)}; without one, {without}."


def to_record(scenario_id: str) -> str:
    """What records a judge's answer, without the full stop."""
    return f"{NEEDS_JUDGE}, run ratiba record --scenario {scenario_id} --accept"


class BookedReplayJudge:
    """Implements ``Judge`` around a replayed one.

    Args:
        judge: answers from recordings.
        provider: of the judge's model, for its price.
        usages: tokens of each recorded answer, by ``judge_recording_key``.
        ledger: counts each answer as replayed.
    """

    def __init__(
        self, judge: Judge, provider: str, usages: Mapping[str, Usage], ledger: Ledger, prices: Prices
    ) -> None:
        self._judge = judge
        self._provider = provider
        self._usages = usages
        self._ledger = ledger
        self._prices = prices

    @property
    def model(self) -> str:
        """Identifier of the replayed model."""
        return self._judge.model

    async def answer(self, question: Question) -> Answer:
        """The recorded answer, booked.

        Raises:
            RecordingError: no recording fits.
            JudgeError: the recorded answer is outside the contract.
            ConfigurationError: the judge's model has no price.
        """
        answer = await self._judge.answer(question)
        key = judge_recording_key(question.metric, self.model, question.transcript, question.ordinal)
        usage = self._usages.get(key, Usage())
        usage_of_call = (self.model, self._provider, usage)
        listed = self._prices.price_of_answer(*usage_of_call, answer.answered_by)
        price = self._prices.price(*usage_of_call) if listed is None else listed
        party = payer(Party.JUDGE, question.arm)
        self._ledger.record_replayed(
            party, question.scenario_id, self.model, usage, price, answered_by=answer.answered_by
        )
        return replace(answer, usage=usage)


class ScoreCollector:
    """Collects the judge's answers of one run.

    Of several repeats of one question (another trial in which the same was said), the first trial's answer is kept: a
    recording holds one answer a question.
    """

    def __init__(self, model: str) -> None:
        self._model = model
        self._kept: defaultdict[str, dict[str, tuple[int, JudgeRecording]]] = defaultdict(dict)

    def keep(self, question: Question, answer: Answer) -> None:
        """Keep one live answer."""
        usage, model = answer.usage, self._model
        key = judge_recording_key(question.metric, model, question.transcript, question.ordinal)
        lines = self._kept[question.scenario_id]
        if key in lines and lines[key][0] <= question.trial:
            return
        prompt_tokens = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
        line = JudgeRecording(
            key=key,
            ordinal=question.ordinal,
            source=RecordingSource.LIVE,
            metric=question.metric,
            model=model,
            transcript=question.transcript,
            score=None if question.schema else answer.body["score"],
            reason=None if question.schema else answer.body["reason"],
            answer=answer.body if question.schema else None,
            usage={"input_tokens": prompt_tokens, "output_tokens": usage.output_tokens},
            answered_by=answer.answered_by,
        )
        lines[key] = (question.trial, line)

    def recordings(self) -> dict[str, tuple[JudgeRecording, ...]]:
        """The lines of each scenario, by its id, sorted by metric, model, transcript and ordinal."""
        return {
            scenario_id: tuple(sorted((line for _, line in lines.values()), key=_order))
            for scenario_id, lines in sorted(self._kept.items())
        }


def _order(line: JudgeRecording) -> tuple[str, str, str, int]:
    return line.metric, line.model, line.transcript, line.ordinal
