"""One line of a recording: what a model or a judge once answered, under the key of what it was asked."""

import dataclasses
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ratiba_action.llm.endpoints import FORMATS
from ratiba_action.model.scenario import ExpectedRows, Scenario
from ratiba_action.model.values import JsonObject
from ratiba_action.privacy.credentials import MASK, find_credentials
from ratiba_action.privacy.identifiers import Identifier, find_identifiers, is_declared
from ratiba_action.privacy.masking import mask_secrets
from ratiba_action.util.dsn import passwords_in

_TEXT_KEYS = frozenset({"text", "content", "refusal"})


@dataclass(frozen=True, slots=True)
class ModelRecording:
    """A model's answer to the system under test.

    Args:
        key: SHA-256 of the canonical request.
        ordinal: how often the same key was asked before within one trial.
        source: where the answer comes from: ``authored`` by hand, or ``live``.
        provider: a built-in one or a name of the configuration's ``providers``.
        asked: the last message of the user, at most 200 characters; for the reader of a diff.
        system: first 12 hexadecimal digits of the SHA-256 of the system prompt.
        response: the provider's whole answer as it went over the wire, with its usage.
        usage_estimated: the usage was estimated from the length of the texts.
        trial: number of the trial that was answered so, from 0.
        inputs: digests of what the model was given, to say later which of it changed; None in older recordings.
    """

    key: str
    ordinal: int
    source: str
    provider: str
    model: str
    asked: str
    system: str
    response: JsonObject = field(repr=False)
    usage_estimated: bool = False
    trial: int = 0
    inputs: JsonObject | None = field(default=None, repr=False, compare=False)

    def texts(self) -> Iterator[str]:
        """The texts of the answer, whichever of the providers' shapes it has."""
        return _texts(self.response)


@dataclass(frozen=True, slots=True)
class JudgeRecording:
    """A judge's answer to one question: a score, or what another question's schema asks for.

    Args:
        key: SHA-256 of the canonical ``{"metric", "model", "transcript", "ordinal"}``.
        ordinal: number of the question within its metric, from 0.
        source: where the answer comes from: ``authored`` by hand, or ``live``.
        metric: ``name:version``.
        transcript: SHA-256 of what the metric shows of the conversation.
        score: of a score, 0 to 1; else None.
        reason: of a score, in words; else None.
        usage: ``{"input_tokens": …, "output_tokens": …}``.
        answer: to a question that asks for something other than a score; else None.
        answered_by: the model that answered, where it named itself otherwise than ``model``; else empty.
    """

    key: str
    ordinal: int
    source: str
    metric: str
    model: str
    transcript: str
    score: float | None
    reason: str | None
    usage: JsonObject
    answer: JsonObject | None = field(default=None, repr=False)
    answered_by: str = ""

    @property
    def body(self) -> JsonObject:
        """The answer as the Judge port gives it."""
        return {"score": self.score, "reason": self.reason} if self.answer is None else self.answer


Recording = ModelRecording | JudgeRecording


_ASKED_LIMIT = 200
_OF_THE_WIRE = frozenset(
    {
        # Names, states and counters of the wire format.
        *("call_id", "created", "created_at", "completed_at", "finish_reason", "id", "index", "item_id", "model"),
        *("object", "previous_response_id", "role", "service_tier", "status", "stop_reason", "system_fingerprint"),
        *("tool_call_id", "tool_use_id", "type", "usage"),
        *(word for wire in FORMATS.values() for word in wire.words),
        # Of no meaning to a reader.
        *("data", "embedding", "encrypted_content", "logprobs", "signature"),
        # What the request said, repeated: prompts and tools lie in the repository.
        *("instructions", "prompt", "tools"),
    }
)
"""Fields of an answer in which no model says anything. In the arguments of a tool the same names count."""


@dataclass(frozen=True, slots=True)
class ForbiddenText:
    """Something that must not be recorded.

    Args:
        line: number of the recording's line, from 1.
        field: where in the line, such as ``response.content[0].text``.
        shown: a few characters of it, to find it again; a secret shows none.
    """

    line: int
    field: str
    kind: str
    shown: str

    def __str__(self) -> str:
        return f"line {self.line}, {self.field}: {self.kind} ({self.shown})"


def find_forbidden(
    lines: Sequence[Recording], scenario: Scenario | None, secrets: Iterable[str] = ()
) -> tuple[ForbiddenText, ...]:
    """Every identifier that the scenario does not declare, and every secret, each place once.

    Identifiers are looked for in what models said, in the arguments of tools, in ``asked``, ``reason`` and a judge's
    ``answer``; secrets in every text of a line.

    Args:
        lines: as they will stand in the file.
        scenario: declares the identifiers of its customer, turns, expectations and rules; None declares nothing.
        secrets: values that the run was given, such as keys and connection strings.
    """
    declared = declared_identifiers(scenario) if scenario is not None else ()
    given = [*secrets]
    given += [password for secret in given for password in passwords_in(secret)]
    found: dict[ForbiddenText, None] = {}
    for number, line in enumerate(lines, start=1):
        for place in _places(line):
            for kind, shown in _forbidden(place, declared, given):
                found[ForbiddenText(number, place.field, kind, shown)] = None
    return tuple(found)


def declared_identifiers(scenario: Scenario) -> tuple[Identifier, ...]:
    """The identifiers that a scenario itself holds."""
    texts = [scenario.customer.phone, scenario.customer.name]
    for turn in scenario.turns:
        texts.append(turn.user or "")
        texts += _leaves(turn.event)
        texts += [text for tool in turn.expect.tools or () for text in _leaves(tool.args)]
        texts += [text for event in turn.expect.events for text in _leaves(event.data)]
        texts += _texts_of_rows(turn.expect.rows)
    texts += _texts_of_rows(scenario.rows)
    texts += [text for rule in scenario.rules for text in _leaves(rule.value)]
    return tuple(identifier for text in texts for identifier in find_identifiers(text))


def _texts_of_rows(expected: Iterable[ExpectedRows]) -> list[str]:
    return [text for rows in expected for text in (*_leaves(rows.where), *_leaves(rows.equals))]


@dataclass(frozen=True, slots=True)
class _TextPlace:
    """A text of a line. ``spoken``: it may be the words of a model or a customer; ``cut``: its end may be missing."""

    field: str
    text: str
    spoken: bool = True
    cut: bool = False


def _forbidden(place: _TextPlace, declared: Sequence[Identifier], secrets: Sequence[str]) -> Iterator[tuple[str, str]]:
    if mask_secrets(place.text, secrets) != place.text:
        yield "a secret of this run", MASK
        return
    credentials = find_credentials(place.text)
    yield from ((kind, MASK) for kind in credentials)
    if not place.spoken or credentials:
        return
    for identifier in find_identifiers(place.text):
        if not is_declared(identifier, declared, cut=place.cut):
            yield identifier.kind, identifier.shown


def _places(line: Recording) -> Iterator[_TextPlace]:
    for name, value in dataclasses.asdict(line).items():
        if name == "response":
            yield from _wire(value, name)
        elif name == "answer" and value is not None:
            yield from (_TextPlace(name, text) for text in _leaves(value))
        elif name in {"asked", "reason"} and value is not None:
            yield _TextPlace(name, value, cut=name == "asked" and len(value) >= _ASKED_LIMIT)
        elif name == "inputs" and value is not None:
            yield from (_TextPlace(f"{name}.results", text, cut=True) for text in _leaves(value.get("results", [])))
            yield from (
                _TextPlace(f"{name}.parameters", text, spoken=False) for text in _leaves(value.get("parameters", {}))
            )
        elif isinstance(value, str):
            yield _TextPlace(name, value, spoken=False)


def _wire(value: Any, path: str, *, spoken: bool = True) -> Iterator[_TextPlace]:
    """The texts of an answer, each where it lies in the wire format."""
    if isinstance(value, str):
        yield from _spoken(path, value) if spoken else (_TextPlace(path, value, spoken=False),)
    elif isinstance(value, Mapping):
        for name, item in value.items():
            here = f"{path}.{name}" if name.isidentifier() else path
            if name == "input" and isinstance(item, Mapping):
                yield from (_TextPlace(here, text) for text in _leaves(item))
            else:
                yield from _wire(item, here, spoken=spoken and name not in _OF_THE_WIRE)
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _wire(item, f"{path}[{number}]", spoken=spoken)


def _spoken(path: str, text: str) -> Iterator[_TextPlace]:
    """A spoken text; JSON also decoded, since an escape can hide a number."""
    yield _TextPlace(path, text)
    if text.lstrip()[:1] in ("{", "["):
        try:
            meant = json.loads(text)
        except (ValueError, RecursionError):
            return
        yield from (_TextPlace(path, leaf) for leaf in _leaves(meant))


def _leaves(value: Any, name: str = "") -> Iterator[str]:
    """Each text and number of a JSON value, with its name: a name distinguishes an amount from an identifier."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield str(key)
            yield from _leaves(item, str(key))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _leaves(item, name)
    elif isinstance(value, str | int) and not isinstance(value, bool):
        yield f"{name}: {value}" if name else str(value)


def _texts(value: Any, key: str = "") -> Iterator[str]:
    if isinstance(value, str):
        yield from (value,) if key in _TEXT_KEYS else ()
        return
    parts = value.items() if isinstance(value, Mapping) else ((key, item) for item in value)
    for name, part in parts:
        if isinstance(part, str | Mapping | list):
            yield from _texts(part, name)
