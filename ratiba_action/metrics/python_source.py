"""Parses Python that came out of a model, within bounds; it is never run."""

import ast
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

LANGUAGES = {
    "python": ("python", "py", "python3"),
    "json": ("json",),
    "yaml": ("yaml", "yml"),
}
"""Names that a block may give each language."""

_FENCE = re.compile(r" {0,3}(?P<fence>`{3,}|~{3,})[ \t]*(?P<info>[^\s`]*)")


def code_blocks(text: str, language: str) -> tuple[str, ...]:
    """The blocks of a language, and those that name none, in order.

    Fenced blocks of Markdown, as CommonMark 0.31 §4.5 has them.

    Args:
        text: a reply; a block that is not closed ends with it.
        language: one of ``LANGUAGES``.
    """
    blocks, lines, fence, wanted = list[str](), list[str](), "", False
    for line in text.splitlines():
        opening = _FENCE.match(line)
        if not fence:
            if opening is not None:
                fence, info = opening["fence"], opening["info"].casefold()
                wanted, lines = not info or info in LANGUAGES[language], []
        elif opening is not None and opening["fence"].startswith(fence) and not line[opening.end("fence") :].strip():
            blocks += ["\n".join(lines)] if wanted else []
            fence = ""
        else:
            lines.append(line)
    if fence and wanted:
        blocks.append("\n".join(lines))
    return tuple(blocks)


MAX_CHARACTERS = 100_000
TOO_DEEP = "nested too deep to be parsed"


def parse_python(source: str) -> ast.Module:
    """The tree of a source.

    Raises:
        ValueError: it is too long, nested too deep, or no Python; a ``SyntaxError`` becomes one too.
    """
    if len(source) > MAX_CHARACTERS:
        raise ValueError(f"{len(source):,} characters; at most {MAX_CHARACTERS:,} are parsed")
    try:
        with quiet_source():
            return ast.parse(source)
    except SyntaxError as error:
        raise ValueError(str(error) or type(error).__name__) from error
    except (RecursionError, MemoryError) as error:
        raise ValueError(TOO_DEEP) from error


@contextmanager
def quiet_source() -> Iterator[None]:
    """Python's own warnings about the source, such as of its escapes, are kept back: they are not what is asked."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        warnings.simplefilter("ignore", DeprecationWarning)
        yield
