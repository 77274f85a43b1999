"""What GitHub makes links, mentions and emoji of in a comment, beside what Markdown itself marks as a link.

The forms are those of GitHub's documentation ("Autolinked references and URLs", "Mentioning people and teams", "Using
emojis") and of the extension "Autolinks" of GitHub Flavored Markdown. They apply to text outside of code, after
Markdown's escapes and HTML's entities were read. Patterns are wider than GitHub's, never narrower: whether a commit
or a person exists is not asked.
"""

import re
import unicodedata
from collections.abc import Iterator

from markdown_it import MarkdownIt
from markdown_it.token import Token

_FORMS = {
    "address": re.compile(r"(?i)(?:https?|ftp)://|www\."),
    "e-mail address": re.compile(r"[\w.+-]+@[\w-]+\.[\w.-]*\w"),
    "mention": re.compile(r"@\w"),
    "issue": re.compile(r"#\d"),
    "issue by GH": re.compile(r"(?i)\bGH-\d"),
    "advisory": re.compile(r"(?i)\b(?:CVE-\d{4}-\d|GHSA(?:-\w{4}){3})"),
    "commit": re.compile(r"(?i)(?<![0-9a-z])[0-9a-f]{7,64}(?![0-9a-z])"),
    "emoji": re.compile(r":[a-z0-9_+-]+:"),
}


def parse(markdown: str) -> list[Token]:
    """Every token of a text, as GitHub's parser without its extensions sees them."""
    tokens = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).parse(markdown)
    return [inner for token in tokens for inner in (token, *(token.children or []))]


def links_of(markdown: str) -> list[str]:
    """Kind and text of everything that would become a link, a mention, an image or an emoji; at best none."""
    tokens = parse(markdown)
    found = [token.type for token in tokens if token.type in ("image", "link_open")]
    for text in _texts(tokens):
        for read in (text, unicodedata.normalize("NFKC", text)):
            found += [f"{kind}: {match[0]}" for kind, form in _FORMS.items() for match in form.finditer(read)]
    return found


def _texts(tokens: list[Token]) -> Iterator[str]:
    """The texts between what is no text: code stands apart, and text that Markdown read in pieces is one."""
    together = ""
    for token in tokens:
        if token.type == "text":
            together += token.content
            continue
        yield together
        together = ""
    yield together
