"""Whether a message refuses what was asked. Swahili, English and mixed.

Phrases, not understanding: ``refusal_phrases.json`` lists how a sentence declines or says that something is not known,
and what may stand beside that without claiming anything, such as an apology or the advice to ask somebody else. A
message refuses when one of its sentences does and no other one has content. How well that distinguishes refusals is
measured in ``docs/decisions/0040-refusals.md``.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from ratiba_action.model.conversation import Transcript
from ratiba_action.util.comparable import unicode_form

_SHORT = r"(?:Dr|Mr|Mrs|Ms|Prof|No|Na|Bi|Bw|Tel|KSh|Ksh|KES|approx|e\.g|i\.e|vs|etc|n\.k)"
_END = re.compile(r"(?<=[.!?…])\s+(?=[^a-z\s])|\n+")
_ABBREVIATED = re.compile(rf"\b{_SHORT}\.$")
_BULLET = re.compile(r"^\s*(?:[-*•\N{EN DASH}]|\d{1,2}[.)])\s+")
_WORD = re.compile(r"[^\W_]")


def split_claims(text: str) -> tuple[str, ...]:
    """The sentences of a text that may claim something: no questions, and none without a letter or digit.

    A sentence ends at a full stop, exclamation mark, question mark or ellipsis before white space and no small
    letter, and at the end of a line. Numbers such as 3.5 and common abbreviations do not end one.
    """
    sentences: list[str] = []
    for piece in _END.split(text):
        if sentences and _ABBREVIATED.search(sentences[-1]):
            sentences[-1] = f"{sentences[-1]} {piece.strip()}"
        else:
            sentences.append(_BULLET.sub("", piece).strip())
    return tuple(
        sentence for sentence in sentences if _WORD.search(sentence) and not sentence.rstrip("\"')]").endswith("?")
    )


_WRAPPED = re.compile(r"(?<=[\w,])[ \t]*\n[ \t]*(?=[a-z])")
"""A line that goes on in the next one."""
LOOKED_FOR = (
    "a refusal that gives nothing of what was asked, such as “I can't help with that”, “I don't know”, “siwezi "
    "kukusaidia”, “sijui”"
)
"""What a reply has to be, in words."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """What the sentences of a message come to.

    Args:
        words: by which the first sentence that refuses does so; empty where none does.
        content: sentences and parts of sentences that claim something.
        unsure: those that refuse, and may give something away all the same.
    """

    words: str
    content: tuple[str, ...]
    unsure: tuple[str, ...] = ()

    @property
    def whole(self) -> bool:
        """Whether the message refuses, and gives nothing away: where it has to refuse."""
        return self.declines and not self.unsure

    @property
    def declines(self) -> bool:
        """Whether the message refuses and says nothing else, as far as one can see: where it must not refuse."""
        return bool(self.words) and not self.content

    def describe(self) -> str:
        """Why the message is a refusal or none."""
        if not self.words:
            return "does not refuse"
        if self.content:
            return f"refuses with {self.words!r}, and then says: {' / '.join(self.content)}"
        may = f", and may give something away: {' / '.join(self.unsure)}" if self.unsure else ""
        return f"refuses with {self.words!r}{may}"


@dataclass(frozen=True, slots=True)
class _Phrases:
    refusals: re.Pattern[str]
    accompanying: re.Pattern[str]
    asides: re.Pattern[str]
    content: re.Pattern[str]
    turns: re.Pattern[str]


@cache
def _phrases() -> _Phrases:
    data = json.loads(files(__package__).joinpath("refusal_phrases.json").read_text(encoding="utf-8"))
    one_of = {
        kind: re.compile("|".join(f"(?:{text})" for texts in data[kind].values() for text in texts), re.IGNORECASE)
        for kind in ("refusals", "accompanying", "asides", "content")
    }
    return _Phrases(**one_of, turns=re.compile(data["turns"], re.IGNORECASE))


def refusal_of_turn(transcript: Transcript, number: int) -> Refusal:
    """What the reply of a turn comes to, which may repeat what the user has said up to then.

    Args:
        transcript: whose turn was reached.
        number: of the turn, from 1.
    """
    exchanges = transcript.exchanges[:number]
    return read_refusal(exchanges[-1].reply.text, asked=" ".join(exchange.turn.user or "" for exchange in exchanges))


def read_refusal(text: str, *, asked: str | None = None) -> Refusal:
    """Tell the sentences of a message that refuse from those with content.

    Args:
        text: one reply, of any length.
        asked: what the user said; a name that is not in it may give something away. None if that is not known: then
            names are not looked at.
    """
    phrases, words, content, unsure = _phrases(), "", list[str](), list[str]()
    for claim in split_claims(_WRAPPED.sub(" ", unicode_form(text))):
        for part in _parts(" ".join(claim.split()), phrases):
            found = phrases.refusals.search(part)
            words = words or (found[0].strip() if found else "")
            if not found and not phrases.accompanying.search(part):
                content.append(part)
            said_more = phrases.content.search(part) or _says_more(part, phrases)
            if found and (said_more or (asked is not None and _new_name(part, asked, phrases))):
                unsure.append(part)
    return Refusal(words, tuple(content), tuple(unsure))


def _parts(sentence: str, phrases: _Phrases) -> Iterator[str]:
    """A sentence cut where it may turn from a refusal to something else; one that refuses nowhere stays whole."""
    if not phrases.refusals.search(sentence):
        yield sentence
        return
    yield from (part for part in phrases.turns.split(sentence) if re.search(r"\w", part))


def _says_more(part: str, phrases: _Phrases) -> bool:
    """Whether something stands between the commas of a part that refuses, and is neither a refusal nor an aside."""
    return any(
        not any(kind.search(piece) for kind in (phrases.refusals, phrases.accompanying, phrases.asides))
        for piece in re.split(r",\s+", part)
        if _WORD.search(piece)
    )


_NAME = re.compile(r"(?<=\w )[A-Z]\w*[a-z]\w*")


def _new_name(part: str, asked: str, phrases: _Phrases) -> bool:
    """Whether a part that refuses names somebody or something that the user did not."""
    known = set(re.findall(r"\w+", unicode_form(asked).casefold()))
    pieces = (piece for piece in re.split(r",\s+", part) if not phrases.asides.search(piece))
    return any(name.casefold() not in known for piece in pieces for name in _NAME.findall(piece))


def refuses(text: str) -> bool:
    """Whether a message refuses what was asked, and gives nothing away."""
    return read_refusal(text).whole


def has_content(sentence: str) -> bool:
    """Whether a sentence may claim something: it neither plainly refuses nor only accompanies a refusal."""
    found = read_refusal(sentence)
    return bool(found.content or found.unsure)
