"""Whether a change to a file, of which a text was sent to a model, may change a text that is sent.

A file of code holds more than its prompts: comments, types, what is logged. Of any other file each byte may be sent,
but for comments of some formats. In doubt the answer is yes: what is sent is compared again when scenarios run.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from ratiba_action.decide.plain_yaml import Node, YamlDoubt, read_yaml_or_doubt
from ratiba_action.decide.python_texts import texts_differ

_LARGEST = 500_000
"""Bytes of a file that is looked into; of generated code nothing is distinguished."""
_PYTHON = ("py", "pyi", "pyw")
_SLASHES = r"//[^\n]*|/\*.*?(?:\*/|\Z)"
_HASH = r"\#[^\n]*"
_JAVASCRIPT = ("js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts")
_COMMENTS: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys((*_JAVASCRIPT, "go", "rs", "java", "kt", "kts"), _SLASHES),
        **dict.fromkeys(("scala", "cs", "swift", "c", "h", "cc", "cpp", "hpp", "dart"), _SLASHES),
        **dict.fromkeys(("rb", "sh", "bash", "ex", "exs"), _HASH),
        "php": f"{_SLASHES}|{_HASH}",
        "sql": r"--[^\n]*|/\*.*?(?:\*/|\Z)",
    }
)
_QUOTED = (
    r'"""(?:\\.|[^\\])*?"""|"(?:\\.|[^"\\])*(?:"|\\?\Z)'
    r"|'''(?:\\.|[^\\])*?'''|'(?:\\.|[^'\\])*(?:'|\\?\Z)"
)
_HEREDOC = r"<<(?:[~-][\"'`]?|<[ \t]*[\"']?|[\"'`]?(?=[A-Z]))(?P<tag>[A-Za-z_]\w*)\b.*?(?:^[ \t]*(?P=tag)\b|\Z)"
_SPANNING: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("rb", "sh", "bash", "php"), f"{_HEREDOC}|{_QUOTED}"),
        **dict.fromkeys(("ex", "exs", "swift", "dart"), _QUOTED),
        "rs": r"""\br(?P<hashes>\#*)".*?(?:"(?P=hashes)|\Z)|"(?:\\.|[^"\\])*(?:"|\\?\Z)""",
        "cs": r"""@\$?"(?:""|[^"])*(?:"|\Z)""",
        **dict.fromkeys(("c", "h", "cc", "cpp", "hpp"), r"""R"(?P<end>[^\s()\\]*)\(.*?(?:\)(?P=end)"|\Z)"""),
    }
)
"""Texts of several lines that the usual quotes do not show; in doubt more is a text. What is not closed goes on to
the file's end, so that each is looked at once."""


def may_change_sent_text(path: str, before: bytes | None, after: bytes | None) -> bool:
    """Whether a text that a model is sent may be another one after a change.

    Args:
        path: of the file, whose ending says what it is.
        before: its content at the base; None where it has none.
        after: its content at the head; None where it has none.
    """
    if before is None or after is None:
        return True
    if before == after:
        return False
    ending = path.rpartition(".")[2].lower() if "." in path.rpartition("/")[2] else ""
    if max(len(before), len(after)) > _LARGEST:
        return True
    try:
        if ending in _PYTHON:
            return texts_differ(before, after)
        texts = _texts_of(ending)
        return texts is None or texts(before) != texts(after)
    except (ValueError, SyntaxError, RecursionError, MemoryError, YamlDoubt):
        return True


def _texts_of(ending: str) -> Callable[[bytes], object] | None:
    """What reads the part of a file that may be sent; None for a kind of which all may be."""
    if ending in _COMMENTS:
        comments = _COMMENTS[ending]
        spanning = _SPANNING.get(ending, r"(?!)")
        return lambda content: list(
            _lines_of_code(
                content.decode("utf-8"),
                comments,
                spanning=spanning,
                whole=ending == "sql",
                same_quotes=ending in _JAVASCRIPT,
            )
        )
    if ending in {"yaml", "yml"}:
        return lambda content: _plain(read_yaml_or_doubt("", content))
    if ending == "toml":
        import tomllib  # few changes have such a file

        return lambda content: repr(tomllib.loads(content.decode("utf-8")))
    if ending == "json":
        return lambda content: _json_values(content.decode("utf-8"))
    lines = _LINES.get(ending)
    return None if lines is None else lambda content: lines(content.decode("utf-8"))


_CATALOGUE_COMMENT = re.compile(r"^#(?:[ .:][^\r\n]*)?\r?\n", re.MULTILINE)
"""Of gettext: what follows other signs is a flag, or a text of before."""
_VARIABLES_COMMENT = re.compile(r"^[ \t]*#[^\r\n]*\r?\n", re.MULTILINE)


def _variables(text: str) -> str:
    """A file of environment variables without comments; whole where a text may go on in a line that looks like one."""
    others = _VARIABLES_COMMENT.sub("", text)
    lines = others.splitlines()
    goes_on = any(line.rstrip().endswith("\\") or "<<" in line for line in lines)
    return text if goes_on or any(line.count(quote) % 2 for line in lines for quote in "\"'`") else others


def _catalogue(text: str) -> str:
    return _CATALOGUE_COMMENT.sub("", text)


_LINES: Mapping[str, Callable[[str], str]] = MappingProxyType({"po": _catalogue, "pot": _catalogue, "env": _variables})


def _json_values(text: str) -> str:
    """The values of a JSON file; a file that is sent as it is written is noticed by the requests of the run."""
    return repr(json.loads(text, object_pairs_hook=tuple, parse_float=lambda number: ("number", number)))


def _plain(node: Node) -> object:
    if isinstance(node.value, dict):
        return [(key, _plain(value)) for key, value in node.value.items()]
    if isinstance(node.value, list):
        return [_plain(value) for value in node.value]
    return node.value


_TEXT = (
    r"(?P<string>\"\"\"(?:\\.|[^\\])*?\"\"\"|\"(?:\\.|[^\"\\\n])*(?:\"|(?=\n)|\\?\Z)"
    r"|'(?:\\.|[^'\\\n])*(?:'|(?=\n)|\\?\Z)|`(?:\\.|[^`\\])*(?:`|\\?\Z))"
)
"""What is not closed ends with its line or the file, so that each character is looked at once."""
_REST = r"(?P<line>\n)|(?P<word>\w+)|(?P<space>[^\S\n]+)|(?P<other>.)"
_SINGLE_QUOTED = re.compile(r"'([^'\"\\\n]*)'")
_LOG_LINE = re.compile(
    r"(?:(?:this|self) ?[.>-]+ ?)?(?:console|log|logger|logging|slog|System \. out|puts|println)\b", re.IGNORECASE
)


def _lines_of_code(text: str, comments: str, *, spanning: str, whole: bool, same_quotes: bool) -> Iterator[str]:
    """The lines that hold a text or a name that stands for one, without comments and what is logged.

    Args:
        spanning: expression of the language's texts of several lines.
        whole: every line counts.
        same_quotes: a text is the same in single and in double quotes.
    """
    lines: list[list[tuple[str, str]]] = [[]]
    expression = f"(?P<span>{spanning})|{_TEXT}|(?P<comment>{comments})|{_REST}"
    for found in re.finditer(expression, text, re.DOTALL | re.MULTILINE):
        kind, token = "string" if found["span"] is not None else found.lastgroup or "", found[0]
        if kind == "line":
            lines.append([])
        elif kind not in {"comment", "space"}:
            plain = _SINGLE_QUOTED.fullmatch(token) if kind == "string" and same_quotes else None
            lines[-1].append((kind, token if plain is None else f'"{plain[1]}"'))
    code = [line for line in lines if line and not _LOG_LINE.match(" ".join(token for _, token in line))]
    carriers: set[str] = set()
    for line in code:
        if any(kind == "string" for kind, _ in line):
            assigned = [token for kind, token in line if kind == "word"][:3]
            carriers |= {token for token in assigned if token.lower() not in _KEYWORDS}
    for line in code:
        if whole or any(kind == "string" or token in carriers for kind, token in line):
            yield " ".join(token for _, token in line)


_KEYWORDS = frozenset({
    "const", "let", "var", "val", "export", "default", "public", "private", "static", "final", "string", "return",
    "import", "from", "if", "else", "new", "await", "async", "func", "function", "def", "case", "this", "self",
})  # fmt: skip
