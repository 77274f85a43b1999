"""A scenario names its catalogue of terms as a file beside it."""

import pytest

from ratiba_action.checks.failure_rules import validate_rule
from ratiba_action.decide.protection import Guard, Protection
from ratiba_action.errors import SuiteError
from ratiba_action.metrics.registry import metric_problems
from ratiba_action.model.scenario import Suite
from ratiba_action.suite.load import is_data_file, is_scenario_file, load_suite

CATALOGUE = b"""\
language: sw
terms:
  - {canonical: booking, rivals: [reservation]}
"""


def scenario(catalogue: str) -> bytes:
    return f"""\
id: spa
language: fr
now: 2026-04-25T10:00:00+03:00
customer: {{name: Wanjiku, phone: "+254 712 345 432"}}
turns:
  - user: Habari
assertions:
  - metric: TerminologyMetric
    threshold: 1.0
    with: {{catalogue: {catalogue}}}
""".encode()


def load(catalogue: str, content: bytes = CATALOGUE) -> Suite:
    files = {"scenarios/spa/a.yaml": scenario(catalogue), "scenarios/house.terms.yaml": content}
    return load_suite(files, metric_problems, validate_rule)


def test_the_assertion_holds_the_whole_catalogue() -> None:
    (assertion,) = load("../house.terms.yaml").scenarios[0].assertions
    assert assertion.parameters["catalogue"]["terms"] == [{"canonical": "booking", "rivals": ["reservation"]}]


def test_another_catalogue_is_another_test_set() -> None:
    other = CATALOGUE.replace(b"reservation", b"order")
    assert load("../house.terms.yaml").digest != load("../house.terms.yaml", other).digest


@pytest.mark.parametrize(
    "name", ["house.terms.yaml", "../../../house.terms.yaml", "/etc/passwd", "a.yaml", "../house.terms.yaml/"]
)
def test_what_is_no_catalogue_of_the_folder_is_refused_at_its_line(name: str) -> None:
    if name.endswith("/"):
        assert load(name).scenarios  # a slash at the end leads to the same file
        return
    with pytest.raises(SuiteError, match=r"scenarios/spa/a\.yaml:10: catalogue: .* is not a \*\.terms\.yaml file"):
        load(name)


def test_a_catalogue_that_is_no_yaml_is_reported_with_its_own_line() -> None:
    with pytest.raises(SuiteError, match=r"house\.terms\.yaml:4: not valid YAML"):
        load("../house.terms.yaml", b"language: sw\nterms:\n  - {canonical: [\n")


def test_a_catalogue_of_another_shape_is_reported_at_the_assertion() -> None:
    with pytest.raises(SuiteError, match=r"a\.yaml:8: TerminologyMetric: with\.catalogue\.terms"):
        load("../house.terms.yaml", b"language: sw\n")


def test_a_catalogue_is_no_scenario_and_is_protected_like_one() -> None:
    assert not is_scenario_file("scenarios/house.terms.yaml", "scenarios")
    assert is_data_file("scenarios/house.terms.yaml", "scenarios")
    guard = Guard(Protection(), lambda _side, _path: None)
    assert guard.why("scenarios/house.terms.yaml") == "the gate's scenarios and recordings"
