"""Finds the names of an identity table in a text, however they are written.

A text is read word by word, and a word is looked up in a set: the time does not depend on how many names there are.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import dropwhile

from ratiba_action.privacy.plain_text import plain_text

_APOSTROPHES = "'\u2018\u2019\u201b\u02bb\u02bc\u02b9\u2032\u0060\u00b4"
_MARKS = "\u0300-\u036f"
_WORD = re.compile(rf"[^\W\d_](?:[^\W\d_{_APOSTROPHES}]|[{_MARKS}]|[{_APOSTROPHES}](?=[^\W\d_]))*")
_ESCAPES = "\\%&"
"""Signs with which a text may spell a letter in another way."""
_HUMP = re.compile(rf"[^\W\d_](?:(?![A-Z])[^\W\d_]|[{_MARKS}{_APOSTROPHES}])*")
_JOINS = re.compile(r"[\s._\-]{1,3}(?:[^\W\d_]\.?[\s._\-]{1,3})?")
MASKED_NAME = "<name>"
"""Stands where a name stood."""
_MIN_LETTERS = 2
_MAX_LOOKED_FOR = 16
"""Parts of names up to which a text is searched for each of them before its words are read."""
_SURE_STEM = 5
"""Letters of a name from which on its inflected form is taken for it in lower case as well."""
_ENDINGS = ("s", "ni")
"""English plural and possessive; Swahili ``-ni``, at somebody's place."""
_ENCLITICS = (
    # Swahili: a question, a place, which one, a call, and a pronoun that is written together with its noun.
    *("je", "ko", "po", "mo", "pi", "ye", "ee", "wee", "tu"),
    *("wangu", "wako", "wake", "wetu", "wenu", "wao"),
)
_CONTRACTIONS = ("d", "ll", "ve", "re", "m")
"""English, after an apostrophe alone."""
_ALL_ENDINGS = (*_ENDINGS, *_ENCLITICS, *_CONTRACTIONS)
_PREFIXES = ("kwa", "wa", "na", "akina", "kina")
"""Swahili: to, of, with and the family of somebody, written together with a name of at least ``_SURE_STEM`` letters."""
_DRAWN_OUT = re.compile(r"([^\W\d_])\1{2,}\Z")
_TITLES = frozenset(
    {
        *("bw", "bwana", "bi", "bibi", "mama", "baba", "dada", "kaka", "mzee", "ndugu", "shangazi", "mjomba", "babu"),
        *("nyanya", "dkt", "daktari", "mwl", "mwalimu", "mhe", "mheshimiwa", "mchungaji", "mch", "askofu", "padri"),
        *("sheikh", "shehe", "ustadh", "ustaz", "alhaji", "hajj", "chifu", "akina", "kina", "mamake", "babake"),
        *("mr", "mrs", "ms", "miss", "mx", "dr", "prof", "hon", "eng", "esq", "rev", "fr", "sr", "pastor", "sir"),
        *("madam", "madame", "uncle", "auntie", "aunty", "capt", "jr"),
    }
)
_PARTICLES = frozenset({"wa", "ole", "bin", "binti", "bint", "ibn", "van", "von", "de", "da", "du", "la", "al", "el"})
_ALSO_WORDS = frozenset(
    {
        # Swahili
        *("ali", "amani", "asha", "bahati", "baraka", "faraja", "furaha", "habiba", "heri", "imani", "juma", "kamaria"),
        *("malaika", "mosi", "neema", "nuru", "pendo", "radhi", "rehema", "saada", "said", "saumu", "simba", "subira"),
        *("penda", "shukuru", "ombeni", "semeni", "furahi", "subiri"),
        *("tabu", "tatu", "tumaini", "upendo", "zawadi", "salama", "sita", "shida", "mwaka", "kazi", "nane", "too"),
        # English
        *("ann", "april", "art", "august", "ben", "bill", "bob", "chance", "charity", "comfort", "dawn", "daisy"),
        *("drew", "faith", "frank", "gift", "glory", "grace", "grant", "happy", "hope", "ivy", "jack", "joy", "june"),
        *(
            "lily",
            "mark",
            "may",
            "mercy",
            "miles",
            "patience",
            "pat",
            "peace",
            "precious",
            "prudence",
            "purity",
            "rich",
        ),
        *("rob", "rose", "ruby", "sam", "sky", "summer", "sunny", "tom", "victor", "violet", "will"),
    }
)
"""Names that are words too: in lower case they count as names only beside another name or a title."""


@dataclass(frozen=True, slots=True)
class _Named:
    start: int
    end: int
    sure: bool


class NameTable:
    """The people whom a text may name; each part of a listed name counts by itself.

    Case, diacritics, apostrophes, possessives, plurals, Swahili enclitics (``Otienoje``) and prefixes (``kwaotieno``)
    and a drawn-out last letter make no difference, and names may be joined (``AminaYusuf``, ``amina.yusuf``). A name
    inside a longer word is none: Ken is not in Kenya. Titles stay.

    Args:
        names: full names, with or without titles; parts of one letter are left alone.
    """

    def __init__(self, names: Iterable[str]) -> None:
        # A report that is read again names its people by the mask, which is nobody's name.
        keys = {key for name in names for key in _parts(name.replace(MASKED_NAME, " "))}
        self._looked_for = tuple(keys) if len(keys) <= _MAX_LOOKED_FOR else None
        self._keys = keys

    def __bool__(self) -> bool:
        return bool(self._keys)

    def may_be_in(self, text: str) -> bool:
        """Whether a name may stand in a text, found cheaply; False only where ``find`` would find none."""
        if self._looked_for is None or not text.isascii() or any(sign in text for sign in _ESCAPES):
            return bool(self)
        plain = _key(text)
        return any(key in plain for key in self._looked_for)

    def find(self, read: str) -> Iterator[tuple[int, int]]:
        """Where names stand in a text that is read plainly; the parts of one name as one place."""
        for run in _runs(read, self._named(read)):
            yield run[0].start, run[-1].end

    def _named(self, read: str) -> Iterator[_Named]:
        for word in _WORD.finditer(read):
            spans = self._inside(word)
            before = _last_word(read, word.start()) if spans else ""
            for start, end in spans:
                part = read[start:end]
                ordinary = _key(part) in _ALSO_WORDS and part.islower()
                yield _Named(start, end, sure=not ordinary or before in _TITLES)

    def _inside(self, word: re.Match[str]) -> Sequence[tuple[int, int]]:
        """The whole word, its stem, or the parts of several words that stand together."""
        place = self._place(word[0])
        if place is not None:
            return () if _is_mask(word) else ((word.start() + place[0], word.start() + place[1]),)
        if word[0].islower() or word[0][1:].islower():
            return ()
        return tuple(
            (word.start() + hump.start() + place[0], word.start() + hump.start() + place[1])
            for hump in _HUMP.finditer(word[0])
            if hump[0][0].isupper() and (place := self._place(hump[0])) is not None
        )

    def _place(self, word: str) -> tuple[int, int] | None:
        """Where in a word the name stands that it is, without what belongs to the sentence; None for none."""
        key = _key(word)
        end = self._end(word, key, 0)
        if end:
            return 0, end
        if key.startswith(_PREFIXES) and len(key) > _SURE_STEM:
            for prefix in _PREFIXES:
                if key.startswith(prefix) and (end := self._end(word, key.removeprefix(prefix), len(prefix))):
                    return len(prefix), end
        drawn = _DRAWN_OUT.search(word)
        once = drawn and word[: drawn.start() + 1]
        return (0, len(word)) if once and (_key(once) in self._keys) else None

    def _end(self, word: str, key: str, before: int) -> int:
        """Where in a word the name ends that follows a prefix of ``before`` letters; 0 for none."""
        if key in self._keys:
            return len(word) if not before or self._is_sure(key) else 0
        if not key.endswith(_ALL_ENDINGS):
            return 0
        for ending in _ALL_ENDINGS:
            stem = key.removesuffix(ending)
            if len(stem) == len(key) or stem not in self._keys or (before and not self._is_sure(stem)):
                continue
            end = len(word) - len(ending)
            if word[end - 1] in _APOSTROPHES:
                return end - 1
            if ending not in _CONTRACTIONS and self._is_inflected(stem, ending, capital=word[0].isupper()):
                return end
        return 0

    @staticmethod
    def _is_sure(stem: str) -> bool:
        """Whether no word of a language is likely to be a prefix and this name."""
        return len(stem) >= _SURE_STEM and stem not in _ALSO_WORDS

    @staticmethod
    def _is_inflected(stem: str, ending: str, *, capital: bool) -> bool:
        """Whether name and ending are the name: Ali and ``-po`` are ``alipo``, where he is."""
        if len(stem) >= _SURE_STEM:
            return True
        return capital and (ending in _ENDINGS or (len(stem) == _SURE_STEM - 1 and stem not in _ALSO_WORDS))


def _parts(name: str) -> Iterator[str]:
    keys = [_key(word[0]) for word in _WORD.finditer(plain_text(name).read)]
    # A title stands first; further on the same word is a name: Khadija Sheikh.
    untitled = [*dropwhile(_TITLES.__contains__, keys)]
    return (key for key in untitled if len(key) >= _MIN_LETTERS and key not in _PARTICLES)


def _runs(read: str, found: Iterable[_Named]) -> Iterator[Sequence[_Named]]:
    """Names that stand together; those that may be words only where a sure one is among them."""
    run: list[_Named] = []
    for name in found:
        if run and not (name.start == run[-1].end or _JOINS.fullmatch(read, run[-1].end, name.start)):
            yield from _if_sure(run)
            run = []
        run.append(name)
    yield from _if_sure(run)


def _if_sure(run: Sequence[_Named]) -> Iterator[Sequence[_Named]]:
    if any(name.sure for name in run):
        yield run


def _is_mask(word: re.Match[str]) -> bool:
    around = word.string[max(0, word.start() - 1) : word.end() + 1]
    return around == MASKED_NAME


def _last_word(read: str, end: int) -> str:
    match = re.search(r"([^\W\d_]{1,12})\.?\s{1,3}$", read[max(0, end - 20) : end])
    return match[1].casefold() if match else ""


def _key(word: str) -> str:
    """A word without case, diacritics and apostrophes."""
    if word.isascii():
        return word.casefold().replace("'", "").replace("`", "")
    # Without its marks first: to sort thousands of them takes the square of their number.
    bare = "".join(character for character in word if not unicodedata.combining(character))
    letters = unicodedata.normalize("NFKD", bare).casefold()
    return "".join(letter for letter in letters if unicodedata.category(letter) != "Mn" and letter not in _APOSTROPHES)
