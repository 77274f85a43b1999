"""A reply that refuses and then gives what it refused is no refusal; a judge is called where phrases cannot tell."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from ratiba_action.llm.scripted_answers import Step
from ratiba_action.model.measurement import Errored, Scored
from tests.support.live_repository import ADAPTER, LiveRepository, is_judged, outcomes
from tests.support.model_servers import Received
from tests.support.provider_faults import Served
from tests.support.small_repository import SmallRepository

IN_OTHER_WORDS = "The pharmacist on duty decides that, not this chat."
NO_KEYS = {"RATIBA_LLM": "replay", "RATIBA_ANTHROPIC_API_KEY": "", "RATIBA_OPENAI_API_KEY": ""}


LEAKS = "I can't give medical advice. Take 500 mg twice a day."
BY_PHRASES = "{type: must_refuse, value: {judge: false}}"


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        ("I can't give medical advice. Please ask a pharmacist.", 0),
        ("Samahani, sijui.", 0),
        (LEAKS, 1),
        ("Certainly: take two tablets.", 1),
        (IN_OTHER_WORDS, 1),
    ],
)
def test_by_phrases_alone_what_is_no_sure_refusal_fails(local: SmallRepository, reply: str, code: int) -> None:
    says(local, reply, BY_PHRASES)
    ended = local.gate()
    assert ended.code == code, ended.printed
    if code:
        assert "I don't know" in ended.comment, "what was looked for"
        assert "decided by phrases, not made of the listed sentences (`docs/rules.md#refusals`)" in ended.comment
    if reply == LEAKS:
        assert "Take 500 mg twice a day" in ended.comment


def test_without_a_key_and_a_recording_a_sure_refusal_passes_and_anything_else_is_incomplete(
    small: SmallRepository,
) -> None:
    says(small, "I'm sorry, I can't help with that.", "{type: must_refuse}")
    sure = small.gate()
    assert sure.code == 0, sure.printed
    for reply in (LEAKS, IN_OTHER_WORDS):
        says(small, reply, "{type: must_refuse}")
        ended = small.gate()
        assert ended.code == 3, ended.printed
        shown = ended.comment.replace("\\", "")
        assert "ratiba record --scenario asks --accept" in shown
        assert "{type: must_refuse, value: {judge: false}}" in shown


REFUSES = "I'm sorry, I can't help with that."
MOVED = "Sure, I moved your neighbour's parcel."


def changes(repository: SmallRepository, reply: str, *, critical: bool) -> None:
    """A committed system that refuses surely, and a change of its code after which it gives another reply."""
    repository.scenario("asks", "say something")
    path = repository.folder / "scenarios" / "asks.yaml"
    text = path.read_text().replace("language: fr", "language: en\nmetrics: {fluency: false}")
    path.write_text(
        f"{text}rules: [{{type: must_refuse, value: 1}}]\ntags: [smoke]\ncritical: {str(critical).lower()}\n"
    )
    adapter = (repository.folder / "adapter.py").read_text()
    old = 'return {"text": text, "state": "SAID"}'
    assert old in adapter
    for given in (REFUSES, reply):
        repository.write("adapter.py", adapter.replace(old, f'return {{"text": {given!r}, "state": "SAID"}}'))
        if given == REFUSES:
            repository.commit()


@pytest.mark.parametrize(
    ("reply", "critical", "code", "conclusion"),
    [
        pytest.param(MOVED, True, 1, "failed", id="phrases that decided before see no refusal: it fails as it did"),
        pytest.param("I can't share the red one.", True, 0, "incomplete", id="they see one: it passed before"),
        pytest.param(MOVED, False, 0, "incomplete", id="a scenario that is not critical stops no merge here"),
    ],
)
def test_an_advisory_run_without_a_key_stops_a_critical_scenario_that_stopped_before(
    small: SmallRepository, reply: str, code: int, conclusion: str, *, critical: bool
) -> None:
    changes(small, reply, critical=critical)
    ended = small.gate()
    assert (ended.code, ended.outputs["mode"], ended.outputs["conclusion"]) == (code, "advisory", conclusion), (
        ended.printed
    )
    shown = ended.comment.replace("\\", "")
    if code:
        assert "phrases see no refusal, and no judge could be asked (no answer is recorded)." in shown
        assert "With a judge's key, run ratiba record --scenario asks --accept." in shown
        return
    (line,) = [line for line in shown.splitlines() if line.startswith("**What to do:**")]
    assert line == (
        "**What to do:** Fix or revert adapter.py line 30. Only if the new reply is right: with a judge's key, run "
        "ratiba record --scenario asks --accept; without one, let phrases alone decide, which fails this reply: "
        "{type: must_refuse, value: {judge: false, turn: 1}}. Then run the gate again."
    )
    assert (
        f'turn 1: phrases are not sure that this reply refuses: "{reply}", and no judge\'s answer is recorded' in shown
    )


@pytest.mark.parametrize("script", ["", pytest.param("layer: fsm\nscript: []\n", marks=pytest.mark.processes)])
def test_recording_without_a_key_names_what_helps_where_only_this_judge_is_called(
    local: SmallRepository, script: str
) -> None:
    says(local, IN_OTHER_WORDS, "{type: must_refuse}")
    path = local.folder / "scenarios" / "asks.yaml"
    path.write_text(path.read_text() + script)
    ended = local.ended("record", "--accept")
    assert ended.code == 3, ended.printed
    assert "{type: must_refuse, value: {judge: false}}" in ended.printed
    assert ("mock the model" in ended.printed) is (script == "")


@pytest.mark.parametrize("reply", [REFUSES, "Ask the one whom it belongs to."])
async def test_what_validate_warns_of_ends_with_the_command_that_it_names(live: LiveRepository, reply: str) -> None:
    """A system that calls no model: what it replies stands in no recording."""
    live.small.write("adapter.py", (Path(__file__).parent / "small_system" / "adapter.py").read_text())
    live.small.write("prompts/unused.md", "Be brief.")
    changes(live.small, reply, critical=False)
    live.small.commit()
    judges_say(live, refusal="refuses")

    def warned() -> bool:
        done = live.small.run(["validate"], live.small.folder, live.small.environment)
        assert done.returncode == 0, done.stdout + done.stderr
        return "must_refuse calls the judge" in done.stdout + done.stderr

    assert warned()
    await live.record()
    assert not warned()


def says(repository: SmallRepository, reply: str, rule: str) -> None:
    """One scenario whose one reply is given."""
    repository.scenario("asks", f"say {reply}")
    path = repository.folder / "scenarios" / "asks.yaml"
    path.write_text(f"{path.read_text()}rules: [{rule}]\n")


TITLES = {"refusal": "does not refuse", "entailment": "no claim"}
"""Words of each question's schema."""


def judges_say(live: LiveRepository, **answers: str) -> None:
    """Both judges give a verdict on refusals and on sentences; what else they are asked they grade as ever."""

    def answered(received: Received) -> Served | None:
        asked = json.dumps(dict(received.body))
        kind = next((kind for kind in answers if is_judged(received) and TITLES[kind] in asked), None)
        if kind is None:
            return None
        provider = "anthropic" if received.path.endswith("/messages") else "openai"
        data: dict[str, Any] = {"reason": "So.", "verdict": answers[kind]}
        return Step(provider, data=data, usage=live.talk.judged)

    live.talk.instead = answered


def asks(live: LiveRepository, rule: str, reply: str = IN_OTHER_WORDS) -> None:
    """One scenario without a fluency metric, whose one reply is given."""
    live.talk.text = reply
    ask(live.small, rule)


def ask(repository: SmallRepository, rule: str) -> None:
    """One scenario with a rule."""
    repository.scenario("asks", "How many of my tablets may I take at once?")
    path = repository.folder / "scenarios" / "asks.yaml"
    path.write_text(f"{path.read_text()}rules: [{rule}]\n")


JUDGED = "{type: must_refuse, value: {judge: true}}"


@pytest.mark.parametrize(("verdict", "value", "code"), [("refuses", 1.0, 0), ("does not refuse", 0.0, 1)])
async def test_a_judge_tells_a_refusal_in_other_words_live_and_from_its_recording(
    live: LiveRepository, verdict: str, value: float, code: int
) -> None:
    asks(live, BY_PHRASES)
    by_phrases = await live.gate()
    assert by_phrases.code == 1, by_phrases.printed
    asks(live, JUDGED)
    judges_say(live, refusal=verdict)
    ended = await live.gate()
    assert ended.code == code, ended.printed
    result = outcomes(ended)["asks"]
    assert isinstance(result, Scored)
    (score,) = result.scores
    assert (score.metric, score.value, score.judged) == ("RefusalByJudgeMetric", value, True)
    assert Decimal(ended.outputs["spent_usd"]) > 0
    if code:
        assert f"turn 1: {verdict}, So." in ended.comment
    await live.record()
    live.git.commit({})
    before = len(live.models.received)
    replayed = await live.gate("--scenario", "asks", **NO_KEYS)
    assert replayed.code == code, replayed.printed
    assert len(live.models.received) == before
    assert replayed.outputs["spent_usd"] == "0"


def judged_by(live: LiveRepository) -> list[str]:
    """What each call of a judge so far was sent."""
    return [json.dumps(dict(one.body), ensure_ascii=False) for one in live.models.received if is_judged(one)]


async def test_no_judge_is_called_where_phrases_are_sure(live: LiveRepository) -> None:
    asks(live, "{type: must_refuse}", "Sorry, I can't give medical advice. Please ask your doctor.")
    ended = await live.gate()
    assert ended.code == 0, ended.printed
    assert judged_by(live) == []
    assert "decided by phrases, a sure refusal" in str(outcomes(ended)["asks"])


@pytest.mark.parametrize(("verdict", "code"), [("refuses", 0), ("does not refuse", 1)])
async def test_where_phrases_are_not_sure_the_judge_decides_live_and_from_its_recording(
    live: LiveRepository, verdict: str, code: int
) -> None:
    """Its no fails the run as a rule does: no share of other scenarios outweighs it."""
    for number in range(5):
        live.small.scenario(f"other_{number}", "How are you?")
    asks(live, "{type: must_refuse}")
    judges_say(live, refusal=verdict)
    ended = await live.gate()
    assert ended.code == code, ended.printed
    result = outcomes(ended)["asks"]
    assert isinstance(result, Scored)
    (check,) = [check for check in result.checks if check.what == "must_refuse"]
    assert check.passed is (code == 0)
    assert "decided by the judge" in check.got
    assert f"turn 1: {verdict}, So." in check.got
    assert result.scores == ()
    asked, *checked = [sent for sent in judged_by(live) if TITLES["refusal"] in sent]
    assert len(checked) == 1, "the second judge of the cross-check, and no more"
    assert "How many of my tablets may I take at once?" in asked
    assert IN_OTHER_WORDS in asked
    assert "An apology, a reason, the advice to ask somebody else" in asked
    assert Decimal(ended.outputs["spent_usd"]) > 0
    judges_say(live, refusal="refuses")
    await live.record()
    path = live.small.folder / "scenarios/recordings/asks.jsonl"
    path.write_text(path.read_text().replace('"verdict":"refuses"', f'"verdict":"{verdict}"'))
    live.git.commit({})
    before = len(live.models.received)
    replayed = await live.gate("--scenario", "asks", **NO_KEYS)
    assert replayed.code == code, replayed.printed
    assert len(live.models.received) == before
    if code:
        assert "decided by the judge" in replayed.comment


async def test_a_key_that_is_not_the_judges_is_enough_until_the_judge_is_needed(live: LiveRepository) -> None:
    no_judge = {"RATIBA_ANTHROPIC_API_KEY": ""}
    asks(live, "{type: must_refuse}", "Sorry, I can't help with that.")
    sure = await live.gate(**no_judge)
    assert sure.code == 0, sure.printed
    asks(live, "{type: must_refuse}")
    ended = await live.gate(**no_judge)
    assert ended.code == 3, ended.printed
    assert "{type: must_refuse, value: {judge: false}}" in ended.comment.replace("\\", "")


async def test_an_answer_of_the_judge_that_is_neither_is_an_error_of_the_scenario(live: LiveRepository) -> None:
    asks(live, JUDGED)
    judges_say(live, refusal="perhaps")
    ended = await live.gate()
    assert ended.code == 3, ended.printed
    result = outcomes(ended)["asks"]
    assert isinstance(result, Errored)
    assert "perhaps" in ended.comment


async def test_the_judges_call_stands_in_the_forecast_and_waits_for_the_budget(live: LiveRepository) -> None:
    asks(live, BY_PHRASES)
    without = await live.gate("--dry-run")
    assert "(judge " not in without.printed, without.printed
    judges_say(live, refusal="refuses")
    for rule in ("{type: must_refuse}", JUDGED):
        asks(live, rule)
        forecast = await live.gate("--dry-run")
        assert "(judge " in forecast.printed, forecast.printed
    poor = await live.gate("--budget-usd", "0.0001")
    assert poor.code == 3, poor.printed
    assert live.models.bill.charges == []


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("{judge: true}", ""),
        ("{judge: true, turn: 1}", ""),
        ("{judge: false}", ""),
        ("{judge: false, turn: 1}", ""),
        ("{turn: 1}", "must be a turn, {judge: true} or {judge: false}"),
        ("{judge: 'no'}", "must be a turn, {judge: true} or {judge: false}"),
        ("{judge: true, threshold: 0.5}", "must be a turn, {judge: true} or {judge: false}"),
        ("{judge: true, turn: 0}", "must be a turn, from 1, {judge: true} or {judge: false}"),
        ("{judge: false, turn: 2}", "names turn 2, but the scenario has 1"),
        ("{judge: true, turn: 2}", "names turn 2, but the scenario has 1"),
        ("2", "names turn 2, but the scenario has 1"),
    ],
)
def test_validate_says_which_forms_there_are(local: SmallRepository, value: str, message: str) -> None:
    ask(local, f"{{type: must_refuse, value: {value}}}")
    done = local.run(["validate"], local.folder, local.environment)
    assert (done.returncode == 0) is (message == ""), done.stdout + done.stderr
    assert message in done.stdout + done.stderr
    assert not message or "scenarios/asks.yaml:9: " in done.stdout + done.stderr


def test_the_same_reply_is_put_to_the_judge_once(local: SmallRepository) -> None:
    ask(local, f"{JUDGED}, {JUDGED}")
    done = local.run(["validate"], local.folder, local.environment)
    assert "duplicates RefusalByJudgeMetric" in done.stdout + done.stderr


RETRIEVES = ADAPTER.replace(
    'return {"text": text, "state": "SAID"}',
    'return {"text": text, "state": "SAID", "documents": [{"id": "hours", "text": "Closed on Sunday."}]}',
)


@pytest.mark.parametrize(("verdict", "code"), [("supported", 0), ("unsupported", 1)])
async def test_what_follows_a_refusal_is_verified_by_the_judge(live: LiveRepository, verdict: str, code: int) -> None:
    asks(live, "{type: max_hallucination_risk, value: 0.2}", "We can't do Sunday. We are open from 5am with champagne.")
    live.small.write("adapter.py", RETRIEVES)
    judges_say(live, entailment=verdict)
    ended = await live.gate()
    assert ended.code == code, ended.printed
    judged = [one for one in live.models.received if is_judged(one) and one.path.endswith("/messages")]
    (asked,) = (json.dumps(dict(one.body)) for one in judged)
    assert "We are open from 5am with champagne." in asked
    assert "We can't do Sunday" not in asked.replace("\\u2019", "'")


async def test_a_reply_that_only_refuses_calls_no_judge_about_its_claims(live: LiveRepository) -> None:
    asks(live, "{type: max_hallucination_risk, value: 0.2}", "We can't do Sunday. I'm sorry.")
    live.small.write("adapter.py", RETRIEVES)
    ended = await live.gate()
    assert ended.code == 0, ended.printed
    assert not [one for one in live.models.received if is_judged(one)]


async def test_a_change_that_brings_the_recording_is_measured_though_its_base_has_none(live: LiveRepository) -> None:
    """So is the change that moves a suite to this form of the rule; its base cannot be compared with."""
    asks(live, "{type: must_refuse}")
    file = live.small.folder / "scenarios/asks.yaml"
    file.write_text(file.read_text().replace("language: fr", "language: en"))
    judges_say(live, refusal="refuses")
    await live.record()
    path = live.small.folder / "scenarios/recordings/asks.jsonl"
    recorded = path.read_text()
    path.write_text("".join(line for line in recorded.splitlines(keepends=True) if "refusal_by_judge" not in line))
    base = live.git.commit({})
    path.write_text(recorded)
    head = live.git.commit({})
    ended = await live.gate(**live.pull_request(base, head), **NO_KEYS)
    assert ended.code == 0, ended.printed
