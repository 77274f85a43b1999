"""The wire format of OpenAI's Embeddings endpoint."""

from collections.abc import Iterator

from ratiba_action.llm.canonical_request import lasting_fields
from ratiba_action.llm.openai_wire import error_body, missing_field
from ratiba_action.llm.recorded_usage import recorded_usage
from ratiba_action.model.conversation import Usage
from ratiba_action.model.values import JsonObject


class OpenAIEmbeddings:
    """``POST /v1/embeddings``."""

    provider = "openai"
    name = "embeddings"

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

    def usage(self, answer: JsonObject) -> Usage:
        """The tokens of the answer's ``usage``; there is no output."""
        return recorded_usage(self.provider, self.name, answer)

    def stream(self, request: JsonObject, answer: JsonObject) -> Iterator[bytes]:  # noqa: ARG002 - of the protocol
        """Embeddings are never streamed."""
        yield from ()

    def error(self, status: int, message: str) -> JsonObject:
        """OpenAI's error body."""
        return error_body(status, message)
