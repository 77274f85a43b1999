"""Which texts of a run may be published: with none, nothing that may quote a conversation."""

from dataclasses import replace

import pytest

from ratiba_action.model.measurement import Errored, NotRun, Phase, Scored
from ratiba_action.model.published import Transcripts, publishable
from ratiba_action.reporting.results_json import render_results
from ratiba_action.reporting.summary import summarise
from ratiba_action.verdict.tally import status_of
from tests.support.run_history import branch_run
from tests.support.sample_report import sample_check, sample_score, sample_scored, sample_trial

WORD = "Nafasi"
FAILED = sample_check(passed=False, got=WORD)


def results() -> tuple[Scored | Errored | NotRun, ...]:
    """Trials of every outcome, with a word of the conversation wherever one can stand."""
    exact = sample_score(0.5, judged=False)
    exact = replace(exact, invariants=tuple(replace(each, detail=WORD) for each in exact.invariants))
    talk = sample_scored("passed", reply=WORD)
    return (
        replace(talk, retried=(WORD,), scores=(sample_score(reason=WORD),)),
        sample_scored("failed", (FAILED,), (exact,), reply=WORD, captured=(WORD,), replies=(WORD,)),
        Errored(
            sample_trial("errored"),
            Phase.SYSTEM,
            WORD,
            talk.transcript,
            checks=(FAILED,),
            retried=(WORD,),
            suspected=(FAILED,),
        ),
        NotRun(sample_trial("not_run"), "The budget was used up."),
    )


def counted(transcripts: Transcripts) -> dict[str, int]:
    report = publishable(branch_run(0, results()), transcripts)
    return {
        result.trial.scenario.id: render_results(summarise(replace(report, results=(result,)))).count(WORD)
        for result in report.results
    }


def test_none_leaves_no_text_of_a_conversation() -> None:
    assert set(counted(Transcripts.NONE).values()) == {0}


def test_failing_keeps_those_of_trials_that_did_not_pass() -> None:
    found = counted(Transcripts.FAILING)
    assert (found["passed"], found["not_run"]) == (0, 0)
    assert found["failed"] > 0
    assert found["errored"] > 0


def test_all_keeps_the_report_as_it_is() -> None:
    report = branch_run(0, results())
    assert publishable(report, Transcripts.ALL) is report


@pytest.mark.parametrize("transcripts", Transcripts)
def test_outcomes_and_scores_stay_as_they_are(transcripts: Transcripts) -> None:
    report = branch_run(0, results())
    found = publishable(report, transcripts)
    assert list(map(status_of, found.results)) == list(map(status_of, report.results))
    assert [row.ended for row in summarise(found).scenarios] == [row.ended for row in summarise(report).scenarios]
    for before, after in zip(report.results, found.results, strict=True):
        if isinstance(before, Scored) and isinstance(after, Scored):
            assert [score.value for score in after.scores] == [score.value for score in before.scores]
