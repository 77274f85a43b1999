from ratiba_action.metrics.turn_scores import TurnValue, mean_of_turns


def test_the_mean_of_turns_that_is_exactly_the_threshold_passes() -> None:
    turns = [TurnValue(number, value) for number, value in enumerate((0.6, 0.6, 0.81), 1)]
    score = mean_of_turns("CharacterSimilarityMetric", "1", 0.67, turns, "Give a reference.")
    assert score.value == 0.67
    assert score.passed
