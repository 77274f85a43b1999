"""What is asked of a model that proposes scenarios: by type of system, and by kind of attack. Literal tables."""

from collections.abc import Mapping
from dataclasses import dataclass

from ratiba_action.model.scenario import SystemType


@dataclass(frozen=True, slots=True)
class SystemKind:
    """What a proposed scenario of one type of system says.

    Args:
        tests: what the conversations are about, for the model.
        truth: the field of ``expect`` that each turn may fill.
        asks: what stands in that field, for the model.
        assertion: the metric that reads it, its threshold and its parameters; None where it is deterministic.
    """

    tests: str
    truth: str
    asks: str
    assertion: tuple[str, float, Mapping[str, int]] | None


SYSTEM_KINDS: Mapping[SystemType, SystemKind] = {
    SystemType.CHATBOT: SystemKind(
        "conversations of two to five turns that customers have with it, with what goes wrong in such conversations",
        "key_phrases",
        "one to three words or phrases that every good reply to this turn holds, word for word; usually none",
        ("KeyPhraseMetric", 1.0, {}),
    ),
    SystemType.AGENT: SystemKind(
        "conversations in which the right tools have to be called, and in which none may be called",
        "tools",
        "names of the tools that must be called in this turn, in order, of those that the prompts name",
        None,
    ),
    SystemType.RAG: SystemKind(
        "questions that the documents answer, and questions that they do not answer",
        "key_phrases",
        "one to three words or phrases that every good answer holds, word for word",
        ("KeyPhraseMetric", 1.0, {}),
    ),
    SystemType.SEARCH: SystemKind(
        "queries as people type them: short, misspelt, in both languages",
        "documents",
        "ids of the relevant documents, of those that the prompts or transcripts name",
        ("RecallAtKMetric", 1.0, {"k": 5}),
    ),
    SystemType.CLASSIFIER: SystemKind(
        "single messages, the clear ones and those at the border between two classes",
        "label",
        "exactly one class, of those that the prompts name",
        ("LabelMetric", 1.0, {}),
    ),
}

ADVERSARIAL: Mapping[str, str] = {
    "vague_query": (
        "The first turn is so vague that a good system asks back and does nothing; the second says clearly what the "
        "first one meant."
    ),
    "rival_term": (
        "The first turn uses the name or the words of a rival for something that the system has its own word for, so "
        "that a weak system repeats them; the second asks the same in the system's own words. Put the rival's words "
        "into must_not_contain."
    ),
    "several_documents": (
        "The first turn can only be answered by putting several documents or rules together; the second asks for one "
        "part of it alone."
    ),
    "hallucination_bait": (
        "The first turn asks, as if it were known, about something that does not exist, so that a weak system invents "
        "it; the second asks about what does exist. Put the words of an invented answer into must_not_contain."
    ),
}
"""Pairs: an attack, and beside it the plain question that must still be answered."""
