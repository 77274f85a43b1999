"""Files with the keys of the version before mean what they meant, and say what the keys are now."""

from typing import Any

import pytest

from ratiba_action.checks.failure_rules import validate_rule
from ratiba_action.config.configuration import Configuration, read_configuration
from ratiba_action.config.renamed_keys import former_keys, notes_of_former_keys
from ratiba_action.errors import SuiteError
from ratiba_action.metrics.registry import metric_problems
from ratiba_action.model.codec import decode, encode
from ratiba_action.model.comparison import Rules
from ratiba_action.model.renamed_keys import RENAMED_KEYS, RenamedKey
from ratiba_action.model.scenario import Scenario, Strategy
from ratiba_action.suite.load import load_suite
from ratiba_action.verdict.pairing import content_digest

CONFIGURATION = """\
system: {command: [my-bot]}
comparison:
  min_margin: 0.05
  min_scenarios: 12
suite:
  strategy:
    min_mean: 0.6
"""
SCENARIO = """\
id: greets
language: sw
strategy: {min_mean: 0.6, trials: 2}
simulated_user: {persona: in a hurry, goal: book a massage, max_turns: 4}
turns: [{user: Habari}]
assertions:
  - metric: ReplyLanguageMetric
    threshold: 0.5
    with: {languages: [sw, en], min_share: 0.4}
"""
DIGEST = "ec996087f9b8d5cdfe179fde44467b87e7a03e3be68fa4b06ef15949e7f7bad6"
"""Of this scenario, as the version before wrote it into its results."""


def formerly(text: str) -> str:
    for key in RENAMED_KEYS:
        text = text.replace(f"{key.name}:", f"{key.former}:")
    return text


def configured(text: str) -> Configuration:
    return read_configuration("ratiba.yml", text.encode())


def scenario(text: str) -> Scenario:
    (only,) = load_suite({"scenarios/greets.yaml": text.encode()}, metric_problems, validate_rule).scenarios
    return only


@pytest.mark.parametrize("key", RENAMED_KEYS, ids=lambda key: f"{'.'.join(key.block)}.{key.former}")
def test_each_former_key_is_read_as_the_one_of_today(key: RenamedKey) -> None:
    text = (CONFIGURATION if key.block[0] in Configuration.model_fields else SCENARIO).replace(key.name, key.former)
    assert key.former in text
    if text.startswith("system"):
        assert configured(text) == configured(CONFIGURATION)
    else:
        assert scenario(text) == scenario(SCENARIO)


def test_scores_of_a_scenario_with_former_keys_are_compared_with_those_of_the_version_before() -> None:
    assert content_digest(scenario(SCENARIO)) == content_digest(scenario(formerly(SCENARIO))) == DIGEST


def test_results_of_the_version_before_are_read() -> None:
    strategy = Strategy(min_mean=0.6, given=frozenset({"min_mean"}))
    written: dict[str, Any] = encode(strategy)
    former = {"least_mean": written.pop("min_mean"), **written}
    assert decode(Strategy, former) == strategy
    rules: dict[str, Any] = encode(Rules(min_margin=0.05, min_scenarios=12))
    former = {"least_margin": rules.pop("min_margin"), "fewest_scenarios": rules.pop("min_scenarios"), **rules}
    assert decode(Rules, former) == Rules(min_margin=0.05, min_scenarios=12)


def test_each_former_key_is_named_with_its_line_and_the_name_of_today() -> None:
    files = {"ratiba.yml": formerly(CONFIGURATION).encode(), "scenarios/greets.yaml": formerly(SCENARIO).encode()}
    assert [str(warning) for warning in former_keys(files)] == [
        "ratiba.yml:3: comparison.least_margin is now min_margin",
        "ratiba.yml:4: comparison.fewest_scenarios is now min_scenarios",
        "ratiba.yml:7: suite.strategy.least_mean is now min_mean",
        "scenarios/greets.yaml:3: strategy.least_mean is now min_mean",
        "scenarios/greets.yaml:4: simulated_user.most_turns is now max_turns",
        "scenarios/greets.yaml:9: assertions.0.with.least_share is now min_share",
    ]
    (note,) = notes_of_former_keys(files)
    assert note.startswith("Keys have new names: ratiba.yml:3: comparison.least_margin is now min_margin; ")
    assert note.endswith("; and 1 more. The old ones are still read.")
    assert notes_of_former_keys({"ratiba.yml": CONFIGURATION.encode(), "scenarios/greets.yaml": b"id: ["}) == ()


def test_a_key_by_both_names_is_a_mistake_beside_all_others() -> None:
    with pytest.raises(SuiteError) as raised:
        configured(CONFIGURATION + "    least_mean: 0.5\njury: {}\n")
    first, second = raised.value.problems
    assert str(first) == (
        "ratiba.yml:8: suite.strategy.least_mean: former name of min_mean, which is given too; remove least_mean"
    )
    assert "jury: unknown key" in str(second)
    with pytest.raises(SuiteError, match="former name of max_turns"):
        scenario(SCENARIO.replace("max_turns: 4", "max_turns: 4, most_turns: 4"))


def test_a_wrong_value_by_a_former_key_is_shown_at_its_line() -> None:
    with pytest.raises(SuiteError, match=r"greets.yaml:4: simulated_user.max_turns: 0 is not allowed"):
        scenario(formerly(SCENARIO).replace("most_turns: 4", "most_turns: 0"))


def test_a_parameter_of_a_metric_of_the_repository_keeps_its_name() -> None:
    own = {"id": "own.yaml", "assertions": [{"metric": "OwnMetric", "with": {"least_share": 1}}]}
    assert list(former_keys({"own.yaml": str(own).encode()})) == []
