"""Judges that wrap another judge: recording first and live else, booked, repeated, one per arm, watched."""

from collections.abc import Collection, Mapping
from dataclasses import replace

from ratiba_action.errors import RecordingError
from ratiba_action.metrics.judging.replay_judge import judge_recording_key
from ratiba_action.model.conversation import Party, Usage, payer
from ratiba_action.model.measurement import Answer, Question
from ratiba_action.money.budget import Ledger
from ratiba_action.ports import Judge, Prices


class RepeatedJudge:
    """Implements ``Judge`` around another one: the repeat's questions get ordinals that the first measurement had not.

    Args:
        judge: who answers.
        repeat: number of the measurement, from 0 for the first.
        questions: how many questions the metric asks a case.
    """

    def __init__(self, judge: Judge, repeat: int, questions: int = 1) -> None:
        self._judge = judge
        self._offset = repeat * questions

    @property
    def model(self) -> str:
        """Identifier of the model behind it."""
        return self._judge.model

    async def answer(self, question: Question) -> Answer:
        """The answer to the question under its own ordinal.

        Raises:
            JudgeError: the answer is outside the contract.
            RecordingError: replaying, and no recording fits.
            BudgetError: the call was refused.
        """
        return await self._judge.answer(replace(question, ordinal=question.ordinal + self._offset))


class FallbackJudge:
    """Implements ``Judge``.

    Args:
        recorded: raises ``RecordingError`` when no recorded answer fits.
        live: asked then; the same model.
        never_live: scenarios that run only because all their answers are recorded.
    """

    def __init__(self, recorded: Judge, live: Judge, never_live: Collection[str] = ()) -> None:
        self._recorded = recorded
        self._live = live
        self._never_live = never_live

    @property
    def model(self) -> str:
        """Identifier of the model."""
        return self._live.model

    async def answer(self, question: Question) -> Answer:
        """The recorded answer to exactly this question, or a live one.

        Raises:
            RecordingError: no recorded answer fits, and no model is to be called for the scenario.
            JudgeError: the answer is outside the contract.
            BudgetError: the call was refused.
            ProviderError: the provider refused or could not be reached.
        """
        try:
            return await self._recorded.answer(question)
        except RecordingError:
            if question.scenario_id in self._never_live:
                raise
            return await self._live.answer(question)


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


class ArmJudge:
    """Implements ``Judge``: hands each question to the judge of the arm that held the conversation.

    Args:
        arm: name of the first arm.
        judge: of its conversations; all arms have the same model.
    """

    def __init__(self, arm: str, judge: Judge) -> None:
        self._model = judge.model
        self._judges = {arm: judge}

    @property
    def model(self) -> str:
        """Identifier of the model behind all of them."""
        return self._model

    def add(self, arm: str, judge: Judge) -> None:
        """Let another arm's conversations be graded.

        Raises:
            ValueError: by another model.
        """
        if judge.model != self._model:
            raise ValueError(f"the arm {arm!r} would be judged by {judge.model!r}, the others by {self._model!r}")
        self._judges[arm] = judge

    async def answer(self, question: Question) -> Answer:
        """The answer of the arm's judge; see ``Judge.answer``.

        Raises:
            RecordingError: no judge has the arm's recordings.
        """
        judge = self._judges.get(question.arm)
        if judge is None:
            raise RecordingError(f"No judge was given for the arm {question.arm!r}.", "Start the arm.")
        return await judge.answer(question)


class WatchedJudge:
    """Implements ``Judge`` around another one, for one case.

    A recorded answer is neither cross-checked, which would cost money where nothing needs a model, nor kept in the
    judge cache, where a later live run would take it for a model's.

    Args:
        judge: who answers.
    """

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self._replayed = False

    @property
    def model(self) -> str:
        """Identifier of the model behind it."""
        return self._judge.model

    @property
    def fresh(self) -> bool:
        """Whether no answer so far came from a recording."""
        return not self._replayed

    async def answer(self, question: Question) -> Answer:
        """The other judge's answer.

        Raises:
            JudgeError: the answer is outside the contract.
            RecordingError: replaying, and no recording fits.
            BudgetError: the call was refused.
        """
        answer = await self._judge.answer(question)
        self._replayed = self._replayed or answer.replayed
        return answer
