"""What a person answers when the gate is set up in a repository."""

from collections.abc import Mapping
from dataclasses import dataclass

KINDS: Mapping[str, str] = {
    "python": "a Python class of your own repository, which may call anything",
    "langgraph": "a LangGraph graph, or a factory of one; LangGraph is installed where the system runs",
    "prompt": "a prompt file and a model, no code at all",
    "command": "a program in any language that reads and writes JSON lines",
    "http": "a server of your own, asked over HTTP; it must be running when the gate runs",
}
"""How the gate speaks with a system, and what that is, in words."""

CODE_MODES: Mapping[str, str] = {
    "advisory": "a failure after a change of code is shown and stops no merge; prompts and state machines block",
    "blocking": "a failure after any change but that of a text file stops the merge",
}
"""What a change of code asks for, and what that means."""

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
        url: of the server, for the kind ``http``.
        code: one of ``CODE_MODES``.
        provider: the only one whose key is there; empty for several, or for none.
    """

    kind: str = "python"
    language: str = "en"
    prompts: tuple[str, ...] = ()
    name: str = "ratiba"
    branch: str = "main"
    action: str = ACTION
    url: str = "http://127.0.0.1:8000/chat"
    code: str = "advisory"
    provider: str = ""

    @property
    def prompt_file(self) -> str:
        """The prompt of the kind ``prompt``: the one that was named, else a stand-in."""
        plain = [one for one in self.prompts if not set(one) & set("*?[")]
        return plain[0] if len(plain) == len(self.prompts) == 1 else "prompts/assistant.md"
