"""Which model judges, and how long its answer may be."""

from dataclasses import dataclass

ANSWER_TOKENS = 2_048
"""Enough for a reason of a few sentences, also by a model that thinks first; it bounds what a question costs."""


@dataclass(frozen=True, slots=True)
class JudgeModel:
    """A model that is asked for structured answers.

    Args:
        provider: ``anthropic`` or ``openai``.
        name: as the provider calls it.
        answer_tokens: the most that one answer may hold.
    """

    provider: str
    name: str
    answer_tokens: int = ANSWER_TOKENS
