"""Makes untrusted text safe in GitHub's Markdown.

Whatever a pull request, a customer or a model wrote may appear in a comment, and may not become a link, an image, a
mention, HTML, a second table cell, or a workflow command.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise

ZERO_WIDTH_SPACE = "\u200b"

_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Co"})
_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "|": "&#124;"})
_PUNCTUATION = re.compile(r"([\\*`\[\]~$]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9]))")
_DEFUSED = re.compile(
    r"[@#]|<(?=[!/])|::|(?<=:)//|(?:(?<=\bGH)|(?<=\bCVE)|(?<=\bGHSA))-(?=\w)|(?<=www)\.|:(?=[\w+-]+:)", re.IGNORECASE
)
_OBEYED = re.compile(r"<(?=[!/]|details|summary)|(?<!\S):(?=:)|#(?=#?\[)")
"""In a code block, where GitHub links nothing: workflow commands in a log, and what ends the block elsewhere."""
_PLACE = re.compile(r"(?!.*##\[|['\"(]*@)(['\"(]*)(?=[^/]*/)([\w.~%@#?&=+:,/\[\]{}$!*-]+?)([)'\".,:;]*)", re.ASCII)
"""An address or a path as one word, between quotes or signs of the sentence."""
_TOKEN = re.compile(r"([A-Za-z0-9_-]{7,})")
_COMMIT = re.compile(r"[0-9a-f]{7,64}", re.IGNORECASE)
_MARKS = frozenset({"Mn", "Me"})
_LONGEST_FORM = 4
_MAX_MARKS = 4
"""On one letter: Hebrew has three, Vietnamese two; a stack of more covers the lines around it."""
_LIST_START = re.compile(r"\A(\d{1,9})([.)])(?= |\Z)")
_BLOCK_START = re.compile(r"\A([-+=])")
_HIDDEN = re.compile(r"<!--.*?-->\n?|<details>.*?</details>\n*", re.DOTALL)
_SAFE_CODE = re.compile(r"[A-Za-z0-9_./=-]{1,200}", re.ASCII)


def clean(text: str) -> str:
    """The text without control, direction-changing and other invisible characters; line breaks stay.

    Of the marks on one letter, only the first few stay.
    """
    if text.isascii() and text.isprintable():
        return text
    text = re.sub(r"\r\n?|[\u2028\u2029\x85\x0b\x0c]", "\n", text).replace("\t", " ")
    return "\n".join(line if line.isascii() and line.isprintable() else _visible(line) for line in text.split("\n"))


def _visible(line: str) -> str:
    kept, marks = list[str](), 0
    for character in line:
        category = unicodedata.category(character)
        if category in _INVISIBLE:
            continue
        marks = marks + 1 if category in _MARKS else 0
        if marks <= _MAX_MARKS:
            kept.append(character)
    return "".join(kept)


def defuse(text: str, unsafe: re.Pattern[str] = _DEFUSED) -> str:
    """Insert a zero-width space into what GitHub turns into mentions, references, links or workflow commands.

    HTML comments and end tags are defused too, for renderers less careful than GitHub, and so is whatever becomes any
    of this once its compatibility characters are normalised (NFKC), such as a full-width ``@``.
    """
    if text.isascii():
        return _with_breaks(text, _breaks(text, unsafe))
    forms = [_compatible(character) for character in text]
    breaks, start, parts = _breaks("".join(forms), unsafe), 0, list[str]()
    for character, form in zip(text, forms, strict=True):
        inside = {at - start for at in breaks if start < at < start + len(form)} if len(form) > 1 else set[int]()
        parts += [ZERO_WIDTH_SPACE if start in breaks else "", _with_breaks(form, inside) if inside else character]
        start += len(form)
    return "".join([*parts, ZERO_WIDTH_SPACE if start in breaks else ""])


def defuse_commands(text: str) -> str:
    """Break what a runner obeys and nothing else, where nothing becomes a link: addresses and paths can be copied."""
    return defuse(text, _OBEYED)


def _compatible(character: str) -> str:
    """The form to which a character is normalised; itself where that is a whole phrase, such as of U+FDFA."""
    form = character if character.isascii() else unicodedata.normalize("NFKC", character)
    return form if len(form) <= _LONGEST_FORM else character


def _breaks(text: str, unsafe: re.Pattern[str] = _DEFUSED) -> set[int]:
    """Before which positions a zero-width space belongs."""
    found = set[int]()
    for match in unsafe.finditer(text):
        if match[0] == "::":
            found |= {match.start() + 1, match.end()}
        else:
            found.add(match.start() if match[0] in ("//", ".", "-") else match.end())
    return found


def _with_breaks(text: str, breaks: set[int]) -> str:
    ends = [*sorted(breaks), len(text)]
    return ZERO_WIDTH_SPACE.join(text[start:end] for start, end in pairwise([0, *ends])) if breaks else text


def clip(text: str, limit: int) -> str:
    """At most ``limit`` characters and how many were left out; the text itself where that is no longer."""
    clipped = f"{text[:limit].rstrip()} … ({len(text) - limit} more characters)"
    return text if len(text) <= max(limit, len(clipped)) else clipped


@lru_cache(maxsize=1024)  # a report says the same metrics, languages and names for every conversation
def inline(text: str, limit: int = 300) -> str:
    """Text for a paragraph, a heading or a table cell: one line that shows exactly its characters.

    What GitHub may link as a commit, by 7 digits or more of its id, is shown as code, and so is an address or a path
    that it may link: there it links nothing, and it can still be copied.
    """
    line = " ".join(map(_word, clip(" ".join(clean(text).split()), limit).split(" ")))
    return _BLOCK_START.sub(r"\\\1", _LIST_START.sub(r"\1\\\2", line))


def _word(word: str) -> str:
    place = _PLACE.fullmatch(word)
    if place is not None and _breaks(place[2]):
        return f"{_escaped(place[1])}`{place[2]}`{_escaped(defuse(place[3]))}"
    return "".join(f"`{part}`" if _may_be_commit(part) else _escaped(part) for part in _TOKEN.split(defuse(word)))


def _may_be_commit(token: str) -> bool:
    return any(map(_COMMIT.fullmatch, re.split("[_-]", token))) and _TOKEN.fullmatch(token) is not None


def _escaped(text: str) -> str:
    return _PUNCTUATION.sub(r"\\\1", text).translate(_ENTITIES)


def code(text: str) -> str:
    """A short name as code where that is safe, otherwise as plain text."""
    return f"`{text}`" if _SAFE_CODE.fullmatch(text) else inline(text)


def linked(text: str, url: str) -> str:
    """Markdown as a link; as it is where there is no address.

    Args:
        url: of our own making, with nothing in it that ends a link; empty if unknown.
    """
    return f"[{text}]({url})" if url else text


def fenced(text: str) -> str:
    """A code block whose fence is longer than any run of backticks inside."""
    content = defuse_commands(clean(text)).strip("\n")
    longest = max((len(run) for run in re.findall(r"`+", content)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{content}\n{fence}"


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of cells that are Markdown already; a column whose name ends in a colon is right-aligned."""
    names = [name.rstrip(":") for name in header]
    rules = ["---:" if name.endswith(":") else "---" for name in header]
    lines = [_row(names), _row(rules), *(_row([cell or " " for cell in row]) for row in rows)]
    return "\n".join(lines)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def named(name: str, title: str) -> str:
    """A scenario's id, and its title unless that is empty."""
    return f"{code(name)} {inline(title)}" if title else code(name)


def visible(body: str) -> str:
    """A comment without hidden lines and folded parts."""
    return _HIDDEN.sub("", body).strip()


_IN_LOGS = re.compile(r"<details><summary>(Metrics|Judges|Money|\d+ notes?)</summary>\n(.*?)\n\n</details>", re.DOTALL)


def readable(body: str) -> str:
    """A comment for a log, in which nothing unfolds: metrics, judges, money and notes stand under headings."""
    return visible(_IN_LOGS.sub(r"### \1\n\2", body))


def folded(summary: str, body: str) -> str:
    """A ``<details>`` element; both texts are Markdown already, the summary without line breaks."""
    return f"<details><summary>{summary}</summary>\n\n{body}\n\n</details>"


def length(text: str) -> int:
    """Characters as GitHub counts them: UTF-16 units, so that an emoji counts twice."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
