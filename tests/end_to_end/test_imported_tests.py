"""Tests of other tools are imported by one command, accepted by ``validate`` and run by ``gate``."""

import json
from pathlib import Path
from shutil import which
from typing import Any

import pytest

from ratiba_action.config.configuration import read_configuration
from ratiba_action.llm.recordings.lines import JudgeRecording
from ratiba_action.llm.recordings.writer import render_recordings
from ratiba_action.metrics.judging.replay_judge import judge_recording_key
from ratiba_action.metrics.registry import is_judged, load_metric
from ratiba_action.model.answer_origin import RecordingSource
from ratiba_action.model.conversation import Exchange, Reply, Transcript
from ratiba_action.model.measurement import Case, Question
from tests.support.judges import ObligingJudge
from tests.support.small_repository import SmallRepository
from tests.support.suites import suite_of
from tests.support.tests_of_other_tools import GOLDENS, INLINE, PROMPTFOO, REPLIES, TEST_FILE, TESTS_CSV

CONFIGURATION = "system: {adapter: desk:Desk, database: false, price_per_turn_usd: 0}\n"
DESK = """\
import json
from pathlib import Path
from shutil import which

REPLIES = json.loads((Path(__file__).parent / "replies.json").read_text())


class Desk:
    def open(self, context):
        return self

    def send(self, message):
        return {"text": REPLIES[message]}
"""


@pytest.fixture
def desk(small: SmallRepository) -> SmallRepository:
    """A repository whose system answers as the tests expect, and the files of other tools in it."""
    small.write(".github/ratiba.yml", CONFIGURATION)
    small.write("desk.py", DESK)
    small.write("replies.json", json.dumps(REPLIES))
    small.write("evals/promptfooconfig.json", PROMPTFOO)
    small.write("evals/tests.csv", TESTS_CSV)
    small.write("evals/goldens.json", json.dumps(GOLDENS))
    small.write("evals/test_stock.py", TEST_FILE)
    return small


def imported(desk: SmallRepository, *words: str) -> dict[str, Any]:
    done = desk.run(["import", *words, "--json"], desk.folder, desk.environment)
    assert done.returncode == 0, done.stdout + done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    return report


async def author_scores(folder: Path) -> None:
    """Write a good score for each question of a judged metric, as a person may."""
    model = read_configuration("ratiba.yml", CONFIGURATION.encode()).judge.model
    suite = suite_of(folder)
    for scenario in suite.scenarios:
        exchanges = tuple(Exchange(turn, Reply(REPLIES[str(turn.user)])) for turn in scenario.turns)
        measured, judge = Case(scenario, Transcript(scenario.id, exchanges)), ObligingJudge(model)
        for entry in scenario.assertions:
            if is_judged(entry.metric):
                await load_metric(entry.metric, judge, entry.parameters).measure(measured, entry.threshold)
        path = folder / "scenarios/recordings" / f"{scenario.id}.jsonl"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(render_recordings([line(question, model) for question in judge.asked]))


def line(question: Question, model: str) -> JudgeRecording:
    key = judge_recording_key(question.metric, model, question.transcript, question.ordinal)
    usage, authored = {"input_tokens": 100, "output_tokens": 10}, RecordingSource.AUTHORED
    return JudgeRecording(
        key, question.ordinal, authored, question.metric, model, question.transcript, 0.8, "clear", usage
    )


async def runs_green(desk: SmallRepository, count: int) -> None:
    checked = desk.run(["validate", "--json"], desk.folder, desk.environment)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert json.loads(checked.stdout)["scenarios"] == count
    await author_scores(desk.folder)
    desk.commit()
    ended = desk.gate("--mode", "blocking")
    assert ended.code == 0, ended.printed
    assert (int(ended.outputs["passed"]), int(ended.outputs["failed"])) == (count, 0)


async def test_thirty_tests_of_promptfoo_run_and_none_is_left_to_a_person(desk: SmallRepository) -> None:
    report = imported(desk, "promptfoo", "evals/promptfooconfig.json")
    assert report["tests"] == 30
    assert [each for each in report["findings"] if each["outcome"] == "manual"] == []
    assert "prompt" in report["configuration"]["system"]
    await runs_green(desk, 30)


@pytest.mark.skipif(which("node") is None, reason="needs Node")
@pytest.mark.parametrize(("code", "ends"), [("output.length > 3", 0), ("output.length > 300", 1)])
async def test_javascript_of_an_assertion_is_run_by_the_gate(desk: SmallRepository, code: str, ends: int) -> None:
    test = {"vars": {"question": "Count to three"}, "assert": [{"type": "javascript", "value": code}]}
    desk.write("evals/promptfooconfig.json", json.dumps({"tests": [test]}))
    imported(desk, "promptfoo", "evals/promptfooconfig.json")
    desk.commit()
    ended = desk.gate("--mode", "blocking")
    assert ended.code == ends, ended.printed


BOT = """\
def call_api(prompt, options, context):
    return {"output": f"{options['config']['tone']} about {context['vars']['topic']}: {prompt}"}
"""


@pytest.mark.parametrize(("wanted", "ends"), [("kind about bread: Made of bread", 0), ("rude", 1)])
async def test_a_function_of_a_promptfoo_suite_runs_as_the_system(
    small: SmallRepository, wanted: str, ends: int
) -> None:
    (small.folder / ".github/ratiba.yml").unlink(missing_ok=True)
    small.write("evals/bot.py", BOT)
    small.write("evals/make.py", "def make(context): return 'Made of ' + context['vars']['topic']\n")
    content = {
        "prompts": ["file://make.py:make"],
        "providers": [{"id": "python:bot.py", "config": {"tone": "kind"}}],
        "tests": [{"vars": {"topic": "bread"}, "assert": [{"type": "contains", "value": wanted}]}],
    }
    small.write("evals/promptfooconfig.json", json.dumps(content))
    imported(small, "promptfoo", "evals")
    small.commit()
    ended = small.gate("--mode", "blocking")
    assert ended.code == ends, ended.printed
    assert int(ended.outputs["passed"]) == 1 - ends


@pytest.mark.parametrize(("threshold", "ends"), [(0.7, 0), (0.71, 1)])
async def test_a_threshold_of_a_test_is_the_mean_of_its_assertions(
    desk: SmallRepository, threshold: float, ends: int
) -> None:
    asserts = [
        {"type": "python", "value": "0.5"},
        {"type": "is-json", "value": {"type": "number"}, "transform": "file://count.py", "weight": 2},
        {"type": "equals", "value": "something else"},
        {"type": "not-is-xml"},
    ]
    test = {"vars": {"question": "Count to three"}, "assert": asserts, "threshold": threshold}
    desk.write("evals/promptfooconfig.json", json.dumps({"tests": [test]}))
    desk.write("evals/count.py", "def get_transform(output, context):\n    return len(context['vars']['question'])\n")
    report = imported(desk, "promptfoo", "evals/promptfooconfig.json")
    assert [each for each in report["findings"] if each["outcome"] == "manual"] == []
    desk.commit()
    ended = desk.gate("--mode", "blocking")
    assert ended.code == ends, ended.printed


async def test_twenty_goldens_run_with_the_metrics_of_their_test_file(desk: SmallRepository) -> None:
    words = ("deepeval", "evals/goldens.json", "evals/test_stock.py", "--map", "contains=contains", "--prefix", "stock")
    report = imported(desk, *words)
    assert report["tests"] == len(GOLDENS) + 1
    left = [(each["file"], each["line"], each["what"]) for each in report["findings"] if each["outcome"] == "manual"]
    assert left == [("evals/test_stock.py", TEST_FILE[: TEST_FILE.index('    assert "21')].count("\n") + 1, "assert")]
    await runs_green(desk, 21)


async def test_an_imported_assertion_fails_where_the_reply_is_wrong(desk: SmallRepository) -> None:
    imported(desk, "promptfoo", "evals/promptfooconfig.json")
    await author_scores(desk.folder)
    wrong = {message: reply.swapcase() for message, _, reply in INLINE if message.startswith(("Are", "Say", "What co"))}
    desk.write("replies.json", json.dumps(REPLIES | wrong | {"Where are you?": "in nairobi"}))
    desk.commit()
    ended = desk.gate("--mode", "blocking")
    assert ended.code == 1, ended.printed
    assert int(ended.outputs["failed"]) == 2, ended.printed
    assert "are_you_open_on_sunday" in ended.comment
    assert "say_the_greeting" in ended.comment
