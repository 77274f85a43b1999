"""What a turn of a program costs that an import runs: read from its code, which is not executed."""

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import PurePosixPath

from ratiba_action.authoring.imports import SourceFolder
from ratiba_action.errors import SuiteError

ASSUMED_USD = 0.02
"""What a turn is taken to cost where nothing is known; the report asks a person to confirm it."""
_MODELS = re.compile(
    r"(OPENAI|ANTHROPIC|GEMINI|MISTRAL|GROQ)_(BASE_URL|API_KEY)|openai|anthropic|litellm|langchain", re.IGNORECASE
)
"""Signs of a model that is called at an address which the gate gives."""
_HARMLESS = frozenset(
    {
        *("__future__", "base64", "bisect", "calendar", "collections", "copy", "csv", "dataclasses", "datetime"),
        *("decimal", "enum", "fractions", "functools", "hashlib", "heapq", "html", "itertools", "json", "math"),
        *("operator", "pathlib", "random", "re", "statistics", "string", "sys", "textwrap", "time", "typing"),
        *("unicodedata", "uuid"),
    }
)
"""Modules of Python by which nothing is called."""
_CALLS = frozenset({"eval", "exec", "compile", "getattr", "globals", "vars"})
_DOORS = frozenset({"builtins", "codecs", "importlib", "inspect", "io", "modules", "os", "path", "socket", "sys"})
_NODE_IMPORT = re.compile(r"""(?:\bfrom|\bimport|\brequire\s*\(|\bimport\s*\()\s*['"]([^'"]+)['"]""")
_NODE_REACHES = re.compile(
    r"\b(?:fetch|XMLHttpRequest|WebSocket|eval|Function|process|globalThis)\b|\.\s*constructor\b|\bimport\s*\(|\["
)
_NODE_HARMLESS = frozenset({"assert", "crypto", "fs", "fs/promises", "path", "url", "util"})


def price_of(folder: SourceFolder, name: str) -> float | None:
    """The US dollars of a turn of a provider or a prompt that is code, by its name in the configuration.

    Args:
        folder: holds its file.

    Returns:
        0 where its code calls nothing; None where it calls models at the address that the gate gives it, which counts
        their cost; else ``ASSUMED_USD``.
    """
    if name == "echo":
        return 0
    path = next(_files_of(name), "")
    try:
        text = folder.text(path) if path else ""
    except SuiteError:
        return ASSUMED_USD
    if _MODELS.search(text):
        return None
    return 0 if text and (_is_python(path, text) or _is_node(path, text)) else ASSUMED_USD


def _files_of(name: str) -> Iterator[str]:
    """The only file of code that a provider's name runs."""
    if name.startswith("exec:"):
        try:
            words = shlex.split(name.removeprefix("exec:"))
        except ValueError:
            return
        if len(words) == 2 and re.fullmatch(r"python[\d.]*|node", PurePosixPath(words[0]).name):  # noqa: PLR2004
            yield words[1].removeprefix("./")
    elif name.startswith(("file://", "python:")):
        yield name.removeprefix("file://").removeprefix("python:").removeprefix("./").partition(":")[0]


def _is_python(path: str, text: str) -> bool:
    """Whether it is Python that imports harmless modules only, and reaches no others."""
    if not path.endswith(".py"):
        return False
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return False
    return not any(map(_reaches, ast.walk(tree)))


def _reaches(node: ast.AST) -> bool:
    """Whether a part of a program may reach further than a harmless module."""
    if isinstance(node, ast.Import):
        return bool({each.name.partition(".")[0] for each in node.names} - _HARMLESS)
    if isinstance(node, ast.ImportFrom):
        named = any(map(_is_door, (each.name for each in node.names)))
        return bool(node.level) or named or (node.module or "").partition(".")[0] not in _HARMLESS
    if isinstance(node, ast.Attribute):
        return _is_door(node.attr)
    return isinstance(node, ast.Name) and (node.id in _CALLS or node.id.startswith("__"))


def _is_door(name: str) -> bool:
    """Whether a part of a harmless module leads to another module."""
    return name.startswith("_") or name in _DOORS


def _is_node(path: str, text: str) -> bool:
    """Whether it is JavaScript or TypeScript that imports harmless modules only, and reaches no others."""
    if not path.endswith((".js", ".cjs", ".mjs", ".ts")):
        return False
    named = {each.removeprefix("node:") for each in _NODE_IMPORT.findall(text)}
    counted = len(re.findall(r"\brequire\b|\bimport\b", text))
    return named <= _NODE_HARMLESS and counted <= len(_NODE_IMPORT.findall(text)) and not _NODE_REACHES.search(text)
