"""What a turn of a program costs that an import runs: read from its code, which is not executed."""

import ast
import os
import re
import shlex
import sys
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import PurePosixPath

from ratiba_action.authoring.source_folder import SourceFolder
from ratiba_action.errors import SuiteError

ASSUMED_USD = 0.02
"""What a turn is taken to cost where nothing is known; the report asks a person to confirm it."""
_MODELS = re.compile(
    r"\b(?:OPENAI|ANTHROPIC|GEMINI|MISTRAL|GROQ)_(?:BASE_URL|API_KEY)\b|\b(?:openai|anthropic)\b", re.IGNORECASE
)
"""Signs of a model that is called at an address which the gate gives."""
_ROUTERS = re.compile(
    r"litellm|lang_?(?:chain|graph)|llama_?-?index|haystack|dspy|semantic_kernel|pydantic_?ai|crewai|autogen|instructor",
    re.IGNORECASE,
)
"""Signs of a library that calls models of many providers, most of them at their own addresses."""
_HARMLESS = frozenset(
    {
        *("__future__", "base64", "bisect", "calendar", "collections", "copy", "csv", "dataclasses", "datetime"),
        *("decimal", "enum", "fractions", "functools", "hashlib", "heapq", "html", "itertools", "json", "math"),
        *("operator", "pathlib", "random", "re", "statistics", "string", "sys", "textwrap", "time", "typing"),
        *("unicodedata", "uuid"),
    }
)
"""Modules of Python by which nothing is called."""
_CALLS = frozenset({"breakpoint", "eval", "exec", "compile", "getattr", "globals", "locals", "vars"})
_DOORS = frozenset(
    {
        *("builtins", "codecs", "importlib", "inspect", "io", "modules", "os", "path", "socket", "subprocess", "sys"),
        # What finds a part by its name, or evaluates a text.
        *("*", "attrgetter", "methodcaller", "get_field", "vformat", "get_type_hints", "ForwardRef", "pkgutil"),
        *("singledispatch", "singledispatchmethod", "breakpointhook", "meta_path", "path_hooks"),
        *("f_builtins", "f_globals", "f_locals", "gi_frame", "cr_frame", "ag_frame", "tb_frame"),
    }
)
_FILES_OF_MODULES = (".py", ".pyc", ".so", ".pyd")
_NODE_IMPORT = re.compile(r"""(?:\bfrom|\bimport|\brequire\s*\(|\bimport\s*\()\s*['"]([^'"]+)['"]""")
_NODE_REACHES = re.compile(
    r"\b(?:fetch|XMLHttpRequest|WebSocket|eval|Function|process|globalThis)\b|\.\s*constructor\b|\bimport\s*\(|\["
)
_NODE_HARMLESS = frozenset({"assert", "crypto", "fs", "fs/promises", "path", "url", "util"})


def price_of(
    folder: SourceFolder, name: str, beside: Collection[str] = (), environment: Collection[str] = ()
) -> float | None:
    """The US dollars of a turn of a provider or a prompt that is code, by its name in the configuration.

    Args:
        folder: holds its file.
        beside: the names of all code that runs in one process with it, whose folders Python searches too.
        environment: names of variables that it is given; some of them say where Python searches.

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
    if _ROUTERS.search(text):
        return ASSUMED_USD
    if _MODELS.search(text):
        return None
    files = [path, *(each for other in beside for each in _files_of(other))]
    harmless = _is_node(path, text) or (
        _is_python(path, text, _modules_in(folder, files))
        and not any(each.startswith("PYTHON") for each in environment)
    )
    return 0 if text and harmless else ASSUMED_USD


def price_of_transform(folder: SourceFolder, code: str) -> float | None:
    """The same of what changes a reply: a file, or an expression of JavaScript."""
    if code.startswith("file://"):
        return price_of(folder, code)
    return 0 if _is_node("inline.js", re.sub(r"\[\d+\]", "", code)) else ASSUMED_USD


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


def _modules_in(folder: SourceFolder, files: Collection[str]) -> Collection[str]:
    """Names that stand where Python searches before its own modules: beside the files, and in each folder above."""
    found: set[str] = set()
    for file in (".", *files):
        below = folder.below_top(file)
        place = folder.top / (below or "")
        for each in {place, *place.parents}:
            if each.is_relative_to(folder.top) and each.is_dir():
                with suppress(OSError):  # Python cannot read it either
                    found |= {entry.name for entry in os.scandir(each)}
    return found


def _is_python(path: str, text: str, present: Collection[str]) -> bool:
    """Whether it is Python that imports harmless modules only, and reaches no others.

    Args:
        present: names of files and folders, of which those with a module's name may stand for it.
    """
    if not path.endswith(".py"):
        return False
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return False
    nodes = list(ast.walk(tree))
    imported = {name for node in nodes for name in _imported(node)}
    # A module of Python imports others, for which such a file stands as well.
    stems = {entry.partition(".")[0] for entry in present if entry.endswith(_FILES_OF_MODULES)}
    replaced = imported and stems & sys.stdlib_module_names
    return not replaced and imported.isdisjoint(present) and not any(map(_reaches, nodes))


def _imported(node: ast.AST) -> Collection[str]:
    """The first parts of the names of the modules that a statement imports."""
    if isinstance(node, ast.Import):
        return {each.name.partition(".")[0] for each in node.names}
    return {(node.module or "").partition(".")[0]} if isinstance(node, ast.ImportFrom) else ()


def _reaches(node: ast.AST) -> bool:
    """Whether a part of a program may reach further than a harmless module."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        named = isinstance(node, ast.ImportFrom) and (
            bool(node.level) or any(_is_door(each.name) for each in node.names)
        )
        return named or not _HARMLESS.issuperset(_imported(node))
    if isinstance(node, ast.Attribute):
        return _is_door(node.attr)
    if isinstance(node, ast.MatchClass):
        return any(map(_is_door, node.kwd_attrs))
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str) and "__" in node.value
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
