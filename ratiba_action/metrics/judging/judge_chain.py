"""A judge of one case, and what a replayed judge is booked with."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace

from ratiba_action.metrics.judging.replay_judge import judge_recording_key
from ratiba_action.model.conversation import Party, Usage, payer
from ratiba_action.model.measurement import Answer, Question
from ratiba_action.money.budget import Ledger
from ratiba_action.ports import Judge, Prices


class CaseJudge:
    """Implements ``Judge`` for the measurements of one case.

    A recorded answer is neither cross-checked, which would cost money where nothing needs a model, nor kept in the
    judge cache, where a later live run would take it for a model's.

    Args:
        source: answers the questions.
        model: identifier of the model behind it.
    """

    def __init__(self, source: Callable[[Question], Awaitable[Answer]], model: str) -> None:
        self.model = model
        self._source = source
        self._offset = 0
        self._replayed: list[Question] = []

    def repeat(self, number: int, questions: int = 1) -> "CaseJudge":
        """The same judge, whose questions get ordinals that no other measurement has.

        Args:
            number: of the measurement, from 0 for the first.
            questions: how many questions the metric asks a case.
        """
        again = CaseJudge(self._source, self.model)
        again._offset, again._replayed = number * questions, self._replayed
        return again

    @property
    def fresh(self) -> bool:
        """Whether no answer so far came from a recording, in any measurement of the case."""
        return not self._replayed

    async def answer(self, question: Question) -> Answer:
        """The answer to the question under its own ordinal.

        Raises:
            JudgeError: the answer is outside the contract.
            RecordingError: replaying, and no recording fits.
            BudgetError: the call was refused.
        """
        answer = await self._source(replace(question, ordinal=question.ordinal + self._offset))
        self._replayed += [question] if answer.replayed else []
        return answer


class BookedReplayJudge:
    """Implements ``Judge`` around a replayed one.

    Args:
        judge: answers from recordings.
        provider: of the judge's model, for its price.
        usages: tokens of each recorded answer, by ``judge_recording_key``.
        ledger: counts each answer as replayed.
        prices: what the answers cost live.
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
        price = self._prices.price(self.model, self._provider, usage)
        party = payer(Party.JUDGE, question.arm)
        self._ledger.record_replayed(party, question.scenario_id, self.model, usage, price)
        return replace(answer, usage=usage)
