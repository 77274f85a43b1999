"""Metrics of the repository call the gate's judge over the worker's pipe, and hold no key."""

import json
from pathlib import Path
from typing import Any

import pytest

from ratiba_action.errors import BudgetError, ConfigurationError, JudgeError, RatibaError
from ratiba_action.metrics.judging.repository_metric import MAX_PROMPT, RepositoryMetric
from ratiba_action.model.measurement import JudgeScore, Score
from ratiba_action.model.scenario import Assertion
from ratiba_action.run.runner import CustomMetric
from ratiba_action.systems.worker_system import WorkerSystem
from tests.support.cases import case, create, exchange
from tests.support.judges import ObligingJudge, ScriptedJudge
from tests.systems.conftest import StartWorker

ADAPTER = """
    class Adapter:
        def open(self, context):
            return self
        def send(self, message):
            return {"text": message}
"""
PAGE = Path(__file__).parents[2] / "docs/metrics-own.md"
PRELOAD = ["ratiba_worker.adapters.deepeval_metrics:load"]
CASE = case(exchange("Habari", "Karibu!", create("2026-04-26T14:00")), exchange("Asante", "Karibu tena!"))


def write(tmp_path: Path, code: str) -> None:
    package = tmp_path / "system" / "own"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "tone.py").write_text(code, encoding="utf-8")


async def measured(system: WorkerSystem, judge: Any, metric: str = "own.tone:tone", **parameters: Any) -> Score:
    assertion = Assertion(metric, 0.6, parameters={"judge_calls": 3, **parameters})
    return await RepositoryMetric(assertion, lambda load: load(judge), system).measure(CASE, 0.6)


async def test_a_score_is_the_judges_and_counts_as_judged(tmp_path: Path, start_worker: StartWorker) -> None:
    write(
        tmp_path,
        "SCHEMA = {'type': 'object', 'properties': {'kind': {'type': 'boolean'}, 'level': {'type': 'number'}}}\n"
        "def tone(evidence, judge):\n"
        "    first = judge.score('Is it kind? ' + evidence['turns'][0]['reply']['text'])\n"
        "    second = judge.score('How kind?', SCHEMA)\n"
        "    return {'value': first['score'] / 2, 'reason': first['reason'] + ' ' + repr(second)}\n",
    )
    judge = ScriptedJudge([JudgeScore(0.9, "It is."), {"kind": True, "level": 7.5}])
    score = await measured(await start_worker(ADAPTER, preload=PRELOAD), judge, softly=True)
    assert (score.value, score.judged, score.threshold) == (0.45, True, 0.6)
    assert score.reason == "It is. {'kind': True, 'level': 7.5}"
    assert [question.prompt for question in judge.asked] == ["Is it kind? Karibu!", "How kind?"]
    assert [question.ordinal for question in judge.asked] == [0, 1]
    assert judge.asked[1].schema == {
        "type": "object",
        "properties": {"kind": {"type": "boolean"}, "level": {"type": "number"}},
        "required": ["kind", "level"],
        "additionalProperties": False,
        "title": "answer",
    }


async def test_the_version_follows_the_code_that_is_imported_and_the_parameters(
    tmp_path: Path, start_worker: StartWorker
) -> None:
    write(
        tmp_path, "from own.words import WORD\ndef tone(evidence, judge): return {'value': judge.score(WORD)['score']}"
    )
    words = tmp_path / "system" / "own" / "words.py"
    versions, asked = [], []
    trials: list[tuple[str, dict[str, Any]]] = [("kind", {}), ("kind", {"a": 1}), ("warm", {}), ("kind", {})]
    for word, parameters in trials:
        words.write_text(f"WORD = {word!r}")
        judge = ScriptedJudge([JudgeScore(0.9, "It is.")])
        score = await measured(await start_worker(ADAPTER, preload=PRELOAD), judge, **parameters)
        versions.append(score.version)
        asked.append(judge.asked[0].metric)
    assert versions[0] == versions[3] != versions[2] != versions[1]
    assert len(set(versions)) == 3
    # A release of DeepEval voids what is cached, and no recording.
    assert [metric.removeprefix("own.tone.tone:") for metric in asked] == [
        one.partition("+deepeval")[0] for one in versions
    ]


ENDLESS = "def tone(evidence, judge):\n    while True: judge.score('Is it kind?')\n"
CAUGHT = """
def tone(evidence, judge):
    for _ in range(50):
        try:
            judge.score('Is it kind?')
        except BaseException:
            pass
    return {'value': 1.0}
"""
RAW = """
def tone(evidence, judge):
    frame = evidence['parameters']['frame']
    judge._connection.sendall(frame['text'].encode() * frame['times'] + b'\\n')
    judge._lines.readline()
    return {'value': 1.0}
"""
AFTER_THE_END = """
import os, time
def tone(evidence, judge):
    parent = os.getpid()
    if os.fork() == 0:
        while os.getppid() == parent: time.sleep(0.001)
        while True: judge.score('Is it kind?')
    return {'value': 1.0, 'reason': 'it said so itself'}
"""


@pytest.mark.parametrize("code", [ENDLESS, CAUGHT])
async def test_calls_without_end_are_an_error_and_no_call_is_made_beyond_the_declared_ones(
    tmp_path: Path, start_worker: StartWorker, code: str
) -> None:
    write(tmp_path, code)
    judge = ObligingJudge()
    with pytest.raises(JudgeError, match=r"more than 3 judge calls .* Correct the metric, or raise judge_calls"):
        await measured(await start_worker(ADAPTER, preload=PRELOAD), judge)
    assert len(judge.asked) == 3


CIRCLE = {"a": {"type": "array", "items": {"$ref": "#/$defs/a"}}}
MALFORMED: list[tuple[dict[str, Any], str]] = [
    ({"judge": None}, "None is not a prompt"),
    ({"judge": {"prompt": "kind?"}}, "is not a prompt with a schema"),
    ({"judge": {"prompt": "kind?", "schema": None, "model": "gpt-5"}}, "is not a prompt with a schema"),
    ({"judge": {"prompt": 7, "schema": None}}, "the prompt 7 is not a text"),
    ({"judge": {"prompt": "x" * (MAX_PROMPT + 1), "schema": None}}, "200,001 characters"),
    ({"judge": {"prompt": "kind?", "schema": []}}, "the schema [] is not an object"),
    ({"judge": {"prompt": "kind?", "schema": {"type": "string"}}}, "not one of an object"),
    (
        {"judge": {"prompt": "?", "schema": {"type": "object", "properties": {"a": {"$ref": "#/$defs/b"}}}}},
        "a part that judges do not support",
    ),
    (
        {"judge": {"prompt": "?", "schema": {"type": "object", "properties": CIRCLE, "$defs": CIRCLE}}},
        "a part that judges do not support",
    ),
    ({"judge": {"prompt": "?", "schema": {"$ref": "x" * 20_000}}}, "more than 16,000 characters"),
    ({"id": 2, "judge": {"prompt": "kind?", "schema": None}}, "does not belong"),
    ({"judge": {}, "error": None, "answer": {"value": 1}}, "does not belong"),
]


async def test_a_malformed_question_is_an_error_of_the_scenario_and_costs_nothing(
    tmp_path: Path, start_worker: StartWorker
) -> None:
    write(tmp_path, RAW)
    system, judge = await start_worker(ADAPTER, preload=PRELOAD), ObligingJudge()
    frames: list[tuple[dict[str, Any], str]] = [
        *(({"text": json.dumps({"id": 1, **frame}), "times": 1}, text) for frame, text in MALFORMED),
        ({"text": "judge", "times": 1}, "JSON"),
        ({"text": "[", "times": 100_000}, ""),
        ({"text": "x", "times": 2 << 20}, "longer than"),
    ]
    for frame, text in frames:
        with pytest.raises(ConfigurationError) as caught:
            await measured(system, judge, frame=frame)
        assert text in str(caught.value)
    assert not judge.asked


async def test_questions_after_the_end_are_not_answered(tmp_path: Path, start_worker: StartWorker) -> None:
    write(tmp_path, AFTER_THE_END)
    judge = ObligingJudge()
    system = await start_worker(ADAPTER, preload=PRELOAD)
    score = await measured(system, judge)
    await system.close()
    assert score.value == 1.0
    assert not judge.asked


@pytest.mark.parametrize("error", [BudgetError("The cap is reached."), JudgeError("The judge refused.")])
async def test_what_the_judge_runs_into_is_the_error_and_not_the_metrics_to_hide(
    tmp_path: Path, start_worker: StartWorker, error: RatibaError
) -> None:
    write(tmp_path, CAUGHT)
    judge = ScriptedJudge([error])
    with pytest.raises(type(error), match=error.problem):
        await measured(await start_worker(ADAPTER, preload=PRELOAD), judge)
    assert len(judge.asked) == 1


async def test_a_metric_that_declares_no_call_has_no_judge(tmp_path: Path, start_worker: StartWorker) -> None:
    write(tmp_path, ENDLESS)
    metric = CustomMetric(Assertion("own.tone:tone", 0.6), await start_worker(ADAPTER, preload=PRELOAD))
    with pytest.raises(ConfigurationError, match="set `judge_calls` under `with`"):
        await metric.measure(CASE, 0.6)


async def test_the_documented_example_runs(tmp_path: Path, start_worker: StartWorker) -> None:
    code = PAGE.read_text(encoding="utf-8").partition("# own/quality.py\n")[2].partition("```")[0]
    write(tmp_path, code)
    judge = ScriptedJudge(
        [{"promises": False}, JudgeScore(0.9, "They are."), {"promises": True}, JudgeScore(0.9, "So.")]
    )
    system = await start_worker(ADAPTER, preload=PRELOAD)
    assert [(await measured(system, judge, "own.tone:promises_nothing")).value for _ in range(2)] == [0.9, 0.0]
