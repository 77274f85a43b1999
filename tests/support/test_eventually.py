import operator

import pytest

from tests.support.eventually import eventually, eventually_async


def test_looking_ends_with_the_first_thing_that_will_do() -> None:
    shown = iter([0, 0, 3, 4])
    assert eventually(lambda: next(shown)) == 3
    assert next(shown) == 4


def test_another_condition_may_be_asked_for() -> None:
    shown = iter([["a", "b"], ["b"], []])
    assert eventually(lambda: next(shown), until=operator.not_) == []


def test_when_the_time_is_over_what_was_last_seen_is_reported() -> None:
    with pytest.raises(AssertionError, match=r"within 0 s; last seen: \['b'\]"):
        eventually(lambda: ["b"], 0, until=operator.not_)


async def test_a_look_may_be_awaited() -> None:
    shown = iter(["", "ready"])

    async def look() -> str:
        return next(shown)

    async def look_in_vain() -> str:
        return ""

    assert await eventually_async(look) == "ready"
    with pytest.raises(AssertionError, match="within 0 s; last seen: ''"):
        await eventually_async(look_in_vain, 0)
