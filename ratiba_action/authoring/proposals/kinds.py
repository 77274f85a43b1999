"""What is asked of a model that proposes scenarios: by type of system, and by kind of attack. Literal tables."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ratiba_action.model.scenario import SystemType
from ratiba_action.model.values import JsonObject


def closed(properties: JsonObject) -> JsonObject:
    """JSON Schema of an object with exactly these properties."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


_TEXT: JsonObject = {"type": "string"}
TEXTS: JsonObject = {"type": "array", "items": _TEXT}

Expected = Callable[[Any], Any]
"""What a scenario expects, of what the model wrote in a field; raises ValueError, or of a wrong shape TypeError."""


@dataclass(frozen=True, slots=True)
class Truth:
    """A part of ``expect`` that each proposed turn may fill.

    Args:
        asks: what stands in that field of the answer, for the model.
        shape: JSON Schema of it.
        assertion: the metric that reads it, its threshold and its parameters; None where it is deterministic.
        expected: turns what the model wrote into the value of ``expect``.
    """

    asks: str
    shape: JsonObject
    assertion: tuple[str, float, Mapping[str, int]] | None = None
    expected: Expected = field(default=lambda written: written)


@dataclass(frozen=True, slots=True)
class SystemKind:
    """What a proposed scenario of one type of system says.

    Args:
        tests: what the conversations are about, for the model.
        truths: by key of ``expect``.
        notes: fields of a turn that only its reviewer reads, with what stands there and their JSON Schema.
    """

    tests: str
    truths: Mapping[str, Truth]
    notes: Mapping[str, tuple[str, JsonObject]] = field(default_factory=dict)


def _calls(written: Any) -> list[dict[str, Any]]:
    """Tool calls whose arguments are name and value, since a closed schema has no free keys."""
    return [
        {"name": call["name"], **({"args": arguments} if (arguments := _arguments(call["arguments"])) else {})}
        for call in written
    ]


def _arguments(written: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for argument in written:
        name, value = argument["name"], argument["value"]
        if name in found:
            raise ValueError(f"tools: the argument {name!r:.80} is there twice")
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = value
    return found


def _graded(written: Any) -> dict[str, Any]:
    """Relevance by document; a later document that is more relevant than an earlier one contradicts the order."""
    relevance = {document["id"]: document["relevance"] for document in written}
    listed = list(relevance.values())
    if len(relevance) < len(written):
        raise ValueError("documents: a document is there twice")
    if listed != sorted(listed, reverse=True):
        raise ValueError(f"documents: their relevance {listed!r:.80} does not fall with the order")
    return relevance


_PHRASES = "one to three words or phrases that every good {} holds, word for word{}"

SYSTEM_KINDS: Mapping[SystemType, SystemKind] = {
    SystemType.CHATBOT: SystemKind(
        "conversations of two to five turns that customers have with it, with what goes wrong in such conversations",
        {
            "key_phrases": Truth(
                _PHRASES.format("reply to this turn", "; usually none"), TEXTS, ("KeyPhraseMetric", 1.0, {})
            )
        },
    ),
    SystemType.AGENT: SystemKind(
        "conversations in which the right tools have to be called, and in which none may be called",
        {
            "tools": Truth(
                "the tools that must be called in this turn, in order, of those that the prompts name, each with the "
                "arguments that follow from the conversation: name, and value as JSON",
                {
                    "type": "array",
                    "items": closed(
                        {
                            "name": _TEXT,
                            "arguments": {"type": "array", "items": closed({"name": _TEXT, "value": _TEXT})},
                        }
                    ),
                },
                expected=_calls,
            )
        },
    ),
    SystemType.RAG: SystemKind(
        "questions that the documents answer, and questions that they do not answer",
        {
            "answer": Truth(
                "a reference answer: complete, in one to three sentences, only from the material; empty if the "
                "material has no answer",
                _TEXT,
                ("AnswerCorrectnessMetric", 0.7, {}),
            ),
            "documents": Truth(
                "ids of the documents that the answer needs, as the material names them",
                TEXTS,
                ("RecallAtKMetric", 1.0, {"k": 5}),
            ),
            "key_phrases": Truth(_PHRASES.format("answer", ""), TEXTS, ("KeyPhraseMetric", 1.0, {})),
        },
        {"contexts": ("the passages of the material that the answer rests on, word for word", TEXTS)},
    ),
    SystemType.SEARCH: SystemKind(
        "queries as people type them: short, misspelt, in each of the languages",
        {
            "documents": Truth(
                "the relevant documents, of those that the material names, the best first: id, and relevance from 3 "
                "(answers the query) to 1 (touches it)",
                {
                    "type": "array",
                    "items": closed({"id": _TEXT, "relevance": {"type": "integer", "enum": [3, 2, 1]}}),
                },
                ("NdcgMetric", 0.8, {"k": 10}),
                _graded,
            )
        },
    ),
    SystemType.CLASSIFIER: SystemKind(
        "single messages, the clear ones and those at the border between two classes",
        {"label": Truth("exactly one class, of those that the prompts name", _TEXT, ("LabelMetric", 1.0, {}))},
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
