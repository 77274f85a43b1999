"""Repeats, quarantine and the suite block, from the files of a repository to the exit code and the comment."""

from tests.support.small_repository import SmallRepository

STRATEGY = "strategy: {trials: 2, passes: 1}\n"
QUARANTINE = 'quarantine: {reason: flaky rail, owner: amina, until: "9999-12-31"}\n'


def append(local: SmallRepository, name: str, text: str) -> None:
    path = local.folder / f"scenarios/{name}.yaml"
    local.write(f"scenarios/{name}.yaml", path.read_text() + text)


PROPOSED = QUARANTINE + "tags: [proposed]\nprovenance: {source: proposed}\n"


def test_a_proposal_of_a_model_does_not_count_in_the_pull_request_that_adds_it(local: SmallRepository) -> None:
    local.scenario("holds", "say hello")
    local.commit()
    local.scenario("proposed_one", "say hello", expect="NEVER")
    append(local, "proposed_one", PROPOSED)
    run = local.gate()
    assert run.code == 0, run.printed
    assert "The scenario passed; 1 scenario in quarantine." in run.comment
    assert "proposed by a model and not reviewed yet, so it is shown and does not count" in run.comment


def test_a_merged_quarantine_does_not_decide_and_one_of_the_changes_own_does(local: SmallRepository) -> None:
    local.scenario("holds", "say hello")
    local.scenario("rail", "say hello", expect="NEVER")
    append(local, "holds", STRATEGY)
    append(local, "rail", QUARANTINE)
    local.commit()
    local.write("prompts/new.md", "A changed prompt.")
    merged = local.gate()
    assert merged.code == 0, merged.printed
    assert "The scenario passed; 1 scenario in quarantine." in merged.comment
    assert "In quarantine: these do not decide" in merged.comment
    assert "2 of 2 trials" in merged.comment
    local.scenario("holds", "say hello", expect="NEVER")
    append(local, "holds", STRATEGY + QUARANTINE)
    own = local.gate()
    assert own.code == 1, own.printed
    assert "this change adds a quarantine until 9999-12-31" in own.comment
