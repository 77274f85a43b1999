import json

import jsonschema
import pytest
import yaml

from ratiba_action.config.configuration import Configuration, hold_configuration, json_schema, read_configuration
from ratiba_action.errors import SuiteError

GOOD = b"""\
system:
  root: app
  adapter: shop.adapter:Adapter
  prompts: [prompts/*.md]
rows:
  bookings: SELECT * FROM bookings
judge: {model: claude-opus-5-5}
pass_rate: 0.9
dependencies: [langgraph]
prices:
  own-model: {input_per_million: 1, output_per_million: 2.5}
"""


def problems_of(content: bytes) -> list[str]:
    with pytest.raises(SuiteError) as caught:
        read_configuration("ratiba.yml", content)
    return [str(problem) for problem in caught.value.problems]


def test_a_configuration_is_read_whole() -> None:
    configuration = read_configuration("ratiba.yml", GOOD)
    assert configuration.system.adapter == "shop.adapter:Adapter"
    assert configuration.pass_rate == 0.9
    assert str(configuration.prices["own-model"].output_per_million) == "2.5"


def test_all_mistakes_are_told_at_once() -> None:
    said = problems_of(
        GOOD.replace(b"shop.adapter:Adapter", b"shop adapter")
        .replace(b"root: app", b"rot: app")
        .replace(b"pass_rate: 0.9", b"pass_rate: 90")
        .replace(b"input_per_million: 1", b"input_per_million: 0")
    )
    assert [line.split(":")[1] for line in said] == ["3", "2", "8", "11"]


@pytest.mark.parametrize("query", [b"DROP TABLE x; SELECT 1", b"SELECT 1; SELECT 2;"])
def test_a_row_query_is_a_single_statement(query: bytes) -> None:
    (said,) = problems_of(GOOD.replace(b"SELECT * FROM bookings", b'"' + query + b'"'))
    assert "more than one statement" in said


def test_a_change_cannot_decide_judge_prices_dependencies_or_a_lower_pass_rate() -> None:
    base = read_configuration("ratiba.yml", GOOD)
    head = read_configuration(
        "ratiba.yml",
        GOOD.replace(b"claude-opus-5-5", b"kind-judge")
        .replace(b"0.9", b"0.1")
        .replace(b"[langgraph]", b"[]")
        .replace(b"input_per_million: 1", b"input_per_million: 0.01")
        .replace(b"root: app", b"root: new"),
    )
    held, notes = hold_configuration(head, base)
    assert held == base.model_copy(update={"system": head.system})
    assert len(notes) == 4
    assert "The pass rate stays 90%; this change asks for 10%." in notes


def test_a_stricter_pass_rate_holds_at_once() -> None:
    base = read_configuration("ratiba.yml", GOOD)
    head = read_configuration("ratiba.yml", GOOD.replace(b"0.9", b"0.95"))
    assert hold_configuration(head, base) == (head, ())


def test_the_published_schema_accepts_what_the_gate_accepts() -> None:
    schema = json.loads(json.dumps(json_schema()))
    jsonschema.validate(yaml.safe_load(GOOD), schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(yaml.safe_load(GOOD.replace(b"root: app", b"rot: app")), schema)


@pytest.mark.parametrize(("base", "head"), [("0.25", "0"), ("null", "0"), ("0", "0.25")])
def test_a_change_does_not_decide_what_a_turn_of_its_system_costs(base: str, head: str) -> None:
    def configured(price: str) -> Configuration:
        text = f"system: {{adapter: 'a:A', price_per_turn_usd: {price}}}"
        return read_configuration("ratiba.yml", text.encode())

    held, notes = hold_configuration(configured(head), configured(base))
    assert held.system.price_per_turn_usd == configured(base).system.price_per_turn_usd
    assert any("price per turn is the base's" in note for note in notes)


@pytest.mark.parametrize(
    "system",
    ["{root: app}", "{adapter: 'a:A', url: 'http://127.0.0.1:8000'}", "{url: 'ftp://x'}", "{url: 'https://u:p@x'}"],
)
def test_a_system_has_one_way_in(system: str) -> None:
    with pytest.raises(SuiteError):
        read_configuration("ratiba.yml", f"system: {system}".encode())


def test_a_system_that_runs_elsewhere_is_named_by_its_address() -> None:
    held = read_configuration("ratiba.yml", b"system: {url: 'http://booking:8000/ratiba'}")
    assert held.system.url == "http://booking:8000/ratiba"


@pytest.mark.parametrize(
    "name",
    [
        "OPENAI_BASE_URL",
        "OPENAI_API_BASE",
        "OPENAI_API_KEY",
        "ANTHROPIC_BASE_URL",
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_AUTH_TOKEN",
        "AZURE_OPENAI_ENDPOINT",
        "AZURE_OPENAI_API_KEY",
        "AZURE_OPENAI_AD_TOKEN",
    ],
)
def test_an_address_or_key_of_models_is_refused_and_its_value_not_repeated(name: str) -> None:
    (said,) = problems_of(f"system:\n  adapter: a:A\n  environment: {{{name}: planted-value}}\n".encode())
    assert said.startswith("ratiba.yml:3: ")
    assert f"{name} cannot be set here" in said
    assert "openai-base-url" in said
    assert "planted-value" not in said


@pytest.mark.parametrize("name", ["OPENAI_MODEL", "ANTHROPIC_MODEL", "OPENAI_TIMEOUT", "MY_OPENAI_BASE_URL"])
def test_other_variables_of_a_system_are_its_own(name: str) -> None:
    read = read_configuration("ratiba.yml", f"system: {{adapter: 'a:A', environment: {{{name}: x}}}}".encode())
    assert read.system.environment == {name: "x"}
