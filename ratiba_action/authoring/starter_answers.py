"""The questions of ``ratiba init`` and their answers."""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from ratiba_action.authoring.project_files import NO_PROJECT, Project
from ratiba_action.settings.input_values import parse_name

KINDS: Mapping[str, str] = {
    "python": "a Python class of your own repository, which may call anything",
    "function": "a Python function of your own repository that answers one message",
    "langgraph": "a LangGraph graph, or a factory of one; LangGraph is installed where the system runs",
    "prompt": "a prompt file and a model, no code at all",
    "command": "a program in any language that reads and writes JSON lines",
    "http": "your own server in any language, called over HTTP; the gate starts it, unless you give its URL",
}
"""How the gate connects to a system, with a description."""

CODE_MODES: Mapping[str, str] = {
    "advisory": "failures after a code change are reported and do not block; prompts and state machines block",
    "blocking": "failures after any change except of text files block the merge",
}
"""Mode of code changes, with a description."""

ACTION = "OWNER/ratiba-eval-gate@COMMIT"
"""Placeholder in the workflow for the owner and the commit of a release."""

REUSABLE = "OWNER/ratiba-eval-gate/.github/workflows/gate.yml@COMMIT"
"""The same of the workflow that the short form calls."""


@dataclass(frozen=True, slots=True)
class StarterAnswers:
    """What to set up.

    Args:
        kind: one of ``KINDS``.
        language: ISO 639 code of the first conversation.
        prompts: glob patterns of the prompt files; may be empty.
        url: of the server, for the kind ``http``.
        function: module and name of the repository's own function, for the kind ``function``; empty for a stand-in.
        code: one of ``CODE_MODES``.
        providers: those with a key in the environment, the judge's first.
        project: what the repository's own files say.
    """

    kind: str = "python"
    language: str = "en"
    prompts: tuple[str, ...] = ()
    name: str = "ratiba"
    branch: str = "main"
    action: str = ACTION
    url: str = "http://127.0.0.1:8000/chat"
    function: str = ""
    code: str = "advisory"
    providers: tuple[str, ...] = ()
    project: Project = NO_PROJECT

    @property
    def has_url(self) -> bool:
        """Whether a server is named that the gate does not start."""
        return self.kind == "http" and self.url != StarterAnswers().url

    @property
    def prompt_file(self) -> str:
        """The prompt file of the kind ``prompt``: the given one, else a stand-in."""
        plain = [prompt for prompt in self.prompts if not set(prompt) & set("*?[")]
        return plain[0] if len(plain) == len(self.prompts) == 1 else "prompts/assistant.md"


AskUser = Callable[[str], str]
"""Shows a question and returns the typed answer."""

_LANGUAGE = re.compile(r"[a-z]{2,3}|mixed")


def one_of(allowed: Collection[str], text: str) -> str:
    """The text, where it is allowed.

    Raises:
        ValueError: it is not.
    """
    if text not in allowed:
        raise ValueError(f"one of {', '.join(allowed)}")
    return text


parse_kind, parse_code_mode = partial(one_of, KINDS), partial(one_of, CODE_MODES)


def parse_language(text: str) -> str:
    """An ISO 639 code, or mixed.

    Raises:
        ValueError: it is neither.
    """
    if not _LANGUAGE.fullmatch(text):
        raise ValueError("an ISO 639 code such as en or sw, or mixed")
    return text


def parse_prompts(text: str) -> tuple[str, ...]:
    """Glob patterns, separated by white space or commas."""
    return tuple(part for part in re.split(r"[\s,]+", text) if part)


_QUESTIONS: Mapping[str, tuple[str, Callable[[str], Any]]] = {
    "kind": ("How does the gate connect to your system?", parse_kind),
    "language": ("Which language do your customers write? An ISO 639 code", parse_language),
    "prompts": ("Where are the prompt files? Patterns such as prompts/*.md; empty for none", parse_prompts),
    "name": ("Name of this gate", parse_name),
    "code": ("Should failures after a code change block a merge, not only after a prompt change?", parse_code_mode),
}


_CHOICES: Mapping[str, Mapping[str, str]] = {"kind": KINDS, "code": CODE_MODES}
"""Answers that are explained before the question."""


def ask_questions(proposed: StarterAnswers, ask: AskUser, show: Callable[[str], None]) -> StarterAnswers:
    """Ask each question until its answer is valid; an empty answer takes the default."""
    answers = proposed
    for name, (question, parse) in _QUESTIONS.items():
        for choice, summary in _CHOICES.get(name, {}).items():
            show(f"  {choice}: {summary}")
        before = getattr(proposed, name)
        shown = " ".join(before) if isinstance(before, tuple) else before
        while typed := ask(f"{question} [{shown}]: ").strip():
            try:
                answers = replace(answers, **{name: parse(typed)})
                break
            except ValueError as error:
                show(f"  {typed!r} is not valid: give {error}.")
    return answers
