"""DeepEval's metrics and classes built on it run in the worker as they are, with the gate's judge as their model."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ratiba_action.errors import ConfigurationError, RatibaError
from ratiba_action.metrics.judging.repository_metric import RepositoryMetric
from ratiba_action.model.conversation import Document
from ratiba_action.model.measurement import Answer, Question, Score
from ratiba_action.model.scenario import Assertion, Expectation, ExpectedTool
from ratiba_action.systems.worker_system import WorkerSystem
from tests.support.cases import case, create, exchange
from tests.support.judges import smallest_answer
from tests.systems.conftest import StartWorker
from tests.systems.test_judge_channel import ADAPTER, PRELOAD

METRICS = '''
from deepeval.metrics import BaseMetric, GEval
from deepeval.test_case import SingleTurnParams

SHOWN = [SingleTurnParams.INPUT, SingleTurnParams.ACTUAL_OUTPUT]
tone = GEval(name="Tone", criteria="Is the reply warm?", evaluation_params=SHOWN, model="gpt-4o")


class Warmth(BaseMetric):
    """As a team has it: a metric around G-Eval with the model that DeepEval chooses."""

    def __init__(self, threshold=0.5, model=None):
        self.threshold = threshold
        self.inner = GEval(name="Warmth", criteria="Is it warm?", evaluation_params=SHOWN, model=model)

    def measure(self, test_case):
        self.score = self.inner.measure(test_case, _show_indicator=False)
        self.reason = self.inner.reason
        return self.score

    async def a_measure(self, test_case):
        return self.measure(test_case)

    def is_successful(self):
        return self.score >= self.threshold


class Asks(BaseMetric):
    """Calls its model itself."""

    def __init__(self, model=None):
        self.model = model

    def measure(self, test_case):
        said = self.model.generate("Is this kind? " + test_case.actual_output)
        self.score, self.reason = (1.0 if "clear" in said else 0.0), said
        return self.score

    async def a_measure(self, test_case):
        raise NotImplementedError

    def is_successful(self):
        return True


class Exact(BaseMetric):
    def measure(self, test_case):
        self.score = float(test_case.actual_output.startswith("Karibu"))
        return self.score

    async def a_measure(self, test_case):
        return self.measure(test_case)

    def is_successful(self):
        return True
'''
_EXPECTED = Expectation(answer="Karibu sana!", tools=(ExpectedTool("create_booking", {}),))
_TURN = exchange("Habari", "Karibu!", create("2026-04-26T14:00"), expect=_EXPECTED)
CASE = case(replace(_TURN, reply=replace(_TURN.reply, documents=(Document("d1", "We open at nine."),))))
GEVAL = {"name": "Tone", "criteria": "Is it warm?", "evaluation_params": ["input", "actual_output"]}
DAG = {
    "nodes": {
        "root": {
            "type": "BinaryJudgementNode",
            "criteria": "Is it warm?",
            "evaluation_params": ["actual_output"],
            "children": ["yes", "no"],
        },
        "yes": {"type": "VerdictNode", "verdict": True, "score": 7},
        "no": {"type": "VerdictNode", "verdict": False, "score": 0},
    },
}
MISSING = "raise ImportError('not installed here')"


class Warm:
    """Implements ``Judge``: every number is 8, every text is "clear", the first of every choice."""

    model = "scripted-judge-1"

    def __init__(self) -> None:
        self.asked: list[Question] = []

    async def answer(self, question: Question) -> Answer:
        self.asked.append(question)
        body = smallest_answer(question.schema or {"type": "object", "properties": {}})
        return Answer({name: 8 if name == "score" else value for name, value in body.items()})


async def measured(system: WorkerSystem, metric: str, **parameters: Any) -> tuple[Score, Warm]:
    judge = Warm()
    assertion = Assertion(metric, 0.6, parameters=parameters)
    score = await RepositoryMetric(assertion, lambda load: load(judge), system).measure(CASE, 0.6)
    return score, judge


@pytest.fixture
async def system(tmp_path: Path, start_worker: StartWorker) -> WorkerSystem:
    package = tmp_path / "system" / "own"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "quality.py").write_text(METRICS, encoding="utf-8")
    return await start_worker(ADAPTER, preload=PRELOAD)


async def test_a_metrics_file_works_unchanged(system: WorkerSystem) -> None:
    results = {
        name: await measured(system, f"own.quality:{name}", judge_calls=4)
        for name in ("tone", "Warmth", "Asks", "Exact")
    }
    values = {name: score.value for name, (score, _) in results.items()}
    calls = {name: len(judge.asked) for name, (_, judge) in results.items()}
    assert values == {"tone": 0.8, "Warmth": 0.8, "Asks": 1.0, "Exact": 1.0}
    # G-Eval derives its steps from the criteria first.
    assert calls == {"tone": 2, "Warmth": 2, "Asks": 1, "Exact": 0}
    assert all(score.judged and "+deepeval-" in score.version for score, _ in results.values())


async def test_deepevals_own_metrics_run_by_name_with_their_parameters(system: WorkerSystem) -> None:
    g_eval, judge = await measured(system, "deepeval.metrics:GEval", **GEVAL)
    assert g_eval.value == 0.8
    assert "Karibu!" in judge.asked[1].prompt
    hallucination, judge = await measured(system, "deepeval.metrics:HallucinationMetric", include_reason=False)
    assert (hallucination.value, len(judge.asked)) == (1.0, 1)
    tools, judge = await measured(system, "deepeval.metrics:ToolCorrectnessMetric", should_exact_match=False)
    assert (tools.value, len(judge.asked)) == (1.0, 0)
    graph, judge = await measured(system, "deepeval.metrics:DAGMetric", name="Warm", dag=DAG, include_reason=False)
    assert (graph.value, len(judge.asked)) == (0.7, 1)
    talk, judge = await measured(
        system,
        "deepeval.metrics:ConversationalGEval",
        name="Warm",
        evaluation_steps=["Is it warm?"],
        evaluation_params=["content"],
    )
    assert (talk.value, len(judge.asked)) == (0.8, 1)


@pytest.mark.parametrize(
    ("metric", "parameters", "message"),
    [
        ("deepeval.metrics:NoSuchMetric", {}, "no attribute 'NoSuchMetric'"),
        ("deepeval.metrics:GEval", {**GEVAL, "evaluation_params": ["what_was_meant"]}, "what_was_meant"),
        ("deepeval.metrics:GEval", {**GEVAL, "wether": 1}, "wether"),
        ("deepeval.metrics:DAGMetric", {"name": "Warm", "dag": {"nodes": {}}}, "non-empty object"),
        ("own.quality:tone", {"judge_calls": 2, "strict": True}, "`with` must go: strict"),
        ("own.quality:Warmth", {"judge_calls": 1}, "more than 1 judge calls"),
    ],
)
async def test_what_cannot_be_measured_says_why(
    system: WorkerSystem, metric: str, parameters: dict[str, Any], message: str
) -> None:
    with pytest.raises(RatibaError) as caught:
        await measured(system, metric, **parameters)
    assert message in str(caught.value)


async def test_without_deepeval_the_message_has_the_command(tmp_path: Path, start_worker: StartWorker) -> None:
    package = tmp_path / "system" / "deepeval"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(MISSING)
    with pytest.raises(ConfigurationError, match=r"Run: \S*python\S* -m pip install deepeval"):
        await measured(await start_worker(ADAPTER), "deepeval.metrics:GEval", **GEVAL)
