"""Is each sentence of a reply supported by the documents of that reply? Each is verified alone.

score = supported / (supported + unsupported). A reply of which every claim is a refusal claims nothing and scores 1;
beside a refusal, sentences with content are verified. The judge says whether the documents entail one sentence;
DeepEval's FaithfulnessMetric asks whether they contradict it, so that an invented claim on which they are silent passes
there and fails here.
"""

import asyncio
from dataclasses import replace

from ratiba_action.checks.refusal_phrases import has_content, refuses, split_claims
from ratiba_action.errors import JudgeError
from ratiba_action.metrics.judging.own_question import call_judge, closed_object, worded
from ratiba_action.metrics.turn_by_turn import OwnTurnsMetric
from ratiba_action.metrics.turn_scores import TurnValue
from ratiba_action.metrics.whole_conversation import ShownTurn, TurnPart
from ratiba_action.model.measurement import Question

__version__ = "1.1.0"
MAX_CLAIMS = 16
SUPPORTED, UNSUPPORTED, NO_CLAIM = "supported", "unsupported", "no claim"
STEPS = (
    "Read the documents and the sentence. The sentence is one of an assistant's reply.",
    "Answer 'no claim' if the sentence states nothing that could be true or false, such as a greeting or an offer.",
    "Answer 'supported' only if the documents alone, without other knowledge, say all that the sentence claims.",
    "Answer 'unsupported' if they contradict a part of it or do not say it.",
)
SCHEMA = closed_object(
    "entailment",
    {"reason": {"type": "string"}, "verdict": {"type": "string", "enum": [SUPPORTED, UNSUPPORTED, NO_CLAIM]}},
)


class FaithfulnessByClaimMetric(OwnTurnsMetric):
    """Share of the reply's claims that its documents support; a question a sentence."""

    name = "FaithfulnessByClaimMetric"
    revision = __version__
    parts = frozenset({TurnPart.REPLY, TurnPart.DOCUMENTS})
    maximum = MAX_CLAIMS
    remedy = "Let the system report the documents of its reply with their text; {adapters} shows how."

    async def value(self, turn: ShownTurn, first: Question) -> TurnValue | None:
        """The share of one reply's claims; None when it claims nothing."""
        if refuses(turn.shown.reply):
            return TurnValue(turn.number, 1.0, "the reply refuses")
        claims = tuple(claim for claim in split_claims(turn.shown.reply) if has_content(claim))
        if len(claims) > MAX_CLAIMS:
            raise JudgeError(
                f"{self.name} verifies at most {MAX_CLAIMS} sentences of a reply, and turn {turn.number} of scenario "
                f"{first.scenario_id!r} has {len(claims)}.",
                "Let the system reply more briefly, or split the turn.",
            )
        answers = await asyncio.gather(
            *(self._verdict(claim, turn, first, number) for number, claim in enumerate(claims)), return_exceptions=True
        )
        for answer in answers:
            if isinstance(answer, BaseException):
                raise answer
        verdicts = list(zip(claims, answers, strict=True))
        unsupported = [claim for claim, verdict in verdicts if verdict == UNSUPPORTED]
        supported = sum(verdict == SUPPORTED for _, verdict in verdicts)
        if not supported and not unsupported:
            return None
        reason = f"unsupported: {'; '.join(unsupported)}" if unsupported else ""
        return TurnValue(turn.number, supported / (supported + len(unsupported)), reason)

    async def _verdict(self, claim: str, turn: ShownTurn, first: Question, number: int) -> str:
        question = replace(first, ordinal=first.ordinal + number, schema=SCHEMA)
        shown = {"documents": list(turn.shown.documents), "sentence": claim}
        return str((await call_judge(self._judge, worded(question, STEPS, shown)))["verdict"])
