"""DeepEval's metrics of a whole conversation."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import Enum, auto
from itertools import pairwise
from typing import ClassVar

from ratiba_action.errors import ConfigurationError
from ratiba_action.metrics.judging.deepeval_metric import (
    ConversationMessage,
    DeepEvalSpec,
    JudgedConversation,
    SingleTurn,
    measure,
)
from ratiba_action.metrics.judging.judged_identity import judged_identity
from ratiba_action.model.canonical import canonical_json, digest, transcript_digest
from ratiba_action.model.conversation import Exchange
from ratiba_action.model.measurement import Case, Score
from ratiba_action.ports import Judge
from ratiba_action.util.validation import StrictModel


class TurnPart(Enum):
    """A part of a turn. Tools are shown where there are some; without one of the others a turn is not measured."""

    ASKED = auto()
    REPLY = auto()
    DOCUMENTS = auto()
    REFERENCE = auto()
    TOOLS = auto()


@dataclass(frozen=True, slots=True)
class ShownTurn:
    """A turn that can be measured.

    Args:
        number: of the turn, from 1.
        shown: only what the metric shows.
    """

    number: int
    shown: SingleTurn


def shown_turns(case: Case, parts: frozenset[TurnPart]) -> tuple[ShownTurn, ...]:
    """The turns that have everything that a metric shows; an event in the customer's place is asked as JSON."""
    turns = (
        (number, _single_turn(exchange, parts), _held(exchange))
        for number, exchange in enumerate(case.transcript.exchanges, 1)
    )
    needed = parts - {TurnPart.TOOLS}
    return tuple(ShownTurn(number, shown) for number, shown, available in turns if needed <= available)


def shown_digest(turns: Sequence[ShownTurn]) -> str:
    """SHA-256 of what is shown, and of which turns."""
    return digest([[turn.number, asdict(turn.shown)] for turn in turns])


def _asked(exchange: Exchange) -> str:
    if exchange.turn.user is not None:
        return exchange.turn.user
    return canonical_json(dict(exchange.turn.event or {}))


def _documents(exchange: Exchange) -> tuple[str, ...]:
    return tuple(document.text for document in exchange.reply.documents if document.text.strip())


def _held(exchange: Exchange) -> frozenset[TurnPart]:
    parts = {
        TurnPart.ASKED: bool(_asked(exchange).strip()),
        TurnPart.REPLY: bool(exchange.reply.text.strip()),
        TurnPart.DOCUMENTS: bool(_documents(exchange)),
        TurnPart.REFERENCE: bool((exchange.turn.expect.answer or "").strip()),
    }
    return frozenset(part for part, there in parts.items() if there)


def _single_turn(exchange: Exchange, parts: frozenset[TurnPart]) -> SingleTurn:
    return SingleTurn(
        asked=_asked(exchange) if TurnPart.ASKED in parts else "",
        reply=exchange.reply.text if TurnPart.REPLY in parts else "",
        documents=_documents(exchange) if TurnPart.DOCUMENTS in parts else (),
        reference=exchange.turn.expect.answer or "" if TurnPart.REFERENCE in parts else "",
        tools=exchange.reply.tool_calls if TurnPart.TOOLS in parts else (),
    )


__version__ = "1.0.0"


class WholeConversationMetric:
    """Implements ``JudgedMetric``: one value for the conversation.

    A subclass says which of DeepEval's metrics it is, how many questions that asks at most, and whether it shows tool
    calls.

    Args:
        parameters: what the scenario gives the metric; None where it takes none.
    """

    name: str
    judged = True
    deepeval: ClassVar[str]
    maximum: ClassVar[int] = 0
    max_a_turn: ClassVar[int] = 0
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
        transcript = transcript_digest(case.transcript)
        if not self.shows_tools:
            return transcript
        calls = [
            [[call.name, dict(call.args), call.output] for call in exchange.reply.tool_calls]
            for exchange in case.transcript.exchanges
        ]
        return digest({"said": transcript, "tools": calls})

    async def measure(self, case: Case, threshold: float) -> Score:
        """Score one case.

        Raises:
            ConfigurationError: nobody asked anything that was answered.
        """
        messages = self._messages(case)
        roles = [message.role for message in messages]
        if ("user", "assistant") not in pairwise(roles):
            raise ConfigurationError(
                f"{self.name} found nothing to measure in this conversation: no message of the customer was answered.",
                "Look at the system's replies, or leave the metric out.",
            )
        maximum = self.maximum + self.max_a_turn * len(case.transcript.exchanges)
        spec = DeepEvalSpec(self.deepeval, maximum, self.options())
        question = case.question(self._identity.asks, self.evidence(case))
        shown = JudgedConversation(messages, self.chatbot_role())
        measured = await measure(spec, shown, self._judge, question)
        return Score(self.name, self.version, measured.value, threshold, judged=True, reason=measured.reason)

    def _messages(self, case: Case) -> list[ConversationMessage]:
        """What was said; silence and events of the world are left out."""
        messages: list[ConversationMessage] = []
        for exchange in case.transcript.exchanges:
            if exchange.turn.user and exchange.turn.user.strip():
                messages.append(ConversationMessage("user", exchange.turn.user))
            if exchange.reply.text.strip():
                messages.append(
                    ConversationMessage(
                        "assistant", exchange.reply.text, exchange.reply.tool_calls if self.shows_tools else ()
                    )
                )
        return messages
