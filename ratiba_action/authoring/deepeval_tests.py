"""Reads DeepEval's pytest files, which are parsed and never run."""

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from ratiba_action.authoring.goldens import add_assertion, needs_answer
from ratiba_action.authoring.imports import TEST, Import, ImportedCase, ImportOutcome, NotImportedError, SourceFolder
from ratiba_action.errors import FileProblem, SuiteError
from ratiba_action.util.patterns import pattern_problem
from ratiba_action.util.strict_yaml import MAX_BYTES
from ratiba_action.util.text import clip
from ratiba_action.util.validation import shorten

_NEAR, _PERSON, _MAPPED = ImportOutcome.APPROXIMATED, ImportOutcome.MANUAL, ImportOutcome.MAPPED


@dataclass(frozen=True, slots=True)
class DeepEvalMetric:
    """What a metric of DeepEval becomes.

    Args:
        becomes: the metric here, or a key of ``expect``.
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
_RUNS = ("assert_test", "evaluate", "evals_iterator")
_RUNS_OF_CASES = ("test_case", "metrics")
"""The first parameters of the others; those of ``evals_iterator`` begin with the metrics."""
_LEFT_OVER = (
    "not imported: no assert_test, evaluate or evals_iterator here names it; add it to the scenarios that need it"
)
_CONVERSATIONS = ("ConversationalTestCase", "ConversationalGolden")


@dataclass(slots=True)
class TestFile:
    """A parsed test file.

    Args:
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
            elif isinstance(node, ast.Call) and _is_metric(node) and id(node) not in self.used:
                self._note(node, _PERSON, _called(node), _LEFT_OVER)

    def _statements(self, scope: ast.AST) -> None:
        for node in _in_order(scope):
            if isinstance(node, ast.Assign):
                self.values |= dict.fromkeys(_names(node.targets), node.value)
            elif isinstance(node, ast.Assert):
                self._note(node, _PERSON, "assert", "code is not run: write a rule `custom`, or use `expect`")
            elif isinstance(node, ast.Call) and _called(node) in _RUNS and id(node) not in self.used:
                self.used.add(id(node))
                self._run(node)

    def _note(self, node: ast.AST, outcome: ImportOutcome, what: str, result: str) -> None:
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
        """What runs metrics: its metrics, and its cases if they are literal."""
        parameters = ("metrics",) if _called(node) == "evals_iterator" else _RUNS_OF_CASES
        given = {each.arg: each.value for each in node.keywords} | dict(zip(parameters, node.args, strict=False))
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
        self.used.add(id(node))
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
        if isinstance(answer, str) and any(needs_answer(entry) for entry in case.assertions):
            case.expect["answer"] = answer
        self.found.cases.append(case)


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


def _is_metric(node: ast.Call) -> bool:
    """Whether a metric is made, of DeepEval's or of the file's own; a class is written with a capital."""
    name = _called(node)
    return name in DEEPEVAL_METRICS or (name.endswith("Metric") and name[:1].isupper())


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
