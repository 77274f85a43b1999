"""The adapter's side of one conversation: JSON lines in, the adapter's methods called, JSON lines out.

The adapter's code owns the main thread. Synchronous methods run with no event loop around them; awaitables run on one
loop that lasts for the conversation.
"""

from __future__ import annotations

import importlib
import inspect
import json
import math
import os
import sys
import threading
import traceback
from datetime import datetime
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from . import isolation
from .judge import WorkerJudge
from .lookup import AdapterError, find
from .model_hosts import ModelHosts
from .plain_callable import as_adapter

if TYPE_CHECKING:
    import asyncio
    import socket
    from collections.abc import Callable, Mapping, Sequence
    from types import CodeType, FrameType, TracebackType

    from .reads import OpenedPaths

MAX_LINE = 1024 * 1024
TRACEBACK_TAIL = 8000
MESSAGE_LENGTH = 8000
_BEFORE_EXPLANATION = 1000
"""Characters of a message that one about a host of models follows: the gate shows 2,000."""
MAX_DEPTH = 64
_NETWORK = frozenset(
    {
        "ConnectionError",
        "TimeoutError",
        "TransportError",
        "ModelHostError",
        "APIConnectionError",
        "APIStatusError",
        "OperationalError",
        "InterfaceError",
        # asyncpg has no class for all of them
        "PostgresConnectionError",
        "InsufficientResourcesError",
        "OperatorInterventionError",
        "TransactionRollbackError",
        "LockNotAvailableError",
        # a Redis whose memory somebody else has used up
        "OutOfMemoryError",
    }
)
"""Names of exceptions of Python, HTTPX, the SDKs of models and database drivers whose cause is no code."""


class WorkerConversation:
    """Calls the adapter for one conversation.

    Args:
        adapter: ``module:attribute``, looked up in the current folder first.
        options: what one of the worker's own adapters is made with; None for an adapter of the repository.
        lines: which lines have run; None where nobody asks for them.
        reads: which files were opened to read.
        hosts: which hosts of models were called directly; None where nobody asks for them.
    """

    def __init__(
        self,
        adapter: str,
        options: dict[str, Any] | None = None,
        lines: dict[str, set[int]] | None = None,
        reads: OpenedPaths | None = None,
        hosts: ModelHosts | None = None,
    ) -> None:
        self._lines, self._reads, self.hosts = lines, reads, hosts
        self._root = os.getcwd()  # noqa: PTH109 - compared as text
        self._adapter = _load(adapter, options)
        self._name = adapter
        self._conversation: Any = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def call(self, request: dict[str, Any]) -> Any:
        """Do what one request asks for, and return the plain answer."""
        operation = request["op"]
        if self.hosts is not None:
            self.hosts.begin()
        if operation in ("lines", "reads", "hosts"):
            return self._noted(operation)
        if operation == "migrate":
            migrate = getattr(self._adapter, "migrate", None)
            given = request["database_url"]  # empty without a database: to be loaded was all that was asked for
            return None if migrate is None or not given else self._run(migrate, given)
        if operation == "open":
            self._adapter = as_adapter(self._adapter, self._name)
            self._conversation = self._run(self._method(self._adapter, "open"), _context(request["context"]))
            self._method(self._conversation, "send")
            return None
        if operation == "close":
            close = getattr(self._conversation, "close", None)
            return None if close is None else self._run(close)
        if operation == "deliver" and not callable(getattr(self._conversation, "deliver", None)):
            raise _takes_messages_only(self._conversation, request["argument"])
        return self._run(self._method(self._conversation, operation), request["argument"])

    def _noted(self, operation: str) -> Any:
        """What was noted of the conversation's process so far."""
        if operation == "lines":
            return {file: sorted(lines) for file, lines in (self._lines or {}).items()}
        if operation == "reads":
            return [] if self._reads is None else self._reads.below(self._root)
        return [] if self.hosts is None else self.hosts.reached

    def _method(self, owner: Any, name: str) -> Callable[..., Any]:
        method = getattr(owner, name, None)
        if not callable(method):
            kind = "adapter" if owner is self._adapter else "conversation"
            raise AdapterError(f"the {kind} of {self._name!r} ({type(owner).__name__}) has no method {name}()")
        found: Callable[..., Any] = method
        return found

    def _run(self, method: Callable[..., Any], *arguments: Any) -> Any:
        if "asyncio" in sys.modules:  # what is synchronous may look for the loop itself
            self._open_loop()
        result = method(*arguments)
        return self._open_loop().run_until_complete(_awaited(result)) if inspect.isawaitable(result) else result

    def _open_loop(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            import asyncio  # the slowest import of all, which many systems do not need

            self._loop = asyncio.new_event_loop()
            asyncio.set_event_loop(self._loop)
        return self._loop


def _takes_messages_only(conversation: Any, event: dict[str, Any]) -> AdapterError:
    kind = type(conversation).__name__
    return AdapterError(
        f"the system takes messages only, not the event {event.get('type')!r}: {kind} has no method deliver()"
    )


async def _awaited(result: Any) -> Any:
    return await result


def _context(fields: dict[str, Any]) -> SimpleNamespace:
    return SimpleNamespace(**{**fields, "now": datetime.fromisoformat(fields["now"])})


def _look_in_the_copy() -> None:
    isolation.look_in(os.getcwd())  # noqa: PTH109 - sys.path holds strings
    sys.dont_write_bytecode = False  # the copy is ours to write to, and the next conversation starts faster


def _load(adapter: str, options: dict[str, Any] | None) -> Any:
    _look_in_the_copy()
    found = find(adapter)
    if options is not None:
        return found(options)
    return found() if isinstance(found, type) else found


def replace_files(files: Mapping[str, Mapping[str, Any]], root: str) -> None:
    """Write other contents of some files before they are imported; what is right already stays.

    Args:
        files: by path below the root: ``text``, and ``time`` in seconds of the epoch, by which Python's own cache of
            compiled files distinguishes this content from every other one of the same length.
        root: the copy that this process may write to.
    """
    for name, file in files.items():
        path = os.path.join(root, name)  # noqa: PTH118 - pathlib costs start-up time
        if os.path.isfile(path) and int(os.stat(path).st_mtime) == file["time"]:  # noqa: PTH113, PTH116 - the same
            continue
        fresh = f"{path}.{os.getpid()}"
        with open(fresh, "w", encoding="utf-8", newline="") as stream:  # noqa: PTH123 - the same
            stream.write(file["text"])
        os.utime(fresh, (file["time"], file["time"]))
        os.replace(fresh, path)  # noqa: PTH105 - the same


def trace_lines(root: str, files: Sequence[str] | None = None) -> dict[str, set[int]]:
    """From now on: the lines of the repository's files that this process runs, by path; filled while it runs.

    From 3.12 on, Python reports each line once, which is cheap. Until then it reports every call of every library,
    which may double the time of a conversation, so where single files are asked for, nothing is noted.

    Args:
        files: below the root; None for all of the repository's.
    """
    found: dict[str, set[int]] = {}
    wanted = None if files is None else {f"{root}{os.sep}{file}" for file in files}

    def lines_of(code: CodeType) -> set[int] | None:
        file = code.co_filename
        if not (_is_of_repository(file, root) if wanted is None else file in wanted):
            return None
        return found.setdefault(file[len(root) + 1 :], set())

    if (sys.version_info >= (3, 12) and _monitor_lines(lines_of)) or files is not None:
        return found

    def enter(frame: FrameType, _event: str, _argument: object) -> Any:
        lines = lines_of(frame.f_code)
        if lines is None:
            return None

        def inside(frame: FrameType, event: str, _argument: object) -> Any:
            if event == "line":
                lines.add(frame.f_lineno)
            return inside

        return inside

    threading.settrace(enter)
    sys.settrace(enter)
    return found


if sys.version_info >= (3, 12):
    _UNNAMED_TOOLS = (3, 4)

    def _monitor_lines(lines_of: Callable[[CodeType], set[int] | None]) -> bool:
        """Note the lines that run by Python's monitoring; False where tools of the system have taken every place."""
        monitoring = sys.monitoring
        # The others belong to debuggers, coverage, profilers and optimizers, which a system may use itself.
        tool = next((place for place in _UNNAMED_TOOLS if monitoring.get_tool(place) is None), None)
        if tool is None:
            return False

        def started(code: CodeType, _offset: int) -> object:
            if lines_of(code) is not None:
                monitoring.set_local_events(tool, code, monitoring.events.LINE)
            return monitoring.DISABLE

        def ran(code: CodeType, line: int) -> object:
            lines = lines_of(code)
            if lines is not None:
                lines.add(line)
            return monitoring.DISABLE

        monitoring.use_tool_id(tool, "ratiba")
        monitoring.register_callback(tool, monitoring.events.PY_START, started)
        monitoring.register_callback(tool, monitoring.events.LINE, ran)
        monitoring.set_events(tool, monitoring.events.PY_START)
        return True


def serve(connection: socket.socket, reads: OpenedPaths | None = None) -> None:
    """Answer requests until the gate asks to close or goes away.

    Args:
        reads: notes which files are opened; None where nobody does.
    """
    lines = connection.makefile("rb")
    first = json.loads(lines.readline() or b"null")
    if first is None:
        return
    if "folder" in first:
        _move(first["folder"], first["folders"])
    owner, root = os.getpid(), os.getcwd()  # noqa: PTH109 - compared as text
    os.environ.update(first["environment"])
    if first["op"] in ("measure", "describe", "test"):
        answer = _measured(first, root, WorkerJudge(connection, lines, first["id"], allowed=first["judge"]))
        if os.getpid() == owner:
            connection.sendall(_encode(answer))
        return
    conversation, answer = _begin(first, root, reads)
    while True:
        if os.getpid() != owner:
            os._exit(0)  # a fork inside the adapter came back here; only the original may answer
        connection.sendall(_encode(answer))
        line = lines.readline()
        if not line or conversation is None:
            return
        request = json.loads(line)
        answer = _answer(conversation, request, root)
        if request["op"] == "close":
            if os.getpid() == owner:
                connection.sendall(_encode(answer))
            return


def _move(folder: str, folders: dict[str, str]) -> None:
    """Go to the conversation's own folder, with its own for temporary files."""
    os.chdir(folder)
    os.environ.update(folders)
    if "tempfile" in sys.modules:
        vars(sys.modules["tempfile"])["tempdir"] = None  # chosen anew: the fork server may have looked its own up


def _measured(request: dict[str, Any], root: str, judge: WorkerJudge) -> dict[str, Any]:
    """The answer to the one request of a process that measures."""
    from . import measuring  # preloaded where something is measured; a system needs none of it

    try:
        _look_in_the_copy()
        if request["op"] == "describe":
            return {"id": request["id"], "answer": measuring.describe(request["adapter"], judge)}
        if request["op"] == "test":
            return {"id": request["id"], "answer": measuring.run_test(request["node"], request["known"], judge)}
        return {"id": request["id"], "answer": measuring.measure(request["adapter"], request["evidence"], judge)}
    except BaseException as problem:  # noqa: BLE001 - a metric may raise anything, SystemExit too
        error = _describe(problem, root)
        return {"id": request["id"], "error": {**error, "message": error["message"] + isolation.explanation(root)}}


def _begin(
    request: dict[str, Any], root: str, reads: OpenedPaths | None
) -> tuple[WorkerConversation | None, dict[str, Any]]:
    hosts = ModelHosts() if request.get("hosts") else None
    if hosts is not None:
        hosts.install()
    try:
        replace_files(request.get("files", {}), root)
        trace = request.get("trace")
        lines = None if trace is None else trace_lines(root, trace["files"])
        conversation = WorkerConversation(request["adapter"], request.get("options"), lines, reads, hosts)
    except BaseException as problem:  # noqa: BLE001 - an import may raise anything, SystemExit too
        loading = not _is_of_the_network(type(problem))
        return None, {"id": request["id"], "error": {**_describe(problem, root, hosts), "loading": loading}}
    return conversation, _answer(conversation, request, root)


def _answer(conversation: WorkerConversation, request: dict[str, Any], root: str) -> dict[str, Any]:
    try:
        return {"id": request["id"], "answer": conversation.call(request)}
    except BaseException as problem:  # noqa: BLE001 - an adapter may raise anything, SystemExit too
        return {"id": request["id"], "error": _describe(problem, root, conversation.hosts)}


def _describe(problem: BaseException, root: str, hosts: ModelHosts | None = None) -> dict[str, Any]:
    kind = type(problem)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    try:
        message = str(problem)
    except Exception:  # noqa: BLE001 - a broken __str__ must not hide the exception's type
        message = "(its message cannot be shown)"
    if explanation := hosts.explain(problem) if hosts is not None else "":
        message = f"{message[:_BEFORE_EXPLANATION]}{explanation}"
    try:
        frames = _adapter_frames(problem)
        lines = traceback.format_exception(kind, problem, frames) if frames else []
        tail = "".join(lines)[-TRACEBACK_TAIL:].replace(root + os.sep, "")
        place = None if _is_of_the_network(kind) else _place(problem, root)
    except Exception:  # noqa: BLE001 - the same
        tail, place = "", None
    return {"type": name[:200], "message": message[:MESSAGE_LENGTH], "traceback": tail, "place": place}


def _is_of_the_network(kind: type[BaseException]) -> bool:
    """Whether an exception says that something else did not answer, by the names of its classes."""
    names = {ancestor.__name__ for ancestor in kind.__mro__}
    return not names.isdisjoint(_NETWORK)


def _place(problem: BaseException, root: str) -> dict[str, Any] | None:
    """The last frame in a file of the repository; None where no frame is in one."""
    place, frames = None, problem.__traceback__
    while frames is not None:
        code = frames.tb_frame.f_code
        if _is_of_repository(code.co_filename, root):
            place = {"file": code.co_filename[len(root) + 1 :], "line": frames.tb_lineno, "function": code.co_name}
        frames = frames.tb_next
    if isinstance(problem, SyntaxError) and _is_of_repository(problem.filename or "", root):
        place = {"file": str(problem.filename)[len(root) + 1 :], "line": problem.lineno or 0, "function": "<module>"}
    return place


def _is_of_repository(file: str, root: str) -> bool:
    return file.startswith(root + os.sep) and "/site-packages/" not in file and "/dist-packages/" not in file


def _adapter_frames(problem: BaseException) -> TracebackType | None:
    """The traceback from the adapter's first frame on; ours and those of the import say nothing to its author."""
    own = os.path.dirname(__file__)  # noqa: PTH120 - compared as text
    frames = problem.__traceback__
    while frames is not None:
        file = frames.tb_frame.f_code.co_filename
        if not file.startswith((own, "<frozen importlib", importlib.__file__)):
            break
        frames = frames.tb_next
    return frames


def _encode(answer: dict[str, Any]) -> bytes:
    try:
        line = json.dumps(answer, allow_nan=False).encode("ascii") + b"\n"
    except (TypeError, ValueError, RecursionError) as problem:
        message = _unsendable(answer.get("answer"), "answer", 0) or f"the answer cannot be sent: {problem}"
        line = _refusal(answer, "AnswerNotJson", message)
    if len(line) > MAX_LINE:
        line = _refusal(answer, "AnswerTooLong", f"{len(line):,} bytes, at most {MAX_LINE:,} are read")
    return line


def _refusal(answer: dict[str, Any], kind: str, message: str) -> bytes:
    error = {"type": kind, "message": message[:MESSAGE_LENGTH], "traceback": ""}
    return json.dumps({"id": answer["id"], "error": error}).encode("ascii") + b"\n"


def _unsendable(value: Any, path: str, depth: int) -> str:
    """Where in an answer is something that JSON has no word for; empty when only its depth or a circle is at fault."""
    if value is None or isinstance(value, (str, int)) or depth > MAX_DEPTH:
        return ""
    if isinstance(value, float):
        return "" if math.isfinite(value) else f"`{path}` is {float(value)!r}, which is not a JSON number"
    if isinstance(value, dict):
        for key in value:
            if key is not None and not isinstance(key, (str, int, float)):
                return f"`{path}` has a key of type {type(key).__name__}, not a text"
        parts = [(item, f"{path}[{str(key)[:80]!r}]") for key, item in value.items()]
    elif isinstance(value, (list, tuple)):
        parts = [(item, f"{path}[{index}]") for index, item in enumerate(value)]
    else:
        return f"`{path}` is of type {type(value).__name__}, which JSON cannot hold"
    return next(filter(None, (_unsendable(item, name, depth + 1) for item, name in parts)), "")
