"""Reads rows of other tools (CSV, JSON, JSON Lines) and DeepEval's pytest files, which are parsed and never run."""

import ast
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from ratiba_action.authoring.imports import TEST, Import, ImportedCase, NotImportedError, Outcome, SourceFolder
from ratiba_action.errors import FileProblem, SuiteError
from ratiba_action.metrics.metric_table import METRICS
from ratiba_action.util.json_expression import Expression, ExpressionError
from ratiba_action.util.patterns import pattern_problem
from ratiba_action.util.strict_yaml import MAX_BYTES
from ratiba_action.util.text import clip
from ratiba_action.util.validation import shorten

_NEAR, _PERSON, _MAPPED = Outcome.APPROXIMATED, Outcome.MANUAL, Outcome.MAPPED

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
        found: gets case and findings.
        case: with its place, and the name that it has unless a column gives another.
        row: values by column.
        mapped: what its columns become.
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
        if mapped.shared and not any(_needs_answer(entry) for entry in case.assertions):
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


def _needs_answer(entry: Mapping[str, Any]) -> bool:
    shown = entry.get("with", {}).get("shows", ())
    return METRICS[entry["metric"]].needs == "expect.answer" or "reference" in shown


# DeepEval's test files


@dataclass(frozen=True, slots=True)
class DeepEvalMetric:
    """What a metric of DeepEval becomes.

    Args:
        becomes: the metric here, or a key of ``expect``.
        note: what differs.
        parameters: names here by names there; without them the metric cannot work.
    """

    becomes: str
    note: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)


_SAME = (
    "AnswerRelevancyMetric FaithfulnessMetric ContextualPrecisionMetric ContextualRecallMetric"
    " ContextualRelevancyMetric PIILeakageMetric TaskCompletionMetric KnowledgeRetentionMetric"
    " ConversationCompletenessMetric TurnRelevancyMetric GoalAccuracyMetric"
)
_DIRECTION = "until version 4 of DeepEval a low score was good: then set the threshold to 1 minus the old one"
DEEPEVAL_METRICS: Mapping[str, DeepEvalMetric] = MappingProxyType(
    {
        **{name: DeepEvalMetric(name) for name in _SAME.split()},
        "BiasMetric": DeepEvalMetric("BiasMetric", _DIRECTION),
        "ToxicityMetric": DeepEvalMetric("ToxicityMetric", _DIRECTION),
        "MisuseMetric": DeepEvalMetric("MisuseMetric", _DIRECTION, {"domain": "domain"}),
        "NonAdviceMetric": DeepEvalMetric("NonAdviceMetric", _DIRECTION, {"advice_types": "advice_types"}),
        "GEval": DeepEvalMetric(
            "GEval", "criteria become one step", {"name": "criterion", "evaluation_steps": "steps"}
        ),
        "ExactMatchMetric": DeepEvalMetric("expect.equals", "white space and Unicode forms are ignored"),
        "PatternMatchMetric": DeepEvalMetric("expect.matches", "the pattern must match the whole reply"),
        "JsonCorrectnessMetric": DeepEvalMetric("expect.json", "any JSON passes: the schema is not checked"),
    }
)
_SHOWN = {
    "INPUT": "asked",
    "ACTUAL_OUTPUT": "reply",
    "EXPECTED_OUTPUT": "reference",
    "RETRIEVAL_CONTEXT": "documents",
    "CONTEXT": "documents",
    "TOOLS_CALLED": "tools",
}
_CASES = ("LLMTestCase", "Golden")
_RUNS = ("assert_test", "evaluate")
_CONVERSATIONS = ("ConversationalTestCase", "ConversationalGolden")


@dataclass(slots=True)
class TestFile:
    """A parsed test file.

    Args:
        name: for messages.
        found: gets cases and findings.
        shared: assertions of tests whose cases come from elsewhere.
        values: expression by name, of simple assignments that are in force; None for a parameter.
        used: ids of the calls that were dealt with.
    """

    __test__ = False

    name: str
    found: Import
    shared: list[dict[str, Any]] = field(default_factory=list)
    values: dict[str, ast.expr | None] = field(default_factory=dict)
    used: set[int] = field(default_factory=set)

    def read(self, tree: ast.Module) -> None:
        """Find cases and metrics; first in functions, where names may stand for something else."""
        outside = {
            name: each.value for each in tree.body if isinstance(each, ast.Assign) for name in _names(each.targets)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                self.values = {**outside, **{each.arg: None for each in node.args.args}}
                self._statements(node)
        self.values = dict(outside)
        self._statements(tree)
        for node in _in_order(tree):
            if isinstance(node, ast.Call) and _called(node) in _CONVERSATIONS:
                result = "not imported: write a scenario with several turns or a `simulated_user`"
                self._note(node, _PERSON, _called(node), result)
            elif isinstance(node, ast.Call) and _called(node) in _CASES and id(node) not in self.used:
                self._case(node, None)

    def _statements(self, scope: ast.AST) -> None:
        for node in _in_order(scope):
            if isinstance(node, ast.Assign):
                self.values |= dict.fromkeys(_names(node.targets), node.value)
            elif isinstance(node, ast.Assert):
                self._note(node, _PERSON, "assert", "code is not run: write a rule `custom`, or use `expect`")
            elif isinstance(node, ast.Call) and _called(node) in _RUNS and id(node) not in self.used:
                self.used.add(id(node))
                self._run(node)

    def _note(self, node: ast.AST, outcome: Outcome, what: str, result: str) -> None:
        self.found.note((self.name, getattr(node, "lineno", 1)), outcome, what, result)

    def _resolved(self, node: ast.expr | None) -> ast.expr | None:
        """What a name stands for."""
        for _ in range(10):
            if not isinstance(node, ast.Name):
                break
            node = self.values.get(node.id)
        return node

    def _items(self, node: ast.expr | None) -> list[ast.expr | None]:
        """The items of a literal list; the expression itself otherwise."""
        node = self._resolved(node)
        return [self._resolved(item) for item in node.elts] if isinstance(node, ast.List | ast.Tuple) else [node]

    def _run(self, node: ast.Call) -> None:
        """An ``assert_test`` or ``evaluate``: its metrics, and its cases if they are literal."""
        given = {each.arg: each.value for each in node.keywords} | dict(
            zip(("test_case", "metrics"), node.args, strict=False)
        )
        cases = self._items(given.get("test_case", given.get("test_cases")))
        metrics = [entry for each in self._items(given.get("metrics")) for entry in self._metric(node, each)]
        literal = [
            each for each in cases if isinstance(each, ast.Call) and _called(each) in _CASES and _has_input(each)
        ]
        for case in literal:
            self.used.add(id(case))
            self._case(case, metrics)
        if len(literal) < len(cases):
            self.shared += [entry for entry in metrics if entry not in self.shared]
            result = "its metrics apply to every golden of this import: give the goldens' file in the same command"
            self._note(node, _NEAR, _called(node), result)

    def _metric(self, run: ast.Call, node: ast.expr | None) -> Iterator[dict[str, Any]]:
        """The assertion of a metric; none, and a finding, if it cannot be one."""
        if not isinstance(node, ast.Call):
            self._note(node or run, _PERSON, "metric", "not imported: it is not written here as a call")
            return
        name = _called(node)
        try:
            entry, given = _known(name), _keywords(node)
            threshold = _threshold(given)
            parameters = _parameters(name, entry, given)
        except NotImportedError as error:
            self._note(node, _PERSON, name, f"not imported: {error}")
            return
        left_out = sorted(
            set(given) - {"threshold", "strict_mode", *entry.parameters, "criteria", "evaluation_params", "pattern"}
        )
        note = "; ".join(filter(None, (entry.note, f"left out: {', '.join(left_out)}" if left_out else "")))
        result = f"{entry.becomes} {threshold:g}" if not entry.becomes.startswith("expect.") else f"`{entry.becomes}`"
        self._note(node, _NEAR if note else _MAPPED, name, result + (f"; {note}" if note else ""))
        yield {"metric": entry.becomes, "threshold": float(threshold), **({"with": parameters} if parameters else {})}

    def _case(self, node: ast.Call, metrics: Sequence[Mapping[str, Any]] | None) -> None:
        """A literal test case or golden; without metrics of its own those of the file apply."""
        given = _keywords(node)
        if not isinstance(given.get("input"), str):
            self._note(
                node, _NEAR, _called(node), "left out: its input is not a text written here, it comes from goldens"
            )
            return
        case = ImportedCase(self.name, node.lineno, str(given.get("name") or ""), (given["input"],))
        answer = given.get("expected_output")
        try:
            for entry in self.shared if metrics is None else metrics:
                add_assertion(case, entry, answer)
        except NotImportedError as error:
            self._note(node, _PERSON, TEST, f"not imported: {error}")
            return
        if isinstance(answer, str) and any(_needs_answer(entry) for entry in case.assertions):
            case.expect["answer"] = answer
        self.found.cases.append(case)


def add_assertion(case: ImportedCase, entry: Mapping[str, Any], answer: Any) -> None:
    """Add what ``TestFile`` made of a metric.

    Args:
        case: gets it.
        entry: a metric, or a key of ``expect``.
        answer: the expected output.

    Raises:
        NotImportedError: the metric needs an expected output.
    """
    kind, _, key = entry["metric"].partition(".")
    if kind != "expect":
        if _needs_answer(entry) and not isinstance(answer, str):
            raise NotImportedError(f"{entry['metric']} needs an expected output, and it has none")
        case.measure(entry["metric"], entry["threshold"], **entry.get("with", {}))
    elif key == "json":
        case.expect.setdefault("json", {})
    elif key == "matches":
        case.extend("matches", [entry["with"]["pattern"]])
    elif isinstance(answer, str):
        case.expect["equals"] = answer


def read_test_file(folder: SourceFolder, name: str, found: Import) -> list[dict[str, Any]]:
    """Parse a pytest file of DeepEval, and return the assertions of tests whose cases are not in it.

    Raises:
        SuiteError: it cannot be read or is not Python.
    """
    content, shown = folder.read(name, MAX_BYTES), folder.name(name)
    try:
        file = TestFile(shown, found)
        file.read(ast.parse(content))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None) or 1
        raise SuiteError([FileProblem(shown, line, f"not Python: {getattr(error, 'msg', None) or error}")]) from error
    return file.shared


def _names(targets: Sequence[ast.expr]) -> list[str]:
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _in_order(tree: ast.AST) -> Sequence[ast.stmt | ast.expr]:
    """Statements and expressions by their place."""
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.stmt | ast.expr)]
    return sorted(nodes, key=lambda node: (node.lineno, node.col_offset))


def _called(node: ast.Call) -> str:
    """The last name of what is called."""
    function = node.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _has_input(node: ast.Call) -> bool:
    return isinstance(_keywords(node).get("input"), str)


def _keywords(node: ast.Call) -> dict[str, Any]:
    """Keyword arguments that are literals; the expression itself for others."""
    found: dict[str, Any] = {}
    for each in node.keywords:
        if each.arg is not None:
            try:
                found[each.arg] = ast.literal_eval(each.value)
            except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
                found[each.arg] = each.value
    return found


def _known(name: str) -> DeepEvalMetric:
    if name not in DEEPEVAL_METRICS:
        raise NotImportedError("no counterpart: name DeepEval's class as a metric of your own")
    return DEEPEVAL_METRICS[name]


def _threshold(given: Mapping[str, Any]) -> float:
    threshold = 1.0 if given.get("strict_mode") is True else given.get("threshold", 0.5)
    if isinstance(threshold, ast.expr):
        raise NotImportedError(f"its threshold `{clip(ast.unparse(threshold), 80)}` is not a number written here")
    if not isinstance(threshold, int | float) or not 0 <= threshold <= 1:
        raise NotImportedError(f"its threshold {shorten(threshold)} is not from 0 to 1")
    return threshold


def _parameters(name: str, entry: DeepEvalMetric, given: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters of the metric here.

    Raises:
        NotImportedError: one is missing or no literal.
    """
    if name == "PatternMatchMetric":
        pattern = given.get("pattern")
        if not isinstance(pattern, str) or pattern_problem(pattern):
            raise NotImportedError("its pattern is not a text that can be searched for")
        flag = "(?i)" if given.get("ignore_case") is True else ""
        return {"pattern": rf"{flag}\A(?:{pattern.strip()})\Z"}
    parameters = {here: given[there] for there, here in entry.parameters.items() if there in given}
    if name == "GEval":
        parameters.setdefault("steps", [given["criteria"]] if isinstance(given.get("criteria"), str) else None)
        shown = given.get("evaluation_params")
        names = (
            [each.attr for each in shown.elts if isinstance(each, ast.Attribute)] if isinstance(shown, ast.List) else []
        )
        if names:
            parameters["shows"] = list(dict.fromkeys(_SHOWN[each] for each in names if each in _SHOWN))
    wrong = [key for key in entry.parameters.values() if not isinstance(parameters.get(key), str | list)]
    if wrong:
        raise NotImportedError(f"{', '.join(wrong)} is not written here as a literal")
    return parameters
