import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from ratiba_action.authoring.schema_files import schema_file
from ratiba_action.metrics.registry import metric_names
from tests.support.published_schemas import every_schema, published_schemas

PROJECT = Path(__file__).parents[2]
PACKAGE = PROJECT / "ratiba_action"
SCENARIOS = [
    path
    for folder in ("scenarios", *(f"examples/{name}/scenarios" for name in ("consumer", "rag_answerer", "tool_agent")))
    for path in sorted((PROJECT / folder).rglob("*.yaml"))
    if not path.name.endswith(".terms.yaml")
    if not {"recordings", "calibration"} & set(path.parts)
]
SMALLEST: dict[str, Any] = {
    "id": "greets",
    "language": "fr",
    "now": "2026-05-04T08:15:00+03:00",
    "customer": {"name": "Amina", "phone": "+254 700 000 001"},
    "turns": [{"user": "hello"}],
}


def mistakes(**more: Any) -> list[str]:
    schema = json.loads(schema_file("scenario.schema.json"))
    return [error.message for error in Draft202012Validator(schema).iter_errors({**SMALLEST, **more})]


def test_every_schema_of_the_package_is_written_by_one_command() -> None:
    assert {path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.schema.json")} == set(every_schema())


@pytest.mark.parametrize("path", sorted(every_schema()))
def test_a_published_schema_is_what_the_types_say(path: str) -> None:
    assert (PACKAGE / path).read_text(encoding="utf-8") == every_schema()[path], "run `make schemas`"


@pytest.mark.parametrize("name", sorted(published_schemas()))
def test_the_published_schema_is_a_schema(name: str) -> None:
    validator = Draft202012Validator(Draft202012Validator.META_SCHEMA)
    schema = json.loads(schema_file(name))
    assert schema["$schema"] == Draft202012Validator.META_SCHEMA["$id"]
    assert [error.message for error in validator.iter_errors(schema)] == []


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_an_editor_accepts_every_scenario_of_the_examples(path: Path) -> None:
    given = yaml.load(path.read_text(encoding="utf-8"), yaml.BaseLoader)  # noqa: S506 - plain texts only
    keys = set(json.loads(schema_file("scenario.schema.json"))["properties"])
    assert set(given) <= keys
    assert mistakes(turns=yaml.safe_load(path.read_text(encoding="utf-8"))["turns"]) == []


def test_an_editor_offers_every_metric_and_refuses_another() -> None:
    definitions = json.loads(schema_file("scenario.schema.json"))["$defs"]
    offered = [one["properties"]["metric"].get("const") for one in definitions["AssertionBlock"]["oneOf"]]
    assert offered == [*metric_names(), None]
    assert mistakes(assertions=[{"metric": "LabelMetric", "threshold": 1}]) == []
    assert mistakes(assertions=[{"metric": "NoMetric", "threshold": 1}])


def test_a_metric_of_the_repository_itself_is_named_by_its_address() -> None:
    own = {"metric": "shop.tone:Tone", "threshold": 0.5, "with": {"anything": 1}}
    assert mistakes(assertions=[own]) == []
    assert mistakes(assertions=[{**own, "metric": "shop.tone"}])


def test_a_metric_has_its_own_parameters_only() -> None:
    assert mistakes(assertions=[{"metric": "NdcgMetric", "threshold": 0.5, "with": {"k": 5}}]) == []
    assert mistakes(assertions=[{"metric": "NdcgMetric", "threshold": 0.5, "with": {"depth": 5}}])
    assert mistakes(assertions=[{"metric": "LabelMetric", "threshold": 0.5, "with": {"k": 5}}])


def test_a_value_may_come_from_a_row_of_the_cases() -> None:
    assert mistakes(cases="rows.jsonl", turns=[{"user": "${q}", "expect": {"documents": "${relevant}"}}]) == []
    assert mistakes(critical="sometimes")


def test_an_unknown_key_is_underlined() -> None:
    assert mistakes(vertcal="spa")
