"""Which model answers for which role (ADR-0005), with the shape that a canary needs (ADR-0004)."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from booking_assistant.memory import JsonObject
from booking_assistant.prompts import Prompt, PromptLibrary
from booking_assistant.providers import Answer, Provider

INTENT_CLASSIFIER = "intent_classifier"
BOOKING_ORCHESTRATOR = "booking_orchestrator"


@dataclass(frozen=True, slots=True)
class Assignment:
    """The model of a role.

    Args:
        provider: ``anthropic`` or ``openai``.
        max_tokens: most tokens of an answer, unless the caller sets its own.
    """

    provider: str
    model: str
    max_tokens: int


@dataclass(frozen=True, slots=True)
class LLMResponse:
    """An answer, and the version of the prompt that the role has in this conversation."""

    answer: Answer
    prompt_version: str

    @property
    def text(self) -> str:
        """The answer's text."""
        return self.answer.text


class LLMRouter:
    """Sends a role's question to the model that is assigned to it.

    Args:
        assignments: by role.
        providers: by the name that assignments use.
        prompts: the prompts of all roles.
    """

    def __init__(
        self, assignments: Mapping[str, Assignment], providers: Mapping[str, Provider], prompts: PromptLibrary
    ) -> None:
        self._assignments = assignments
        self._providers = providers
        self._prompts = prompts

    def resolve_prompt(self, role: str, tenant_id: str, conversation_id: str) -> Prompt:
        """The prompt of a role: ``@stable``, or ``@canary`` for its share of conversations."""
        return self._prompts.resolve(role, tenant_id, conversation_id)

    async def call_for_role(  # noqa: PLR0917  (the signature is ADR-0004's)
        self,
        role: str,
        tenant_id: str,
        conversation_id: str,
        system_prompt: str,
        user_prompt: str,
        schema: JsonObject | None = None,
        max_tokens: int | None = None,
    ) -> LLMResponse:
        """Ask the model of a role.

        Args:
            role: a role of ``roles.yaml``.
            tenant_id: with the conversation's id it decides about the canary; neither reaches a model.
            conversation_id: see ``tenant_id``.
            system_prompt: the role's prompt.
            user_prompt: the question.
            schema: JSON Schema of the answer, None for text.
            max_tokens: most tokens of the answer; default: the role's.
        """
        assignment = self._assignments[role]
        answer = await self._providers[assignment.provider].call(
            assignment.model,
            system_prompt,
            user_prompt,
            schema,
            max_tokens or assignment.max_tokens,
        )
        return LLMResponse(answer, self.resolve_prompt(role, tenant_id, conversation_id).version)


def load_assignments(path: Path) -> dict[str, Assignment]:
    """Read ``roles.yaml``.

    Raises:
        TypeError: an assignment lacks a key or has one too many.
    """
    raw = yaml.safe_load(path.read_text(encoding="utf-8"))
    return {role: Assignment(**assignment) for role, assignment in raw.items()}
