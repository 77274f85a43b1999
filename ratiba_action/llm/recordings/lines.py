"""One line of a recording: what a model or a judge once answered, under the key of what it was asked."""

from dataclasses import dataclass, field

from ratiba_action.model.values import JsonObject


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
        inputs: digests of what the model was given, to say later which of it changed; None in older recordings.
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
    inputs: JsonObject | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class JudgeRecording:
    """A judge's answer to one question: a grade, or what another question's schema asks for.

    Args:
        key: SHA-256 of the canonical ``{"metric", "model", "transcript", "ordinal"}``.
        ordinal: number of the question within its metric, from 0.
        source: where the answer comes from: ``authored`` by hand, or ``live``.
        metric: ``name:version``.
        transcript: SHA-256 of what the metric shows of the conversation.
        score: of a grade, 0 to 1; else None.
        reason: of a grade, in words; else None.
        usage: ``{"input_tokens": …, "output_tokens": …}``.
        answer: to a question that asks for something other than a grade; else None.
    """

    key: str
    ordinal: int
    source: str
    metric: str
    model: str
    transcript: str
    score: float | None
    reason: str | None
    usage: JsonObject
    answer: JsonObject | None = field(default=None, repr=False)

    @property
    def body(self) -> JsonObject:
        """The answer as the Judge port gives it."""
        return {"score": self.score, "reason": self.reason} if self.answer is None else self.answer


Recording = ModelRecording | JudgeRecording
