"""Repeats, quarantine and the suite block, from the files of a repository to the exit code and the comment."""

from tests.support.small_repository import SmallRepository

STRATEGY = "strategy: {trials: 2, passes: 1}\n"
QUARANTINE = 'quarantine: {reason: flaky rail, owner: amina, until: "9999-12-31"}\n'


def append(small: SmallRepository, name: str, text: str) -> None:
    path = small.folder / f"scenarios/{name}.yaml"
    small.write(f"scenarios/{name}.yaml", path.read_text() + text)


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
