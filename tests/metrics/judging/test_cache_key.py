import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.metrics.judging.cache_key import deepeval_cache_key, join_prompt_versions, metric_version

PARTS = ("scenario_id", "prompt_version", "judge_model_version", "metric_version")


def test_the_key_is_the_one_that_sha256sum_computes() -> None:
    # printf '%s' '{"judge_model_version":"claude-opus-4.7","metric_version":"swahili_fluency:1.0.0",
    # "prompt_version":"booking_orchestrator@a1b2c3d","scenario_id":"spa_booking_swahili_happy"}' (one line) | sha256sum
    assert (
        deepeval_cache_key(
            "spa_booking_swahili_happy", "booking_orchestrator@a1b2c3d", "claude-opus-4.7", "swahili_fluency:1.0.0"
        )
        == "fc981140711d27b1d0f55bb94d6d7dcc36cbd0f7e775da51580f09a8543f408c"
    )


@given(st.tuples(*[st.text()] * 4), st.integers(0, 3), st.text())
def test_a_change_of_any_part_changes_the_key(parts: tuple[str, ...], index: int, other: str) -> None:
    changed = list(parts)
    changed[index] = other
    same = tuple(changed) == parts
    assert (deepeval_cache_key(*changed) == deepeval_cache_key(*parts)) is same


@given(st.tuples(*[st.text()] * 4), st.permutations(PARTS))
def test_the_key_does_not_depend_on_the_order_in_which_the_parts_are_given(
    parts: tuple[str, ...], order: list[str]
) -> None:
    named = dict(zip(PARTS, parts, strict=True))
    assert deepeval_cache_key(**{name: named[name] for name in order}) == deepeval_cache_key(*parts)


def test_several_prompts_are_joined_in_sorted_order() -> None:
    assert join_prompt_versions(["intent@2", "booking@1", "intent@2"]) == "booking@1,intent@2"
    assert join_prompt_versions([]) == ""


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("SwahiliFluencyMetric", "swahili_fluency:1.0.0"),
        ("MpesaPaymentSafetyMetric", "mpesa_payment_safety:1.0.0"),
        ("my_pkg.tone:Tone", "my_pkg.tone.tone:1.0.0"),
        ("Metric", "metric:1.0.0"),
    ],
)
def test_a_metric_version_names_the_metric_in_snake_case(name: str, expected: str) -> None:
    assert metric_version(name, "1.0.0") == expected
