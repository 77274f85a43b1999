"""One line of a recording: what a model or a judge once answered, under the key of what it was asked."""

from dataclasses import dataclass, field

from ratiba_action.core.model.values import JsonObject


@dataclass(frozen=True, slots=True)
class ModelRecording:
    """A model's answer to the system under test.

    Args:
        key: SHA-256 of the canonical request.
        ordinal: how often the same key was asked before within one trial.
        source: where the answer comes from: ``authored`` by hand, or ``live``.
        provider: ``anthropic`` or ``openai``.
        asked: the last message of the user, at most 200 characters; for the reader of a diff.
        system: first 12 hexadecimal digits of the SHA-256 of the system prompt.
        response: the provider's whole answer as it went over the wire, with its usage.
        usage_estimated: the usage was estimated from the length of the texts.
        trial: number of the trial that was answered so, from 0.
    """

    key: str
    ordinal: int
    source: str
    provider: str
    model: str
    asked: str
    system: str
    response: JsonObject = field(repr=False)
    usage_estimated: bool = False
    trial: int = 0


@dataclass(frozen=True, slots=True)
class JudgeRecording:
    """A judge's answer to one grading question.

    Args:
        key: SHA-256 of the canonical ``{"metric", "model", "transcript", "ordinal"}``.
        ordinal: number of the question within its metric, from 0.
        source: where the answer comes from: ``authored`` by hand, or ``live``.
        metric: ``name:version``.
        transcript: SHA-256 of the canonical transcript.
        score: 0 to 1.
        usage: ``{"input_tokens": …, "output_tokens": …}``.
    """

    key: str
    ordinal: int
    source: str
    metric: str
    model: str
    transcript: str
    score: float
    reason: str
    usage: JsonObject


Recording = ModelRecording | JudgeRecording
