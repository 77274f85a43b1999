"""Reads a captured session in one of three formats. ``docs/first-scenario.md`` describes them."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ratiba_action.errors import FileProblem, SuiteError, UsageError
from ratiba_action.model.values import JsonObject

_MAX_BYTES, _MAX_BYTES_OF_MANY = 4 << 20, 64 << 20

_TEXT_BLOCKS = ("text", "input_text", "output_text")
_ROLES = ("user", "assistant", "system", "developer", "tool")
_ABOUT = ("id", "language", "captured_at", "provider")


@dataclass(frozen=True, slots=True)
class CapturedTurn:
    """A user message and the system's reply.

    Args:
        tools: name and arguments of each tool that was called, in order.
    """

    user: str
    reply: str = ""
    tools: tuple[tuple[str, JsonObject], ...] = ()


@dataclass(frozen=True, slots=True)
class CapturedSession:
    """A captured conversation; empty texts for what it does not contain.

    Args:
        names: of people, to be masked.
    """

    turns: tuple[CapturedTurn, ...]
    id: str = ""
    language: str = ""
    captured_at: str = ""
    provider: str = ""
    tags: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


@dataclass(slots=True)
class _Reading:
    turns: list[CapturedTurn] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def read_session(data: Any) -> tuple[CapturedSession | None, tuple[str, ...]]:
    """A session from plain data.

    Args:
        data: ``{"exchanges": [{"request": …, "response": …}]}``, ``{"messages": […]}`` or the list of messages alone.

    Returns:
        The session and no problem, or None and every problem in words.
    """
    if isinstance(data, list):
        data = {"messages": data}
    if not isinstance(data, dict) or ("exchanges" in data) == ("messages" in data):
        return None, ("give either 'exchanges' or 'messages', or a list of messages alone",)
    reading = _Reading()
    items = data.get("exchanges", data.get("messages"))
    if not isinstance(items, list):
        reading.problems.append("'exchanges' and 'messages' must be lists")
    elif "exchanges" in data:
        _read_exchanges(items, reading)
    else:
        _read_messages(items, reading)
    if not reading.turns and not reading.problems:
        reading.problems.append("it has no user message")
    about = {name: _text(data, name, reading) for name in _ABOUT}
    tags, names = _texts(data, "tags", reading), _texts(data, "names", reading)
    known = {"exchanges", "messages", "tags", "names", *_ABOUT}
    unknown = sorted(str(key) for key in data.keys() - known)
    reading.problems += [f"{key!r:.80} is unknown; known: {', '.join(sorted(known))}" for key in unknown]
    if reading.problems:
        return None, tuple(reading.problems)
    return CapturedSession(tuple(reading.turns), **about, tags=tags, names=names), ()


def _text(data: JsonObject, name: str, reading: _Reading) -> str:
    value = data.get(name, "")
    if not isinstance(value, str):
        reading.problems.append(f"{name}: {value!r:.80} is not text")
        return ""
    return value


def _texts(data: JsonObject, name: str, reading: _Reading) -> tuple[str, ...]:
    value = data.get(name, [])
    if not isinstance(value, list) or not all(isinstance(text, str) and text for text in value):
        reading.problems.append(f"{name}: {value!r:.80} is not a list of texts")
        return ()
    return tuple(value)


def _read_exchanges(items: Sequence[Any], reading: _Reading) -> None:
    for number, item in enumerate(items):
        given = item if isinstance(item, dict) else {}
        request, response = given.get("request"), given.get("response", "")
        if not isinstance(request, str) or not request or not isinstance(response, str):
            reading.problems.append(f"exchanges.{number}: needs a 'request' and a 'response' that are text")
            continue
        tools, problem = _listed_tools(given.get("tools", []))
        reading.problems += [f"exchanges.{number}.tools: {problem}"] if problem else []
        reading.turns.append(CapturedTurn(request, response, tools))


def _listed_tools(value: Any) -> tuple[tuple[tuple[str, JsonObject], ...], str]:
    tools: list[tuple[str, JsonObject]] = []
    for tool in value if isinstance(value, list) else [None]:
        name, args = (tool.get("name"), tool.get("args", {})) if isinstance(tool, dict) else (None, {})
        if not isinstance(name, str) or not isinstance(args, dict):
            return (), "a list of mappings with a 'name' and 'args'"
        tools.append((name, args))
    return tuple(tools), ""


def _read_messages(items: Sequence[Any], reading: _Reading) -> None:
    for number, item in enumerate(items):
        role = item.get("role") if isinstance(item, dict) else None
        if role not in _ROLES:
            reading.problems.append(f"messages.{number}: {role!r:.80} is not a role of OpenAI or Anthropic")
        elif role == "user":
            text = "\n".join(_texts_of(item.get("content")))
            # A message with only a tool result is not a user message.
            reading.turns += [CapturedTurn(text)] if text else []
        elif role == "assistant":
            _add_answer(item, number, reading)


def _add_answer(item: JsonObject, number: int, reading: _Reading) -> None:
    text, tools = "\n".join(_texts_of(item.get("content"))), tuple(_called(item, number, reading))
    if reading.turns:
        last = reading.turns[-1]
        reply = "\n".join(part for part in (last.reply, text) if part)
        reading.turns[-1] = replace(last, reply=reply, tools=(*last.tools, *tools))


def _texts_of(content: Any) -> Iterator[str]:
    if isinstance(content, str) and content:
        yield content
    for block in content if isinstance(content, list) else []:
        if isinstance(block, dict) and block.get("type") in _TEXT_BLOCKS and isinstance(block.get("text"), str):
            yield block["text"]


def _called(item: JsonObject, number: int, reading: _Reading) -> Iterator[tuple[str, JsonObject]]:
    """Tool calls in the formats of Anthropic (content blocks) and OpenAI (arguments as JSON text)."""
    blocks = item.get("content")
    for block in blocks if isinstance(blocks, list) else []:
        if isinstance(block, dict) and block.get("type") == "tool_use":
            given = block.get("input")
            yield str(block.get("name")), given if isinstance(given, dict) else {}
    calls = item.get("tool_calls")
    for call in calls if isinstance(calls, list) else []:
        function = call.get("function") if isinstance(call, dict) else None
        try:
            described = {**(function or {})}
            yield str(described["name"]), {**json.loads(described["arguments"] or "{}")}
        except (KeyError, TypeError, ValueError, RecursionError):
            reading.problems.append(f"messages.{number}.tool_calls: a call without a name or JSON arguments")


def read_session_file(name: str) -> CapturedSession:
    """The session of a JSON file.

    Raises:
        UsageError: it cannot be read, or is not JSON.
        SuiteError: it is not a session; every problem.
    """
    try:
        data = json.loads(_content(name, _MAX_BYTES).decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"The session {name!r} is not JSON in UTF-8: {error}.", "Export it again.") from error
    session, problems = read_session(data)
    if session is None:
        raise SuiteError([FileProblem(name, 0, problem) for problem in problems])
    return session


def read_sessions(name: str) -> list[CapturedSession]:
    """The sessions of a JSON Lines file, one a line; of any other file the one session.

    Raises:
        UsageError: it cannot be read.
        SuiteError: a line is no session; every problem with its line.
    """
    if not name.endswith(".jsonl"):
        return [read_session_file(name)]
    sessions, wrong = list[CapturedSession](), list[FileProblem]()
    for number, line in enumerate(_content(name, _MAX_BYTES_OF_MANY).splitlines(), 1):
        if not line.strip():
            continue
        try:
            session, problems = read_session(json.loads(line.decode("utf-8")))
        except (ValueError, RecursionError) as error:
            session, problems = None, (f"this is not JSON: {error}",)
        wrong += [FileProblem(name, number, problem) for problem in problems]
        sessions += [session] if session is not None else []
    if wrong:
        raise SuiteError(wrong)
    return sessions


def _content(name: str, maximum: int) -> bytes:
    try:
        with Path(name).open("rb") as file:
            content = file.read(maximum + 1)
    except OSError as error:
        raise UsageError(
            f"The session {name!r} cannot be read: {error.strerror}.", "Give a readable JSON file."
        ) from error
    if len(content) > maximum:
        raise UsageError(f"The session {name!r} has more than {maximum:,} bytes.", "Shorten it.")
    return content
