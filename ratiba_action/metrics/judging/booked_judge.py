"""A replayed judge whose answers are counted: they cost nothing, and the report says what they cost live."""

from collections.abc import Mapping
from dataclasses import replace

from ratiba_action.metrics.judging.replay_judge import judge_recording_key
from ratiba_action.model.conversation import Party, Usage
from ratiba_action.model.measurement import Answer, Question
from ratiba_action.model.payer import payer
from ratiba_action.money.budget import Ledger
from ratiba_action.ports import Judge, Prices


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
