"""What is said in the first conversation that the gate writes, and how a judge would grade it."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FirstWords:
    """A message, its reply, and what the reply must contain.

    Args:
        grade: what the judge of the language says of the reply; empty where no judge is asked.
    """

    message: str
    reply: str
    fact: str
    grade: str = ""


_ENGLISH = FirstWords(
    "Good morning, are you open tomorrow?",
    "Good morning! Yes, we are open tomorrow from 9:00 to 17:00.",
    "9:00",
    "Clear, friendly English that a customer would not want changed.",
)
_SWAHILI = FirstWords(
    "Habari, mko wazi kesho?",
    "Karibu! Ndiyo, kesho tuko wazi kuanzia saa tatu asubuhi hadi saa kumi na moja jioni.",
    "saa tatu asubuhi",
    "Kiswahili cha kawaida na cha heshima, kama mwenyeji angeandika.",
)
_WORDS: Mapping[str, FirstWords] = {"en": _ENGLISH, "sw": _SWAHILI, "mixed": _SWAHILI}


def first_words(language: str) -> FirstWords:
    """The words for a language; English ones, not graded, where there are none of its own."""
    return _WORDS.get(language, FirstWords(_ENGLISH.message, _ENGLISH.reply, _ENGLISH.fact))
