"""Repeats, quarantine and the suite block, from the files of a repository to the exit code and the comment."""

from tests.support.small_repository import SmallRepository

STRATEGY = "strategy: {trials: 2, passes: 1}\n"
QUARANTINE = 'quarantine: {reason: flaky rail, owner: amina, until: "9999-12-31"}\n'


def append(small: SmallRepository, name: str, text: str) -> None:
    path = small.folder / f"scenarios/{name}.yaml"
    small.write(f"scenarios/{name}.yaml", path.read_text() + text)


PROPOSED = QUARANTINE + "tags: [proposed]\nprovenance: {source: proposed}\n"


def test_a_proposal_of_a_model_does_not_count_in_the_pull_request_that_adds_it(small: SmallRepository) -> None:
    small.scenario("holds", "say hello")
    small.commit()
    small.scenario("proposed_one", "say hello", expect="NEVER")
    append(small, "proposed_one", PROPOSED)
    run = small.gate()
    assert run.code == 0, run.printed
    assert "The scenario passed; 1 scenario in quarantine." in run.comment
    assert "proposed by a model and not reviewed yet, so it is shown and does not count" in run.comment


def test_a_merged_quarantine_does_not_decide_and_one_of_the_changes_own_does(small: SmallRepository) -> None:
    small.scenario("holds", "say hello")
    small.scenario("rail", "say hello", expect="NEVER")
    append(small, "holds", STRATEGY)
    append(small, "rail", QUARANTINE)
    small.commit()
    small.write("prompts/new.md", "A changed prompt.")
    merged = small.gate()
    assert merged.code == 0, merged.printed
    assert "The scenario passed; 1 scenario in quarantine." in merged.comment
    assert "In quarantine: these do not decide" in merged.comment
    assert "2 of 2 trials" in merged.comment
    small.scenario("holds", "say hello", expect="NEVER")
    append(small, "holds", STRATEGY + QUARANTINE)
    own = small.gate()
    assert own.code == 1, own.printed
    assert "this change adds a quarantine until 9999-12-31" in own.comment
