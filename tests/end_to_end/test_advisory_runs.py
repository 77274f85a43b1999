"""An advisory run holds everything that costs nothing, and its failures cannot be overlooked."""

from tests.support.small_repository import SCENARIO, SmallRepository

EXTRA = """
layer: fsm
script: []
critical: {critical}
"""


def free(local: SmallRepository, name: str, *, critical: str = "false") -> None:
    """A scenario that calls no model, is not tagged and touches nothing."""
    turns = "  - user: say hello\n    expect: {state: SAID}"
    local.write(f"scenarios/{name}.yaml", SCENARIO.format(name=name, turns=turns) + EXTRA.format(critical=critical))


def break_the_code(local: SmallRepository) -> None:
    adapter = (local.folder / "adapter.py").read_text()
    local.write("adapter.py", adapter.replace('{"text": text, "state": "SAID"}', '{"text": text, "state": "LOST"}'))


def test_a_scenario_that_costs_nothing_runs_and_its_failure_counts(local: SmallRepository) -> None:
    free(local, "greeting")
    local.commit()
    break_the_code(local)
    ended = local.gate()
    assert (ended.code, ended.outputs["mode"], ended.outputs["conclusion"]) == (0, "advisory", "failed"), ended.printed
    assert "| 1 | state after “say hello” | SAID | LOST |" in ended.comment


def test_a_new_failure_of_a_critical_scenario_blocks_and_is_the_headline(local: SmallRepository) -> None:
    free(local, "greeting", critical="true")
    local.commit()
    break_the_code(local)
    ended = local.gate()
    assert (ended.code, ended.outputs["mode"], ended.outputs["conclusion"]) == (1, "advisory", "failed"), ended.printed
    first = next(line[2:] for line in ended.comment.splitlines() if line.startswith("> ## "))
    assert first.startswith("## Failed: 0 of 1 scenario passed, 1 newly failing, critical scenario greeting failed")
    assert "a deterministic failure of a critical scenario that the base does not have blocks" in ended.comment


def test_a_failure_of_a_critical_scenario_that_the_base_has_blocks_nothing(local: SmallRepository) -> None:
    free(local, "greeting", critical="true")
    break_the_code(local)
    local.commit()
    local.write("other.py", "changed = True\n")
    ended = local.gate()
    assert (ended.code, ended.outputs["conclusion"]) == (0, "failed"), ended.printed
    first = next(line[2:] for line in ended.comment.splitlines() if line.startswith("> ## "))
    assert first.startswith("## Failed (advisory)")
    assert "critical scenario greeting failed" in first


def test_a_change_that_no_scenario_covers_says_so_in_the_first_line(local: SmallRepository) -> None:
    free(local, "greeting")
    local.commit()
    local.write("other.py", "changed = True\n")
    ended = local.gate()
    assert ended.outputs["conclusion"] == "passed", ended.printed
    first = next(line[2:] for line in ended.comment.splitlines() if line.startswith("> ## "))
    assert first.endswith(", but no scenario covers this change · ratiba")


def test_a_scenario_that_would_have_to_be_paid_for_is_left_out(local: SmallRepository) -> None:
    free(local, "greeting")
    local.scenario("unrecorded", "say hello")
    local.commit()
    local.write("other.py", "changed = True\n")
    ended = local.gate()
    assert ended.results["report"]["left_out"] == ["unrecorded"]
    assert [one["trial"]["scenario"]["id"] for one in ended.results["report"]["results"]] == ["greeting"]
