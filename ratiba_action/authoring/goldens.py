"""Reads rows of other tools (CSV, JSON, JSON Lines)."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from ratiba_action.authoring.imports import TEST, Import, ImportedCase, ImportOutcome, NotImportedError, SourceFolder
from ratiba_action.errors import FileProblem, SuiteError
from ratiba_action.metrics.metric_table import METRICS
from ratiba_action.util.json_expression import Expression, ExpressionError
from ratiba_action.util.validation import shorten

_NEAR, _PERSON, _MAPPED = ImportOutcome.APPROXIMATED, ImportOutcome.MANUAL, ImportOutcome.MAPPED

FIELDS: Mapping[str, str] = MappingProxyType(
    {
        "input": "the user's message; or a list of messages, of which the user's are sent",
        "history": "a list of messages before it, of which the user's are sent",
        "name": "the id is made of it",
        "answer": "`expect.answer`, compared by the metric of `--metric`",
        "contains": "`expect.contains`",
        "contains_any": "`expect.contains_any`",
        "not_contains": "`expect.not_contains`",
        "contains_word": "`expect.contains_word`",
        "contains_any_word": "`expect.contains_any_word`: one of these words in the reply, whatever the scorer",
        "not_contains_word": "`expect.not_contains_word`",
        "matches": "`expect.matches`",
        "equals": "`expect.equals`",
        "max_words": "`expect.max_words`",
        "rubric": "GEval with this step, threshold 0.5",
        "label": "`expect.label` and LabelMetric 1.0",
        "labels": "`expect.labels` and LabelsMetric 1.0",
        "key_phrases": "`expect.key_phrases` and KeyPhraseMetric 1.0",
        "documents": "`expect.documents` and RecallAtKMetric 1.0",
    }
)
"""Targets of ``--map``, and what a column becomes."""
_MEASURED = {
    "label": "LabelMetric",
    "labels": "LabelsMetric",
    "key_phrases": "KeyPhraseMetric",
    "documents": "RecallAtKMetric",
}
OVER_ALL: Mapping[str, str] = MappingProxyType({"label": "LabelMetric", "labels": "LabelsMetric"})
"""Fields that thresholds over all cases compare, and the metric that they bring."""
_WORDS = ("contains_word", "contains_any_word", "not_contains_word")
_LISTS = ("contains", "contains_any", "not_contains", *_WORDS, "matches", "labels", "key_phrases", "documents")
FORMATS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "plain": {"input": "input"},
        "langsmith": {"input": "inputs.question", "answer": "outputs.answer"},
        "ragas": {"input": "user_input", "answer": "reference"},
        "inspect": {"name": "id", "input": "input", "contains_any_word": "target"},
        "openai-evals": {"input": "input", "contains_any_word": "ideal"},
        "deepeval": {"name": "name", "input": "input", "answer": "expected_output"},
    }
)
"""Mappings of columns by the tool that exported them, for ``--format``."""
_EFFECTLESS = {
    "actual_output": "left out: your system answers",
    "response": "left out: your system answers",
    "retrieval_context": "left out: your system retrieves its own documents",
    "retrieved_contexts": "left out: your system retrieves its own documents",
    "context": "left out: your system retrieves its own documents",
    **dict.fromkeys(("comments", "source_file", "metadata", "additional_metadata"), "left out: a note"),
}
DEFAULT_METRIC = ("AnswerCorrectnessMetric", 0.5)
"""Compares a reply with the column ``answer``."""


@dataclass(frozen=True, slots=True)
class Mapped:
    """How rows become cases.

    Args:
        columns: column or JMESPath by field.
        metric: that compares with ``answer``, and its threshold.
        shared: assertions of every case, as DeepEval's test files give them.
        over_all: labels are compared over all cases, by thresholds of the file of cases, and not in each.
    """

    columns: Mapping[str, str]
    metric: tuple[str, float] = DEFAULT_METRIC
    shared: Sequence[Mapping[str, Any]] = ()
    over_all: bool = False


def read_goldens(folder: SourceFolder, name: str, found: Import, mapped: Mapped) -> None:
    """Read a file of rows.

    Raises:
        SuiteError: it cannot be read or is malformed.
    """
    document = folder.document(name)
    data, key = document.data, tuple[str, ...]()
    if isinstance(data, Mapping):
        listed = [each for each in ("goldens", "test_cases", "examples", "samples") if isinstance(data.get(each), list)]
        key = tuple(listed[:1])
        data = data[key[0]] if key else data
    if not isinstance(data, list):
        raise SuiteError([FileProblem(document.name, 1, f"{shorten(data)} is not a list of rows")])
    for index, row in enumerate(data):
        place = (document.name, document.line((*key, index)))
        if not isinstance(row, Mapping):
            found.wrong(place, f"{shorten(row)} is not a mapping")
        elif "scenario" in row and "input" not in row:
            result = "not imported: write a scenario with `simulated_user` for a conversation"
            found.note(place, _PERSON, "conversational golden", result)
        else:
            read_row(found, ImportedCase(*place), row, mapped)


def read_row(found: Import, case: ImportedCase, row: Mapping[str, Any], mapped: Mapped) -> None:
    """Add the case that a row becomes; what cannot be mapped is a finding, and a row without an input a problem.

    Args:
        case: with its place, and the name that it has unless a column gives another.
        row: values by column.
    """
    place = (case.file, case.line)
    values = {key: cell(row, column) for key, column in mapped.columns.items()}
    if values.get("input") is None:
        columns = ", ".join(map(shorten, row))
        found.wrong(place, f"there is no {shorten(mapped.columns['input'])}; it has {columns}. Give --map input=COLUMN")
        return
    roots = {column.partition(".")[0].partition("[")[0] for column in mapped.columns.values()}
    for column in row:
        if column not in {*mapped.columns.values(), *roots} and row[column] not in (None, "", [], {}):
            result = _EFFECTLESS.get(
                column, f"not imported: give --map FIELD={shorten(column)[1:-1]} if it asserts something"
            )
            outcome = _NEAR if column in _EFFECTLESS else _PERSON
            found.note(case.whole, outcome, f"column {shorten(column)[1:-1]}", result)
    try:
        case.messages = _messages(found, place, values.pop("input"))
        if earlier := values.pop("history", None):
            case.messages = (*_messages(found, place, earlier), *case.messages)
        case.name = str(values.pop("name", None) or case.name)
        for entry in mapped.shared:
            add_assertion(case, entry, values.get("answer"))
        for key, value in values.items():
            if value not in (None, "", []):
                _field(found, case, key, value, mapped)
    except NotImportedError as error:
        found.note(place, _PERSON, TEST, f"not imported: {error}")
        return
    found.cases.append(case)


def cell(row: Mapping[str, Any], column: str) -> Any:
    """The value of a column, or what a JMESPath finds in the row; JSON in a cell is read."""
    if column in row:
        return row[column]
    read = {key: _as_json(value) for key, value in row.items()}
    try:
        return Expression(column).search(read)
    except (ExpressionError, ValueError):
        return None


def _as_json(value: Any) -> Any:
    if isinstance(value, str) and value[:1] in {"{", "["}:
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def _messages(found: Import, place: tuple[str, int], value: Any) -> tuple[str, ...]:
    value = _as_json(value)
    if isinstance(value, str) and value.strip():
        return (value,)
    listed = value if isinstance(value, list) else []
    messages = [message for message in listed if isinstance(message, Mapping)]
    texts = tuple(
        each["content"] for each in messages if each.get("role") == "user" and isinstance(each.get("content"), str)
    )
    if not texts or len(messages) < len(listed):
        raise NotImportedError(f"its input {shorten(value)} is not a text or a list of messages with one of the user")
    if len(texts) < len(messages):
        result = "only the user's messages are sent: your system has its own instructions and replies"
        found.note(place, _NEAR, "input", result)
    return texts


def _field(found: Import, case: ImportedCase, key: str, value: Any, mapped: Mapped) -> None:
    place = case.whole
    column = f"column {mapped.columns[key]}"
    if key in _LISTS:
        read = _as_json(value)
        value = read if isinstance(read, list) else [value]
    elif key == "max_words":
        value = int(value) if str(value).isdecimal() else value
    elif not isinstance(value, str):
        value = json.dumps(value, ensure_ascii=False)
    if key == "rubric":
        case.measure("GEval", 0.5, criterion="Rubric", steps=[value])
        found.note(place, _NEAR, column, FIELDS[key])
        return
    if key == "answer":
        if mapped.shared and not any(needs_answer(entry) for entry in case.assertions):
            found.note(place, _NEAR, column, "left out: no metric of the test file compares with it")
            return
        metric, threshold = mapped.metric
        if not mapped.shared:
            case.measure(metric, threshold)
        case.expect["answer"] = value
        compared = "the metrics of the test file" if mapped.shared else f"{metric} {threshold:g}"
        found.note(place, _NEAR, column, f"`expect.answer`, compared by {compared}")
        return
    over_all = mapped.over_all and key in OVER_ALL
    if key in _MEASURED:
        case.measure(_MEASURED[key], 0.0 if over_all else 1.0)
    case.expect[key] = value
    outcome = _NEAR if key == "contains_any_word" else _MAPPED
    found.note(place, outcome, column, f"`expect.{key}`, compared over all cases" if over_all else FIELDS[key])


def needs_answer(entry: Mapping[str, Any]) -> bool:
    """Whether an assertion compares with the expected output."""
    shown = entry.get("with", {}).get("shows", ())
    return METRICS[entry["metric"]].needs == "expect.answer" or "reference" in shown


def add_assertion(case: ImportedCase, entry: Mapping[str, Any], answer: Any) -> None:
    """Add what a test file of DeepEval makes of a metric.

    Args:
        entry: a metric, or a key of ``expect``.

    Raises:
        NotImportedError: the metric needs an expected output.
    """
    kind, _, key = entry["metric"].partition(".")
    if kind != "expect":
        if needs_answer(entry) and not isinstance(answer, str):
            raise NotImportedError(f"{entry['metric']} needs an expected output, and it has none")
        case.measure(entry["metric"], entry["threshold"], **entry.get("with", {}))
    elif key == "json":
        case.expect.setdefault("json", {})
    elif key == "matches":
        case.extend("matches", [entry["with"]["pattern"]])
    elif isinstance(answer, str):
        case.expect["equals"] = answer
