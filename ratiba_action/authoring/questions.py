"""The questions of ``ratiba init``."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from ratiba_action.authoring.starter_answers import CODE_MODES, KINDS, StarterAnswers
from ratiba_action.settings.input_values import parse_name

Ask = Callable[[str], str]
"""Shows a question and gives what was typed."""

_LANGUAGE = re.compile(r"[a-z]{2,3}|mixed")


def parse_kind(text: str) -> str:
    """One of ``KINDS``.

    Raises:
        ValueError: it is another.
    """
    if text not in KINDS:
        raise ValueError(f"one of {', '.join(KINDS)}")
    return text


def parse_code_mode(text: str) -> str:
    """One of ``CODE_MODES``.

    Raises:
        ValueError: it is another.
    """
    if text not in CODE_MODES:
        raise ValueError(f"one of {', '.join(CODE_MODES)}")
    return text


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
    "kind": ("How does the gate speak with your system?", parse_kind),
    "language": ("Which language do your customers write? An ISO 639 code", parse_language),
    "prompts": ("Where are the prompt files? Patterns such as prompts/*.md, nothing for none", parse_prompts),
    "name": ("What is this gate called?", parse_name),
    "code": ("Does a failure after a change of code, not only of prompts, stop a merge?", parse_code_mode),
}


_CHOICES: Mapping[str, Mapping[str, str]] = {"kind": KINDS, "code": CODE_MODES}
"""Answers that are explained before the question."""


def ask_everything(proposed: StarterAnswers, ask: Ask, tell: Callable[[str], None]) -> StarterAnswers:
    """Ask until each answer can be used; nothing typed takes what is proposed."""
    answers = proposed
    for name, (question, parse) in _QUESTIONS.items():
        for choice, summary in _CHOICES.get(name, {}).items():
            tell(f"  {choice}: {summary}")
        before = getattr(proposed, name)
        shown = " ".join(before) if isinstance(before, tuple) else before
        while typed := ask(f"{question} [{shown}]: ").strip():
            try:
                answers = replace(answers, **{name: parse(typed)})
                break
            except ValueError as error:
                tell(f"  {typed!r} cannot be used: give {error}.")
    return answers
