import pytest

from ratiba_action.util.text import part_of


@pytest.mark.parametrize(
    ("part", "whole", "message"),
    [
        (0, 1, "0 of 1 conversation passes"),
        (1, 1, "1 of 1 conversation passes"),
        (0, 2, "0 of 2 conversations pass"),
        (1, 2, "1 of 2 conversations passes"),
        (2, 2, "2 of 2 conversations pass"),
    ],
)
def test_noun_and_verb_agree_with_the_counts(part: int, whole: int, message: str) -> None:
    assert part_of(part, whole, "conversation", "passes", "pass") == message
