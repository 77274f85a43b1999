"""What counts as documentation: a kind of file that nothing runs. A name or a place alone makes none."""

import re

_KINDS = re.compile(
    r".+\.(?:md|markdown|rst|adoc|asciidoc|txt|html?|css|svg|png|jpe?g|gif|webp|avif|ico|bmp|pdf|cff|puml|drawio|mmd"
    r"|woff2?|ttf|otf|mp4|webm)"
    r"|(?:licen[cs]e|copying|notice|authors|contributors|copyright|codeowners|readme|changelog|history)"
    r"(?:-[a-z0-9]+(?:-[0-9.]+)?)?",
    re.IGNORECASE | re.DOTALL,
)


def why_code(path: str, *, executable: bool, content: bytes | None) -> str | None:
    """Why a file is no documentation, None when it is.

    Args:
        path: of the file.
        executable: its mode says that it may be run.
        content: its beginning, None when it is not there.
    """
    name = path.rpartition("/")[2]
    if not _KINDS.fullmatch(name):
        return "its name is not that of a document"
    if executable:
        return "it is executable"
    if content is not None and content.startswith(b"#!"):
        return "it begins with the line of a script ('#!')"
    return None
