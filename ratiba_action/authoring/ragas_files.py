"""Reads Python files that evaluate with Ragas. They are parsed and never run."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from ratiba_action.authoring.goldens import FORMATS, Mapped, read_row
from ratiba_action.authoring.imports import SCORERS, Import, ImportedCase, ImportOutcome, NotImportedError
from ratiba_action.authoring.python_reading import (
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

_NEAR, _PERSON = ImportOutcome.APPROXIMATED, ImportOutcome.MANUAL
_THRESHOLD = 0.5
NO_MARK = f"Ragas has no pass mark: the threshold {_THRESHOLD} is this import's"
_CRITERION = "GEval"
_EXACT = ("expect.equals", "must_call_tool", f"{SCORERS}:openai_includes")
RAGAS_METRICS: Mapping[str, str] = MappingProxyType(
    {
        "Faithfulness": "FaithfulnessByClaimMetric",
        "AnswerRelevancy": "ReverseQuestionRelevancyMetric",
        "ResponseRelevancy": "ReverseQuestionRelevancyMetric",
        "ContextRecall": "ContextualRecallMetric",
        "LLMContextRecall": "ContextualRecallMetric",
        "ContextPrecision": "ContextualPrecisionMetric",
        "LLMContextPrecisionWithReference": "ContextualPrecisionMetric",
        "ContextRelevance": "ContextualRelevancyMetric",
        "ResponseGroundedness": "FaithfulnessMetric",
        "AnswerCorrectness": "AnswerCorrectnessMetric",
        "FactualCorrectness": "AnswerCorrectnessMetric",
        "AnswerAccuracy": "AnswerCorrectnessMetric",
        "SemanticSimilarity": "EmbeddingSimilarityMetric",
        "AnswerSimilarity": "EmbeddingSimilarityMetric",
        "NonLLMStringSimilarity": "CharacterSimilarityMetric",
        "RougeScore": "RougeLMetric",
        "BleuScore": "BleuMetric",
        "ChrfScore": "ChrfMetric",
        "AgentGoalAccuracyWithReference": "GoalAccuracyMetric",
        "AgentGoalAccuracyWithoutReference": "GoalAccuracyMetric",
        "AspectCritic": _CRITERION,
        "SimpleCriteriaScore": _CRITERION,
        "ExactMatch": "expect.equals",
        "StringPresence": f"{SCORERS}:openai_includes",
        "ToolCallAccuracy": "must_call_tool",
        "ToolCallF1": "must_call_tool",
    }
)
"""What a metric becomes: one here, a key of ``expect``, or a rule."""
_NOTES = {
    "expect.equals": "white space and Unicode forms are ignored",
    "must_call_tool": "each reference tool is called, by name: order and arguments are not compared",
    f"{SCORERS}:openai_includes": "the reply contains the reference, and case counts",
}
_SAMPLES = ("SingleTurnSample", "MultiTurnSample")
_INSTANCES = {"faithfulness", "answer_relevancy", "context_recall", "context_precision", "answer_correctness"}
_INSTANCES |= {"answer_similarity", "summarization_score"}
_HOW = frozenset({"llm", "embeddings", "max_retries", "strictness", "output_type"})
_LEFT_OVER = "not imported: no `evaluate` here uses it"


@dataclass(slots=True)
class EvaluationFile(PythonReader):
    """A file that calls ``evaluate``.

    Args:
        shared: assertions of runs whose samples come from elsewhere.
    """

    shared: list[dict[str, Any]] = field(default_factory=list)

    def visit(self, node: ast.Call) -> None:
        """``evaluate``, or a metric that scores one sample."""
        if called(node) in {"evaluate", "aevaluate"}:
            given = arguments(node, ("dataset", "metrics"))
            metrics, dataset = items_of(given.get("metrics")), given.get("dataset")
        else:
            owner = node.func.value if isinstance(node.func, ast.Attribute) else None
            metrics, dataset = [owner] if owner is not None else [], next(iter(node.args), None)
            if not isinstance(owner, ast.Call) or called(owner) not in RAGAS_METRICS:
                return
        entries = [entry for each in metrics for entry in self._metric(each)]
        rows = list(self._rows(dataset))
        mapped = Mapped(FORMATS["ragas"], shared=entries)
        for line, row in rows:
            read_row(self.found, ImportedCase(self.name, line), row, mapped)
        if not rows:
            self.shared += [entry for entry in entries if entry not in self.shared]
            result = "its metrics apply to every sample of this import: give the samples' file in the same command"
            self.note(node, _NEAR if entries else _PERSON, called(node), result)

    def left_over(self) -> None:
        """What no run used."""
        for node in in_order(self.file.tree):
            if not isinstance(node, ast.Call) or place_of(node) in self.used:
                continue
            known = called(node) in RAGAS_METRICS or self._imported(called(node))
            made = called(node) == "EvaluationDataset" or shown(node.func).startswith("EvaluationDataset.")
            if called(node) in _SAMPLES or known or (made and not self._held(node)):
                self.note(node, _PERSON, called(node), _LEFT_OVER)

    def _held(self, node: ast.Call) -> bool:
        """Whether a dataset is made of samples that are listed themselves."""
        inner = (each for each in ast.walk(node) if isinstance(each, ast.Call) and each is not node)
        return any(called(each) in _SAMPLES for each in inner)

    def _imported(self, name: str) -> bool:
        """Whether a name is one of Ragas's metrics."""
        return name[:1].isupper() and self.file.modules.get(name, "").startswith("ragas.metrics")

    def _metric(self, node: ast.expr) -> Iterator[dict[str, Any]]:
        name = called(node) if isinstance(node, ast.Call) else getattr(node, "id", getattr(node, "attr", ""))
        if isinstance(node, ast.Call):
            self.used.add(place_of(node))
        kind = "".join(each.title() for each in name.split("_")) if name in _INSTANCES else name
        given = arguments(node) if isinstance(node, ast.Call) else {}
        try:
            becomes, parameters = _counterpart(node, kind, given)
        except NotImportedError as error:
            self.note(node, _PERSON, name or "metric", f"not imported: {error}")
            return
        note = _NOTES.get(becomes, NO_MARK)
        left = sorted(set(given) - {"name", "definition", *parameters})
        more = f"; left out: {', '.join(left)}" if left else ""
        text = becomes if becomes in _EXACT else f"{becomes} {_THRESHOLD}"
        self.note(node, _NEAR, name, f"{text}; {note}{more}")
        threshold = 1.0 if becomes in _EXACT else _THRESHOLD
        yield {"metric": becomes, "threshold": threshold, **({"with": parameters} if parameters else {})}

    def _rows(self, node: ast.expr | None) -> Iterator[tuple[int, Mapping[str, Any]]]:
        """Samples as rows, with their lines."""
        if isinstance(node, ast.Call):
            self.used.add(place_of(node))
        if isinstance(node, ast.Call) and called(node) in {"EvaluationDataset", "from_list", "Dataset"}:
            node = arguments(node, ("samples",)).get("samples") or next(iter(node.args), None)
        if isinstance(node, ast.Call) and called(node) == "from_dict":
            yield from _columns(node)
            return
        for each in items_of(node):
            if isinstance(each, ast.Call) and called(each) in _SAMPLES:
                self.used.add(place_of(each))
                yield each.lineno, {key: _plain(value) for key, value in arguments(each).items()}
            elif isinstance(each, ast.Dict):
                row = literal(each)
                if isinstance(row, Mapping):
                    yield each.lineno, row
                else:
                    self.note(each, _PERSON, "sample", f"not imported: {shown(each)} is not written here as a literal")
            elif isinstance(node, ast.List):
                self.note(each, _PERSON, "sample", f"not imported: {shown(each)} is not written here as a literal")


def _counterpart(node: ast.expr, kind: str, given: Mapping[str, ast.expr]) -> tuple[str, dict[str, Any]]:
    """What a metric becomes, with its parameters.

    Raises:
        NotImportedError: it has no counterpart, or an argument that changes what it measures.
    """
    if kind not in RAGAS_METRICS:
        raise NotImportedError(f"`{shown(node)}` has no counterpart: write a metric of your own")
    becomes = RAGAS_METRICS[kind]
    values = literals(given)
    if becomes == _CRITERION:
        name, definition = values.get("name"), values.get("definition")
        if not isinstance(name, str) or not isinstance(definition, str):
            raise NotImportedError("its name or definition is not written here as a text")
        return becomes, {"criterion": name, "steps": [definition]}
    usual = {"rouge_type": "rougeL", "mode": "fmeasure" if kind == "RougeScore" else "f1", "strict_order": True}
    changed = [key for key, value in values.items() if key not in _HOW | {"name"} and value != usual.get(key)]
    if changed:
        raise NotImportedError(f"it has {', '.join(sorted(changed))}, which its counterpart {becomes} has not")
    return becomes, {}


def _columns(node: ast.Call) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Rows of a mapping of columns."""
    columns = literal((node.args or [ast.Constant(None)])[0])
    if isinstance(columns, Mapping) and all(isinstance(each, list) for each in columns.values()):
        for values in zip(*columns.values(), strict=False):
            yield node.lineno, dict(zip(map(str, columns), values, strict=True))


def _plain(node: ast.expr) -> Any:
    """A literal, with messages and tool calls as mappings; the source for what only a run knows."""
    if isinstance(node, ast.List | ast.Tuple):
        return [_plain(each) for each in node.elts]
    if isinstance(node, ast.Call):
        fields = {key: _plain(value) for key, value in arguments(node, ("content",)).items()}
        role = called(node).removesuffix("Message").lower()
        return {"role": role, **fields} if called(node).endswith("Message") else fields
    value = literal(node)
    return shown(node) if isinstance(value, ast.expr) else value


def read_evaluation(folder: SourceFolder, name: str, found: Import) -> list[dict[str, Any]]:
    """Parse a file, and return the assertions of runs whose samples are not in it.

    Raises:
        SuiteError: it cannot be read, is not Python, or would be too large.
    """
    scores = {"single_turn_score", "single_turn_ascore", "multi_turn_score", "multi_turn_ascore"}
    file = PythonFile(read_python(folder, name), frozenset({"evaluate", "aevaluate", *scores}))
    evaluation = EvaluationFile(folder.name(name), found, file)
    evaluation.read()
    return evaluation.shared
