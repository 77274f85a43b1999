"""The rubric of English: neutral, for a house style, and the steps that recorded scores were given by."""

import pytest

from ratiba_action.config.metrics_block import MetricsBlock
from ratiba_action.metrics.english_fluency import KENYAN_AUDIENCE, rubric
from ratiba_action.metrics.registry import metric_problems
from ratiba_action.metrics.rubric import DATA_STEP
from ratiba_action.model.canonical import digest

RECORDED_STEPS = "c6a0e054f13feb5e6853bd69cd81779ae4c5c7717669c9b6541015ea18dc747a"
"""Of the steps of version 1.0.0, which the example's scores are recorded with."""


def test_the_neutral_rubric_names_no_country() -> None:
    version, steps = rubric(None)
    assert version == "2.0.0"
    assert "Keny" not in " ".join(steps)
    assert steps[-1] == DATA_STEP


def test_the_examples_audience_has_the_recorded_steps_and_version() -> None:
    version, steps = rubric(KENYAN_AUDIENCE)
    assert (version, digest(list(steps))) == ("1.0.0", RECORDED_STEPS)


def test_each_audience_has_a_version_of_its_own_and_stands_before_the_last_step() -> None:
    hotel, spa = rubric("guests of a hotel"), rubric("customers of a spa in Nairobi, who write Kenyan English")
    assert len({hotel[0], spa[0], rubric(None)[0], rubric(KENYAN_AUDIENCE)[0]}) == 4
    assert "guests of a hotel" in hotel[1][-2]
    assert hotel[1][-1] == DATA_STEP


@pytest.mark.parametrize("audience", ["", "  ", "two\nlines", "x" * 201, 3])
def test_an_audience_is_one_line_with_words(audience: object) -> None:
    assert metric_problems("EnglishFluencyMetric", {"audience": audience})
    with pytest.raises(ValueError, match="audience"):
        MetricsBlock.model_validate({"fluency": {"audience": audience}})


@pytest.mark.parametrize("given", ["no", 1, None, ["x"]])
def test_fluency_is_a_switch_or_a_house_style(given: object) -> None:
    with pytest.raises(ValueError, match="give true, false, or a mapping"):
        MetricsBlock.model_validate({"fluency": given})
