"""A turn on its way to a worker, and the reply on its way back: fields, reported usage, errors."""

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from ratiba_action.errors import SystemRaisedError, WorkerError
from ratiba_action.model.conversation import Document, Reply, ReportedUsage, SystemEvent, ToolCall, Usage
from ratiba_action.model.scenario import Scenario, Turn
from ratiba_action.model.values import JsonObject
from ratiba_action.settings.provider_keys import BUILT_IN
from ratiba_action.util.strict_json import finite_number, refuse_constant
from ratiba_action.util.text import TRACEBACK, clip, printable, printable_lines

MAX_DEPTH = 64
MAX_MESSAGE = 2000
REMEDY = (
    "Answer with `text`, and as needed `state`, `payment`, `tool_calls` (name, args, output), `events` (type, data), "
    "`documents` (id, text, score), `output` and `usage`."
)


def decode_line(line: bytes) -> JsonObject:
    """One line of the protocol.

    Raises:
        WorkerError: it is not a JSON object, or holds NaN, an infinity or a number too long to read.
    """
    try:
        value = json.loads(line, parse_constant=refuse_constant, parse_float=finite_number)
    except (ValueError, RecursionError) as problem:
        raise WorkerError(f"the worker answered {line[:80]!r}, which is not JSON: {problem}.") from problem
    if not isinstance(value, dict):
        raise WorkerError(f"the worker answered {_kind(value)}, not an object.")
    return value


def parse_reply(answer: Any) -> Reply:
    """Check the adapter's answer to one turn field by field.

    Half surrogate pairs, which no UTF-8 file can hold, become U+FFFD.

    Raises:
        WorkerError: a field has the wrong type, is missing or is not known; names the field.
    """
    _check_depth(answer)
    fields = _object(whole(answer), "the answer", required=("text",), allowed=(*Reply.__dataclass_fields__, "usage"))
    return Reply(
        text=_text(fields["text"], "`text`"),
        state=_optional_text(fields.get("state"), "`state`"),
        payment=_optional_text(fields.get("payment"), "`payment`"),
        tool_calls=tuple(
            _tool_call(item, f"`tool_calls[{index}]`")
            for index, item in enumerate(_list(fields.get("tool_calls", []), "`tool_calls`"))
        ),
        events=tuple(
            _event(item, f"`events[{index}]`") for index, item in enumerate(_list(fields.get("events", []), "`events`"))
        ),
        documents=tuple(
            _document(item, f"`documents[{index}]`")
            for index, item in enumerate(_list(fields.get("documents", []), "`documents`"))
        ),
        output=fields.get("output"),
    )


def _document(value: Any, path: str) -> Document:
    fields = _object(value, path, required=("id",), allowed=("id", "text", "score"))
    score = fields.get("score")
    if score is not None and not (type(score) in (int, float) and math.isfinite(score)):
        raise WorkerError(f"`score` of {path} is {_kind(score)}, not a finite number.", REMEDY)
    text = _text(fields.get("text", ""), f"`text` of {path}")
    return Document(_text(fields["id"], f"`id` of {path}"), text, None if score is None else float(score))


def _tool_call(value: Any, path: str) -> ToolCall:
    fields = _object(value, path, required=("name",), allowed=("name", "args", "output"))
    args = _object(fields.get("args", {}), f"`args` of {path}")
    return ToolCall(_text(fields["name"], f"`name` of {path}"), args, fields.get("output"))


def _event(value: Any, path: str) -> SystemEvent:
    fields = _object(value, path, required=("type",), allowed=("type", "data"))
    return SystemEvent(_text(fields["type"], f"`type` of {path}"), _object(fields.get("data", {}), f"`data` of {path}"))


def _object(
    value: Any, path: str, *, required: tuple[str, ...] = (), allowed: tuple[str, ...] | None = None
) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise WorkerError(f"{path} is {_kind(value)}, not an object.", REMEDY)
    missing = [name for name in required if name not in value]
    if missing:
        raise WorkerError(f"{path} has no {missing[0]!r}.", REMEDY)
    unknown = sorted(set(value) - set(allowed)) if allowed is not None else []
    if unknown:
        names = ", ".join(allowed or ())
        raise WorkerError(f"{path} has an unknown field {printable(repr(unknown[0]))[:80]}; known are {names}.", REMEDY)
    return value


def _list(value: Any, path: str) -> list[Any]:
    if not isinstance(value, list):
        raise WorkerError(f"{path} is {_kind(value)}, not a list.", REMEDY)
    return value


def _text(value: Any, path: str) -> str:
    if not isinstance(value, str):
        raise WorkerError(f"{path} is {_kind(value)}, not a text.", REMEDY)
    return value


def _optional_text(value: Any, path: str) -> str | None:
    return None if value is None else _text(value, path)


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a text", bool: "a boolean", int: "a number", float: "a number"}
    return "null" if value is None else names[type(value)]


def _check_depth(value: Any) -> None:
    level, depth = [value], 0
    while level:
        if depth > MAX_DEPTH:
            raise WorkerError(f"the answer is nested deeper than {MAX_DEPTH} levels.", REMEDY)
        level = [item for part in level for item in _items(part)]
        depth += 1


def _items(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def whole(value: Any) -> Any:
    """JSON with each half of a surrogate pair in its texts replaced by U+FFFD."""
    if isinstance(value, str):
        return whole_text(value)
    if isinstance(value, dict):
        return {whole_text(key): whole(item) for key, item in value.items()}
    return [whole(item) for item in value] if isinstance(value, list) else value


def whole_text(text: str) -> str:
    """The text with each half of a surrogate pair replaced by U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def describe_error(error: Any, secrets: Sequence[str]) -> str:
    """What an exception of the adapter says: type, message and the end of its traceback, made safe to show."""
    fields: Mapping[str, Any] = error if isinstance(error, dict) else {"type": "unknown", "message": error}
    kind, message, tail = (str(fields.get(name, "")) for name in ("type", "message", "traceback"))
    # Hidden before it is cut, so that no part of a secret is left at the edge.
    parts = [f"{hide(kind, secrets)[:200]}: {hide(message, secrets)[:MAX_MESSAGE]}"]
    tail = hide(tail, secrets).strip()
    cut = len(tail) > MAX_MESSAGE or (tail and not tail.startswith(TRACEBACK))
    parts += [f"{TRACEBACK}\n  …\n{tail[-MAX_MESSAGE:]}" if cut else tail]
    return printable_lines("\n".join(filter(None, parts)))


_UNUSABLE = "ratiba_worker.http_call.AnswerError"
_SERVER = ("ratiba_worker.server_process.ServerError", "ratiba_worker.server_process.PortTakenError")
_CHECK_SERVER = "Check that the system's server runs, and its address and format in the configuration."
_CORRECT_SERVER = "Correct the server, or `system.serve` in the configuration."
_MISSING = ("ModuleNotFoundError", "ratiba_worker.lookup.AdapterError")


def describe_missing(error: Any, secrets: Sequence[str]) -> str:
    """Why the adapter that the configuration names cannot be loaded; empty where it was loaded and raised later.

    Args:
        secrets: texts that must not appear.
    """
    if not isinstance(error, dict):
        return ""
    message, place = clip(printable(hide(str(error.get("message")), secrets))), error.get("place")
    if place is None and error.get("type") in _MISSING:
        return message
    if error.get("loading") is not True:
        return ""
    where = f" ({place.get('file')}:{place.get('line')})" if isinstance(place, dict) else ""
    return printable(hide(f"{error.get('type')}: {message}{where}", secrets))


def describe_unusable(error: Any, secrets: Sequence[str]) -> str:
    """Why a server gave no usable answer to the gate's own client; empty for every other exception.

    Args:
        secrets: texts that must not appear.
    """
    known = (_UNUSABLE, *_SERVER)
    if not isinstance(error, dict) or error.get("place") is not None or error.get("type") not in known:
        return ""
    return clip(printable_lines(hide(str(error.get("message")), secrets)), MAX_MESSAGE)


def remedy_of_server(error: Mapping[str, Any]) -> str:
    """What to do about what ``describe_unusable`` describes."""
    return _CHECK_SERVER if error["type"] == _UNUSABLE else _CORRECT_SERVER


_NPM = "setup: [npm, ci]"
_PIP = "setup: [sh, -c, python3 -m venv .venv && .venv/bin/pip install -r requirements.txt]"
_MODULE = re.compile(
    r"""Cannot find (?:module|package) ['"](?P<node>(?:@[\w.-]+/)?[\w-][\w.-]*)|"""
    r"""No module named ['"]?(?P<python>[\w.]+)"""
)


def setup_of_missing(error: Any) -> str:
    """The line of ``system.setup`` that installs a module that an interpreter did not find; empty for none."""
    found = _MODULE.search(str(error.get("message"))) if isinstance(error, dict) else None
    if found is None:
        return ""
    line = _NPM if found["node"] else _PIP
    return f"{found['node'] or found['python']!r} is not installed: `{line}` in the block `system` installs it. "


def describe_raised(error: Any, problem: str, secrets: Sequence[str]) -> SystemRaisedError | None:
    """The exception of a file of the repository; None where no such file is named.

    Args:
        secrets: texts that must not appear.
    """
    place = error.get("place") if isinstance(error, dict) else None
    if not isinstance(place, dict) or not isinstance(line := place.get("line"), int):
        return None
    file, function, kind, message = (
        clip(printable(hide(str(part), secrets)))
        for part in (place.get("file"), place.get("function"), error.get("type"), error.get("message"))
    )
    return SystemRaisedError(problem, kind=kind, place=f"{file}:{line} in {function}", message=message)


def hide(text: str, secrets: Iterable[str]) -> str:
    """The text with every secret replaced, the longest first."""
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
        text = text.replace(secret, "[hidden]")
    return text


_COUNTS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
_MAX_CALLS, _MAX_TOKENS, _LONGEST = 1_000, 1_000_000_000, 200
_REMEDY = (
    "Report each call in `usage` with `model`, `input_tokens` and `output_tokens`, and as needed `provider`, "
    "`cache_read_tokens` and `cache_write_tokens`."
)


def parse_reported_usage(answer: Any) -> tuple[ReportedUsage, ...]:
    """The ``usage`` of an answer that ``parse_reply`` lets pass; empty where there is none.

    Raises:
        WorkerError: it is no list of calls, each with a model, input and output; names the field.
    """
    reported = answer.get("usage")
    if reported is None:
        return ()
    if not isinstance(reported, list) or len(reported) > _MAX_CALLS:
        raise WorkerError(f"`usage` is not a list of at most {_MAX_CALLS} calls.", _REMEDY)
    return tuple(_call(item, f"usage[{index}]") for index, item in enumerate(reported))


def _call(value: Any, path: str) -> ReportedUsage:
    known = ("model", "provider", *_COUNTS)
    if not isinstance(value, dict) or set(value) - set(known):
        raise WorkerError(f"`{path}` is not an object of {', '.join(known)}.", _REMEDY)
    model, provider = value.get("model"), value.get("provider", "")
    if not isinstance(model, str) or not model.strip() or not model.isprintable() or len(model) > _LONGEST:
        raise WorkerError(f"`{path}.model` is not the name of a model.", _REMEDY)
    if provider not in ("", *BUILT_IN):
        raise WorkerError(f"`{path}.provider` is neither {' nor '.join(BUILT_IN)}.", _REMEDY)
    for name in _COUNTS:
        count = value.get(name, None if name in _COUNTS[:2] else 0)
        if type(count) is not int or not 0 <= count <= _MAX_TOKENS:
            raise WorkerError(f"`{path}.{name}` is not a count of tokens.", _REMEDY)
    return ReportedUsage(model, provider, Usage(**{name: value.get(name, 0) for name in _COUNTS}))


class Dialogue(Protocol):
    """One conversation's way of speaking with the adapter in its worker."""

    def request(self, turn: Turn) -> tuple[str, Any]:
        """The operation and its argument, any JSON.

        Raises:
            WorkerError: the system cannot be given such a turn.
        """
        ...

    def reply(self, answer: Any) -> Any:
        """What ``parse_reply`` is to read, out of the JSON that came back.

        Raises:
            WorkerError: the answer does not hold what it must.
        """
        ...


class PlainDialogue:
    """For an adapter that takes messages and events and answers with replies."""

    def request(self, turn: Turn) -> tuple[str, Any]:
        """The message or the event as it is."""
        return ("send", turn.user) if turn.event is None else ("deliver", dict(turn.event))

    def reply(self, answer: Any) -> Any:
        """The answer as it is."""
        return answer


def plain_dialogue(_: Scenario) -> Dialogue:
    """For every conversation the same."""
    return PlainDialogue()
