"""Mistakes in a block, told at the line of the value and never once for each thing that the value might have been."""

import pytest
from pydantic import Field

from ratiba_action.util.strict_yaml import read_yaml
from ratiba_action.util.validation import StrictModel, validate


class Stop(StrictModel):
    """One of two things that a value may be."""

    after: int = Field(ge=1)


class Block(StrictModel):
    """A block whose values may be of several shapes."""

    stop: bool | Stop = False
    documents: list[str] | dict[str, float] = Field(default_factory=list)
    stops: dict[str, Stop] = Field(default_factory=dict)


def mistakes(text: str) -> list[str]:
    document, problems = read_yaml("a.yml", text.encode())
    assert document is not None, problems
    return [str(problem) for problem in validate(Block, document)[1]]


def test_a_mapping_in_the_place_of_several_things_is_reported_about_as_a_mapping_at_the_line_of_its_key() -> None:
    assert mistakes("stop:\n  after: many\n") == [
        "a.yml:2: stop.after: 'many' is not allowed: input should be a valid integer"
    ]
    assert mistakes("stop:\n  after: 1\n  until: 3\n") == ["a.yml:3: stop.until: unknown key; allowed here: after"]
    assert mistakes("stop: {}\n") == ["a.yml:1: stop.after: missing; it must be given"]


def test_an_item_of_a_list_or_a_mapping_is_reported_at_its_own_line() -> None:
    assert mistakes("documents:\n  - a\n  - 3\n") == [
        "a.yml:3: documents.1: 3 is not allowed: input should be a text: write it in quotes"
    ]
    assert mistakes("documents:\n  a: 1\n  b: c\n") == [
        "a.yml:3: documents.b: 'c' is not allowed: input should be a valid number"
    ]


@pytest.mark.parametrize("name", ["mine", "stops"])
def test_an_unknown_key_below_a_name_that_the_file_chose_is_answered_with_the_keys_there(name: str) -> None:
    (_, problem) = mistakes(f"stops:\n  {name}: {{until: 3}}\n")
    assert problem == f"a.yml:2: stops.{name}.until: unknown key; allowed here: after"


def test_a_value_of_no_allowed_shape_is_reported_once_with_all_shapes() -> None:
    assert mistakes("stop: often\n") == [
        "a.yml:1: stop: 'often' is not allowed: input should be a valid boolean, or input should be a mapping"
    ]
    assert mistakes("documents: 3\n") == [
        "a.yml:1: documents: 3 is not allowed: input should be a valid list, or input should be a mapping"
    ]


def test_every_mistake_of_a_block_is_reported() -> None:
    assert len(mistakes("stop: {after: 0, until: 3}\ndocuments: [1, 2]\nmore: 1\n")) == 5
