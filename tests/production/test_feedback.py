"""Which feedback means that a customer disliked a conversation."""

from typing import Any

import pytest

from ratiba_action.production.feedback import is_negative


@pytest.mark.parametrize("value", ["thumbs_down", " Thumbs_Down ", "👎", "negative", False, 0, 0.0, -1, 0.49])
def test_a_thumbs_down_is_negative_however_it_is_written(value: Any) -> None:
    assert is_negative(value)


@pytest.mark.parametrize("value", ["thumbs_up", "👍", "comment", "", "not thumbs_down", True, 1, 0.5, 5])
def test_anything_else_is_not(value: Any) -> None:
    assert not is_negative(value)
