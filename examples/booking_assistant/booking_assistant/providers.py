"""The two model providers. Keys and addresses come from the environment, where the SDKs look for them.

No retries: whoever meters the calls must see each one. An HTTP error is raised, never swallowed.
"""

from dataclasses import dataclass
from typing import Protocol

from anthropic import AsyncAnthropic
from anthropic import omit as anthropic_omit
from openai import AsyncOpenAI
from openai import omit as openai_omit

from booking_assistant.memory import JsonObject

_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model answered.

    Args:
        text: may be empty.
        model: as the provider names it.
    """

    text: str
    model: str
    input_tokens: int
    output_tokens: int


class Provider(Protocol):
    """A company that runs models."""

    async def call(
        self, model: str, system_prompt: str, user_prompt: str, schema: JsonObject | None, max_tokens: int
    ) -> Answer:
        """Ask one question; with a JSON Schema, ask for an answer of that shape."""
        ...

    async def close(self) -> None:
        """Close the connections."""
        ...


class AnthropicProvider:
    """Anthropic's messages API."""

    def __init__(self) -> None:
        self._client = AsyncAnthropic(max_retries=0, timeout=_SECONDS)

    async def call(
        self, model: str, system_prompt: str, user_prompt: str, schema: JsonObject | None, max_tokens: int
    ) -> Answer:
        """Ask one question; see ``Provider``."""
        message = await self._client.messages.create(
            model=model,
            max_tokens=max_tokens,
            system=system_prompt,
            messages=[{"role": "user", "content": user_prompt}],
            output_config={"format": {"type": "json_schema", "schema": schema}} if schema else anthropic_omit,
        )
        text = "".join(block.text for block in message.content if block.type == "text")
        return Answer(text.strip(), message.model, message.usage.input_tokens, message.usage.output_tokens)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()


class OpenAIProvider:
    """OpenAI's chat completions API."""

    def __init__(self) -> None:
        self._client = AsyncOpenAI(max_retries=0, timeout=_SECONDS)

    async def call(
        self, model: str, system_prompt: str, user_prompt: str, schema: JsonObject | None, max_tokens: int
    ) -> Answer:
        """Ask one question; see ``Provider``."""
        completion = await self._client.chat.completions.create(
            model=model,
            max_completion_tokens=max_tokens,
            messages=[{"role": "system", "content": system_prompt}, {"role": "user", "content": user_prompt}],
            response_format={
                "type": "json_schema",
                "json_schema": {"name": "answer", "strict": True, "schema": schema},
            }
            if schema
            else openai_omit,
        )
        text = completion.choices[0].message.content or "" if completion.choices else ""
        usage = completion.usage
        return Answer(
            text.strip(),
            completion.model,
            usage.prompt_tokens if usage else 0,
            usage.completion_tokens if usage else 0,
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()
