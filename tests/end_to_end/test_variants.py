"""Variants of a system: the same conversations with another model, by name or side by side."""

from decimal import Decimal

from tests.support.small_repository import SmallRepository

CONFIGURATION = """\
system:
  adapter: shop:answer
  database: false
  environment: {MODEL: large}
  variants:
    gone: {environment: {MODEL: gone}}
    small: {environment: {MODEL: small}}
"""
SYSTEM = """\
import os


def answer(message):
    if os.environ["MODEL"] == "gone":
        raise LookupError("there is no such model")
    return {"text": message, "state": os.environ["MODEL"]}
"""


def prepared(small: SmallRepository) -> SmallRepository:
    """A system that says which model it would ask."""
    small.write(".github/ratiba.yml", CONFIGURATION)
    small.write("shop.py", SYSTEM)
    small.scenario("polite", "habari", expect="large")
    small.commit()
    return small


def test_the_gate_runs_the_system_as_it_stands_unless_a_variant_is_named(small: SmallRepository) -> None:
    repository = prepared(small)
    assert repository.gate("--mode", "blocking").code == 0
    ended = repository.gate("--mode", "blocking", "--variant", "small")
    assert ended.code == 1, ended.printed
    assert "This run is of the variant small: MODEL=small." in ended.comment
    assert "polite.small" in ended.comment


def test_a_variant_that_is_not_there_is_refused_with_those_that_are(small: SmallRepository) -> None:
    ended = prepared(small).gate("--mode", "blocking", "--variant", "tiny")
    assert ended.code == 2
    assert "There is no variant 'tiny' of the system. The variants are: gone, small." in ended.printed


def with_variant(repository: SmallRepository, scenario: str, variant: str) -> None:
    path = f"scenarios/{scenario}.yaml"
    repository.write(path, (repository.folder / path).read_text() + f"variant: {variant}\n")
    repository.commit()


def test_a_scenario_runs_with_the_variant_that_it_names(small: SmallRepository) -> None:
    repository = prepared(small)
    repository.scenario("brief", "asante", expect="small")
    with_variant(repository, "brief", "small")
    ended = repository.gate("--mode", "blocking")
    assert ended.code == 0, ended.printed
    assert int(ended.outputs["passed"]) == 2
    refused = repository.gate("--mode", "blocking", "--variant", "gone")
    assert refused.code == 2
    assert "The scenario 'brief' runs with a variant of its own" in refused.printed


def test_a_scenario_of_a_variant_that_is_not_there_is_a_mistake_of_its_file(small: SmallRepository) -> None:
    repository = prepared(small)
    with_variant(repository, "polite", "smal")
    ended = repository.gate("--mode", "blocking")
    assert ended.code == 2, ended.printed
    assert "scenarios/polite.yaml:1: variant 'smal' is none of system.variants; did you mean 'small'?" in ended.printed
    checked = repository.run(["validate"], repository.folder, repository.environment)
    assert checked.returncode == 2
    assert "variant 'smal' is none of system.variants" in checked.stdout + checked.stderr


def test_variants_stand_side_by_side_and_only_the_system_as_it_stands_decides(small: SmallRepository) -> None:
    repository = prepared(small)
    ended = repository.gate("--mode", "blocking", "--variants")
    assert ended.code == 0, ended.printed
    assert "| as it is | nothing | passed | 1 of 1 | 0 |" in ended.comment
    assert "| `small` | MODEL=small | failed | 0 of 1 | 0 |" in ended.comment
    assert "| `gone` | MODEL=gone | failed | 0 of 1 | 0 |" in ended.comment
    assert "LookupError: there is no such model" in ended.comment
    rows = ended.results["report"]["variants"]
    counts = [(row["name"], row["passed"], row["failed"], row["errored"]) for row in rows]
    assert counts == [("", 1, 0, 0), ("gone", 0, 1, 0), ("small", 0, 1, 0)]
    assert 'name="small" classname="variant"' in (ended.report / "junit.xml").read_text()
    refused = repository.gate("--mode", "blocking", "--variants", "--variant", "small")
    assert refused.code == 2


def test_a_variant_that_runs_out_of_money_changes_no_verdict_and_the_next_is_not_run(small: SmallRepository) -> None:
    repository = prepared(small)
    repository.write(".github/ratiba.yml", CONFIGURATION + "  price_per_turn_usd: 0.02\n")
    repository.scenario("short", "asante", expect="large")
    repository.commit()
    live = ("--mode", "blocking", "--variants", "--llm", "live", "--budget-usd", "0.07")
    ended = repository.gate(*live, RATIBA_ANTHROPIC_API_KEY="no-key")
    assert ended.code == 0, ended.printed
    rows = ended.results["report"]["variants"]
    assert [(row["name"], row["passed"], row["errored"], row["not_run"]) for row in rows[:2]] == [
        ("", 2, 0, 0),
        ("gone", 0, 0, 1),
    ]
    assert rows[2]["problem"] == "the run was cancelled, or its time or budget was used up"
    assert Decimal(ended.results["report"]["spending"]["spent"]) <= Decimal("0.07")
