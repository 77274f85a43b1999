"""What a person answers when the gate is set up in a repository."""

from collections.abc import Mapping
from dataclasses import dataclass

KINDS: Mapping[str, str] = {
    "python": "a Python class of your own repository, which may call anything",
}
"""How the gate speaks with a system, and what that is, in words."""

ACTION = "OWNER/ratiba-eval-gate@COMMIT"
"""Stands in the workflow until somebody names the owner and the commit of a release."""


@dataclass(frozen=True, slots=True)
class StarterAnswers:
    """What is to be set up.

    Args:
        kind: one of ``KINDS``.
        language: ISO 639 code of the first conversation.
        prompts: glob patterns of the prompt files; may be empty.
        name: of the gate.
        branch: the repository's default branch.
        action: what the workflow uses.
    """

    kind: str = "python"
    language: str = "en"
    prompts: tuple[str, ...] = ()
    name: str = "ratiba"
    branch: str = "main"
    action: str = ACTION
