"""Which known libraries every conversation will import, read from the source of the repository without running it."""

from __future__ import annotations

import ast
import contextlib
import importlib
import os
import re
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

KNOWN = frozenset(
    {
        "aiohttp",
        "alembic",
        "anthropic",
        "fastapi",
        "httpx",
        "jinja2",
        "langchain",
        "langchain_anthropic",
        "langchain_core",
        "langchain_openai",
        "langgraph",
        "openai",
        "psycopg",
        "pydantic",
        "requests",
        "sqlalchemy",
        "yaml",
    }
)
"""Libraries that start no thread when they are imported, and read then no variable that conversations differ in."""

_HTTP = ("httpcore2", "truststore", "anyio._backends._asyncio")
_TRACE_CONTEXT = (
    "opentelemetry.baggage.propagation",
    "opentelemetry.propagators.composite",
    "opentelemetry.trace.propagation.tracecontext",
)
_TRACERS = tuple(f"langchain_core.tracers.{name}" for name in ("context", "run_collector", "stdout"))
LATER = {
    "anthropic": (*_HTTP, *_TRACE_CONTEXT),
    "httpx": ("httpcore", "anyio._backends._asyncio"),
    "langchain": _TRACERS,
    "langchain_anthropic": ("anthropic", *_HTTP, *_TRACE_CONTEXT),
    "langchain_core": _TRACERS,
    "langchain_openai": ("openai.resources.chat.chat", *_HTTP),
    "langgraph": _TRACERS,
    "openai": ("openai.resources.chat.chat", *_HTTP),
}
"""What a known library imports at its first call: every conversation would do it again after the fork."""

_MESSAGE = {"role": "assistant", "content": ""}
ANSWERS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "anthropic": ("anthropic.types", "Message", {**_MESSAGE, "content": [{"type": "text", "text": ""}], "usage": {}}),
    "openai": ("openai.types.chat", "ChatCompletion", {"choices": [{"message": _MESSAGE}], "usage": {}}),
}
"""Module, class and fields of the answer that a client builds its models for at its first call: 10 ms of CPU time."""

_REQUEST: dict[str, Any] = {
    "model": "",
    "messages": [
        {"role": "system", "content": ""},
        {"role": "user", "content": [{"type": "text", "text": ""}]},
        {
            "role": "assistant",
            "tool_calls": [{"id": "", "type": "function", "function": {"name": "", "arguments": ""}}],
        },
        {"role": "tool", "tool_call_id": "", "content": ""},
    ],
    "response_format": {"type": "json_schema", "json_schema": {"name": "", "schema": {}, "strict": True}},
    "tools": [{"type": "function", "function": {"name": "", "parameters": {}}}],
}
"""What OpenAI's client looks up the types of at its first call: 3 ms of CPU time."""

_OWN, _OF_A_CONNECTION = "ratiba_worker.", "encodings.idna"
"""What modules of the gate begin with; what Python imports for the first name of a host."""

_CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR")

MAX_FILES = 200
MAX_ENTRIES = 2000
MAX_BYTES = 1024 * 1024
_ADDRESS = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")


def import_known(adapter: dict[str, Any], root: str) -> None:
    """Import the gate's own adapter and the known libraries that others import, and make what a first call needs.

    What fails is left to the conversation to report.

    Args:
        adapter: ``adapter`` and perhaps ``options``, as a conversation is opened with.
        root: the folder that a conversation imports modules from first.
    """
    values = [adapter["adapter"], *(adapter.get("options") or {}).values()]
    modules = [value.partition(":")[0] for value in values if isinstance(value, str) and _ADDRESS.fullmatch(value)]
    own = [name for name in modules if name.startswith(_OWN)]
    names = known_imports(modules, root)
    for name in (_OF_A_CONNECTION, *own, *names, *(["asyncio"] if may_be_asynchronous(root) else [])):
        with contextlib.suppress(BaseException):
            importlib.import_module(name)
    clients = {name.partition(".")[0] for name in names} & ANSWERS.keys() & sys.modules.keys()
    for module, kind, fields in map(ANSWERS.__getitem__, clients):
        with contextlib.suppress(BaseException):
            getattr(importlib.import_module(module), kind).construct(**fields)
    if "openai" in clients:
        with contextlib.suppress(BaseException):
            types = importlib.import_module("openai.types.chat.completion_create_params")
            importlib.import_module("openai._utils").maybe_transform(_REQUEST, types.CompletionCreateParamsNonStreaming)
    if clients and "httpcore2" in names:
        with contextlib.suppress(BaseException):
            make_contexts(sys.modules["httpcore2"], len(clients))


def may_be_asynchronous(root: str) -> bool:
    """Whether a Python file of a folder has the word ``async``, or there is too much to look through.

    A system without it needs no ``asyncio``, the slowest import of the worker. Any other has it before the fork, and so
    an event loop from its first call on, wherever it imports ``asyncio`` itself.
    """
    files = entries = 0
    for folder, folders, names in os.walk(root):
        entries += len(folders) + len(names)
        sources = [os.path.join(folder, name) for name in names if name.endswith(".py")]  # noqa: PTH118 - as below
        files += len(sources)
        if files > MAX_FILES or entries > MAX_ENTRIES:
            return True
        for source in sources:
            try:
                with open(source, "rb") as file:  # noqa: PTH123 - pathlib costs start-up time
                    content = file.read(MAX_BYTES + 1)
            except OSError:
                continue  # the conversation says what is wrong with it
            if b"async" in content or len(content) > MAX_BYTES:
                return True
    return False


def make_contexts(http: Any, count: int) -> None:
    """Make TLS contexts, which take 25 ms of CPU time each, for as many clients of every conversation.

    Each client still gets one of its own, as it may change it; and another one than these where the environment names
    other certificates, or the system has changed how contexts are made.

    Args:
        http: the library that the clients of Anthropic and OpenAI ask for a context.
    """
    make, made_of = http.default_ssl_context, _contexts_are_made_of()
    made = [make() for _ in range(count)]

    def default_ssl_context(**options: Any) -> Any:
        if options in ({}, {"_trust_env": True}) and _contexts_are_made_of() == made_of:
            with contextlib.suppress(IndexError):
                return made.pop()
        return make(**options)

    http.default_ssl_context = default_ssl_context


def _contexts_are_made_of() -> list[Any]:
    """The standard library's class and function for TLS contexts, and all that the environment gives them."""
    ssl = importlib.import_module("ssl")
    found: list[Any] = [ssl.SSLContext, ssl.create_default_context, os.environ.get("SSLKEYLOGFILE")]
    for place in filter(None, map(os.environ.get, _CERTIFICATES)):
        found.append(place)
        with contextlib.suppress(OSError, ValueError):
            status = os.stat(place)  # noqa: PTH116 - pathlib costs start-up time
            found.append((status.st_mtime_ns, status.st_size, status.st_ino))
    return found


def known_imports(modules: list[str], root: str) -> list[str]:
    """Names of known libraries' modules that modules of a folder import, in the order of their statements.

    What these libraries import later comes after them.
    """
    found: dict[str, None] = {}
    waiting, seen = [*modules], set(modules)
    for name in waiting:
        for file, package in _files(name, root):
            for imported in _imports(file, package):
                top = imported.partition(".")[0]
                if top in KNOWN and not _is_own(top, root):
                    found[imported] = None
                elif imported not in seen and len(seen) < MAX_FILES and _is_own(top, root):
                    seen.add(imported)
                    waiting.append(imported)
    later = (name for top in dict.fromkeys(each.partition(".")[0] for each in found) for name in LATER.get(top, ()))
    return [*dict.fromkeys((*found, *(name for name in later if not _is_own(name.partition(".")[0], root))))]


def _is_own(top: str, root: str) -> bool:
    path = os.path.join(root, top)  # noqa: PTH118 - pathlib costs start-up time
    return os.path.isdir(path) or os.path.isfile(path + ".py")  # noqa: PTH112, PTH113 - the same


def _files(name: str, root: str) -> Iterator[tuple[str, str]]:
    """Each file that the import of a module runs, with the package that its relative imports start from."""
    parts = name.split(".")
    for count in range(1, len(parts) + 1):
        package = ".".join(parts[:count])
        path = os.path.join(root, *parts[:count])  # noqa: PTH118 - as above
        yield os.path.join(path, "__init__.py"), package  # noqa: PTH118 - the same
    yield path + ".py", name.rpartition(".")[0]


def _imports(file: str, package: str) -> Iterator[str]:
    """Names that a file imports when it is imported itself: not in functions, not for type checkers."""
    try:
        with open(file, "rb") as source:  # noqa: PTH123 - as above
            statements: list[Any] = [*ast.parse(source.read(MAX_BYTES)).body]
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return  # the conversation imports it and says what is wrong
    for statement in statements:
        if isinstance(statement, ast.Import):
            yield from (alias.name for alias in statement.names)
        elif isinstance(statement, ast.ImportFrom):
            outer = package.split(".")[: len(package.split(".")) - statement.level + 1] if statement.level else []
            module = ".".join(filter(None, [*outer, statement.module]))
            yield module
            yield from (f"{module}.{alias.name}" for alias in statement.names if alias.name != "*")
        elif isinstance(statement, (ast.Try, ast.With, ast.ClassDef)) or _is_for_all(statement):
            statements += statement.body


def _is_for_all(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.If) and "TYPE_CHECKING" not in ast.dump(statement.test)
