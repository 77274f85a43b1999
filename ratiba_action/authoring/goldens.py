"""Reads rows of other tools (CSV, JSON, JSON Lines)."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from ratiba_action.authoring.imports import SCORERS, TEST, Import, ImportedCase, ImportOutcome, NotImportedError
from ratiba_action.authoring.source_folder import SourceFolder
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
        "tools": "the rule `must_call_tool`: names, or objects with a `name`; each is called, in any order",
    }
)
"""Targets of ``--map``, and what a column becomes."""
_MEASURED = {
    "label": "LabelMetric",
    "labels": "LabelsMetric",
    "key_phrases": "KeyPhraseMetric",
    "documents": "RecallAtKMetric",
}
CONTAINED = f"{SCORERS}:openai_includes"
"""Scores whether the reply contains the reference."""
_NO_ANSWER = "it needs an expected output, and this test has none"
OVER_ALL: Mapping[str, str] = MappingProxyType({"label": "LabelMetric", "labels": "LabelsMetric"})
"""Fields that thresholds over all cases compare, and the metric that they bring."""
_WORDS = ("contains_word", "contains_any_word", "not_contains_word")
_LISTS = ("contains", "contains_any", "not_contains", *_WORDS, "matches", "labels", "key_phrases", "documents")
FORMATS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "plain": {"input": "input"},
        "langsmith": {"name": "id", "input": "inputs", "answer": "outputs"},
        "langfuse": {"name": "id", "input": "input", "answer": "expectedOutput || expected_output"},
        "ragas": {
            "input": "user_input || question",
            "answer": "reference || ground_truth || ground_truths[0]",
            "tools": "reference_tool_calls",
        },
        # Without a scorer; `ratiba import inspect` and `openai-evals` compare as theirs does.
        "inspect": {"name": "id", "input": "input", "contains_any_word": "target"},
        "openai-evals": {"input": "input", "contains_any_word": "ideal"},
        "deepeval": {
            "name": "name",
            "input": "input",
            "answer": "expected_output || expectedOutput",
            "tools": "expected_tools || expectedTools",
        },
    }
)
"""Mappings of columns by the tool that exported them, for ``--format``."""
_NOTES = (
    "comments source_file sourceFile metadata additional_metadata additionalMetadata persona_name query_style"
    " query_length synthesizer_name created_at modified_at createdAt updatedAt dataset_id datasetId dataset_name"
    " datasetName source_run_id sourceTraceId sourceObservationId source_trace_id source_observation_id dataset_split"
    " token_cost input_token_count output_token_count status"
)
_DOCUMENTS = "retrieval_context retrieved_contexts context contexts reference_contexts"
_ANSWERS = "actual_output response tools_called"
_EFFECTLESS = {
    **dict.fromkeys(_ANSWERS.split(), "left out: your system answers"),
    **dict.fromkeys(_DOCUMENTS.split(), "left out: your system retrieves its own documents"),
    **dict.fromkeys(_NOTES.split(), "left out: a note"),
}
_LISTS_OF_ROWS = ("goldens", "test_cases", "examples", "samples", "data", "items")
"""Keys of a file under which tools write their rows."""
_MESSAGES = "question input query message user_input user_message prompt text content messages chat_history"
_REPLIES = "answer output expected_output expected reference response ground_truth label text content messages"
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
    shared: list[dict[str, Any]] = field(default_factory=list)
    over_all: bool = False


def read_goldens(folder: SourceFolder, name: str, found: Import, mapped: Mapped) -> None:
    """Read a file of rows.

    Raises:
        SuiteError: it cannot be read or is malformed.
    """
    document = folder.document(name)
    data, key = document.data, tuple[str, ...]()
    if isinstance(data, Mapping):
        listed = [each for each in _LISTS_OF_ROWS if isinstance(data.get(each), list)]
        key = tuple(listed[:1])
        for other in sorted(set(map(str, data)) - set(key)) if key else ():
            lost = isinstance(data.get(other), list) and data[other]
            result = f"not imported: only {shorten(key[0])} is read" if lost else "left out: a note"
            found.note((document.name, document.line((other,))), _PERSON if lost else _NEAR, f"key {other}", result)
        data = data[key[0]] if key else data
    if not isinstance(data, list):
        raise SuiteError([FileProblem(document.name, 1, f"{shorten(data)} is not a list of rows")])
    for index, row in enumerate(data):
        place = (document.name, document.line((*key, index)))
        if not isinstance(row, Mapping):
            found.wrong(place, f"{shorten(row)} is not a mapping")
        elif row.get("scenario") and not row.get("input"):
            result = "not imported: write a scenario with `simulated_user` for a conversation"
            found.note(place, _PERSON, "conversational golden", result)
        elif row.get("status") == "ARCHIVED":
            found.note(place, _NEAR, TEST, "left out: it is archived")
        else:
            read_row(found, ImportedCase(*place), row, mapped)


def read_row(found: Import, case: ImportedCase, row: Mapping[str, Any], mapped: Mapped) -> None:
    """Add the case that a row becomes; what cannot be mapped is a finding, and a row without an input a problem.

    Args:
        case: with its place, and the name that it has unless a column gives another.
        row: values by column.
    """
    place = (case.file, case.line)
    mapped = replace(mapped, columns={key: _column(row, column) for key, column in mapped.columns.items()})
    values = {key: cell(row, column) for key, column in mapped.columns.items()}
    if values.get("input") is None:
        columns = ", ".join(map(shorten, row))
        found.wrong(place, f"there is no {shorten(mapped.columns['input'])}; it has {columns}. Give --map input=COLUMN")
        return
    roots = {re.split(r"[.\[]", column)[0] for column in mapped.columns.values()}
    for column in row:
        if column not in {*mapped.columns.values(), *roots} and row[column] not in (None, "", [], {}):
            result = _EFFECTLESS.get(
                column, f"not imported: give --map FIELD={shorten(column)[1:-1]} if it asserts something"
            )
            outcome = _NEAR if column in _EFFECTLESS else _PERSON
            found.note(case.whole, outcome, f"column {shorten(column)[1:-1]}", result)
    try:
        case.messages = messages_of(found, place, _one_of(found, case, values.pop("input"), _MESSAGES, "input"))
        if earlier := values.pop("history", None):
            case.messages = (*messages_of(found, place, earlier), *case.messages)
    except NotImportedError as error:
        found.note(place, _PERSON, TEST, f"not imported: {error}")
        return
    case.name = str(values.pop("name", None) or case.name)
    if values.get("answer") is not None:
        values["answer"] = _reply(_one_of(found, case, values["answer"], _REPLIES, "answer"))
    tools = [_tool(each) for each in _listed(values.pop("tools", None))]
    add_assertions(found, case, mapped.shared, values.get("answer"), tools)
    for key, value in values.items():
        if value not in (None, "", []):
            _field(found, case, key, value, mapped)
    if tools:
        _add_tools(found, case, tools, mapped)
    found.cases.append(case)


def _add_tools(found: Import, case: ImportedCase, tools: Sequence[Any], mapped: Mapped) -> None:
    """Expected tools, unless a metric of a test file compares with them already."""
    if not mapped.shared:
        case.rules.append({"type": "must_call_tool", "value": tools})
        found.note(case.whole, _NEAR, f"column {mapped.columns['tools']}", FIELDS["tools"])
    elif not any(rule["type"] == "must_call_tool" for rule in case.rules):
        result = "left out: no metric of the test file compares with it"
        found.note(case.whole, _NEAR, f"column {mapped.columns['tools']}", result)


def _one_of(found: Import, case: ImportedCase, value: Any, names: str, what: str) -> Any:
    """The part of an object that is the message or the answer; the others become inputs, or are listed."""
    value = _as_json(value)
    if not isinstance(value, Mapping) or "role" in value:
        return value
    known = [name for name in names.split() if value.get(name) not in (None, "", [])]
    key = known[0] if known else next(iter(value)) if len(value) == 1 else None
    if key is None:
        return value
    others = {name: each for name, each in value.items() if name != key and each not in (None, "", [])}
    if what == "input" and others:
        case.inputs = {str(name): each for name, each in others.items()}
        found.note(case.whole, _NEAR, f"{what}: {', '.join(map(shorten, others))[:200]}", "`inputs` of the scenario")
    elif others:
        names = ", ".join(map(shorten, others))[:200]
        found.note(case.whole, _PERSON, f"{what}: {names}", f"not imported: only {shorten(key)} is compared")
    return value[key]


def _reply(value: Any) -> Any:
    """The text of an expected reply, also of the last message of a list."""
    value = _as_json(value)
    messages = value if isinstance(value, list) else [value]
    last = messages[-1] if messages else None
    return _message(last)[1] or value if isinstance(last, Mapping) else value


def _message(message: Any) -> tuple[str, str]:
    """Role and text of a message, in the forms of OpenAI, LangChain and Ragas."""
    if not isinstance(message, Mapping):
        return "", ""
    inner = message.get("data", message.get("kwargs", message))
    inner = inner if isinstance(inner, Mapping) else message
    kind = message.get("id")
    role = message.get("role") or inner.get("role") or inner.get("type") or message.get("type") or ""
    role = str(kind[-1]).removesuffix("Message") if isinstance(kind, list) and kind else str(role)
    content = inner.get("content")
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, Mapping)]
        content = "\n".join(part for part in parts if isinstance(part, str))
    role = role.lower()
    return {"human": "user"}.get(role, role), content if isinstance(content, str) else ""


def _tool(value: Any) -> Any:
    """The name of a tool, or of an object with one."""
    return value.get("name", value) if isinstance(value, Mapping) else value


def _listed(value: Any) -> list[Any]:
    value = _as_json(value)
    if value in (None, "", [], {}):
        return []
    return value if isinstance(value, list) else [value]


def _column(row: Mapping[str, Any], column: str) -> str:
    """The first of several names of a column that the row has a value of."""
    if not re.fullmatch(r"[\w.\[\]]+( \|\| [\w.\[\]]+)+", column):
        return column
    names = column.split(" || ")
    return next((name for name in names if cell(row, name) not in (None, "", [])), names[0])


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


def messages_of(found: Import, place: tuple[str, int], value: Any) -> tuple[str, ...]:
    """The user's messages of a text or a list of messages, and a finding if the list has others.

    Raises:
        NotImportedError: it is neither, or has none of the user.
    """
    value = _as_json(value)
    if isinstance(value, str) and value.strip():
        return (value,)
    listed = value if isinstance(value, list) else [value]
    messages = [_message(each) for each in listed]
    texts = tuple(text for role, text in messages if role == "user" and text.strip())
    if not texts or not all(role for role, _ in messages):
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
            used = "equals" in case.expect or any(entry["metric"] == CONTAINED for entry in case.assertions)
            result = "compared by the metrics of the test file" if used else "left out: no metric compares with it"
            found.note(place, _NEAR, column, result)
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
    known = METRICS.get(entry["metric"])
    return "reference" in shown or (known is not None and known.needs == "expect.answer")


def add_assertions(
    found: Import, case: ImportedCase, entries: Iterable[Mapping[str, Any]], answer: Any, tools: Sequence[Any]
) -> None:
    """Add what a test file of DeepEval or Ragas makes of its metrics; one that this case cannot have is a finding.

    Args:
        entries: metrics, keys of ``expect`` and ``must_call_tool``.
        tools: names of those that the case expects.
    """
    for entry in entries:
        try:
            _add(case, entry, answer, tools)
        except NotImportedError as error:
            found.note((case.file, case.line), _PERSON, entry["metric"], f"not imported: {error}")


def _add(case: ImportedCase, entry: Mapping[str, Any], answer: Any, tools: Sequence[Any]) -> None:
    kind, _, key = entry["metric"].partition(".")
    if kind == "must_call_tool":
        _must_call(case, entry["threshold"], tools)
    elif entry["metric"] == CONTAINED:
        if not isinstance(answer, str):
            raise NotImportedError(_NO_ANSWER)
        case.measure(CONTAINED, entry["threshold"], ideal=[answer])
    elif kind != "expect":
        if entry["metric"] == "RoleAdherenceMetric" and "with" not in entry:
            raise NotImportedError("it needs the assistant's role, and this test has none: add `with: {role: …}`")
        if needs_answer(entry) and not isinstance(answer, str):
            raise NotImportedError(_NO_ANSWER)
        case.measure(entry["metric"], entry["threshold"], **entry.get("with", {}))
    elif key == "json":
        case.expect.setdefault("json", {})
    elif key == "matches":
        case.extend("matches", [entry["with"]["pattern"]])
    elif isinstance(answer, str):
        case.expect["equals"] = answer
    else:
        raise NotImportedError(_NO_ANSWER)


def _must_call(case: ImportedCase, threshold: float, tools: Sequence[Any]) -> None:
    if not tools or not all(isinstance(each, str) for each in tools):
        raise NotImportedError("it needs expected tools by name, and this test has none")
    if len(set(tools)) < len(tools):
        raise NotImportedError("a tool is expected more than once; assert the calls with `expect.tools`")
    if threshold <= (len(tools) - 1) / len(tools):
        raise NotImportedError(
            f"{threshold:g} of {len(tools)} tools suffices; use ToolCallF1Metric with `expect.tools`, or threshold 1"
        )
    case.rules.append({"type": "must_call_tool", "value": list(tools)})
