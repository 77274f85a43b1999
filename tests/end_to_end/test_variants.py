"""Variants of a system: the same conversations with another model, by name."""

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
