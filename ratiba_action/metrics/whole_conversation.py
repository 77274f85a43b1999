"""DeepEval's metrics of a whole conversation."""

from itertools import pairwise
from typing import ClassVar

from ratiba_action.errors import ConfigurationError
from ratiba_action.metrics.judged_identity import judged_identity
from ratiba_action.metrics.judging.deepeval_metric import Conversation, ReadyMade, Said, measure
from ratiba_action.model.canonical import digest, transcript_digest
from ratiba_action.model.measurement import Case, Question, Score
from ratiba_action.ports import Judge
from ratiba_action.util.validation import StrictModel

__version__ = "1.0.0"


class WholeConversationMetric:
    """Implements ``JudgedMetric``: one value for the conversation.

    A subclass says which of DeepEval's metrics it is, how many questions that asks at most, and whether it shows tool
    calls.

    Args:
        judge: who answers.
        parameters: what the scenario tells the metric; None where it takes none.
    """

    name: str
    judged = True
    deepeval: ClassVar[str]
    most: ClassVar[int] = 0
    most_a_turn: ClassVar[int] = 0
    shows_tools: ClassVar[bool] = False

    def __init__(self, judge: Judge, parameters: StrictModel | None = None) -> None:
        self._identity = judged_identity(self.name, __version__, parameters)
        self._parameters = parameters
        self._judge = judge

    @property
    def version(self) -> str:
        """With the parameters and DeepEval's release."""
        return self._identity.version

    def options(self) -> dict[str, object]:
        """Keywords of DeepEval's constructor."""
        return {"include_reason": False}

    def chatbot_role(self) -> str:
        """Who the assistant has to be; empty where the metric does not show it."""
        return ""

    def evidence(self, case: Case) -> str:
        """SHA-256 of what was said, and of the tool calls where they are shown."""
        said = transcript_digest(case.transcript)
        if not self.shows_tools:
            return said
        calls = [
            [[call.name, dict(call.args), call.output] for call in one.reply.tool_calls]
            for one in case.transcript.exchanges
        ]
        return digest({"said": said, "tools": calls})

    async def measure(self, case: Case, threshold: float) -> Score:
        """Score one case.

        Raises:
            ConfigurationError: nobody asked anything that was answered.
            JudgeError: the judge answered outside its contract.
            RecordingError: replaying, and no recording fits.
            BudgetError: the call was refused.
        """
        said = self._said(case)
        roles = [one.role for one in said]
        if ("user", "assistant") not in pairwise(roles):
            raise ConfigurationError(
                f"{self.name} found nothing to measure in this conversation: no message of the customer was answered.",
                "Look at the system's replies, or leave the metric out.",
            )
        most = self.most + self.most_a_turn * len(case.transcript.exchanges)
        ready = ReadyMade(self.deepeval, most, self.options())
        question = Question(case.scenario.id, self._identity.asks, self.evidence(case), 0, "", case.trial, case.arm)
        shown = Conversation(said, self.chatbot_role())
        measured = await measure(ready, shown, self._judge, question)
        return Score(self.name, self.version, measured.value, threshold, judged=True, reason=measured.reason)

    def _said(self, case: Case) -> list[Said]:
        """What was said; silence and events of the world are left out."""
        said: list[Said] = []
        for one in case.transcript.exchanges:
            if one.turn.user and one.turn.user.strip():
                said.append(Said("user", one.turn.user))
            if one.reply.text.strip():
                said.append(Said("assistant", one.reply.text, one.reply.tool_calls if self.shows_tools else ()))
        return said
