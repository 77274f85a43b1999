"""What is proposed to somebody who mistyped a name."""

import pytest

from ratiba_action.util.text import did_you_mean, nearest_names

METRICS = ("RougeLMetric", "RefusalMetric", "MrrMetric", "EnglishFluencyMetric", "SwahiliFluencyMetric")


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("RougLMetric", "RougeLMetric"),
        ("rougelmetric", "RougeLMetric"),
        ("EnglishFluency", "EnglishFluencyMetric"),
        ("SwahilFluencyMetric", "SwahiliFluencyMetric"),
    ],
)
def test_the_likeliest_name_comes_first(typed: str, meant: str) -> None:
    assert nearest_names(typed, METRICS)[0] == meant


def test_names_that_only_end_alike_are_not_proposed() -> None:
    assert nearest_names("RougLMetric", METRICS) == ("RougeLMetric",)
    assert nearest_names("nothing_like_it", METRICS) == ()
    assert nearest_names("x" * 100_000, METRICS) == ()


def test_the_question_lists_them() -> None:
    assert did_you_mean("order_1", ["order_2", "order_3", "greeting"]) == "did you mean 'order_2' or 'order_3'?"
    assert did_you_mean("zebra", ["order_2"]) == ""
    assert did_you_mean("order", []) == ""
