"""OpenAI's wire format, with Embeddings beside two endpoints of their own; most other servers speak it too."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar
from urllib.parse import parse_qs

from ratiba_action.llm.canonical_request import lasting_fields
from ratiba_action.llm.providers.contents import Allowed
from ratiba_action.llm.providers.openai_chat import (
    OPENAI,
    ChatCompletions,
    OpenAIEndpoint,
    missing_field,
    routes,
)
from ratiba_action.llm.providers.openai_responses import Responses
from ratiba_action.llm.providers.openai_stored import StoredResponses
from ratiba_action.llm.wire_format import (
    EVENT_STREAM,
    Scripted,
    ShapedQuestion,
    WireFormat,
    misshapen,
    refusal,
    require_end,
)
from ratiba_action.model.conversation import Usage
from ratiba_action.model.values import JsonObject
from ratiba_action.money.answer_usage import count, required_count

_ALLOWED = Allowed(frozenset({"model", "input", "dimensions", "encoding_format", "user"}))
_LIMIT = "max_completion_tokens"


class Embeddings(OpenAIEndpoint):
    """``POST /v1/embeddings``."""

    name = "embeddings"
    paths = routes(name)
    shown_path = f"/v1/{name}"
    conversational = False
    answers_as = "list"
    limits = ()
    allowed = _ALLOWED

    def flaw(self, body: JsonObject) -> str | None:
        """What makes the request unusable, or None."""
        return missing_field(body, "input")

    def canonical(self, body: JsonObject) -> JsonObject:
        """The request with its input as a list."""
        request = lasting_fields(body)
        if isinstance(body["input"], str):
            request["input"] = [body["input"]]
        return request

    def system_prompt(self, body: JsonObject) -> str:  # noqa: ARG002 - of the protocol
        """An embedding has no system prompt."""
        return ""

    def last_user_text(self, body: JsonObject) -> str:
        """The text to embed, or the last of several."""
        given = body.get("input")
        last = given[-1] if isinstance(given, list) and given else given
        return last if isinstance(last, str) else ""

    def tokens(self, usage: Mapping[str, Any]) -> Usage:
        """There is no output."""
        return Usage(max(required_count(usage, "prompt_tokens"), count(usage, "total_tokens")))

    def endings(self, answer: JsonObject) -> Sequence[Any]:
        """An embedding is never cut."""
        del answer
        return ()

    def has_content(self, answer: JsonObject) -> bool:
        """An embedding is no text."""
        del answer
        return False

    def stream(self, request: JsonObject, answer: JsonObject, query: Mapping[str, str]) -> tuple[str, Iterator[bytes]]:
        """Embeddings are never streamed."""
        del request, answer, query
        return EVENT_STREAM, iter(())

    def scripted(self, step: Scripted) -> None:
        """No script has numbers."""
        del step


class OpenAI(WireFormat):
    """See ``WireFormat``."""

    name = OPENAI
    base_url = "https://api.openai.com/v1"
    declared = ""
    endpoints = (ChatCompletions(), Responses(), Embeddings())
    key_headers = ("api-key",)
    ended_in = "finish_reason"
    call_id = "call_id"
    new = frozenset({"completed_at", "created", "created_at", "system_fingerprint"})
    ways_out: ClassVar[Mapping[str, str]] = {
        r"/api/(?:chat|generate|embed\w*)": "Ollama's own format is not served: call the model by OpenAI's client",
        r"/v[12]/(?:chat|embed|generate)": "Cohere's own format is not served: call the model by OpenAI's client",
    }

    def stored(self, seed: str) -> StoredResponses:
        """See ``WireFormat.stored``."""
        return StoredResponses(seed)

    def environment(self, url: str, token: str) -> Mapping[str, str]:
        """See ``WireFormat.environment``."""
        # LlamaIndex reads ``OPENAI_API_BASE`` alone; LangChain and LiteLLM read either. The Agents SDK would send each
        # conversation to OpenAI's own host, with the token.
        addresses = dict.fromkeys(("OPENAI_BASE_URL", "OPENAI_API_BASE"), f"{url}/v1")
        return {**addresses, "OPENAI_API_KEY": token, "OPENAI_AGENTS_DISABLE_TRACING": "true"}

    def headers(self, key: str, query: str) -> dict[str, str]:
        """Azure, which is known by the version of its API in the address, takes the key in a header of its own."""
        if not key:
            return {}
        return {"api-key": key} if "api-version" in parse_qs(query) else {"Authorization": f"Bearer {key}"}

    def sent(self, body: JsonObject, output_limit: str) -> JsonObject:
        """The request with the output limit under the name that its server knows."""
        if output_limit == _LIMIT or _LIMIT not in body:
            return body
        return {**{name: value for name, value in body.items() if name != _LIMIT}, output_limit: body[_LIMIT]}

    def structured(self, question: ShapedQuestion) -> JsonObject:
        """See ``WireFormat.structured``."""
        named = {"name": question.title, "strict": True, "schema": question.shape}
        system, user = question.instructions, question.form
        return {
            "model": question.model,
            "max_completion_tokens": question.answer_tokens,
            "messages": [{"role": "system", "content": system}, {"role": "user", "content": user}],
            "response_format": {"type": "json_schema", "json_schema": named},
        }

    def answer_text(self, body: JsonObject) -> str:
        """The text of the one choice; see ``WireFormat.answer_text``."""
        choices = body.get("choices")
        if not isinstance(choices, list) or len(choices) != 1 or not isinstance(choices[0], Mapping):
            raise misshapen("choices", choices)
        message = choices[0].get("message")
        if not isinstance(message, Mapping):
            raise misshapen("message", message)
        reason = choices[0].get("finish_reason")
        if message.get("refusal") or reason == "content_filter":
            raise refusal(str(message.get("refusal") or ""))
        require_end(reason, ("stop",))
        content = message.get("content")
        if content is not None and not isinstance(content, str):
            raise misshapen("content", content)
        return content or ""
