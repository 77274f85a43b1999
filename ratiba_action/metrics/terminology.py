"""Does the assistant use the terms of the house, and none of their rivals?

A rival is ``reservation`` where the house says ``booking``. Words are compared without case and diacritics, at their
boundaries, with the affixes of their language: a word list, not a grammar. What the affixes do not cover stands in the
catalogue as an inflection.
"""

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Annotated

from pydantic import Field

from ratiba_action.metrics.turn_scores import TurnValue, mean_of_turns
from ratiba_action.model.canonical import digest
from ratiba_action.model.measurement import Case, Score
from ratiba_action.util.comparable import unicode_form
from ratiba_action.util.text import words
from ratiba_action.util.validation import StrictModel

_TOKEN = re.compile(r"[^\W_]+(?:['\u2018\u2019\u02bc][^\W_]+)*")
_QUOTED = re.compile(
    '"[^"]{1,500}"|\u201c[^\u201d]{1,500}\u201d|\u00ab[^\u00bb]{1,500}\u00bb'
    "|(?<!\\w)['\u2018][^'\u2019]{1,500}['\u2019](?!\\w)"
)
_MIN_STEM = 4
"""Shorter stems take no affix: ``oda`` must not be found in ``modani``."""

_SUBJECT = r"(?:ni|u|a|tu|m|mu|wa|i|li|ya|ki|vi|zi|ku|pa)"
_TENSE = r"(?:na|li|ta|me|ki|ka|nge|ngali|mesha)"
_OBJECT = r"(?:ni|ku|m|mu|tu|wa|i|li|ya|ki|vi|zi)"
_SWAHILI_PREFIX = rf"(?:ma|wa|vi|ki|mi|m|u|n|i|ku(?:to)?{_OBJECT}?|(?:ha|si)?{_SUBJECT}{_TENSE}{_OBJECT}?|{_SUBJECT})"
_SWAHILI_SUFFIX = r"(?:ni|yangu|yako|yake|yetu|yenu|yao|zangu|zako|zake|zetu|zenu|zao)"
_AFFIXES: Mapping[str, tuple[str, str]] = {
    "sw": (_SWAHILI_PREFIX, _SWAHILI_SUFFIX),
    "en": ("", r"(?:e?s)"),
}
_PLURALS = (("mw", "w"), ("m", "wa"), ("m", "mi"), ("ki", "vi"), ("ch", "vy"), ("ji", "ma"))
"""Swahili noun classes whose plural replaces the prefix of the singular."""


@dataclass(frozen=True, slots=True)
class Term:
    """A term of the house.

    Args:
        canonical: what is to be said.
        aliases: what may be said as well, also where it holds a rival: ``reservation desk``.
        inflections: further forms of the rivals that the affixes do not cover.
    """

    canonical: str
    rivals: tuple[str, ...]
    aliases: tuple[str, ...] = ()
    inflections: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RivalUse:
    """A rival in a text, in the words of the text."""

    canonical: str
    text: str


class Catalogue:
    """The terms of a house in one language, ready to be looked for.

    Args:
        language: ISO 639-1 code; ``sw`` and ``en`` bring affixes, others none.
        terms: in order.
    """

    def __init__(self, language: str, terms: Sequence[Term]) -> None:
        self._allowed = [
            _pattern(form, language)
            for term in terms
            for form in (term.canonical, *term.aliases)
            if words(unicode_form(form))
        ]
        self._rivals = [
            (term.canonical, _stems(form, language), _pattern(form, language))
            for term in terms
            for form in (*term.rivals, *term.inflections)
            if words(unicode_form(form))
        ]

    def rivals_in(self, text: str, customer: Sequence[str] = ()) -> tuple[RivalUse, ...]:
        """Each rival that a text says of itself, in order.

        Args:
            customer: what the customer said up to then; a rival in quotation marks that stands there is the customer's.
        """
        # A mark that composes with nothing would end a word.
        text = "".join(character for character in unicode_form(text) if not unicodedata.combining(character))
        tokens = [(_folded(found[0]), found.start(), found.end()) for found in _TOKEN.finditer(text)]
        line = " ".join(word for word, _, _ in tokens)
        starts, at = list[int](), 0
        for word, _, _ in tokens:
            starts.append(at)
            at += len(word) + 1
        # A text without the stem is recognised in microseconds; the affixes around it take a thousand times as long.
        found = [
            (canonical, match.span())
            for canonical, stems, pattern in self._rivals
            if any(stem in line for stem in stems)
            for match in pattern.finditer(line)
        ]
        if not found:
            return ()
        allowed = _Spans(match.span() for pattern in self._allowed for match in pattern.finditer(line))
        quotes = _Spans(_quotes_of(text, customer))
        uses = []
        for canonical, (begin, finish) in found:
            if allowed.cover(begin, finish):
                continue
            first, last = bisect_left(starts, begin), bisect_left(starts, finish) - 1
            start, end = tokens[first][1], tokens[last][2]
            if not quotes.cover(start, end):
                uses.append((start, RivalUse(canonical, text[start:end])))
        return tuple(dict.fromkeys(use for _, use in sorted(uses, key=lambda use: use[0])))


def _stems(form: str, language: str) -> tuple[str, ...]:
    """The form in folded words, and its Swahili plurals."""
    parts = words(unicode_form(form))
    stem = " ".join(parts)
    if language != "sw" or len(parts[0]) < _MIN_STEM:
        return (stem,)
    plurals = (
        plural + parts[0][len(single) :] + stem[len(parts[0]) :]
        for single, plural in _PLURALS
        if parts[0].startswith(single) and len(parts[0]) > len(single) + 2
    )
    return (stem, *plurals)


def _pattern(form: str, language: str) -> re.Pattern[str]:
    """Finds a form, with the affixes of the language, in a line of folded words with a space between any two."""
    parts = words(unicode_form(form))
    prefix, suffix = _AFFIXES.get(language, ("", ""))
    first, last = (any(len(part) >= _MIN_STEM for part in end) for end in (parts[:1], parts[-1:]))
    stems = "|".join(map(re.escape, _stems(form, language)))
    before = f"{prefix}?" if prefix and first else ""
    after = f"{suffix}?" if suffix and last else ""
    return re.compile(rf"(?<!\S){before}(?:{stems}){after}(?!\S)")


def _folded(token: str) -> str:
    return "".join(words(token)) or "\N{REPLACEMENT CHARACTER}"


class _Spans:
    """Parts of a text; a reply may hold thousands, so that none is looked at twice."""

    def __init__(self, spans: Iterable[tuple[int, int]]) -> None:
        ordered = sorted(spans)
        self._starts = [start for start, _ in ordered]
        self._furthest = list(accumulate((end for _, end in ordered), max))

    def cover(self, start: int, end: int) -> bool:
        """Whether one of them holds a place as a whole."""
        before = bisect_right(self._starts, start)
        return bool(before) and end <= self._furthest[before - 1]


def _quotes_of(text: str, customer: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Where a text quotes the customer."""
    customer_words = [f" {' '.join(words(unicode_form(message)))} " for message in customer]
    for match in _QUOTED.finditer(text):
        phrase = " ".join(words(match[0]))
        if phrase and any(f" {phrase} " in message for message in customer_words):
            yield match.span()


__version__ = "1.1.0"

Form = Annotated[str, Field(min_length=1, max_length=200, pattern=r"[^\W_]")]


class TermBlock(StrictModel):
    """A term of the house, and what is said instead."""

    canonical: Form
    rivals: Annotated[list[Form], Field(min_length=1, max_length=200)]
    aliases: Annotated[list[Form], Field(max_length=200)] = Field(default_factory=list)
    inflections: Annotated[list[Form], Field(max_length=200)] = Field(default_factory=list)


class CatalogueBlock(StrictModel):
    """The terms of a house in one language."""

    language: Annotated[str, Field(pattern=r"^[a-z]{2}$")]
    terms: Annotated[list[TermBlock], Field(min_length=1, max_length=1_000)]


class TerminologyMetric:
    """Implements ``Metric`` without a judge: the share of the replies that say no rival."""

    name = "TerminologyMetric"
    judged = False

    class Parameters(StrictModel):
        """What the scenario gives it."""

        catalogue: CatalogueBlock = Field(description="a file `*.terms.yaml`, relative to the scenario's folder")

    def __init__(self, parameters: Parameters) -> None:
        block = parameters.catalogue
        self.version = f"{__version__}+{digest(block.model_dump())[:12]}"
        self._catalogue = Catalogue(
            block.language,
            [
                Term(term.canonical, tuple(term.rivals), tuple(term.aliases), tuple(term.inflections))
                for term in block.terms
            ],
        )

    async def measure(self, case: Case, threshold: float) -> Score:
        """Score each reply that says anything."""
        values, customer = [], list[str]()
        for number, exchange in enumerate(case.transcript.exchanges, 1):
            customer.append(exchange.turn.user or "")
            if exchange.reply.text.strip():
                uses = self._catalogue.rivals_in(exchange.reply.text, customer)
                detail = ", ".join(f"says {use.text!r} for {use.canonical!r}" for use in uses)
                values.append(TurnValue(number, float(not uses), detail))
        return mean_of_turns(
            self.name, self.version, threshold, values, "Give the conversation a turn that the system answers."
        )
