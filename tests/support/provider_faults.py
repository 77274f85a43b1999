"""What a stand-in for a provider can be told to do with a request, well or badly."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ratiba_action.llm.scripted_answers import Step

Body = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Failure:
    """An HTTP error in place of an answer; nothing is charged.

    Args:
        retry_after: value of the header, None to leave it out.
    """

    status: int
    message: str = "scripted failure"
    retry_after: str | None = None
    code: str | None = None


@dataclass(frozen=True, slots=True)
class Altered:
    """An answer whose body was changed on its way; what it was before is charged."""

    step: Step
    change: Callable[[Body], Any]


@dataclass(frozen=True, slots=True)
class Raw:
    """Any bytes in place of an answer; charged as ``step`` would be, when there is one."""

    content: bytes
    content_type: str = "application/json"
    status: int = 200
    step: Step | None = None
    headers: dict[str, str] = field(default_factory=dict)


Whole = Step | Failure | Altered | Raw
"""What arrives whole."""


@dataclass(frozen=True, slots=True)
class Cut:
    """The connection is dropped after so many bytes of the answer, its status line and headers included.

    At the latest before the last byte: an answer that is whole leaves the client with a dead connection in its pool,
    and it is the next call that fails.
    """

    answer: Whole
    after: int


@dataclass(frozen=True, slots=True)
class Stalled:
    """So many bytes of the answer come, and then nothing, until the other side gives up."""

    answer: Whole
    after: int


@dataclass(frozen=True, slots=True)
class Drip:
    """The answer comes byte by byte, with a pause of so many seconds after each."""

    answer: Whole
    pause: float


Served = Whole | Cut | Stalled | Drip


def without_usage(body: Body) -> Body:
    """The answer without its ``usage``."""
    return {name: value for name, value in body.items() if name not in {"usage", "usageMetadata"}}


def truncated(body: Body) -> Body:
    """The answer as its provider marks it when it met the output limit."""
    if body.get("type") == "message":
        return {**body, "stop_reason": "max_tokens"}
    if body.get("object") == "response":
        return {**body, "status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    if "stopReason" in body:
        return {**body, "stopReason": "max_tokens"}
    if "candidates" in body:
        return {**body, "candidates": [{**each, "finishReason": "MAX_TOKENS"} for each in body["candidates"]]}
    return {**body, "choices": [{**choice, "finish_reason": "length"} for choice in body["choices"]]}


def declined(body: Body) -> Body:
    """The answer of a model that refuses, in its provider's shape."""
    words = "Samahani, siwezi."
    if body.get("type") == "message":
        return {**body, "content": [], "stop_reason": "refusal"}
    if body.get("object") == "response":
        part = {"type": "refusal", "refusal": words}
        return {**body, "output": [{**item, "content": [part]} for item in body["output"]]}
    if "candidates" in body:
        return {**body, "candidates": [], "promptFeedback": {"blockReason": "SAFETY"}}
    message = {"role": "assistant", "content": None, "refusal": words}
    return {**body, "choices": [{"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}]}
