"""Checks of one scenario file beyond its schema, and the result of reading it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ratiba_action.errors import FileProblem
from ratiba_action.model.case_file import CaseFile
from ratiba_action.model.scenario import Layer, Scenario
from ratiba_action.privacy.identifiers import find_identifiers, is_declared
from ratiba_action.suite.references import (
    MetricCheck,
    RuleCheck,
    TruthReaders,
    history_problems,
    reference_problems,
    unread_truths,
)
from ratiba_action.suite.scenario_clock import time_problems
from ratiba_action.util.strict_yaml import Path, YamlDocument

_ONLY_IN = {
    "script": (Layer.FSM,),
    "compare": (Layer.REPLAY,),
    "simulated_user": (Layer.GOLDEN,),
    "provenance": (Layer.REPLAY, Layer.GOLDEN, Layer.PRODUCTION),
}


def layer_problems(document: YamlDocument) -> Iterator[FileProblem]:
    """Everything that does not fit the layer of a scenario file.

    Args:
        document: may be invalid; schema problems are reported elsewhere.
    """
    data = document.data if isinstance(document.data, dict) else {}
    layer = data.get("layer", Layer.GOLDEN.value)
    for key, layers in _ONLY_IN.items():
        if key in data and layer not in layers:
            message = f"{key}: only allowed in layer {', '.join(layers)}; this is layer {layer!r:.40}"
            yield FileProblem(document.name, document.line((key,)), message)
    turns = data.get("turns")
    listed = [turn if isinstance(turn, dict) else {} for turn in turns] if isinstance(turns, list) else []
    yield from _reply_problems(document, layer, listed)
    if layer == Layer.REPLAY and data.get("compare") == "metric" and not data.get("assertions"):
        message = "compare: metric needs an assertion whose metric compares with the captured replies"
        yield FileProblem(document.name, document.line(("compare",)), message)
    if layer == Layer.FSM and "script" not in data:
        message = "layer fsm needs a 'script': the mocked model's answers in order; [] for a system that calls no model"
        yield FileProblem(document.name, document.line(("layer",)), message)
    if layer == Layer.TURN and (len(listed) != 1 or "user" not in listed[0]):
        message = f"layer turn needs exactly one turn with 'user'; it has {len(listed)} turns"
        yield FileProblem(document.name, document.line(("turns",)), message)
    if layer == Layer.PRODUCTION:
        yield from _production_problems(document, data)


def _reply_problems(document: YamlDocument, layer: Any, turns: list[dict[str, Any]]) -> Iterator[FileProblem]:
    for index, turn in enumerate(turns):
        line = document.line(("turns", index, "reply"))
        if layer != Layer.REPLAY and "reply" in turn:
            message = f"turns.{index}.reply: only a scenario of layer replay has captured replies"
            yield FileProblem(document.name, line, message)
        if layer == Layer.REPLAY and "user" in turn and "reply" not in turn:
            message = f"turns.{index}: layer replay needs the captured 'reply' to each message"
            yield FileProblem(document.name, line, message)


def _production_problems(document: YamlDocument, data: dict[str, Any]) -> Iterator[FileProblem]:
    if not data.get("provenance"):
        message = "layer production needs 'provenance': where the conversation was captured"
        yield FileProblem(document.name, document.line(("provenance",)), message)
    customer = data.get("customer")
    phone = customer.get("phone") if isinstance(customer, dict) else None
    declared = find_identifiers(phone) if isinstance(phone, str) else ()
    for path, text in _texts(data, ()):
        for found in find_identifiers(text):
            if not is_declared(found, declared):
                place = ".".join(str(part) for part in path)
                message = f"{place}: {found.kind} ({found.shown}) is not masked; `ratiba promote` masks it"
                yield FileProblem(document.name, document.line(path), message)


def _texts(value: Any, path: Path) -> Iterator[tuple[Path, str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, int) and not isinstance(value, bool):
        yield path, str(value)
    elif isinstance(value, dict):
        for key, part in value.items():
            yield (*path, str(key)), str(key)
            yield from _texts(part, (*path, key))
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield from _texts(part, (*path, index))


@dataclass(frozen=True, slots=True)
class Checks:
    """Checks beyond the schema; see ``load_suite``."""

    metric_problems: MetricCheck
    rule_problem: RuleCheck
    readers: TruthReaders | None = None
    added: Mapping[str, Sequence[str]] = field(default_factory=dict)
    timezone: str | None = ""

    @property
    def context(self) -> Mapping[str, Any]:
        """What the validators of a scenario file know besides."""
        return {"timezone": self.timezone}

    def problems(self, document: YamlDocument) -> tuple[FileProblem, ...]:
        """Invalid metrics and rules, named metrics without a judge, what does not fit the layer, and wrong times."""
        references = reference_problems(document, self.metric_problems, self.rule_problem)
        history = history_problems(document, None if self.readers is None else self.added)
        return (*references, *history, *layer_problems(document), *time_problems(document, self.timezone))

    def unread(self, document: YamlDocument) -> tuple[FileProblem, ...]:
        """Expected values that no metric reads."""
        return () if self.readers is None else tuple(unread_truths(document, self.readers, self.added))


@dataclass(frozen=True, slots=True)
class Loaded:
    """The content of one file.

    Args:
        read: further files that it uses.
    """

    scenarios: Sequence[Scenario] = ()
    data_sets: Sequence[CaseFile] = ()
    problems: Sequence[FileProblem] = ()
    read: Sequence[str] = ()
