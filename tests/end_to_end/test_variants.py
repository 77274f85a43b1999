"""Variants of a system: the same conversations with another model, by name or side by side."""

from ratiba_action.testing.small_repository import SmallRepository

CONFIGURATION = """\
system:
  adapter: shop:answer
  database: false
  environment: {MODEL: large}
  variants:
    small: {environment: {MODEL: small}}
"""
SYSTEM = """\
import os


def answer(message):
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
    assert "There is no variant 'tiny' of the system. Variants in system.variants: small." in ended.printed


def test_variants_stand_side_by_side_and_only_the_system_as_it_stands_decides(small: SmallRepository) -> None:
    repository = prepared(small)
    ended = repository.gate("--mode", "blocking", "--variants")
    assert ended.code == 0, ended.printed
    assert "| as it stands | nothing | 1 of 1 | 0 |" in ended.comment
    assert "| `small` | MODEL=small | 0 of 1 | 0 |" in ended.comment
    rows = ended.results["report"]["variants"]
    assert [(row["name"], row["passed"], row["failed"]) for row in rows] == [("", 1, 0), ("small", 0, 1)]
    refused = repository.gate("--mode", "blocking", "--variants", "--variant", "small")
    assert refused.code == 2
