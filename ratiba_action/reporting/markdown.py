"""Makes untrusted text safe in GitHub's Markdown.

Whatever a pull request, a customer or a model wrote may appear in a comment, and may not become a link, an image, a
mention, HTML, a second table cell, or a workflow command.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence

ZERO_WIDTH_SPACE = "\u200b"

_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Co"})
_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "|": "&#124;"})
_PUNCTUATION = re.compile(r"([\\*`\[\]~$]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9]))")
_DEFUSED = re.compile(r"[@#]|<(?=[!/])|::|(?<=:)//|(?<=\bGH)-(?=\d)|(?<=www)\.|:(?=[\w+-]+:)", re.IGNORECASE)
_LIST_START = re.compile(r"\A(\d{1,9})([.)])(?= |\Z)")
_BLOCK_START = re.compile(r"\A([-+=])")
_HIDDEN = re.compile(r"<!--.*?-->\n?|<details>.*?</details>\n*", re.DOTALL)
_SAFE_CODE = re.compile(r"[A-Za-z0-9_./=-]{1,200}", re.ASCII)


def clean(text: str) -> str:
    """The text without control, direction-changing and other invisible characters; line breaks stay."""
    if text.isprintable():
        return text
    text = re.sub(r"\r\n?|[\u2028\u2029\x85\x0b\x0c]", "\n", text).replace("\t", " ")
    return "\n".join(line if line.isprintable() else _visible(line) for line in text.split("\n"))


def _visible(line: str) -> str:
    return "".join(char for char in line if unicodedata.category(char) not in _INVISIBLE)


def defuse(text: str) -> str:
    """Insert a zero-width space into what GitHub turns into mentions, references, links or workflow commands.

    HTML comments and end tags are defused too, for renderers less careful than GitHub.
    """
    return _DEFUSED.sub(_break, text)


def _break(match: re.Match[str]) -> str:
    found = match.group()
    if found == "::":
        return f":{ZERO_WIDTH_SPACE}:{ZERO_WIDTH_SPACE}"
    if found in ("//", ".", "-"):
        return ZERO_WIDTH_SPACE + found
    return found + ZERO_WIDTH_SPACE


def clip(text: str, limit: int) -> str:
    """At most ``limit`` characters, saying how many were left out."""
    return text if len(text) <= limit else f"{text[:limit].rstrip()} … ({len(text) - limit} more characters)"


def inline(text: str, limit: int = 300) -> str:
    """Text for a paragraph, a heading or a table cell: one line that shows exactly its characters."""
    line = clip(" ".join(clean(text).split()), limit)
    escaped = defuse(_PUNCTUATION.sub(r"\\\1", line)).translate(_ENTITIES)
    return _BLOCK_START.sub(r"\\\1", _LIST_START.sub(r"\1\\\2", escaped))


def code(text: str) -> str:
    """A short name as code where that is safe, otherwise as plain text."""
    return f"`{text}`" if _SAFE_CODE.fullmatch(text) else inline(text)


def fenced(text: str) -> str:
    """A code block whose fence is longer than any run of backticks inside."""
    content = defuse(clean(text)).strip("\n")
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


def visible(body: str) -> str:
    """A comment without hidden lines and folded parts."""
    return _HIDDEN.sub("", body).strip()


def folded(summary: str, body: str) -> str:
    """A ``<details>`` element; both texts are Markdown already, the summary without line breaks."""
    return f"<details><summary>{summary}</summary>\n\n{body}\n\n</details>"


def length(text: str) -> int:
    """Characters as GitHub counts them: UTF-16 units, so that an emoji counts twice."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
