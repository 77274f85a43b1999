"""What a new recording changes in an old one, in words and as a diff for whoever accepts it."""

from collections.abc import Container, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from ratiba_action.llm.endpoints import ENDPOINTS, FORMATS
from ratiba_action.llm.recordings.lines import JudgeRecording, ModelRecording, Recording
from ratiba_action.model.canonical import canonical_json, digest
from ratiba_action.model.values import JsonObject
from ratiba_action.util.text import cut

_ENDS = tuple(wire.ended_in for wire in FORMATS.values())
_COUNTS = tuple(dict.fromkeys(endpoint.usage_field for endpoint in ENDPOINTS))
_NEW_EACH_TIME = frozenset({"id", "service_tier", *_COUNTS, *(name for wire in FORMATS.values() for name in wire.new)})
_ARGUMENTS = ("input", "arguments", "args")
_IDS = frozenset({"id", *(wire.call_id for wire in FORMATS.values())})
_DIGEST_DIGITS = 12


@dataclass(frozen=True, slots=True)
class AnswerParts:
    """The readable part of an answer.

    Args:
        text: what was said, its parts one a line.
        tools: each call as ``name(arguments)``, its arguments as the model wrote them.
        ended: why the model stopped; empty where the answer does not tell.
    """

    text: str
    tools: tuple[str, ...] = ()
    ended: str = ""


def read_answer(response: JsonObject) -> AnswerParts:
    """The readable part; an answer that says nothing, such as an embedding, is known by a digest of its content."""
    texts: list[str] = []
    tools: list[str] = []
    ends: list[str] = []
    for block in _blocks(response):
        ends += [str(block[name]) for name in _ENDS if block.get(name)]
        tool = _tool(block)
        if tool is not None:
            tools.append(tool)
        texts += [block[name] for name in ("content", "text", "refusal") if isinstance(block.get(name), str)]
    if not texts and not tools:
        texts.append(f"(no text; content {digest(lasting(response))[:_DIGEST_DIGITS]})")
    return AnswerParts("\n".join(texts), tuple(tools), ", ".join(ends))


def lasting(response: JsonObject) -> dict[str, Any]:
    """The answer without what is new each time a provider says the same: ids of the whole answer, times, usage."""
    return {name: value for name, value in response.items() if name not in _NEW_EACH_TIME}


def _blocks(value: Any) -> Iterator[Mapping[str, Any]]:
    """Every object of an answer in order, but not what lies inside a tool's arguments."""
    if isinstance(value, Mapping):
        yield value
        if _tool(value) is None:
            for name, item in value.items():
                if name not in _COUNTS:
                    yield from _blocks(item)
    elif isinstance(value, list):
        for item in value:
            yield from _blocks(item)


def _tool(block: Mapping[str, Any]) -> str | None:
    for arguments in _ARGUMENTS:
        if isinstance(block.get("name"), str) and arguments in block:
            written = block[arguments]
            return f"{block['name']}({written if isinstance(written, str) else canonical_json(written)})"
    return None


Parts = tuple[tuple[str, str], ...]
"""What a line holds in words: name and text of each part."""

_TEXT_SHOWN = 400
_ASKED_SHOWN = 100

_CHANGES_SHOWN = 40


class LineFate(StrEnum):
    """What became of a line."""

    ADDED = "added"
    CHANGED = "changed"
    REMOVED = "removed"


@dataclass(frozen=True, slots=True)
class Difference:
    """One line that is not as it was.

    Args:
        what: the line in words, such as ``answer of claude-sonnet-5-5 to 'Habari'``.
        before: what it held, by name; empty for an added line.
        after: what it holds; empty for a removed line.
    """

    kind: LineFate
    what: str
    before: Parts = ()
    after: Parts = ()


@dataclass(frozen=True, slots=True)
class RecordingComparison:
    """Everything that a new recording changes: in the order of its lines, then what it no longer holds."""

    differences: tuple[Difference, ...] = ()

    def count(self, kind: LineFate) -> int:
        """How many lines were added, changed or removed."""
        return sum(difference.kind is kind for difference in self.differences)

    @property
    def summary(self) -> str:
        """The counts in one phrase."""
        counts = [f"{self.count(kind)} {kind.value}" for kind in LineFate if self.count(kind)]
        return ", ".join(counts) or "the same answers"


def compare(old: Sequence[Recording], new: Sequence[Recording]) -> RecordingComparison:
    """Compare two recordings of one scenario.

    A line is looked for under its key first; then, since an edited prompt changes every key, under what was asked of
    which model or metric, in order.
    """
    origins = _origins(old, new)
    differences = [_difference(None if at is None else old[at], line) for at, line in zip(origins, new, strict=True)]
    gone = [line for at, line in enumerate(old) if at not in origins]
    removed = [Difference(LineFate.REMOVED, _what(line), before=_held(line)) for line in gone]
    return RecordingComparison((*(difference for difference in differences if difference is not None), *removed))


def without_noise(old: Sequence[Recording], new: Sequence[Recording]) -> tuple[Recording, ...]:
    """The new lines, or the old ones where nothing but ids, times and usage differs, so that no file changes for it.

    The models' answers are kept together: an id in one answer may stand in the next request.
    """
    models, old_models = _models(new), _models(old)
    same = len(models) == len(old_models) and all(map(_same_answer, old_models, models))
    scores = {line.key: line for line in old if isinstance(line, JudgeRecording)}
    lines = (_kept_grade(scores.get(line.key), line) for line in new if isinstance(line, JudgeRecording))
    return (*(old_models if same else models), *lines)


def render(comparison: RecordingComparison) -> tuple[str, ...]:
    """The differences as lines of a diff: ``+`` added, ``-`` removed, ``~`` changed; bounded, and it says where."""
    marks = {LineFate.ADDED: "+", LineFate.CHANGED: "~", LineFate.REMOVED: "-"}
    lines: list[str] = []
    for difference in comparison.differences[:_CHANGES_SHOWN]:
        lines.append(f"{marks[difference.kind]} {difference.what}")
        before, after = dict(difference.before), dict(difference.after)
        for name in dict.fromkeys((*before, *after)):
            lines += [f"    - {name}: {line}" for line in _differing_lines(before.get(name), after.get(name))]
            lines += [f"    + {name}: {line}" for line in _differing_lines(after.get(name), before.get(name))]
    unlisted = len(comparison.differences) - _CHANGES_SHOWN
    if unlisted > 0:
        lines.append(f"… and {unlisted} more; git diff shows all of them")
    return tuple(lines)


def _origins(old: Sequence[Recording], new: Sequence[Recording]) -> list[int | None]:
    """For each new line the place of the old one that it stands for."""
    origins: list[int | None] = [None] * len(new)
    for identity in (_by_key, _by_question, _by_subject):
        waiting: dict[Hashable, list[int]] = {}
        for at, line in enumerate(old):
            if at not in origins:
                waiting.setdefault(identity(line), []).append(at)
        for at, line in enumerate(new):
            if origins[at] is None and waiting.get(identity(line)):
                origins[at] = waiting[identity(line)].pop(0)
    return origins


def _by_key(line: Recording) -> Hashable:
    return type(line), line.key, line.ordinal, _trial(line)


def _by_question(line: Recording) -> Hashable:
    subject = line.asked if isinstance(line, ModelRecording) else line.metric
    return type(line), subject, line.model, _trial(line)


def _by_subject(line: Recording) -> Hashable:
    """The same question to another model, or by another version of a metric."""
    subject = line.asked if isinstance(line, ModelRecording) else line.metric.partition(":")[0]
    return type(line), subject, _trial(line)


def _trial(line: Recording) -> int:
    """An answer in one trial never stands for that in another; a score belongs to what was said, in any trial."""
    return line.trial if isinstance(line, ModelRecording) else 0


def _difference(before: Recording | None, after: Recording) -> Difference | None:
    if before is None:
        return Difference(LineFate.ADDED, _what(after), after=_held(after))
    if before == after:
        return None
    was, now = dict(_held(before)), dict(_held(after))
    differing = {name for name in (*was, *now) if was.get(name) != now.get(name)}
    if not differing:
        was, now = dict(_unread(before)), dict(_unread(after))
        differing = {name for name in was if was[name] != now[name]}
        if not differing:
            return Difference(LineFate.CHANGED, f"{_what(after)}: only ids differ")
    return Difference(LineFate.CHANGED, _what(after), _only(was, differing), _only(now, differing))


def _only(parts: Mapping[str, str], names: Container[str]) -> Parts:
    return tuple((name, value) for name, value in parts.items() if name in names)


def _what(line: Recording) -> str:
    if isinstance(line, ModelRecording):
        message = cut(line.asked, _ASKED_SHOWN)
        return f"answer of {line.model} to {message!r}" + (f" in trial {line.trial + 1}" if line.trial else "")
    return f"{'score' if line.answer is None else 'answer'} of {line.metric} by {line.model}"


def _held(line: Recording) -> Parts:
    """What a reviewer wants to see of a line, nothing empty."""
    if isinstance(line, ModelRecording):
        answer = read_answer(line.response)
        parts = {"said": answer.text, "tools": "\n".join(answer.tools), "ended": answer.ended, "prompt": line.system}
    else:
        parts = {**_answered(line), "metric": line.metric}
        parts["answered by"] = line.answered_by
    parts |= {"model": line.model, "source": line.source}
    return tuple((name, value) for name, value in parts.items() if value)


def _answered(line: JudgeRecording) -> dict[str, str]:
    if line.score is None:
        return {"answer": canonical_json(line.body)}
    return {"score": f"{line.score:g}", "reason": line.reason or ""}


def _unread(line: Recording) -> Parts:
    """What matters only when nothing else differs."""
    counts = (line.response.get(each) for each in _COUNTS) if isinstance(line, ModelRecording) else (line.usage,)
    usage = next((each for each in counts if each is not None), None)
    question = line.key if isinstance(line, ModelRecording) else line.transcript
    name = "request" if isinstance(line, ModelRecording) else "transcript"
    return (name, question[:_DIGEST_DIGITS]), ("usage", canonical_json(usage))


def _differing_lines(text: str | None, other: str | None) -> Iterator[str]:
    """The lines of a text, from shortly before its first difference when it is long."""
    if text is None or not text:
        return
    start = 0
    if len(text) > _TEXT_SHOWN and other:
        same = next((at for at, (first, second) in enumerate(zip(text, other, strict=False)) if first != second), 0)
        start = max(0, min(same - 40, len(text) - _TEXT_SHOWN))
    shown = text[start : start + _TEXT_SHOWN]
    shown = ("…" if start else "") + shown + ("…" if start + _TEXT_SHOWN < len(text) else "")
    yield from shown.splitlines() or [""]


def _models(lines: Sequence[Recording]) -> list[ModelRecording]:
    return [line for line in lines if isinstance(line, ModelRecording)]


def _same_answer(old: ModelRecording, new: ModelRecording) -> bool:
    return replace(old, response=_without_ids(lasting(old.response)), usage_estimated=new.usage_estimated) == replace(
        new, response=_without_ids(lasting(new.response))
    )


def _without_ids(value: Any) -> Any:
    """An answer without the ids that a provider makes up for its parts; what a model wrote for a tool stays whole."""
    if isinstance(value, Mapping):
        return {
            name: item if name in _ARGUMENTS else _without_ids(item)
            for name, item in value.items()
            if name not in _IDS or not isinstance(item, str)
        }
    return [_without_ids(item) for item in value] if isinstance(value, list) else value


def _kept_grade(old: JudgeRecording | None, new: JudgeRecording) -> JudgeRecording:
    return old if old is not None and replace(old, usage=new.usage) == new else new
