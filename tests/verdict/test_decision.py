"""The rules of the verdict, one by one, and what must hold of all of them."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.model.change import Mode
from ratiba_action.model.measurement import Errored, NotRun, Phase, ScenarioResult, Scored
from ratiba_action.model.verdict import Conclusion, Evidence, Limits, Verdict
from ratiba_action.verdict.decision import next_step
from tests.support.sample_report import sample_check, sample_data_set, sample_score, sample_scored, sample_trial

BROKEN = sample_scored("broken", checks=(sample_check(passed=False),))
ERRORED = Errored(sample_trial("errored"), Phase.SYSTEM, "The adapter raised ValueError.")
NOT_RUN = NotRun(sample_trial("waiting"), "The deadline has passed.")


def decide(*results: ScenarioResult, mode: Mode = Mode.BLOCKING, interruption: str | None = None) -> Verdict:
    verdict = next_step(Evidence(mode, results, Limits(), interruption, no_further="the recordings hold no more"))
    assert isinstance(verdict, Verdict)
    return verdict


def judged(scenario_id: str, value: float, *, critical: bool = False) -> Scored:
    return sample_scored(scenario_id, scores=(sample_score(value),), critical=critical)


def test_a_run_in_skip_mode_is_skipped() -> None:
    assert decide(mode=Mode.SKIP).conclusion is Conclusion.SKIPPED


def test_a_run_whose_checks_all_hold_passes() -> None:
    verdict = decide(sample_scored("a"), sample_scored("b"))
    assert (verdict.conclusion, verdict.reason) == (Conclusion.PASSED, "All 2 scenarios passed.")


def test_one_broken_check_fails_the_run_and_is_named() -> None:
    verdict = decide(sample_scored("fine"), BROKEN)
    assert verdict.conclusion is Conclusion.FAILED
    assert verdict.reason == "1 of 2 scenarios failed a deterministic assertion: broken."
    assert "broken" in verdict.action


def test_a_single_conversation_is_not_counted() -> None:
    assert decide(BROKEN).reason == "The scenario failed a deterministic assertion: broken."


def test_at_most_three_broken_conversations_are_named() -> None:
    results = [sample_scored(f"s{n}", checks=(sample_check(passed=False),)) for n in range(5)]
    assert decide(*results).reason == "5 of 5 scenarios failed a deterministic assertion: s0, s1, s2 and 2 more."


def test_a_deterministic_score_below_its_threshold_fails_whatever_the_pass_rate() -> None:
    results = [judged(f"s{n}", 0.9) for n in range(20)]
    low = sample_scored("low", scores=(sample_score(0.9, judged=False),))
    assert decide(*results, low).conclusion is Conclusion.FAILED


def test_a_judged_score_of_a_critical_scenario_is_exact() -> None:
    results = [judged(f"s{n}", 0.9) for n in range(20)]
    assert decide(*results, judged("low", 0.5)).conclusion is Conclusion.PASSED
    assert decide(*results, judged("low", 0.5, critical=True)).conclusion is Conclusion.FAILED


@pytest.mark.parametrize(
    ("low", "conclusion"), [(1, Conclusion.PASSED), (2, Conclusion.INCONCLUSIVE), (4, Conclusion.FAILED)]
)
def test_four_of_five_judged_scores_must_reach_their_threshold(low: int, conclusion: Conclusion) -> None:
    verdict = decide(*(judged(f"s{n}", 0.5 if n < low else 0.9) for n in range(5)))
    assert verdict.conclusion is conclusion
    assert "s0" in verdict.reason


def test_critical_scores_do_not_lift_the_pass_rate_of_the_others() -> None:
    results = [judged(f"c{n}", 0.9, critical=True) for n in range(20)]
    assert decide(*results, judged("low", 0.5)).conclusion is Conclusion.FAILED


@pytest.mark.parametrize("gap", [ERRORED, NOT_RUN])
def test_a_conversation_that_was_not_measured_makes_the_run_incomplete(gap: ScenarioResult) -> None:
    verdict = decide(sample_scored("fine"), gap)
    assert verdict.conclusion is Conclusion.INCOMPLETE
    assert gap.trial.scenario.id in verdict.reason
    assert verdict.action


def test_a_failure_stays_a_failure_and_says_what_could_not_be_measured() -> None:
    verdict = decide(BROKEN, ERRORED, NOT_RUN, interruption="the budget is used up")
    assert verdict.conclusion is Conclusion.FAILED
    assert "2 scenarios could not be measured" in verdict.reason
    assert "the budget is used up" in verdict.reason


def test_a_pass_rate_that_lacks_scores_is_not_final() -> None:
    assert decide(judged("low", 0.1), NOT_RUN).conclusion is Conclusion.INCOMPLETE


def test_an_interruption_alone_makes_the_run_incomplete() -> None:
    verdict = decide(sample_scored("fine"), interruption="the job was cancelled")
    assert (verdict.conclusion, "the job was cancelled" in verdict.reason) == (Conclusion.INCOMPLETE, True)


def test_nothing_selected_is_incomplete() -> None:
    assert "no scenario was selected" in decide().reason
    assert decide().conclusion is Conclusion.INCOMPLETE


def test_a_scenario_that_asserts_nothing_measures_nothing() -> None:
    verdict = decide(sample_scored("hollow", checks=()))
    assert verdict.conclusion is Conclusion.INCOMPLETE
    assert "hollow: the scenario asserts nothing" in verdict.reason


def test_a_long_message_of_the_system_does_not_flood_the_reason() -> None:
    flood = Errored(sample_trial("errored"), Phase.SYSTEM, "line\n" * 100_000)
    for verdict in (decide(flood), decide(sample_scored("fine"), flood)):
        assert len(verdict.reason) < 500
        assert "\n" not in verdict.reason


def test_the_words_agree_with_the_number() -> None:
    assert decide(sample_scored("a")).reason == "The scenario passed."
    assert decide(sample_scored("a"), BROKEN, BROKEN).reason.startswith("1 of 2 scenarios failed")


_results = st.lists(
    st.builds(
        lambda kind, name, values, critical: {
            "scored": sample_scored(name, scores=tuple(sample_score(value) for value in values), critical=critical),
            "exact": sample_scored(name, scores=tuple(sample_score(value, judged=False) for value in values)),
            "hollow": sample_scored(name, checks=()),
            "broken": sample_scored(name, checks=(sample_check(passed=False),)),
            "errored": replace(ERRORED, trial=sample_trial(name)),
            "not_run": replace(NOT_RUN, trial=sample_trial(name)),
        }[kind],
        st.sampled_from(["scored", "exact", "hollow", "broken", "errored", "not_run"]),
        st.sampled_from("abcdefgh"),
        st.lists(st.sampled_from([0.0, 0.5, 0.8, 1.0]), max_size=3),
        st.booleans(),
    ),
    max_size=8,
)
_interruptions = st.sampled_from([None, "the budget is used up"])
_modes = st.sampled_from([Mode.ADVISORY, Mode.BLOCKING])


@given(_results, _interruptions, _modes)
def test_a_failed_check_never_ends_in_a_pass(
    results: list[ScenarioResult], interruption: str | None, mode: Mode
) -> None:
    verdict = decide(*results, BROKEN, mode=mode, interruption=interruption)
    assert verdict.conclusion is Conclusion.FAILED


@given(_results, _modes, st.randoms(use_true_random=False))
def test_the_order_of_results_changes_nothing(results: list[ScenarioResult], mode: Mode, random: object) -> None:
    shuffled = list(results)
    random.shuffle(shuffled)  # type: ignore[attr-defined]  # Hypothesis types its Random as an object
    assert decide(*results, mode=mode) == decide(*shuffled, mode=mode)


@given(_results, _interruptions, _modes)
def test_without_a_measurement_nothing_passes(
    results: list[ScenarioResult], interruption: str | None, mode: Mode
) -> None:
    empty = [result for result in results if not isinstance(result, Scored)]
    assert decide(*empty, mode=mode, interruption=interruption).conclusion is Conclusion.INCOMPLETE


@given(_results, _modes)
def test_only_a_complete_run_passes(results: list[ScenarioResult], mode: Mode) -> None:
    if decide(*results, mode=mode).conclusion is Conclusion.PASSED:
        assert results
        assert all(isinstance(result, Scored) for result in results)


def test_what_a_cap_did_not_hold_is_mended_at_the_cap_and_a_cancelled_run_by_another_one() -> None:
    held, left_out = sample_scored("held"), NotRun(sample_trial("dear"), "it may cost $1.00")
    way_out = "Raise budget-usd."
    verdict = next_step(Evidence(Mode.BLOCKING, (held, left_out), Limits(), way_out=way_out))
    assert isinstance(verdict, Verdict)
    assert verdict.action == way_out
    assert verdict.reason == "1 of 2 scenarios could not be measured (dear): the budget is not enough for it."
    mixed = next_step(Evidence(Mode.BLOCKING, (held, left_out, ERRORED), Limits(), way_out=way_out))
    assert isinstance(mixed, Verdict)
    assert "it may cost $1.00" in mixed.reason
    assert decide(held, left_out, interruption="the run was cancelled by SIGINT").action == "Run the gate again."


def test_a_gate_of_a_data_set_that_fails_fails_the_run() -> None:
    verdict = next_step(Evidence(Mode.BLOCKING, (sample_scored("a"),), Limits(), data_sets=(sample_data_set(),)))
    assert isinstance(verdict, Verdict)
    assert verdict.conclusion is Conclusion.FAILED
    assert verdict.reason == "1 threshold of cases failed: intents: accuracy 0.5 is below 0.9."


def test_a_failed_gate_is_reported_beside_what_is_broken_and_what_is_missing() -> None:
    verdict = next_step(Evidence(Mode.BLOCKING, (BROKEN, NOT_RUN), Limits(), data_sets=(sample_data_set(),)))
    assert isinstance(verdict, Verdict)
    assert verdict.reason == (
        "1 of 2 scenarios failed a deterministic assertion: broken; "
        "1 threshold of cases failed: intents: accuracy 0.5 is below 0.9; 1 scenario could not be measured."
    )


def test_a_gate_without_an_answer_makes_the_run_incomplete() -> None:
    unknown = sample_data_set(gates=sample_data_set().gates[1:2])
    verdict = next_step(Evidence(Mode.BLOCKING, (sample_scored("a"),), Limits(), data_sets=(unknown,)))
    assert isinstance(verdict, Verdict)
    assert (verdict.conclusion, verdict.reason) == (
        Conclusion.INCOMPLETE,
        "Nothing was measured for a threshold of cases: intents: macro_f1.",
    )


def test_a_gate_that_passes_decides_nothing_else() -> None:
    passed = sample_data_set(gates=sample_data_set().gates[2:])
    verdict = next_step(Evidence(Mode.BLOCKING, (sample_scored("a"),), Limits(), data_sets=(passed,)))
    assert isinstance(verdict, Verdict)
    assert verdict.conclusion is Conclusion.PASSED


@pytest.mark.parametrize(
    ("accuracy", "gates", "text"),
    [
        (5 / 6, sample_data_set().gates[2:], "; 1 of 6 labels is wrong in intents, which its thresholds allow"),
        (4 / 6, (), "; 2 of 6 labels are wrong in intents, and no threshold is set for them"),
        (1.0, (), ""),
    ],
)
def test_a_wrong_label_that_its_thresholds_allow_is_said(accuracy: float, gates: Any, text: str) -> None:
    cases = sample_data_set(cases=6, selected=6, measured=6, values={"accuracy": accuracy}, gates=gates)
    verdict = next_step(Evidence(Mode.BLOCKING, (sample_scored("a"), sample_scored("b")), Limits(), data_sets=(cases,)))
    assert isinstance(verdict, Verdict)
    assert (verdict.conclusion, verdict.reason) == (Conclusion.PASSED, f"All 2 scenarios passed{text}.")


@pytest.mark.parametrize(
    ("result", "conclusion"), [(sample_scored("a"), Conclusion.INCOMPLETE), (BROKEN, Conclusion.FAILED)]
)
def test_a_run_that_a_person_has_to_confirm_does_not_pass_before(result: Scored, conclusion: Conclusion) -> None:
    found = next_step(Evidence(Mode.BLOCKING, (result,), Limits(), confirm="Start this workflow by hand."))
    assert isinstance(found, Verdict)
    assert found.conclusion is conclusion
    assert (found.action == "Start this workflow by hand.") is (conclusion is Conclusion.INCOMPLETE)


UNFIT = sample_trial("unfit", critical=True).scenario


@pytest.mark.parametrize(
    "results",
    [(sample_scored("other"),), (), (judged("low", 0.1), *(judged(f"s{n}", 0.9) for n in range(20)))],
    ids=["others passed", "nothing else ran", "some scores are low"],
)
def test_a_run_that_leaves_a_critical_scenario_out_since_its_recordings_no_longer_fit_does_not_pass(
    results: tuple[ScenarioResult, ...],
) -> None:
    evidence = Evidence(Mode.ADVISORY, results, Limits(), no_further="recorded", unfit=(UNFIT,))
    verdict = next_step(evidence)
    assert isinstance(verdict, Verdict)
    assert verdict.conclusion is Conclusion.INCOMPLETE
    assert verdict.reason == "1 critical scenario could not be measured (unfit): its recordings no longer fit."
    assert verdict.action == "If the change is right, run: ratiba record --scenario unfit --accept"


def test_what_failed_beside_unfit_recordings_stays_failed_and_a_scenario_that_is_not_critical_is_a_note() -> None:
    evidence = Evidence(Mode.ADVISORY, (BROKEN,), Limits(), no_further="recorded", unfit=(UNFIT,))
    failed, passed = (
        next_step(evidence),
        next_step(replace(evidence, results=(sample_scored("a"),), unfit=(replace(UNFIT, critical=False),))),
    )
    assert isinstance(failed, Verdict)
    assert isinstance(passed, Verdict)
    assert (failed.conclusion, passed.conclusion) == (Conclusion.FAILED, Conclusion.PASSED)
