"""The request for one structured answer, as each provider wants it.

Instructions and schema are constants of the caller. Whatever was said in a conversation is in the one user message,
so no transcript can add a message, a role or a field.
"""

from collections.abc import Mapping

from ratiba_action.errors import ConfigurationError
from ratiba_action.metrics.judging.answer import JudgeModel
from ratiba_action.metrics.judging.json_shape import without_limits
from ratiba_action.model.values import JsonObject

ENDPOINTS: Mapping[str, str] = {
    "anthropic": "messages",
    "openai": "chat/completions",
    "gemini": "generateContent",
}
"""The endpoint of each format that judges are asked through."""


def structured_request(model: JudgeModel, instructions: str, form: str, schema: JsonObject) -> JsonObject:
    """The body of one request.

    No temperature is set: current models refuse it. A metric whose template is a repository's own may add one.

    Args:
        model: who is asked.
        instructions: the system prompt; never holds text of a conversation.
        form: the user message with the quoted conversation.
        schema: JSON Schema of the answer, with a ``title``; the providers hold the model to it.

    Raises:
        ConfigurationError: the provider is unknown.
    """
    sayable = form.encode("utf-8", "replace").decode("utf-8")  # a lone surrogate has no UTF-8 form
    shape = without_limits({name: value for name, value in schema.items() if name != "title"})
    if model.format == "anthropic":
        return {
            "model": model.name,
            "max_tokens": model.answer_tokens,
            "system": instructions,
            "messages": [{"role": "user", "content": sayable}],
            "output_config": {"format": {"type": "json_schema", "schema": shape}},
        }
    if model.format == "openai":
        named = {"name": schema["title"], "strict": True, "schema": shape}
        return {
            "model": model.name,
            "max_completion_tokens": model.answer_tokens,
            "messages": [{"role": "system", "content": instructions}, {"role": "user", "content": sayable}],
            "response_format": {"type": "json_schema", "json_schema": named},
        }
    if model.format == "gemini":
        return {
            "model": model.name,
            "systemInstruction": {"parts": [{"text": instructions}]},
            "contents": [{"role": "user", "parts": [{"text": sayable}]}],
            "generationConfig": {
                "maxOutputTokens": model.answer_tokens,
                "responseMimeType": "application/json",
                "responseJsonSchema": shape,
            },
        }
    raise ConfigurationError(
        f"No judge can be asked at the provider {model.provider!r}.", f"Use one of {', '.join(sorted(ENDPOINTS))}."
    )
