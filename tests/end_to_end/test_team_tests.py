"""A team's own pytest-DeepEval tests, unchanged, gate a change: paid, recorded, replayed, never green by accident."""

import json
from fractions import Fraction

from ratiba_action.llm.scripted_answers import Step
from ratiba_action.model.conversation import Usage
from ratiba_action.model.measurement import Errored, Phase, ScenarioResult, Scored
from tests.support.live_repository import CONFIGURATION, KEY, LiveRepository, is_judged, outcomes
from tests.support.model_servers import Received

TESTS = """
import pytest
from deepeval import assert_test
from deepeval.metrics import GEval
from deepeval.test_case import LLMTestCase, SingleTurnParams

from adapter import Conversation

SHOWN = [SingleTurnParams.INPUT, SingleTurnParams.ACTUAL_OUTPUT]
QUESTIONS = {"open": "Are you open on Sunday?", "price": "What does a massage cost?"}


def tone(threshold=0.7):
    steps = ["Is the reply kind?"]
    return GEval(name="Tone", evaluation_steps=steps, evaluation_params=SHOWN, model="gpt-4.1", threshold=threshold)


def test_greeting():
    assert_test(LLMTestCase(input="Hello", actual_output=Conversation("greets").send("Hello")["text"]), [tone()])


@pytest.mark.parametrize("name", sorted(QUESTIONS))
def test_questions(name):
    assert_test(LLMTestCase(input=QUESTIONS[name], actual_output="Karibu!"), [tone()])


class TestRefunds:
    def test_late(self):
        assert_test(LLMTestCase(input="Can I have a refund?", actual_output="No refunds."), [tone()])


def test_words():
    assert "Karibu" in "Karibu sana"


async def scheduled():
    return 1
"""
IDS = (
    *("tests_evals_test_support__test_greeting", "tests_evals_test_support__test_questions"),
    *("tests_evals_test_support__testrefunds__test_late", "tests_evals_test_support__test_words"),
)
LATE = IDS[2]
ALONE = CONFIGURATION.replace("  cross_check: {model: gpt-5.6, share: 1.0}\n", "  cross_check: null\n  votes: 1\n")
CONFIGURED = ALONE + "tests: [tests/evals]\n"
FREE = {"RATIBA_LLM": "replay", "RATIBA_ANTHROPIC_API_KEY": "", "RATIBA_OPENAI_API_KEY": ""}


def stern(received: Received) -> Step | None:
    """A judge that dislikes a refusal of refunds."""
    if is_judged(received) and "No refunds" in json.dumps(dict(received.body)):
        return Step("anthropic", data={"reason": "A refusal without a reason.", "score": 2})
    return None


def prepare(live: LiveRepository, tests: str = TESTS) -> None:
    live.talk.scores = (9,)
    live.small.write(".github/ratiba.yml", CONFIGURED)
    live.small.write("tests/evals/test_support.py", tests)


def failed(result: ScenarioResult) -> list[str]:
    assert isinstance(result, Scored), result
    return [f"{check.what}: {check.got}" for check in result.checks if not check.passed]


async def test_the_failing_test_is_the_headline_and_each_test_counts_as_a_scenario(live: LiveRepository) -> None:
    prepare(live)
    live.talk.instead = stern
    ended = await live.gate()
    assert ended.code == 1, ended.printed
    assert set(outcomes(ended)) == set(IDS)
    results = outcomes(ended)
    (why,) = failed(results[LATE])
    assert why.startswith("pytest TestRefunds::test_late: failed: AssertionError: Metrics: Tone [GEval] (score: 0.2")
    assert [name for name in IDS if name != LATE and failed(results[name])] == []
    assert ended.comment.splitlines()[4].startswith("> 1 of 4 scenarios failed a deterministic assertion: tests")
    assert "3 of 4 scenarios passed" in ended.comment
    assert f"**`{LATE}`** · self-reported · `tests/evals/test_support.py` line 28" in ended.comment
    assert f"Self-reported: `{IDS[0]}`" in ended.comment
    assert ended.results["report"]["self_reported"] == sorted(IDS)
    assert "self-reported" in (ended.report / "report.html").read_text()
    questions = results[IDS[1]]
    assert isinstance(questions, Scored)
    assert [check.what for check in questions.checks] == ["pytest test_questions[open]", "pytest test_questions[price]"]
    assert len(live.models.received) == 5, "one turn of the system, and a question for each test case"
    assert Fraction(ended.outputs["spent_usd"]) == live.models.bill.total
    junit = (ended.report / "junit.xml").read_text()
    assert "TestRefunds::test_late" in junit


async def test_answers_are_recorded_and_replayed_without_a_key_and_another_reply_has_none(live: LiveRepository) -> None:
    prepare(live)
    await live.record()
    asked = len(live.models.received)
    recordings = live.small.folder / "scenarios/recordings"
    assert {path.stem for path in recordings.iterdir()} == set(IDS) - {IDS[3]}
    replayed = await live.gate(**FREE)
    assert replayed.code == 0, replayed.printed
    assert (len(live.models.received), replayed.outputs["spent_usd"]) == (asked, "0")
    live.small.write("tests/evals/test_support.py", TESTS.replace("Karibu!", "Go away."))
    changed = await live.gate("--scenario", "tests/evals/test_support.py::test_questions", **FREE)
    assert changed.code == 3, "a reply that was never judged is not answered with what another one was given"
    result = outcomes(changed)[IDS[1]]
    assert isinstance(result, Errored)
    assert result.phase is Phase.RECORDING


async def test_judge_calls_end_at_the_budget(live: LiveRepository) -> None:
    endless = TESTS.partition("def test_greeting")[0] + "def test_endless():\n    while True:\n"
    endless += "        try:\n            assert_test(LLMTestCase(input='x' * 40_000, actual_output='y'), [tone()])\n"
    prepare(live, endless + "        except BaseException:\n            pass\n")
    live.talk.judged = Usage(40_000, 2_000)
    ended = await live.gate(RATIBA_EVAL_BUDGET_USD="1.00")
    assert ended.code == 3, ended.printed
    assert 0 < live.models.bill.total <= 1
    assert Fraction(ended.outputs["spent_usd"]) == live.models.bill.total
    (result,) = outcomes(ended).values()
    assert isinstance(result, Errored)
    assert result.phase is Phase.BUDGET
    assert KEY not in ended.printed + ended.comment


async def test_a_pull_request_neither_drops_nor_breaks_its_tests_unseen(live: LiveRepository) -> None:
    plain = "import os\n\n\ndef test_a():\n    assert open('reply.txt').read() == 'kind'\n\n\ndef test_b():\n    pass\n"
    prepare(live, plain)
    live.small.write("reply.txt", "kind")
    base = live.git.commit({})
    # The configuration leaves the tests out, one of them is removed, and the other one is skipped.
    skipped = "import pytest\n\n\n@pytest.mark.skip\ndef test_a():\n    pass\n"
    given = {".github/ratiba.yml": ALONE + "tests: [tests/more]\n", "tests/evals/test_support.py": skipped}
    given |= {"tests/more/test_c.py": "def test_c():\n    pass\n", "reply.txt": "rude"}
    head = live.git.commit(given)
    ended = await live.gate(**live.pull_request(base, head), **FREE)
    assert ended.code == 1, ended.printed
    (why,) = failed(outcomes(ended)["tests_evals_test_support__test_a"])
    assert why.startswith("pytest test_a: skipped: ")
    assert "tests tests/evals" in ended.comment, "the base's setting stays"
    assert "this change edits its tags, test." in ended.comment
    assert "This change removes scenarios: tests_evals_test_support" in ended.comment
    broken = live.git.commit({".github/ratiba.yml": CONFIGURED, "tests/evals/test_support.py": "def test_a(:\n"})
    ended = await live.gate(**live.pull_request(base, broken), **FREE)
    assert ended.code == 2, ended.printed
    assert "tests/evals/test_support.py:1: cannot be read as Python" in ended.printed
