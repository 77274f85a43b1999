"""What the gate must know of a provider's wire format: one object for each, and one for each of its endpoints.

Whoever reads, bounds, sends, replays, scripts or books a call asks these objects; nobody else knows a provider's words.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol
from urllib.parse import SplitResult, urlunsplit

from ratiba_action.errors import JudgeError, RecordingError
from ratiba_action.llm.providers.contents import Allowed, RequestContents
from ratiba_action.model.conversation import ToolCall, Usage
from ratiba_action.model.values import JsonObject
from ratiba_action.money.answer_usage import count_within, fees_of_text, reported_usage

EVENT_STREAM = "text/event-stream"


def event(data: Any, name: str | None = None) -> bytes:
    """One event: its name, if it has one, and its data as JSON."""
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(data, separators=(',', ':'))}\n\n".encode()


@dataclass(frozen=True, slots=True)
class Scripted:
    """What a mocked model answers.

    Args:
        text: what it says; empty for an answer that only calls tools.
        tools: that it calls, in order.
        ids: digests that make the ids of two equal answers differ: of the answer, then of each tool call.
        usage: the tokens to report.
    """

    text: str
    tools: tuple[ToolCall, ...]
    model: str
    ids: tuple[str, ...]
    usage: Usage

    @property
    def prompt_tokens(self) -> int:
        """The whole input, cached or not."""
        return self.usage.input_tokens + self.usage.cache_read_tokens + self.usage.cache_write_tokens

    @property
    def calls(self) -> Iterator[tuple[str, ToolCall]]:
        """Each tool call with its id."""
        return zip(self.ids[1:], self.tools, strict=True)


@dataclass(frozen=True, slots=True)
class ShapedQuestion:
    """What a judge or a simulated customer is asked.

    Args:
        answer_tokens: the most that the answer may hold.
        form: the one message of the user.
        shape: JSON Schema of the answer.
    """

    model: str
    answer_tokens: int
    instructions: str
    form: str
    title: str
    shape: JsonObject


@dataclass(frozen=True, slots=True)
class BuiltInUse:
    """What a request holds of tools that the provider runs.

    Args:
        tools: that the model may call, each once.
        rest: the request without them, and without their earlier calls.
    """

    tools: tuple[str, ...]
    rest: JsonObject = field(repr=False)


class Endpoint(Protocol):
    """One endpoint of a wire format; stateless."""

    provider: str
    """Name of the format."""
    name: str
    """Path of a call without its version; names the endpoint in recordings, so it never changes."""
    paths: tuple[str, ...]
    """Routes at which the gateway serves it, as aiohttp spells them."""
    shown_path: str
    """The one that messages name."""
    conversational: bool = True
    """Whether an answer shows what the code does next, so that it may stand in for one that was not recorded."""
    is_stored: bool = False
    """Whether its provider keeps its answers, and its requests may refer to them."""
    answers_as: str | None = None
    """What an answer calls itself, in ``object`` or ``type``; None where it has no such field."""

    def received(self, body: JsonObject, address: Mapping[str, str]) -> JsonObject:
        """A request with ``model`` and ``stream``, of its path's parts; ValueError for a field in two spellings."""
        del address
        return body

    def flaw(self, body: JsonObject) -> str | None:
        """What makes the request unusable, in one sentence, or None."""
        ...

    def canonical(self, body: JsonObject) -> JsonObject:
        """The request in its one spelling, without what cannot change the answer."""
        ...

    def comparable(self, body: JsonObject) -> JsonObject:
        """The canonical request with messages of blocks, tools and parameters where OpenAI and Anthropic have them."""
        return self.canonical(body)

    def system_prompt(self, body: JsonObject) -> str:
        """The text of the system prompt; empty when there is none."""
        ...

    def last_user_text(self, body: JsonObject) -> str:
        """The text of the user's last message that has any, which results of tools have not; else empty."""
        return last_user_text_of(body.get("messages"))

    def has_given(self, answer: JsonObject) -> bool:
        """Whether a recorded answer is one of this endpoint, by its shape."""
        return (answer.get("object") or answer.get("type")) == self.answers_as

    usage_field: str = "usage"

    def tokens(self, usage: Mapping[str, Any]) -> Usage:
        """See ``UsageShape.tokens``."""
        ...

    def long_cache_writes(self, usage: Mapping[str, Any]) -> int:
        """See ``UsageShape.long_cache_writes``."""
        return count_within(usage, "cache_creation", "ephemeral_1h_input_tokens")

    def fees(self, answer: JsonObject, usage: Mapping[str, Any]) -> Iterator[str]:
        """See ``UsageShape.fees``."""
        return fees_of_text(answer, usage)

    def usage(self, answer: JsonObject) -> Usage:
        """The tokens that a recorded answer reports.

        Raises:
            RecordingError: it reports none that can be used.
        """
        try:
            return reported_usage(self, answer)
        except ValueError as error:
            problem = f"A recorded answer of {self.provider} cannot be used: {error}."
            raise RecordingError(problem, "Record it again.") from error

    limits: tuple[str, ...]
    """What the output limit is called; the first name is the one that is added. Empty: there is no output."""
    limits_in: str = ""
    """Field that holds the output limit and the number of choices; empty for the request itself."""
    choices: str = "n"
    """What the number of choices is called."""
    image_tokens: int
    """Of one image of any size: a few bytes of it may unfold to the largest that the provider does not scale down."""
    instructing: tuple[str, ...] = ("tools", "functions", "response_format", "output_config", "output_format", "text")
    """Fields before which a provider puts instructions of its own."""
    tier_is_optional: bool = False
    """Whether a server that speaks this format may not know the tier that ``pinned_tier`` adds."""

    allowed: Allowed = Allowed(frozenset())
    """What a request may hold, in Anthropic's and OpenAI's words; another format has its own ``contents``."""

    def built_in(self, body: JsonObject) -> BuiltInUse:
        """The tools in a request that the provider runs and that can have a price."""
        return BuiltInUse((), body)

    def built_in_calls(self, asked: JsonObject, answer: JsonObject) -> tuple[Sequence[Sequence[str]], JsonObject]:
        """For each call of such a tool in an answer, the tools that it can have been; and the answer without them."""
        del asked
        return (), answer

    def contents(self, body: JsonObject) -> RequestContents:
        """What a request holds that its bytes do not tell the tokens of: what is allowed is listed."""
        return self.allowed.contents(body)

    def pinned_tier(self, body: JsonObject) -> JsonObject:
        """The field that keeps a provider from serving at a dearer tariff, whatever its account is set to."""
        return self.allowed.pinned_tier(body)

    def endings(self, answer: JsonObject) -> Sequence[Any]:
        """Why each choice of an answer ended, in the format's words."""
        ...

    def has_content(self, answer: JsonObject) -> bool:
        """Whether an answer has text or calls a tool, besides what the model thought."""
        ...

    def stream(self, request: JsonObject, answer: JsonObject, query: Mapping[str, str]) -> tuple[str, Iterator[bytes]]:
        """The type and the pieces of the answer as the provider streams it, of the query of the request's address."""
        ...

    def error(self, status: int, message: str) -> JsonObject:
        """The body of an error with this HTTP status."""
        ...

    def scripted(self, step: Scripted) -> JsonObject | None:
        """The whole body of an answer that no model gave; None where this endpoint cannot be scripted."""
        ...


class Stored(Protocol):
    """What a provider keeps between the calls of one trial: by default, nothing."""

    def completed(self, body: JsonObject) -> JsonObject:
        """A request with what it refers to instead of the reference.

        Raises:
            ValueError: it refers to what was not kept in this trial.
        """
        return body

    def kept(self, asked: JsonObject, sent: JsonObject, answer: JsonObject) -> JsonObject:
        """Keep an answer; what its client sees.

        Args:
            asked: the request as it came.
        """
        del asked, sent
        return answer

    def served(self, method: str, path: str, query: Mapping[str, str], body: JsonObject) -> JsonObject | None:
        """The answer to a request about what is kept, which calls no model; None where it is no such request.

        Raises:
            ValueError: it refers to what was not kept in this trial.
        """
        del method, path, query, body
        return None


class NothingStored(Stored):
    """Of a provider whose requests hold all that they refer to."""


class WireFormat(Protocol):
    """The wire format of one provider, which others may speak too; stateless."""

    name: str
    """Also the name of the provider that answers calls in it, unless another says ``gateway: true``."""
    base_url: str
    """The provider's own address."""
    declared: str
    """How ``providers`` declares it; empty for a provider that needs no declaration."""
    endpoints: tuple[Endpoint, ...]
    """The first one answers judges and simulated customers."""
    marks: tuple[str, ...] = ()
    """Headers by which a request to an unknown path is known to be of this format."""
    key_headers: tuple[str, ...] = ()
    """Headers in which its clients send the key, beside ``Authorization``."""
    error_headers: tuple[str, ...] = ()
    """Headers of an answer that say whose error it is, beside those that are always read."""
    ended_in: str
    """Field of an answer that says why it ended."""
    call_id: str = "id"
    """Field that names a tool call."""
    new: frozenset[str] = frozenset()
    """Fields of an answer that differ each time a provider says the same, beside its ``id`` and its usage."""
    words: frozenset[str] = frozenset()
    """Fields of an answer in which no model says anything, beside those of every format."""
    ways_out: ClassVar[Mapping[str, str]] = {}
    """By the pattern of a path that the gateway does not serve: what to do instead."""

    def stored(self, seed: str) -> Stored:
        """What the provider keeps for one trial, with ids of this seed."""
        del seed
        return NothingStored()

    def offered(self, headers: Mapping[str, str]) -> Iterator[str]:
        """What a request to the gateway has where its clients send the key, beside ``Authorization: Bearer``."""
        return (headers.get(name, "") for name in self.key_headers)

    def environment(self, url: str, token: str) -> Mapping[str, str]:
        """Variables that point the provider's clients at the gateway with a token for a key."""
        ...

    def headers(self, key: str, query: str) -> dict[str, str]:
        """Those of every request that say who asks, of the key (empty: none is needed) and the base URL's query."""
        ...

    def address(self, base: SplitResult, endpoint: str, model: str) -> str:
        """Where an endpoint of this name is, for this model."""
        del model
        return joined(base, base.path.rstrip("/"), endpoint)

    def sent(self, body: JsonObject, output_limit: str) -> JsonObject:
        """A bounded request as it goes over the wire; a chat completion's output limit has this name."""
        del output_limit
        return body

    def own_error(self, headers: Mapping[str, str], body: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """The provider's error in a refusal; None where something on the way answered instead."""
        del headers
        error = body.get("error")
        return error if isinstance(error, Mapping) else None

    def structured(self, question: ShapedQuestion) -> JsonObject:
        """The request of a question, to the first endpoint."""
        ...

    def answer_text(self, body: JsonObject) -> str:
        """The text of a whole answer to such a request; empty where it says nothing.

        Raises:
            JudgeError: the model refused or was cut off, or the answer has another shape.
        """
        ...


def joined(base: SplitResult, path: str, endpoint: str) -> str:
    """An address below another, with its query."""
    return urlunsplit((base.scheme, base.netloc, f"{path}/{endpoint}", base.query, ""))


CUT_OFF = frozenset({
    "length", "max_output_tokens", "max_tokens", "MAX_TOKENS", "model_context_window_exceeded", "model_length",
})  # fmt: skip
"""How the formats say that an answer reached a limit."""
_SHOWN = 120
_REMEDY = "Run the scenario again; if it repeats, use another judge model."


def require_end(reason: Any, ends: tuple[str, ...]) -> None:
    """Check that a judge's answer ended by itself.

    Raises:
        JudgeError: it was cut off, or ended for another reason than ``ends``.
    """
    if isinstance(reason, str) and reason in CUT_OFF:
        raise JudgeError(f"The judge's answer was cut off ({reason}).", _REMEDY)
    if reason not in ends:
        raise misshapen("stop reason", reason)


def refusal(words: str = "") -> JudgeError:
    """A judge that refuses, in its own words or its provider's."""
    explanation = f": {words[:_SHOWN]!r}" if words else ""
    return JudgeError(
        f"The judge refused to answer{explanation}.", "Look at the conversation, or use another judge model."
    )


def misshapen(name: str, value: Any) -> JudgeError:
    """A judge's answer that its format does not allow."""
    return JudgeError(f"The judge's answer has an unexpected {name}: {repr(value)[:_SHOWN]}.", _REMEDY)


def joined_text(content: Any) -> str:
    """The texts of a message's content, a string or a list of blocks, one a line."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    blocks = [block for block in content if isinstance(block, Mapping)]
    return "\n".join(block["text"] for block in blocks if isinstance(block.get("text"), str))


def last_user_text_of(messages: Any) -> str:
    """The text of the user's last message that has any; empty when there is none."""
    if not isinstance(messages, list):
        return ""
    for message in reversed(messages):
        if isinstance(message, Mapping) and message.get("role") == "user":
            text = joined_text(message.get("content"))
            if text:
                return text
    return ""
