"""Every message of the product stands in ``tests/messages``, one file a package, so that somebody reads a new one.

A message is a string literal of ``ratiba_action`` with at least two words in a row; in an f-string, ``{…}`` stands for
each value. Docstrings, SQL and patterns of regular expressions are none. The templates of the reports have snapshots of
their own. ``CONTRIBUTING.md`` says how a message is read; ``make messages`` writes the snapshots again.
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "ratiba_action"
SNAPSHOTS = Path(__file__).parent / "messages"
_WORDS = re.compile(r"[^\W\d_]{2,}[,:;]? +(?:[^\W\d_]{2,}|\{)|\}[,:;]? +[^\W\d_]{2,}")
_NONE = re.compile(
    r"\A\s*(?:WITH|SET|RESET|GRANT|REVOKE|ALTER|BEGIN|DROP|INSERT|FETCH|ROLLBACK|PERFORM|DECLARE|IF) "
    r"|\b(?:SELECT|FROM pg_|RAISE EXCEPTION|regclass|quote_ident|EXECUTE|ALTER TABLE|CREATE TABLE)\b"
    r"|\(\?[:=!<P]|\\[bdAZ]"
)
"""SQL, and patterns."""


def template(node: ast.AST) -> str | None:
    """The text of a string literal, with the expressions of an f-string in braces; None for every other node."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(
            str(part.value) if isinstance(part, ast.Constant) else f"{{{ast.unparse(part.value)}}}"
            for part in node.values
            if isinstance(part, ast.Constant | ast.FormattedValue)
        )
    return None


def messages(node: ast.AST) -> Iterator[str]:
    """Each message below a node, in order."""
    text = template(node)
    if text is None and not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
        for child in ast.iter_child_nodes(node):
            yield from messages(child)
    elif text is not None and _WORDS.search(re.sub(r"\{[^{}]*\}", "{}", text)) and not _NONE.search(text):
        yield text.strip("\n")


def snapshots() -> dict[str, str]:
    """The content of each snapshot by its name: under each module its messages."""
    found: dict[str, list[str]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        answers = list(dict.fromkeys(messages(ast.parse(path.read_text("utf-8")))))
        name = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        lines = ["  " + line.replace("\n", "\n    ") for line in answers]
        found.setdefault(f"{name}.txt", []).extend(
            ["", str(path.relative_to(PACKAGE.parent)), *lines] if answers else []
        )
    return {name: "\n".join(lines[1:]) + "\n" for name, lines in found.items() if lines}


def test_every_message_has_been_read() -> None:
    assert {path.name: path.read_text("utf-8") for path in SNAPSHOTS.iterdir()} == snapshots(), "run: make messages"


if __name__ == "__main__" and sys.argv[1:] == ["--write"]:
    for written in SNAPSHOTS.iterdir():
        written.unlink()
    for file, content in snapshots().items():
        (SNAPSHOTS / file).write_text(content, "utf-8")
