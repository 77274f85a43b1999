"""The one way from a question to a model's answer, for the system under test and for judges alike.

Each arm is answered from its own recordings; where none fits, live if the run may; and every answer is logged.
"""

from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from ratiba_action.errors import InfrastructureError, RecordingError


class QuestionIdentity(Protocol):
    """What is known of a question, whoever it is from."""

    @property
    def scenario_id(self) -> str:
        """Id of its scenario."""
        ...

    @property
    def trial(self) -> int:
        """Number of the trial, from 0."""
        ...

    @property
    def arm(self) -> str:
        """Name of the arm."""
        ...


Question = TypeVar("Question", bound=QuestionIdentity)
Answer = TypeVar("Answer")
Source = Callable[[Question], Awaitable[Answer]]
"""Answers a question, from recordings or live."""


def keep_nothing(_question: object, _answer: object) -> None:
    """Keeps no answer."""


def not_scripted(_question: object) -> None:
    """No question is answered from a script."""


@dataclass(frozen=True, slots=True)
class _ArmSources(Generic[Question, Answer]):
    recorded: Source[Question, Answer] | None
    live: Source[Question, Answer] | None
    never_live: Collection[str]
    went_live: set[tuple[str, int]]


class AnswerChain(Generic[Question, Answer]):
    """Implements ``AnswerSource`` and answers judges.

    Args:
        log: called with each question and its answer.
        keep: called before that with each live answer, for recordings.
        stays_live: a trial that has left its recordings does not come back to them. A conversation that went on
            differently after a live answer could meet a recording by chance. A scenario that left its recordings on
            the first arm is live on the others too, so that answers of the same kind are compared.
        asked: called with each question before it is answered.
        scripted: who answers instead of every arm's own source; None for a question that no script answers.
    """

    def __init__(
        self,
        log: Callable[[Question, Answer], None],
        *,
        keep: Callable[[Question, Answer], None] = keep_nothing,
        stays_live: bool = False,
        asked: Callable[[Question], None] | None = None,
        scripted: Callable[[Question], Source[Question, Answer] | None] = not_scripted,
    ) -> None:
        self._log, self._keep, self._stays_live, self._scripted = log, keep, stays_live, scripted
        self._asked = asked
        self._arms: dict[str, _ArmSources[Question, Answer]] = {}

    def add(
        self,
        arm: str,
        *,
        recorded: Source[Question, Answer] | None = None,
        live: Source[Question, Answer] | None = None,
        never_live: Collection[str] = (),
    ) -> None:
        """Answer an arm's questions from now on.

        Args:
            recorded: raises ``RecordingError`` where no recording fits; None to replay nothing.
            live: called then; None to call no model.
            never_live: scenarios that run only because all their answers are recorded.
        """
        self._arms[arm] = _ArmSources(recorded, live, never_live, set())

    def went_live(self, scenario_id: str) -> bool:
        """Whether any trial of a scenario left its recordings on the first arm."""
        first = next(iter(self._arms.values()), None)
        return first is not None and any(name == scenario_id for name, _ in first.went_live)

    async def answer(self, question: Question) -> Answer:
        """The answer: a recorded one where one fits, else a live one.

        Raises:
            InfrastructureError: nothing answers the arm.
            RecordingError: no recording fits, and no model is to be called.
            BudgetError: the call was refused.
            ProviderError: the provider refused or could not be reached.
        """
        if self._asked is not None:
            self._asked(question)
        script = self._scripted(question)
        answer = await script(question) if script is not None else await self._own(question)
        self._log(question, answer)
        return answer

    async def _own(self, question: Question) -> Answer:
        arm = self._arms.get(question.arm)
        if arm is None:
            known = ", ".join(sorted(self._arms)) or "none"
            raise InfrastructureError(f"Nothing answers the arm {question.arm!r}, only: {known}.", "Start the arm.")
        if arm.recorded is not None and not self._has_left(arm, question):
            try:
                return await arm.recorded(question)
            except RecordingError:
                if arm.live is None or question.scenario_id in arm.never_live:
                    raise
                arm.went_live.add((question.scenario_id, question.trial))
        if arm.live is None:
            raise InfrastructureError(f"Nothing answers the arm {question.arm!r}.", "Start the arm.")
        answer = await arm.live(question)
        self._keep(question, answer)
        return answer

    def _has_left(self, arm: _ArmSources[Question, Answer], question: Question) -> bool:
        """Whether a trial has left its recordings for good."""
        if not self._stays_live or arm.live is None or question.scenario_id in arm.never_live:
            return False
        trial = (question.scenario_id, question.trial)
        if arm is not next(iter(self._arms.values())) and self.went_live(question.scenario_id):
            arm.went_live.add(trial)
        return trial in arm.went_live
