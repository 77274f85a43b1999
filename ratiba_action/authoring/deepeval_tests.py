"""Reads DeepEval's test files, which are parsed and never run."""

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from ratiba_action.authoring.goldens import add_assertions, needs_answer
from ratiba_action.authoring.imports import Import, ImportedCase, ImportOutcome, NotImportedError
from ratiba_action.authoring.python_reading import (
    Names,
    PythonFile,
    PythonReader,
    arguments,
    called,
    in_order,
    items_of,
    literal,
    literals,
    place_of,
    read_python,
    shown,
)
from ratiba_action.authoring.source_folder import SourceFolder
from ratiba_action.util.patterns import pattern_problem
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
_STEPS = {"name": "criterion", "evaluation_steps": "steps"}
DEEPEVAL_METRICS: Mapping[str, DeepEvalMetric] = MappingProxyType(
    {
        **{name: DeepEvalMetric(name) for name in _SAME.split()},
        "BiasMetric": DeepEvalMetric("BiasMetric", _DIRECTION),
        "ToxicityMetric": DeepEvalMetric("ToxicityMetric", _DIRECTION),
        "MisuseMetric": DeepEvalMetric("MisuseMetric", _DIRECTION, {"domain": "domain"}),
        "NonAdviceMetric": DeepEvalMetric("NonAdviceMetric", _DIRECTION, {"advice_types": "advice_types"}),
        "GEval": DeepEvalMetric("GEval", "criteria become one step", _STEPS),
        "ConversationalGEval": DeepEvalMetric("ConversationalGEval", "criteria become one step", _STEPS),
        "RoleAdherenceMetric": DeepEvalMetric("RoleAdherenceMetric", "the role is the test case's `chatbot_role`"),
        "ExactMatchMetric": DeepEvalMetric("expect.equals", "white space and Unicode forms are ignored"),
        "PatternMatchMetric": DeepEvalMetric("expect.matches", "the pattern must match the whole reply"),
        "JsonCorrectnessMetric": DeepEvalMetric("expect.json", "any JSON passes: the schema is not checked"),
        "ToolCorrectnessMetric": DeepEvalMetric(
            "must_call_tool", "each expected tool is called, by name; left to a person where part of them suffices"
        ),
    }
)
"""Metrics that have a counterpart here."""
_AS_THEY_ARE = (
    "HallucinationMetric SummarizationMetric PromptAlignmentMetric ArgumentCorrectnessMetric RoleViolationMetric"
    " TopicAdherenceMetric ToolUseMetric ToolPermissionMetric"
)
AS_THEY_ARE: Mapping[str, DeepEvalMetric] = MappingProxyType(
    {
        name: DeepEvalMetric(f"deepeval.metrics:{name}", _DIRECTION if name == "HallucinationMetric" else "")
        for name in _AS_THEY_ARE.split()
    }
)
"""Metrics that run as DeepEval's own class, with the literal arguments of its constructor."""
_RUBRICS = frozenset({"GEval", "ConversationalGEval", "ArenaGEval", "JevEval", "ConversationalJevEval"})
"""Metrics whose names do not end with ``Metric``."""
_COMPONENT = frozenset({"observe", "update_current_span", "update_current_trace", "trace"})
_SHOWN = {
    "INPUT": "asked",
    "ACTUAL_OUTPUT": "reply",
    "EXPECTED_OUTPUT": "reference",
    "RETRIEVAL_CONTEXT": "documents",
    "CONTEXT": "documents",
    "TOOLS_CALLED": "tools",
}
_HOW = frozenset({"threshold", "strict_mode", "model", "include_reason", "async_mode", "verbose_mode", "flaky"})
"""Arguments about how a metric runs, which the gate decides; the threshold is read."""
_CASES = ("LLMTestCase", "Golden")
_CHATS = ("ConversationalTestCase",)
_PARAMETERS = {
    "assert_test": ("test_case", "metrics", "golden"),
    "evaluate": ("test_cases", "metrics"),
    "evals_iterator": ("metrics",),
    "measure": ("test_case",),
    "a_measure": ("test_case",),
}
_RUNS = tuple(_PARAMETERS)
_FILES = ("add_goldens_from", "add_test_cases_from")
_LEFT_OUT = {
    "actual_output": "your system answers",
    "retrieval_context": "your system retrieves its own documents",
    "context": "your system retrieves its own documents",
    "tools_called": "your system calls its own tools",
    **dict.fromkeys(("additional_metadata", "metadata", "comments", "tags", "source_file", "scenario"), "a note"),
    **dict.fromkeys(("completion_time", "token_cost", "input_token_count", "output_token_count"), "it is measured"),
    "user_description": "a note",
    "context_quality": "a note",
}
_LEFT_OVER = (
    "not imported: no assert_test, evaluate or evals_iterator here names it; add it to the scenarios that need it"
)
_REMOTE = "not imported: its metrics are on Confident AI and not in this file; add them to the scenarios"
_ARENA = "not imported: it compares answers of several systems; run them as variants, with PairwisePreferenceMetric"


@dataclass(slots=True)
class TestFile(PythonReader):
    """A test file.

    Args:
        shared: assertions of runs whose cases come from elsewhere.
        own: names of classes of the file that are metrics.
    """

    __test__ = False

    shared: list[dict[str, Any]] = field(default_factory=list)
    own: frozenset[str] = frozenset()

    def visit(self, node: ast.Call) -> None:
        """A call of ``wanted``, with names replaced."""
        name = called(node)
        if name in _COMPONENT:
            self._component(node)
        elif name == "compare":
            self._compare(node)
        elif name.startswith(_FILES) or name == "pull":
            self._dataset(node)
        elif name in {"measure", "a_measure"}:
            metric = node.func.value if isinstance(node.func, ast.Attribute) else None
            if isinstance(metric, ast.Call) and self._is_metric(metric):
                self._run(node, [metric], items_of(arguments(node, _PARAMETERS[name]).get("test_case")))
        else:
            self._evaluated(node)

    def asserted(self, statement: ast.Assert, names: Names) -> None:
        """An ``assert``; what a metric says of its own threshold is the metric's."""
        test = self.file.value(statement.test, names)
        owner = test.func if isinstance(test, ast.Call) else test
        metric = owner.value if isinstance(owner, ast.Attribute) else None
        own = isinstance(owner, ast.Attribute) and owner.attr in {"is_successful", "success"}
        if own and isinstance(metric, ast.Call) and place_of(metric) in self.used:
            self.note(statement, _MAPPED, "assert", f"the threshold of {called(metric)}")
            return
        self.note(statement, _PERSON, "assert", "code is not run: write a rule `custom`, or use `expect`")

    def left_over(self) -> None:
        """What no run used."""
        for node in in_order(self.file.tree):
            if not isinstance(node, ast.Call) or place_of(node) in self.used | self.file.read:
                continue
            if called(node) in _CASES + _CHATS:
                reason = "not imported: no assert_test, evaluate, evals_iterator or measure here runs it"
                self._lost(node, {}, reason)
            elif called(node) == "ConversationalGolden":
                result = "not imported: write a scenario with several turns or a `simulated_user`"
                self.note(node, _PERSON, called(node), result)
            elif self._is_metric(node):
                self.note(node, _PERSON, called(node), _LEFT_OVER)
            if called(node) not in {*_RUNS, *_COMPONENT}:
                for each in items_of(arguments(node).get("metrics")):
                    if not (isinstance(each, ast.Call) and self._is_metric(each)):
                        self.note(each, _PERSON, "metric", f"not imported: `{shown(node)}` does not run it as a test")

    def _is_metric(self, node: ast.Call) -> bool:
        """Whether a metric is made, of DeepEval's or of the team's own; a class is written with a capital."""
        name = called(node)
        return name in _RUBRICS or name in self.own or (name.endswith("Metric") and name.lstrip("_")[:1].isupper())

    def _component(self, node: ast.Call) -> None:
        """Metrics of a part of the system."""
        given = arguments(node)
        for each in items_of(given.get("metrics")):
            if isinstance(each, ast.Call):
                self.used.add(place_of(each))
            name = called(each) if isinstance(each, ast.Call) else shown(each)
            result = (
                f"not imported: it measures a part of the system ({called(node)}), and a metric here the whole reply;"
                " add it to the scenarios where that part makes the reply"
            )
            self.note(each, _PERSON, name, result)
        if "metric_collection" in given:
            self.note(node, _PERSON, f"{called(node)} metric_collection", _REMOTE)

    def _compare(self, node: ast.Call) -> None:
        metric = arguments(node, ("test_cases", "metric")).get("metric")
        if isinstance(metric, ast.Call) and self._is_metric(metric):
            self.used.add(place_of(metric))
            self.note(metric, _PERSON, called(metric), _ARENA)

    def _dataset(self, node: ast.Call) -> None:
        """Goldens that lie elsewhere."""
        if called(node) == "pull":
            alias = arguments(node, ("alias",)).get("alias")
            if alias is not None:
                result = f"not imported: the goldens of {shown(alias)} are on Confident AI; save them with `save_as`"
                self.note(node, _PERSON, "pull", f"{result}, then give that file to this command")
            return
        given = arguments(node, ("file_path",))
        path = literal(given["file_path"]) if "file_path" in given else ""
        where = path if isinstance(path, str) else "that file"
        maps = [
            f" --map {field}={literal(value)}"
            for column, field in (("input", "input"), ("expected_output", "answer"))
            for key, value in given.items()
            if key in {f"{column}_col_name", f"{column}_key_name"} and literal(value) != column
        ]
        options = f" with{''.join(maps)}" if maps else ""
        self.note(node, _NEAR, called(node), f"its cases are imported if you give {where} to this command too{options}")

    def _evaluated(self, node: ast.Call) -> None:
        """``assert_test``, ``evaluate`` and ``evals_iterator``."""
        name = called(node)
        dataset = node.func.value if isinstance(node.func, ast.Attribute) else None
        of_dataset = name == "evaluate" and isinstance(dataset, ast.Call)
        given = arguments(node, ("metrics",) if of_dataset else _PARAMETERS[name])
        if "metric_collection" in given:
            self.note(node, _PERSON, f"{name} metric_collection", _REMOTE)
        metrics = [each for value in [given.get("metrics")] for each in items_of(value)]
        cases = items_of(given.get("test_case", given.get("test_cases", given.get("golden"))))
        if name == "evals_iterator" or of_dataset:
            cases = _held(dataset)
        elif len(cases) == 1 and isinstance(cases[0], ast.Call) and called(cases[0]) == "EvaluationDataset":
            cases = _held(cases[0])
        self._run(node, metrics, cases)

    def _run(self, run: ast.Call, metrics: Sequence[ast.expr], cases: Sequence[ast.expr]) -> None:
        """What runs metrics on cases; those of cases that are not written here are shared."""
        entries = [(each, entry) for each in metrics for entry in self._metric(run, each)]
        elsewhere, before = not cases, len(self.found.cases)
        for case in cases:
            if isinstance(case, ast.Call) and called(case) in _CASES + _CHATS:
                self.used.add(place_of(case))
                elsewhere |= self._case(case, [entry for _, entry in entries])
            else:
                elsewhere = True
        if entries and not elsewhere and len(self.found.cases) == before:
            self.note(run, _PERSON, called(run), "not imported: none of its cases is, so its metrics measure nothing")
        if elsewhere and metrics:
            self.shared += [entry for _, entry in entries if entry not in self.shared]
            result = "its metrics apply to every golden of this import: give the goldens' file in the same command"
            self.note(run, _NEAR, called(run), result)

    def _metric(self, run: ast.Call, node: ast.expr) -> Iterator[dict[str, Any]]:
        """The assertion of a metric; none, and a finding, if it cannot be one."""
        if not isinstance(node, ast.Call) or not called(node).lstrip("_")[:1].isupper():
            self.note(node or run, _PERSON, "metric", f"not imported: `{shown(node)}` is not written here as a call")
            return
        self.used.add(place_of(node))
        name = called(node)
        given = literals(arguments(node))
        try:
            entry = self._known(name, rubric="rubric" in given)
            threshold = _threshold(name, given)
            parameters = _parameters(name, entry, given)
        except NotImportedError as error:
            self.note(node, _PERSON, name, f"not imported: {error}")
            return
        read = {"threshold", "strict_mode", *entry.parameters, *parameters}
        read |= {"criteria", "evaluation_params", "pattern", "ignore_case"}
        left_out = sorted(set(given) - read)
        note = "; ".join(filter(None, (entry.note, f"left out: {', '.join(left_out)}" if left_out else "")))
        exact = entry.becomes.startswith("expect.") or entry.becomes == "must_call_tool"
        result = f"`{entry.becomes}`" if exact else f"{entry.becomes} {threshold:g}"
        self.note(node, _NEAR if note else _MAPPED, name, result + (f"; {note}" if note else ""))
        yield {"metric": entry.becomes, "threshold": float(threshold), **({"with": parameters} if parameters else {})}

    def _known(self, name: str, *, rubric: bool) -> DeepEvalMetric:
        found = DEEPEVAL_METRICS.get(name) or AS_THEY_ARE.get(name)
        if rubric and name in DEEPEVAL_METRICS:
            found = DeepEvalMetric(f"deepeval.metrics:{name}", "with its rubric, as it is")
        if found is not None and not self.file.modules.get(name, "deepeval.").startswith("deepeval"):
            found = None  # a class of the team's own by the same name
        address = self.file.modules.get(name, "")
        if found is None and address and not address.startswith("deepeval"):
            return DeepEvalMetric(address, "your class runs as it is: set `judge_calls` if it calls a model")
        if found is not None:
            return found
        if name in self.own:
            raise NotImportedError("move the class to a module that is no test, then name it as `module:Class`")
        if name == "ArenaGEval":
            raise NotImportedError(_ARENA.partition(": ")[2])
        if name.endswith("DAGMetric"):
            raise NotImportedError(
                "its graph is made by code: write it with DeepEval's `dag_to_dict`, and give it to"
                f" `deepeval.metrics:{name}` under `with: {{dag: …}}`"
            )
        raise NotImportedError("it has no counterpart here")

    def _case(self, node: ast.Call, metrics: Sequence[Mapping[str, Any]]) -> bool:
        """A test case or golden; returns whether it comes from elsewhere."""
        fields = arguments(node, ("input",))
        given = literals(fields)
        messages = self._messages(node, given)
        if messages is None:
            return self._lost(node, fields, "not imported: its input is not a text written here")
        case = ImportedCase(self.name, node.lineno, str(given.get("name") or ""), messages)
        answer = given.get("expected_output", given.get("expected_outcome"))
        calls = [each for each in items_of(fields.get("expected_tools")) if isinstance(each, ast.Call)]
        named = [literal(value) for each in calls for value in [arguments(each, ("name",)).get("name")] if value]
        role = {"with": {"role": given["chatbot_role"]}} if isinstance(given.get("chatbot_role"), str) else {}
        entries = [each | (role if each["metric"] == "RoleAdherenceMetric" else {}) for each in map(dict, metrics)]
        add_assertions(self.found, case, entries, answer, named)
        self._fields(node, given, case)
        if isinstance(answer, str) and any(needs_answer(entry) for entry in case.assertions):
            case.expect["answer"] = answer
        self.found.cases.append(case)
        return False

    def _messages(self, node: ast.Call, given: Mapping[str, Any]) -> tuple[str, ...] | None:
        """The user's messages of a case; None if they are not written here."""
        if called(node) not in _CHATS:
            text = given.get("input")
            return (text,) if isinstance(text, str) and text.strip() else None
        turns = items_of(arguments(node, ("turns",)).get("turns"))
        calls = [each for each in turns if isinstance(each, ast.Call)]
        read = [literals(arguments(each, ("role", "content"))) for each in calls]
        texts = tuple(each.get("content") for each in read if each.get("role") == "user")
        if not texts or len(read) < len(turns) or not all(isinstance(each, str) and each.strip() for each in texts):
            return None
        if len(texts) < len(turns):
            self.note(node, _NEAR, "Turn", "only the user's messages are sent: your system gives its own replies")
        return tuple(map(str, texts))

    def _fields(self, node: ast.Call, given: Mapping[str, Any], case: ImportedCase) -> None:
        """What a case says besides its input."""
        read = {"input", "name", "turns"}
        if any(map(needs_answer, case.assertions)) or "equals" in case.expect:
            read |= {"expected_output", "expected_outcome"}
        if any(rule["type"] == "must_call_tool" for rule in case.rules):
            read.add("expected_tools")
        if any(entry["metric"] == "RoleAdherenceMetric" for entry in case.assertions):
            read.add("chatbot_role")
        for key, value in given.items():
            if key in read or value in (None, "", []):
                continue
            what = f"{called(node)} {key}"
            if key in _LEFT_OUT:
                self.found.note((self.name, 1), _NEAR, what, f"left out: {_LEFT_OUT[key]}")
            elif key in {"expected_output", "expected_outcome", "expected_tools", "chatbot_role"}:
                self.found.note((self.name, 1), _NEAR, what, "left out: no metric of its test compares with it")
            else:
                text = shown(value) if isinstance(value, ast.expr) else shorten(value)
                self.note(node, _PERSON, what, f"not imported: {text}")

    def _lost(self, node: ast.Call, fields: Mapping[str, ast.expr], reason: str) -> bool:
        """A case without a text; returns whether its input is that of a golden."""
        text = (fields or arguments(node, ("input",))).get("input")
        if isinstance(text, ast.Name | ast.Attribute | ast.Subscript):
            result = f"left out: its input `{shown(text)}` comes from other data; give that file to this command too"
            self.note(node, _NEAR, called(node), result)
            return True
        self.note(node, _PERSON, called(node), reason)
        return False


def read_test_file(folder: SourceFolder, name: str, found: Import) -> list[dict[str, Any]]:
    """Parse a test file of DeepEval, and return the assertions of runs whose cases are not in it.

    Raises:
        SuiteError: it cannot be read, is not Python, or would be too large.
    """
    tree = read_python(folder, name)
    wanted = {*_RUNS, *_COMPONENT, "compare", "pull"} | {
        called(node) for node in ast.walk(tree) if isinstance(node, ast.Call) and called(node).startswith(_FILES)
    }
    file = PythonFile(tree, frozenset(wanted))
    own = frozenset(
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and any("Metric" in ast.unparse(base) for base in node.bases)
    )
    tests = TestFile(folder.name(name), found, file, own=own)
    tests.read()
    return tests.shared


def _held(dataset: ast.expr | None) -> list[ast.expr]:
    """The cases with which a dataset is made."""
    held = arguments(dataset, ("goldens",)) if isinstance(dataset, ast.Call) else {}
    return [each for key in ("goldens", "test_cases") for each in items_of(held.get(key))]


def _threshold(name: str, given: Mapping[str, Any]) -> float:
    usual = 1.0 if name in {"ToolPermissionMetric", "ExactMatchMetric", "PatternMatchMetric"} else 0.5
    threshold = 1.0 if given.get("strict_mode") is True else given.get("threshold", usual)
    if isinstance(threshold, ast.expr):
        raise NotImportedError(f"its threshold `{shown(threshold)}` is not a number written here")
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
        # White space around the reply is ignored, and the pattern may not match it.
        return {"pattern": rf"{flag}\A\s*+(?:{pattern.strip()})(?<!\s)\s*\Z"}
    if name == "ToolCorrectnessMetric":
        _only_names(given)
        return {}
    if ":" in entry.becomes:
        return _as_they_are(given)
    parameters = {here: given[there] for there, here in entry.parameters.items() if there in given}
    if name in {"GEval", "ConversationalGEval"}:
        parameters.setdefault("steps", [given["criteria"]] if isinstance(given.get("criteria"), str) else None)
        names = _attributes(given.get("evaluation_params")) if name == "GEval" else []
        if names:
            parameters["shows"] = list(dict.fromkeys(_SHOWN[each] for each in names if each in _SHOWN))
    wrong = [key for key in entry.parameters.values() if not isinstance(parameters.get(key), str | list)]
    if wrong:
        raise NotImportedError(f"{', '.join(wrong)} is not written here as a literal")
    return parameters


def _attributes(node: Any) -> list[str]:
    """The last names of a list such as ``[LLMTestCaseParams.INPUT]``."""
    listed = items_of(node) if isinstance(node, ast.expr) else []
    return [each.attr for each in listed if isinstance(each, ast.Attribute)]


def _unread(value: Any) -> bool:
    """Whether a value, or a part of it, is no literal."""
    parts = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
    return isinstance(value, ast.expr) or any(map(_unread, parts))


def _only_names(given: Mapping[str, Any]) -> None:
    """Raise unless tools are compared by name alone, in any order."""
    more = [
        key
        for key in ("available_tools", "evaluation_params", "should_exact_match", "should_consider_ordering")
        if given.get(key) not in (None, False, [])
    ]
    if more:
        raise NotImportedError(f"it has {', '.join(more)}; assert the calls with `expect.tools`, in their order")


def _as_they_are(given: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of a class that runs unchanged."""
    parameters = {key: value for key, value in given.items() if key not in _HOW}
    if isinstance(parameters.get("evaluation_params"), ast.expr):
        names = _attributes(parameters["evaluation_params"])
        parameters["evaluation_params"] = [each.lower() for each in names] or parameters["evaluation_params"]
    for key in ("available_tools", "rubric"):
        listed = items_of(parameters[key]) if isinstance(parameters.get(key), ast.expr) else []
        if listed and all(isinstance(each, ast.Call) for each in listed):
            parameters[key] = [literals(arguments(each)) for each in listed if isinstance(each, ast.Call)]
    wrong = [key for key, value in parameters.items() if _unread(value)]
    if wrong:
        raise NotImportedError(f"{', '.join(wrong)} is not written here as a literal")
    return {key: value for key, value in parameters.items() if value is not None}
