"""What a scenario file refers to: metrics and rules by name."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

from ratiba_action.checks.failure_rules import REFUSE, RISK, is_judged_rule, refusal_turn
from ratiba_action.errors import FileProblem
from ratiba_action.model.scenario import assertion_label
from ratiba_action.model.values import JsonObject
from ratiba_action.suite.building import judged_rule
from ratiba_action.util.strict_yaml import Document, read_yaml
from ratiba_action.util.validation import shorten

CATALOGUE_SUFFIX = ".terms.yaml"
_PARAMETER = "catalogue"


def with_catalogues(
    document: Document, files: Mapping[str, bytes]
) -> tuple[Document, tuple[str, ...], tuple[FileProblem, ...]]:
    """The document with each named catalogue instead of its name.

    Args:
        document: a scenario file, whatever its shape.
        files: content of every file of the suite by its path.

    Returns:
        The document, the paths of the catalogues that were read, and what is wrong.
    """
    data = document.data
    entries = data.get("assertions") if isinstance(data, dict) else None
    if not isinstance(entries, list):
        return document, (), ()
    filled, read, problems = list[Any](), list[str](), list[FileProblem]()
    for index, entry in enumerate(entries):
        name = _named(entry)
        if name is None:
            filled.append(entry)
            continue
        path = _path(document.name, name)
        content = files.get(path) if path.endswith(CATALOGUE_SUFFIX) else None
        if content is None:
            line = document.line(("assertions", index, "with", _PARAMETER))
            wrong = f"{shorten(name)} is no *{CATALOGUE_SUFFIX} file of the scenario folder; name it from this folder"
            problems.append(FileProblem(document.name, line, f"{_PARAMETER}: {wrong}"))
            continue
        catalogue, found = read_yaml(path, content)
        problems += found
        read.append(path)
        filled.append({**entry, "with": {**entry["with"], _PARAMETER: catalogue.data if catalogue else None}})
    return replace(document, data={**data, "assertions": filled}), tuple(read), tuple(problems)


def _named(entry: Any) -> str | None:
    parameters = entry.get("with") if isinstance(entry, dict) else None
    name = parameters.get(_PARAMETER) if isinstance(parameters, dict) else None
    return name if isinstance(name, str) else None


def _path(scenario: str, name: str) -> str:
    """The path that a name leads to from the folder of a scenario; empty when it leaves the repository."""
    parts: list[str] = []
    for part in (PurePosixPath(scenario).parent / name).parts:
        if part != "..":
            parts.append(part)
        elif parts:
            parts.pop()
        else:
            return ""
    return "/".join(parts)


RuleCheck = Callable[[str, Any], str | None]
"""What is wrong with a rule of this type and value, or None."""

TRUTHS = ("answer", "key_phrases", "documents", "label", "labels", "refusal")
"""What a turn expects for metrics alone: no deterministic assertion reads it."""

TruthReaders = Callable[[str], Sequence[str]]
"""Names of the metrics that read a truth; all that are named in the message about one that nobody reads."""

MetricCheck = Callable[[str, JsonObject, AbstractSet[str] | None], Sequence[str]]
"""Everything that is wrong with a metric of this name and these parameters, where the turns expect these things."""


def reference_problems(
    document: Document, metric_problems: MetricCheck, rule_problem: RuleCheck
) -> Iterable[FileProblem]:
    """What the shape cannot tell: names of metrics, rules that cannot work.

    Args:
        document: a scenario file, whatever its shape.
        metric_problems: checks an assertion's metric and parameters.
        rule_problem: checks a failure rule's type and value.
    """
    data = document.data if isinstance(document.data, dict) else {}
    seen: set[str] = set()
    truths = _truths(data)
    for index, entry in enumerate(_entries(data.get("assertions"))):
        name, own = entry.get("metric"), entry.get("name")
        label = assertion_label(str(name), own if isinstance(own, str) else "")
        if isinstance(name, str) and label in seen:
            line = document.line(("assertions", index, "metric"))
            twice = f"the metric {shorten(label)} stands twice; give one threshold, or tell them apart by `name`"
            yield FileProblem(document.name, line, twice)
        seen |= {label} if isinstance(name, str) else set()
        parameters = entry.get("with", {})
        if isinstance(name, str) and isinstance(parameters, dict):
            line = document.line(("assertions", index, "metric"))
            yield from (FileProblem(document.name, line, wrong) for wrong in metric_problems(name, parameters, truths))
    for index, entry in enumerate(_entries(data.get("rules"))):
        kind = entry.get("type")
        if isinstance(kind, str):
            found = _rule_problems(kind, entry.get("value"), data, seen, (metric_problems, rule_problem))
            yield from (FileProblem(document.name, document.line(("rules", index)), wrong) for wrong in found)


def unread_truths(
    document: Document, readers: TruthReaders, added: Mapping[str, Sequence[str]]
) -> Iterable[FileProblem]:
    """Truths that no metric of the scenario reads: they would be written in vain.

    Args:
        document: a scenario file, whatever its shape.
        readers: of each truth.
        added: metrics by type of system that a scenario is measured by without listing them.
    """
    data = document.data if isinstance(document.data, dict) else {}
    metrics = {entry.get("metric") for entry in _entries(data.get("assertions"))}
    metrics |= set(added.get(str(data.get("system_type", "chatbot")), ()))
    for index, turn in enumerate(_entries(data.get("turns"))):
        said = turn.get("expect")
        expected: dict[str, Any] = said if isinstance(said, dict) else {}
        for truth in TRUTHS:
            if expected.get(truth) is not None and metrics.isdisjoint(readers(truth)):
                line = document.line(("turns", index, "expect", truth))
                message = (
                    f"no metric of the scenario reads {truth}; add one of {', '.join(readers(truth))}, or leave it out"
                )
                yield FileProblem(document.name, line, message)


def _rule_problems(
    kind: str, value: Any, data: Mapping[str, Any], seen: set[str], checks: tuple[MetricCheck, RuleCheck]
) -> Iterator[str]:
    """What is wrong with a rule; one that becomes an assertion needs its metric, once.

    Args:
        kind: type of the rule.
        value: of the rule.
        data: the whole file.
        seen: labels of the assertions so far; that of the rule is added.
        checks: of metrics and of rules.
    """
    metric_problems, rule_problem = checks
    wrong = rule_problem(kind, value)
    if wrong is not None:
        yield wrong
        return
    turns = _entries(data.get("turns"))
    turn = refusal_turn(value) if kind == REFUSE else None
    if turn is not None and turn > len(turns) and data.get("simulated_user") is None:
        yield f"the rule {REFUSE} names turn {turn}, and the scenario has {len(turns)}"
    if not is_judged_rule(kind, value):
        return
    assertion = judged_rule(kind, value)
    label = assertion_label(assertion.metric, assertion.name)
    if label in seen and kind == RISK:
        yield f"the rule {RISK} and the metric {label} ask for the same; keep one of them"
    elif label in seen:
        yield f"the rule {REFUSE} with a judge asks for {label}, which stands here already; keep one of them"
    if metric_problems(assertion.metric, assertion.parameters, None):
        yield f"the rule {kind} needs the metric {assertion.metric}, which is not installed"
    seen.add(label)


def _truths(data: Mapping[str, Any]) -> AbstractSet[str]:
    """What the turns expect."""
    expected = [turn.get("expect") for turn in _entries(data.get("turns"))]
    told = {key for one in expected if isinstance(one, dict) for key, value in one.items() if value is not None}
    captured = any(turn.get("reply") for turn in _entries(data.get("turns")))
    return told | {"answer"} if captured else told


def _entries(value: Any) -> list[dict[str, Any]]:
    """The items of a list, each as a mapping, so that indices stay those of the file."""
    return [item if isinstance(item, dict) else {} for item in value] if isinstance(value, list) else []
