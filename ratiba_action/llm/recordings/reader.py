"""Read a recording file: strict, with every mistake at once."""

import json
import math
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ratiba_action.errors import FileProblem, SuiteError
from ratiba_action.llm.endpoints import ENDPOINTS
from ratiba_action.llm.recordings.lines import JudgeRecording, ModelRecording, Recording
from ratiba_action.model.model_request import PROVIDER_NAME
from ratiba_action.model.reads import MAX_FILES, Reads, is_plain_path, parse_reads
from ratiba_action.util.locked_folder import read_plain_file
from ratiba_action.util.strict_json import refuse_constant
from ratiba_action.util.validation import shorten

_SHA256 = re.compile(r"[0-9a-f]{64}")
_PROVIDER = re.compile(PROVIDER_NAME)
_TURN = re.compile(r"start|turn [1-9][0-9]{0,5}")
_PROMPT_DIGEST = re.compile(r"[0-9a-f]{12}")
_LARGEST_COUNT = 1_000_000_000
"""Beyond it a count of tokens is a mistake, and its price would not be exact."""

FieldRule = tuple[Callable[[Any], bool], str]


def read_recordings(path: Path) -> tuple[Recording, ...]:
    """The recordings of one scenario, in the order of their lines; none when the file is missing.

    Raises:
        SuiteError: the file cannot be read or has mistakes; every mistake with its line.
    """
    try:
        content = read_plain_file(path.parent, path.name)
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise SuiteError([FileProblem(str(path), 0, f"cannot be read: {error.strerror}")]) from error
    return parse_recordings(content, str(path))


def parse_recordings(content: bytes, path: str) -> tuple[Recording, ...]:
    """The recordings in the bytes of a file.

    Args:
        content: JSON objects in UTF-8, one a line; empty lines are passed over.
        path: the file's name in messages.

    Raises:
        SuiteError: there are mistakes; every one with its line.
    """
    problems: list[FileProblem] = []
    recordings: list[Recording] = []
    seen: dict[tuple[str, str, int, int], int] = {}
    for number, raw in enumerate(content.split(b"\n"), start=1):
        if not raw.strip():
            continue
        outcome = _parse_line(raw)
        if isinstance(outcome, Reads):
            if number > 1:
                problems.append(FileProblem(path, number, "kind: a line of the kind 'reads' is the first one"))
            continue
        if isinstance(outcome, list):
            problems.extend(FileProblem(path, number, message) for message in outcome)
            continue
        kind, trial = ("model", outcome.trial) if isinstance(outcome, ModelRecording) else ("judge", 0)
        first = seen.setdefault((kind, outcome.key, outcome.ordinal, trial), number)
        if first != number:
            problems.append(
                FileProblem(
                    path,
                    number,
                    f"the same {kind} key {outcome.key[:12]!r} and ordinal {outcome.ordinal} as line {first}",
                )
            )
            continue
        recordings.append(outcome)
    if problems:
        raise SuiteError(problems)
    return tuple(recordings)


def without_reads(content: bytes | None) -> bytes | None:
    """The lines of a file that answer something; None where there is no file, or nothing else in it."""
    first, _, rest = (content or b"").partition(b"\n")
    try:
        return content if parse_reads(first) is None else rest or None
    except ValueError:
        return content


def _parse_line(raw: bytes) -> Recording | Reads | list[str]:
    try:
        line = json.loads(raw.decode("utf-8"), parse_constant=refuse_constant)
    except UnicodeDecodeError as error:
        return [f"is not UTF-8 at byte {error.start + 1} of the line"]
    except (ValueError, RecursionError) as error:
        return [f"is not JSON: {error}"]
    if not isinstance(line, dict):
        return [f"must be a JSON object, is {type(line).__name__}"]
    kind = line.pop("kind", None)
    return _of_kind(kind, line)


def _of_kind(kind: object, line: dict[str, Any]) -> Recording | Reads | list[str]:
    if kind == "model":
        return _check(line, _MODEL, _OPTIONAL) or ModelRecording(**line)
    if kind == "judge":
        shape = _ANSWER if "answer" in line else _GRADE
        return _check(line, _JUDGE | shape, _OPTIONAL_OF_JUDGE) or JudgeRecording(
            **{"score": None, "reason": None, **line}
        )
    if kind == "reads":
        return _check(line, _READS, {}) or Reads(tuple(line["files"]), line["sent"])
    return [f"kind: {kind!r} is unknown; allowed are 'model', 'judge' and 'reads'"]


def _check(line: dict[str, Any], required: Mapping[str, FieldRule], optional: Mapping[str, FieldRule]) -> list[str]:
    problems = [f"{name}: missing" for name in required if name not in line]
    for name, value in line.items():
        check = required.get(name) or optional.get(name)
        if check is None:
            problems.append(f"{name}: unknown; allowed are {', '.join(sorted([*required, *optional]))}")
        elif not check[0](value):
            problems.append(f"{name}: {shorten(value)} is not {check[1]}")
    return problems


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _LARGEST_COUNT


def _is_score(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and 0 <= value <= 1


def _has_usage(value: Any) -> bool:
    """In the words of any format."""
    return isinstance(value, dict) and any(isinstance(value.get(each.usage_field), dict) for each in ENDPOINTS)


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _are_results(value: Any) -> bool:
    """Each the name of a tool and what it returned."""
    return isinstance(value, list) and all(
        isinstance(item, dict)
        and sorted(item) == ["text", "tool"]
        and all(isinstance(each, str) for each in item.values())
        for item in value
    )


def _are_paths(value: Any) -> bool:
    return isinstance(value, list) and len(value) <= MAX_FILES and all(map(is_plain_path, value))


def _are_turns(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and _are_paths([*value])
        and all(isinstance(turn, str) and _TURN.fullmatch(turn) for turn in value.values())
    )


def _are_inputs(value: Any) -> bool:
    checks: Mapping[str, Callable[[Any], bool]] = {
        "system": _are_texts,
        "messages": _are_texts,
        "tools": lambda given: isinstance(given, str),
        "parameters": lambda given: isinstance(given, dict),
        "results": _are_results,
    }
    return isinstance(value, dict) and all(name in checks and checks[name](given) for name, given in value.items())


def _matches(pattern: re.Pattern[str]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, str) and pattern.fullmatch(value) is not None


_BOOLEAN: FieldRule = (lambda value: isinstance(value, bool), "true or false")
_TEXT: FieldRule = (lambda value: isinstance(value, str), "a text")
_NAME: FieldRule = (lambda value: isinstance(value, str) and bool(value), "a text of at least one character")
_KEY: FieldRule = (_matches(_SHA256), "64 hexadecimal digits")
_COUNT: FieldRule = (_is_count, "a whole number from 0 to 1000000000")
_USAGE: FieldRule = (
    lambda value: (
        isinstance(value, dict) and all(_is_count(value.get(name)) for name in ("input_tokens", "output_tokens"))
    ),
    "an object with input_tokens and output_tokens",
)

_MODEL: Mapping[str, FieldRule] = {
    "key": _KEY,
    "ordinal": _COUNT,
    "source": _NAME,
    "provider": (_matches(_PROVIDER), "'anthropic', 'openai' or a name of `providers`"),
    "model": _NAME,
    "asked": _TEXT,
    "system": (_matches(_PROMPT_DIGEST), "12 hexadecimal digits"),
    "response": (_has_usage, "an object with its usage"),
}
_OPTIONAL: Mapping[str, FieldRule] = {
    "usage_estimated": _BOOLEAN,
    "trial": _COUNT,
    "inputs": (_are_inputs, "an object as 'ratiba record' writes it"),
}
_JUDGE: dict[str, FieldRule] = {
    "key": _KEY,
    "ordinal": _COUNT,
    "source": _NAME,
    "metric": _NAME,
    "model": _NAME,
    "transcript": _KEY,
    "usage": _USAGE,
}
_READS: Mapping[str, FieldRule] = {
    "files": (_are_paths, "a list of at most 20000 paths from the repository's root"),
    "sent": (_are_turns, "an object of such paths, each with 'turn 1' or 'start'"),
}
_OPTIONAL_OF_JUDGE: Mapping[str, FieldRule] = {"answered_by": _NAME}
_GRADE: dict[str, FieldRule] = {"score": (_is_score, "a number from 0 to 1"), "reason": _TEXT}
_ANSWER: dict[str, FieldRule] = {"answer": (lambda value: isinstance(value, dict), "an object")}
