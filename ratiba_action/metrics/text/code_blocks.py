"""Code in a reply: the fenced blocks of Markdown, as CommonMark 0.31 §4.5 has them."""

import re

LANGUAGES = {
    "python": ("python", "py", "python3"),
    "json": ("json",),
    "yaml": ("yaml", "yml"),
}
"""Names that a block may give each language."""

_FENCE = re.compile(r" {0,3}(?P<fence>`{3,}|~{3,})[ \t]*(?P<info>[^\s`]*)")


def code_blocks(text: str, language: str) -> tuple[str, ...]:
    """The blocks of a language, and those that name none, in order.

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
