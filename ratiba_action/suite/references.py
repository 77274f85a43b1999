"""Checks what a scenario file refers to: catalogues, metrics and rules."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

from ratiba_action.checks.custom_code import is_address
from ratiba_action.checks.failure_rules import REFUSE, RISK, is_judged_rule, key_problem, refusal_turn, rule_value
from ratiba_action.config.metrics_block import FLUENCY_METRICS
from ratiba_action.errors import ConfigurationError, FileProblem
from ratiba_action.metrics.registry import is_judged
from ratiba_action.model.scenario import SystemType, assertion_label
from ratiba_action.model.values import JsonObject
from ratiba_action.suite.building import judged_rule
from ratiba_action.suite.scenario_schema import RuleBlock
from ratiba_action.util.strict_yaml import YamlDocument, read_yaml
from ratiba_action.util.validation import shorten

CATALOGUE_SUFFIX = ".terms.yaml"
_PARAMETER = "catalogue"


def with_catalogues(
    document: YamlDocument, files: Mapping[str, bytes]
) -> tuple[YamlDocument, tuple[str, ...], tuple[FileProblem, ...]]:
    """The document with the content of each catalogue instead of its name.

    Args:
        document: a scenario file; may be invalid.
        files: content of every file of the suite by its path.

    Returns:
        The document, the paths of the catalogues that were read, and the problems.
    """
    data = document.data
    entries = data.get("assertions") if isinstance(data, dict) else None
    if not isinstance(entries, list) or all(_named(entry) is None for entry in entries):
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
            wrong = f"{shorten(name)} is not a *{CATALOGUE_SUFFIX} file in the scenarios folder"
            wrong += "; give its path relative to this file"
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
    """The path of a name relative to a scenario's folder; empty if it leaves the repository."""
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
"""Returns the problem of a rule of this type and value, or None."""

TRUTHS = ("answer", "key_phrases", "documents", "label", "labels", "refusal")
"""Expected values that only metrics read, no deterministic assertion."""

TruthReaders = Callable[[str], Sequence[str]]
"""Returns the names of the metrics that read an expected value."""

MetricCheck = Callable[[str, JsonObject, AbstractSet[str] | None], Sequence[str]]
"""Returns the problems of a metric with this name, these parameters and these expected values."""


def reference_problems(
    document: YamlDocument, metric_problems: MetricCheck, rule_problem: RuleCheck
) -> Iterable[FileProblem]:
    """Problems beyond the schema: unknown metrics, invalid rules.

    Args:
        document: a scenario file, whatever its shape.
    """
    data = document.data if isinstance(document.data, dict) else {}
    seen: set[str] = set()
    truths = _truths(data)
    for index, entry in enumerate(_entries(data.get("assertions"))):
        name, own = entry.get("metric"), entry.get("name")
        label = assertion_label(str(name), own if isinstance(own, str) else "")
        if isinstance(name, str) and label in seen:
            line = document.line(("assertions", index, "metric"))
            twice = f"duplicate metric {shorten(label)}; remove one, or give each a different `name`"
            yield FileProblem(document.name, line, twice)
        seen |= {label} if isinstance(name, str) else set()
        parameters = entry.get("with", {})
        if isinstance(name, str) and isinstance(parameters, dict):
            line = document.line(("assertions", index, "metric"))
            yield from (FileProblem(document.name, line, wrong) for wrong in metric_problems(name, parameters, truths))
    for index, entry in enumerate(_entries(data.get("rules"))):
        kind = entry.get("type")
        if isinstance(kind, str) and key_problem(entry, RuleBlock.model_fields) is None:
            found = _rule_problems(kind, rule_value(entry), data, seen, (metric_problems, rule_problem))
            yield from (FileProblem(document.name, document.line(("rules", index)), wrong) for wrong in found)


def unread_truths(
    document: YamlDocument, readers: TruthReaders, added: Mapping[str, Sequence[str]]
) -> Iterable[FileProblem]:
    """Expected values that no metric of the scenario reads.

    Args:
        document: a scenario file, whatever its shape.
        added: metrics by type of system that apply without being listed.
    """
    data = document.data if isinstance(document.data, dict) else {}
    listed = _entries(data.get("assertions"))
    metrics = {entry.get("metric") for entry in listed}
    shown = {truth for entry in listed for truth in _shown_truths(entry.get("with"))}
    metrics |= set(added.get(str(data.get("system_type", SystemType.CHATBOT)), ()))
    for index, turn in enumerate(_entries(data.get("turns"))):
        expect = turn.get("expect")
        expected: dict[str, Any] = expect if isinstance(expect, dict) else {}
        for truth in TRUTHS:
            if expected.get(truth) is not None and truth not in shown and metrics.isdisjoint(readers(truth)):
                line = document.line(("turns", index, "expect", truth))
                message = (
                    f"no metric of the scenario reads {truth}; add one of {', '.join(readers(truth))}, or remove it"
                )
                yield FileProblem(document.name, line, message)


def history_problems(document: YamlDocument, added: Mapping[str, Sequence[str]] | None) -> Iterator[FileProblem]:
    """Names in ``strategy.metrics`` that no judge of the scenario scores: all else is exact, or not there.

    Args:
        document: a scenario file, whatever its shape.
        added: metrics by type of system that apply without being listed; None where they are not known.
    """
    data = document.data if isinstance(document.data, dict) else {}
    strategy = data.get("strategy")
    named = strategy.get("metrics") if isinstance(strategy, dict) else None
    if not isinstance(named, list):
        return
    known: dict[str, bool] = {}
    of_type = (added or {}).get(str(data.get("system_type", SystemType.CHATBOT)), ())
    for name in filter(None, (*of_type, _language_metric(data))):
        known[name] = is_address(name) or _is_judged(name, {})
    for entry in _entries(data.get("assertions")):
        metric, own, given = entry.get("metric"), entry.get("name"), entry.get("with")
        if isinstance(metric, str):
            label = assertion_label(metric, own if isinstance(own, str) else "")
            known[label] = _is_judged(metric, given if isinstance(given, dict) else {})
    for index, name in enumerate(named):
        if isinstance(name, str) and not known.get(name, added is None):
            why = "is deterministic, so its threshold decides" if name in known else "is no metric of this scenario"
            judged = ", ".join(sorted(label for label in known if known[label])) or "none"
            message = f"strategy.metrics: {shorten(name)} {why}; judged here: {judged}"
            yield FileProblem(document.name, document.line(("strategy", "metrics", index)), message)


def _language_metric(data: Mapping[str, Any]) -> str:
    language = data.get("language")
    return FLUENCY_METRICS.get(language, "") if isinstance(language, str) else ""


def _is_judged(metric: str, parameters: JsonObject) -> bool:
    try:
        return is_judged(metric, parameters)
    except ConfigurationError:
        return True  # it is reported where it is listed


def _shown_truths(parameters: Any) -> Iterator[str]:
    """Expected values that a metric's parameters show to the judge: ``shows`` of GEval, or a template."""
    given = parameters if isinstance(parameters, dict) else {}
    shows, template = given.get("shows"), given.get("template")
    if (isinstance(shows, list) and "reference" in shows) or (isinstance(template, str) and "{reference}" in template):
        yield "answer"


def _rule_problems(
    kind: str, value: Any, data: Mapping[str, Any], seen: set[str], checks: tuple[MetricCheck, RuleCheck]
) -> Iterator[str]:
    """Problems of a rule; a rule that becomes an assertion needs its metric, and only once.

    Args:
        seen: labels of the assertions so far; that of the rule is added.
    """
    metric_problems, rule_problem = checks
    wrong = rule_problem(kind, value)
    if wrong is not None:
        yield wrong
        return
    turns = _entries(data.get("turns"))
    turn = refusal_turn(value) if kind == REFUSE else None
    if turn is not None and turn > len(turns) and data.get("simulated_user") is None:
        yield f"the rule {REFUSE} names turn {turn}, but the scenario has {len(turns)}"
    if not is_judged_rule(kind, value):
        return
    assertion = judged_rule(kind, value)
    label = assertion_label(assertion.metric, assertion.name)
    if label in seen and kind == RISK:
        yield f"the rule {RISK} and the metric {label} are duplicates; remove one of them"
    elif label in seen:
        yield f"the rule {REFUSE} with a judge duplicates {label}; remove one of them"
    if metric_problems(assertion.metric, assertion.parameters, None):
        yield f"the rule {kind} needs the metric {assertion.metric}, which is not installed"
    seen.add(label)


def _truths(data: Mapping[str, Any]) -> AbstractSet[str]:
    """Names of the values that the turns expect."""
    expected = [turn.get("expect") for turn in _entries(data.get("turns"))]
    truths = {
        key
        for expectation in expected
        if isinstance(expectation, dict)
        for key, value in expectation.items()
        if value is not None
    }
    captured = any(turn.get("reply") for turn in _entries(data.get("turns")))
    return truths | {"answer"} if captured else truths


def _entries(value: Any) -> list[dict[str, Any]]:
    """The items of a list, invalid ones as empty mappings, so that indices match the file."""
    return [item if isinstance(item, dict) else {} for item in value] if isinstance(value, list) else []
