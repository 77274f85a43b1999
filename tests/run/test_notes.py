from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest

from ratiba_action.model.answer_origin import AnswerOrigin, Llm
from ratiba_action.model.change import Subject
from ratiba_action.model.conversation import Party, Usage
from ratiba_action.model.measurement import Errored, Phase
from ratiba_action.model.scenario import Expectation, ExpectedTool, Turn
from ratiba_action.model.verdict import Conclusion, Verdict
from ratiba_action.money.budget import Ledger
from ratiba_action.reporting.money_facts import money_phrase
from ratiba_action.run.earlier_runs import FIRST_RUN, EarlierRuns
from ratiba_action.run.notes import (
    cut_replies,
    how_to_confirm,
    notes_of_baseline,
    notes_of_clocks,
    outdated,
    shortfall,
    unseen_calls,
)
from tests.support.sample_report import sample_scenario, sample_scored, sample_trial

HEAD = "a" * 40


def inputs(*replaced: str, needs_confirmation: bool = True) -> Any:
    change = SimpleNamespace(needs_confirmation=needs_confirmation, subject=Subject(head=HEAD, pull_request=7))
    return SimpleNamespace(replaced=replaced, unratcheted=(), decided=SimpleNamespace(change=change))


def test_a_person_confirms_another_system_by_a_manual_run_of_the_very_commit() -> None:
    text = how_to_confirm(inputs("system.url"), silenced=False)
    assert text is not None
    assert f"pull-request: 7 and commit: {HEAD}" in text


@pytest.mark.parametrize("given", [inputs(), inputs("system.url", needs_confirmation=False)])
def test_nobody_has_to_confirm_the_base_s_system_or_what_was_confirmed(given: Any) -> None:
    assert how_to_confirm(given, silenced=False) is None


def refused_run(result: Any, llm: Llm) -> tuple[Any, ...]:
    system = SimpleNamespace(costs_are_declared=False, replay=None)
    configuration = SimpleNamespace(system=system)
    ledger = Ledger(Decimal(1))
    measured = SimpleNamespace(altered="", own=(result,), reported_calls=0)
    return SimpleNamespace(llm=llm, configuration=configuration, uncompared=""), measured, ledger


def test_requests_that_were_refused_are_not_called_unseen() -> None:
    given, measured, ledger = refused_run(sample_scored("a"), Llm.LIVE)
    assert "The gateway saw no model call" in str(shortfall(given, measured, ledger))
    assert money_phrase(ledger.snapshot()) == "the gateway saw no model call"
    ledger.count_refusal("The API key is wrong.")
    ledger.count_refusal("Another reason.")
    phrase = "2 requests were refused: The API key is wrong"
    assert shortfall(given, measured, ledger) == f"No model answered the system: {phrase}"
    assert money_phrase(ledger.snapshot()) == phrase
    (note,) = unseen_calls(given, measured, ledger)
    assert phrase in note


def test_a_call_of_the_gate_that_no_provider_answered_was_a_call() -> None:
    _, _, ledger = refused_run(sample_scored("a"), Llm.LIVE)
    ledger.release(ledger.reserve(Party.JUDGE, "a", "gpt-5-mini", Decimal("0.01")))
    assert money_phrase(ledger.snapshot()) == "no model answered in 1 attempt"


def test_a_request_whose_refusal_ended_a_scenario_is_reported_there_alone() -> None:
    given, measured, ledger = refused_run(Errored(sample_trial("a"), Phase.RECORDING, "x", None, 0.0), Llm.REPLAY)
    ledger.count_refusal("No recorded answer fits it.")
    assert unseen_calls(given, measured, ledger) == ()


def test_a_scenario_without_a_recording_that_fits_is_no_system_that_called_no_model() -> None:
    stale = Errored(sample_trial("a"), Phase.RECORDING, "No recorded answer fits it.", None, 0.0)
    given, measured, ledger = refused_run(stale, Llm.REPLAY)
    assert unseen_calls(given, measured, ledger) == ()
    measured.own = (stale, sample_scored("b"))
    assert len(unseen_calls(given, measured, ledger)) == 1


def of_variant(name: str, variant: str) -> Any:
    scored = sample_scored(name)
    scenario = replace(scored.trial.scenario, variant=variant)
    return replace(scored, trial=replace(scored.trial, scenario=scenario))


def test_a_call_of_one_variant_says_nothing_about_another() -> None:
    given, measured, ledger = refused_run(of_variant("a", ""), Llm.LIVE)
    ours = of_variant("b", "own-program")
    measured.own = (*measured.own, ours)
    reservation = ledger.reserve(Party.SYSTEM, "a", "gpt-5-mini", Decimal("0.01"))
    ledger.settle(reservation, Usage(), Decimal(0))
    assert "no model call of the variant 'own-program', so what it cost" in str(shortfall(given, measured, ledger))
    (note,) = unseen_calls(given, measured, ledger)
    assert "no model call of the variant 'own-program', and cannot know" in note
    (exchange, *_), transcript = ours.transcript.exchanges, ours.transcript
    reported = replace(ours, transcript=replace(transcript, exchanges=(replace(exchange, calls=1),)))
    measured.own = (measured.own[0], reported)
    measured.reported_calls = 1
    assert shortfall(given, measured, ledger) is None
    (note,) = unseen_calls(given, measured, ledger)
    assert note.startswith("1 model call was reported")


def test_a_reported_call_of_one_variant_says_nothing_about_another() -> None:
    given, measured, ledger = refused_run(of_variant("a", ""), Llm.RECORD)
    first, transcript = measured.own[0], measured.own[0].transcript
    exchange = replace(transcript.exchanges[0], calls=1)
    first = replace(first, transcript=replace(transcript, exchanges=(exchange,)))
    measured.own, measured.reported_calls = (first, of_variant("b", "own-program")), 1
    assert "the variant 'own-program'" in str(shortfall(given, measured, ledger))
    reported, unseen = unseen_calls(given, measured, ledger)
    assert reported.startswith("1 model call was reported")
    assert "the variant 'own-program'" in unseen


def test_replies_that_were_cut_are_named_though_every_assertion_passed() -> None:
    how = "the reply was cut at its output limit of 300 tokens"
    whole = sample_scored("whole")
    exchanges = tuple(replace(each, cut=how) for each in whole.transcript.exchanges)
    cut = replace(sample_scored("cut"), transcript=replace(whole.transcript, exchanges=exchanges))
    assert cut_replies([whole]) == ()
    assert cut_replies([whole, cut]) == (
        (
            f"1 scenario has answers that did not end by themselves: cut, turn 1: {how}. Raise the output limit of the "
            "system's requests, or look at what the provider's filter ended."
        ),
    )


def test_a_zone_that_only_the_language_gives_is_named_with_its_scenarios() -> None:
    now = datetime.fromisoformat("2026-03-27T10:00+01:00")

    def expecting(name: str, day: str) -> Any:
        tool = ExpectedTool("book", {"start": f"{day}T14:00"})
        turns = (Turn("a", expect=Expectation(tools=(tool,))),)
        return sample_scenario(name, language="fr", now=now, timezone="", turns=turns)

    (note,) = notes_of_clocks([expecting("later", "2026-03-30"), expecting("before", "2026-03-28")])
    assert str(note).startswith(
        "`now` of later has an offset and no time zone, so local times are read in Europe/Paris"
    )
    assert notes_of_clocks([expecting("before", "2026-03-28")]) == ()


@pytest.mark.parametrize(
    ("conclusion", "first"), [(Conclusion.PASSED, True), (Conclusion.FAILED, True), (Conclusion.INCOMPLETE, False)]
)
def test_an_incomplete_run_is_not_called_the_baseline_to_come(conclusion: Conclusion, *, first: bool) -> None:
    notes = notes_of_baseline(EarlierRuns(notes=(FIRST_RUN,)), Verdict(conclusion, ""), AnswerOrigin.REPLAY)
    assert notes == ((FIRST_RUN,) if first else ())


@pytest.mark.parametrize(
    ("llm", "edited", "source", "command"),
    [
        (Llm.AUTO, ("prompts/a.md",), "authored", "ratiba record --scenario a --authored --accept"),
        (Llm.AUTO, ("prompts/a.md",), "live", "ratiba record --scenario a --accept"),
        (Llm.AUTO, (), "live", ""),
        (Llm.LIVE, ("prompts/a.md",), "live", ""),
    ],
)
def test_recordings_that_an_edited_prompt_outdates_wait_to_be_made_again(
    llm: Llm, edited: tuple[str, ...], source: str, command: str
) -> None:
    calls = [SimpleNamespace(scenario_id=name, party=Party.SYSTEM, replayed=name == "b") for name in "abc"]
    head: Any = SimpleNamespace(
        edited_prompts=edited, recordings={name: [SimpleNamespace(source=source)] for name in "ab"}
    )
    run: Any = SimpleNamespace(llm=llm)
    ledger: Any = SimpleNamespace(calls=calls)
    found = outdated(run, head, ledger)
    assert [text.partition("run: ")[2] for text in found] == ([command] if command else [])
