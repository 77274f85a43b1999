"""DeepEval's metrics of answers that are drawn from documents. Each is the mean over the turns that can be measured."""

from ratiba_action.metrics.judging.deepeval_metric import DeepEvalSpec
from ratiba_action.metrics.turn_by_turn import TurnByTurnMetric
from ratiba_action.metrics.whole_conversation import Part

MOST_DOCUMENTS = 20
_PLAIN = {"include_reason": False}
_DOCUMENTS = "Let the system report the documents of its reply with their text; docs/adapters.md shows how."
_REFERENCE = f"Give a turn `expect.answer`. {_DOCUMENTS}"


class FaithfulnessMetric(TurnByTurnMetric):
    """Share of the reply's claims that no document contradicts; three questions a turn."""

    name = "FaithfulnessMetric"
    spec = DeepEvalSpec("FaithfulnessMetric", 3, _PLAIN, items="claims")
    parts = frozenset({Part.REPLY, Part.DOCUMENTS})
    remedy = _DOCUMENTS


class AnswerRelevancyMetric(TurnByTurnMetric):
    """Share of the reply's statements that bear on what was asked; two questions a turn."""

    name = "AnswerRelevancyMetric"
    spec = DeepEvalSpec("AnswerRelevancyMetric", 2, _PLAIN, items="statements")
    parts = frozenset({Part.ASKED, Part.REPLY})


class ContextualPrecisionMetric(TurnByTurnMetric):
    """Whether documents that help to come to ``expect.answer`` stand before the others; one question a turn."""

    name = "ContextualPrecisionMetric"
    spec = DeepEvalSpec("ContextualPrecisionMetric", 1, _PLAIN, verdict_per_document=True)
    parts = frozenset({Part.ASKED, Part.DOCUMENTS, Part.REFERENCE})
    remedy = _REFERENCE


class ContextualRecallMetric(TurnByTurnMetric):
    """Share of the sentences of ``expect.answer`` that the documents hold; one question a turn."""

    name = "ContextualRecallMetric"
    spec = DeepEvalSpec("ContextualRecallMetric", 1, _PLAIN)
    parts = frozenset({Part.ASKED, Part.DOCUMENTS, Part.REFERENCE})
    remedy = _REFERENCE


class ContextualRelevancyMetric(TurnByTurnMetric):
    """Share of the documents' statements that bear on what was asked; one question a document."""

    name = "ContextualRelevancyMetric"
    spec = DeepEvalSpec("ContextualRelevancyMetric", MOST_DOCUMENTS, _PLAIN)
    parts = frozenset({Part.ASKED, Part.DOCUMENTS})
    remedy = _DOCUMENTS
