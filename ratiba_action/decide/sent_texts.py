"""Whether a change to a file, of which a text was sent to a model, may change a text that is sent.

A file of code holds more than its prompts: comments, types, what is logged. Of any other file each byte may be sent,
but for comments of some formats. In doubt the answer is yes: what is sent is compared again when scenarios run.
"""

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType

from ratiba_action.decide.plain_yaml import Node, YamlDoubt, read_yaml_or_doubt

_LARGEST = 500_000
"""Bytes of a file that is looked into; of generated code nothing is told apart."""
_PYTHON = (".py", ".pyi", ".pyw")
_SLASHES = r"//[^\n]*|/\*.*?(?:\*/|\Z)"
_HASH = r"\#[^\n]*"
_COMMENTS: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts", "go", "rs", "java", "kt"), _SLASHES),
        **dict.fromkeys(("kts", "scala", "cs", "swift", "c", "h", "cc", "cpp", "hpp", "dart"), _SLASHES),
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
_LOGS = re.compile(r"_*(?:log|logger|logging|warnings|console)", re.IGNORECASE)
_LEVELS = frozenset({
    "trace", "debug", "info", "warning", "warn", "error", "exception", "critical", "fatal", "log",
})  # fmt: skip
_UNSENT_CALLS = frozenset({"print", "getLogger", "get_logger", "TypeVar", "ParamSpec", "NewType"})
_UNSENT_NAMES = frozenset({"__all__", "__version__", "__author__", "__slots__"})
_PLAIN_DECORATORS = frozenset({
    "property", "staticmethod", "classmethod", "cached_property", "cache", "lru_cache", "dataclass", "override",
    "overload", "contextmanager", "asynccontextmanager", "abstractmethod", "wraps", "unique",
})  # fmt: skip
_PLAIN_BASES = frozenset({
    "object", "ABC", "Protocol", "Enum", "StrEnum", "IntEnum", "Flag", "IntFlag", "str", "int", "Exception",
})  # fmt: skip
"""Of classes whose docstring nothing reads; a tool's schema, which may hold one, is compared when scenarios run."""
_SENT_ANNOTATIONS = frozenset({"Annotated", "Literal"})
_DOCSTRINGS_READ = re.compile(rb"tool|__doc__|getdoc", re.IGNORECASE)


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
    texts = _texts_of(path.rpartition(".")[2].lower() if "." in path.rpartition("/")[2] else "")
    if texts is None or max(len(before), len(after)) > _LARGEST:
        return True
    try:
        return texts(before) != texts(after)
    except (ValueError, SyntaxError, RecursionError, MemoryError, YamlDoubt):
        return True


def _texts_of(ending: str) -> Callable[[bytes], object] | None:
    """What reads the part of a file that may be sent; None for a kind of which all may be."""
    if f".{ending}" in _PYTHON:
        return _texts_of_python
    if ending in _COMMENTS:
        comments = _COMMENTS[ending]
        spanning = _SPANNING.get(ending, r"(?!)")
        return lambda content: list(
            _lines_of_code(content.decode("utf-8"), comments, spanning=spanning, whole=ending == "sql")
        )
    if ending in {"yaml", "yml"}:
        return lambda content: _plain(read_yaml_or_doubt("", content))
    if ending == "toml":
        import tomllib  # few changes have such a file

        return lambda content: tomllib.loads(content.decode("utf-8"))
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


def _plain(node: Node) -> object:
    if isinstance(node.value, dict):
        return [(key, _plain(value)) for key, value in node.value.items()]
    if isinstance(node.value, list):
        return [_plain(value) for value in node.value]
    return node.value


def _texts_of_python(source: bytes) -> list[str]:
    """Every text of a module that may be sent, and every statement that puts such texts together."""
    tree = _Sendable(docstrings=bool(_DOCSTRINGS_READ.search(source))).visit(ast.parse(source))
    statements = list(_statements(tree.body, ()))
    carrying = _carrying([statement for statement, _ in statements])
    texts: list[str] = []
    for number, (statement, conditions) in enumerate(statements):
        texts += [repr(text) for text in map(_text, ast.walk(statement)) if text is not None]
        if number in carrying:
            texts += [ast.dump(node) for node in (statement, *conditions)]
    return texts


class _Sendable(ast.NodeTransformer):
    """Leaves out what no model is sent: types, what is logged, and docstrings that nothing reads."""

    def __init__(self, *, docstrings: bool) -> None:
        self._docstrings = docstrings
        self._plain = set(_PLAIN_BASES)

    def visit_Module(self, node: ast.Module) -> ast.AST:
        return self._without_docstring(node, kept=self._docstrings)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        kept = self._docstrings or _is_marked(node) or not self._plain.issuperset(map(_last_name, node.bases))
        (self._plain.discard if kept else self._plain.add)(node.name)
        return self._without_docstring(node, kept=kept)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self._without_docstring(node, kept=self._docstrings or _is_marked(node))

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        node.returns = None
        return self._without_docstring(node, kept=self._docstrings or _is_marked(node))

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = _sent_annotation(node.annotation)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        annotation = _sent_annotation(node.annotation)
        if annotation is not None:
            node.annotation = annotation
            return self.generic_visit(node)
        if node.value is None:
            return ast.Pass()
        assigned: ast.AST = self.visit(ast.Assign([node.target], node.value, lineno=node.lineno))
        return assigned

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        named = {target.id for target in node.targets if isinstance(target, ast.Name)}
        return ast.Pass() if named and named <= _UNSENT_NAMES else self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        return ast.Constant(None) if _is_unsent(node.func) else self.generic_visit(node)

    def _without_docstring(
        self, node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef, *, kept: bool
    ) -> ast.AST:
        if not kept and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:]
        return self.generic_visit(node)


def _is_unsent(function: ast.expr) -> bool:
    name = _last_name(function)
    if not isinstance(function, ast.Attribute) or name in _UNSENT_CALLS:
        return name in _UNSENT_CALLS
    return name in _LEVELS and bool(_LOGS.fullmatch(_last_name(function.value)))


def _last_name(node: ast.expr) -> str:
    """The name of a variable or attribute, of what is called for it too: ``logger`` of ``self.logger.bind(a=1)``."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        node = node.func.value
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _is_marked(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a decorator may make a tool of it, whose description is its docstring."""
    called = (each.func if isinstance(each, ast.Call) else each for each in node.decorator_list)
    return any(_last_name(each) not in _PLAIN_DECORATORS for each in called)


def _sent_annotation(annotation: ast.expr | None) -> ast.expr | None:
    """An annotation that describes an argument to a model."""
    names = (_last_name(node) for node in ast.walk(annotation) if isinstance(node, ast.expr)) if annotation else ()
    return annotation if any(name in _SENT_ANNOTATIONS for name in names) else None


def _statements(
    body: Sequence[ast.stmt], conditions: tuple[ast.expr, ...]
) -> Iterator[tuple[ast.AST, tuple[ast.expr, ...]]]:
    """Every statement without those inside it, with the conditions under which it is run."""
    for statement in body:
        inner = [
            name for name in ("body", "orelse", "finalbody", "handlers", "cases") if getattr(statement, name, None)
        ]
        if not inner:
            yield statement, conditions
            continue
        head = [value for name, value in ast.iter_fields(statement) if name not in inner]
        flat = [each for value in head for each in (value if isinstance(value, list) else [value])]
        heads = [each for each in flat if isinstance(each, ast.AST)]
        yield from ((each, conditions) for each in heads)
        tested = tuple(each for each in heads if isinstance(each, ast.expr))
        own = conditions if isinstance(statement, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) else (
            *conditions, *tested
        )  # fmt: skip
        for name in inner:
            yield from _statements(getattr(statement, name), own)


def _text(node: ast.AST) -> str | bytes | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes) else None


def _carrying(statements: Sequence[ast.AST]) -> set[int]:
    """Numbers of the statements that hold a text of several words, or a name that stands for one."""
    users: dict[str, list[int]] = {}
    found: set[int] = set()
    for number, statement in enumerate(statements):
        for node in ast.walk(statement):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value.strip():
                found.add(number)
            elif isinstance(node, ast.Name | ast.Attribute):
                users.setdefault(_last_name(node), []).append(number)
    waiting = list(found)
    while waiting:  # each statement once, since a change may name one after another thousands of times
        for name in _targets(statements[waiting.pop()]):
            fresh = set(users.pop(name, ())) - found
            found |= fresh
            waiting += fresh
    return found


def _targets(statement: ast.AST) -> Iterator[str]:
    """The names that a statement gives a value."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield _last_name(node)


_TEXT = (
    r"(?P<string>\"\"\"(?:\\.|[^\\])*?\"\"\"|\"(?:\\.|[^\"\\\n])*(?:\"|(?=\n)|\\?\Z)"
    r"|'(?:\\.|[^'\\\n])*(?:'|(?=\n)|\\?\Z)|`(?:\\.|[^`\\])*(?:`|\\?\Z))"
)
"""What is not closed ends with its line or the file, so that each character is looked at once."""
_REST = r"(?P<line>\n)|(?P<word>\w+)|(?P<space>[^\S\n]+)|(?P<other>.)"
_LOG_LINE = re.compile(
    r"(?:(?:this|self) ?[.>-]+ ?)?(?:console|log|logger|logging|slog|System \. out|puts|println)\b", re.IGNORECASE
)


def _lines_of_code(text: str, comments: str, *, spanning: str, whole: bool) -> Iterator[str]:
    """The lines that hold a text or a name that stands for one, without comments and what is logged.

    Args:
        spanning: expression of the language's texts of several lines.
        whole: every line counts.
    """
    lines: list[list[tuple[str, str]]] = [[]]
    expression = f"(?P<span>{spanning})|{_TEXT}|(?P<comment>{comments})|{_REST}"
    for found in re.finditer(expression, text, re.DOTALL | re.MULTILINE):
        kind = "string" if found["span"] is not None else found.lastgroup or ""
        if kind == "line":
            lines.append([])
        elif kind not in {"comment", "space"}:
            lines[-1].append((kind, found[0]))
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
