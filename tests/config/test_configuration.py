import json

import jsonschema
import pytest
import yaml

from ratiba_action.config.configuration import Configuration, read_configuration
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


@pytest.mark.parametrize("name", ["a..b", "x.lock", "a/", "a//b"])
def test_a_history_is_kept_on_a_branch_that_git_takes(name: str) -> None:
    (problem,) = problems_of(GOOD + f"history: {{branch: {name}}}\n".encode())
    assert f"{name!r} is no name of a branch" in problem


def test_all_mistakes_are_reported_at_once() -> None:
    messages = problems_of(
        GOOD.replace(b"shop.adapter:Adapter", b"shop adapter")
        .replace(b"root: app", b"rot: app")
        .replace(b"pass_rate: 0.9", b"pass_rate: 90")
        .replace(b"input_per_million: 1", b"input_per_million: 0")
    )
    assert [line.split(":")[1] for line in messages] == ["3", "2", "8", "11"]


def test_a_price_is_a_price_or_free() -> None:
    block = b"{input_per_million: 1, output_per_million: 2.5}"
    assert read_configuration("ratiba.yml", GOOD.replace(block, b"{free: true}")).prices["own-model"].free
    tools = b"tool_call_usd: {file_search: 0.0025}, context_tokens: 64000}"
    priced = read_configuration("ratiba.yml", GOOD.replace(block, block[:-1] + b", " + tools)).prices["own-model"]
    assert priced.model_dump(mode="json")["tool_call_usd"] == {"file_search": "0.0025"}
    with pytest.raises(SuiteError, match=r"tool_call_usd\.web_serch"):
        read_configuration("ratiba.yml", GOOD.replace(block, block[:-1] + b", tool_call_usd: {web_serch: 1}}"))
    assert (
        "a free model has no input_per_million"
        in problems_of(GOOD.replace(b"{input_per", b"{free: true, input_per"))[0]
    )
    for half in (b"{}", b"{input_per_million: 1}", b"{output_per_million: 1}"):
        assert (
            "give input_per_million and output_per_million, or free: true" in problems_of(GOOD.replace(block, half))[0]
        )
    assert problems_of(GOOD.replace(block, b"{free: false}"))


@pytest.mark.parametrize("query", [b"DROP TABLE x; SELECT 1", b"SELECT 1; SELECT 2;"])
def test_a_row_query_is_a_single_statement(query: bytes) -> None:
    (message,) = problems_of(GOOD.replace(b"SELECT * FROM bookings", b'"' + query + b'"'))
    assert "more than one statement" in message


def test_the_published_schema_accepts_what_the_gate_accepts() -> None:
    schema = json.loads(json.dumps(Configuration.model_json_schema()))
    jsonschema.validate(yaml.safe_load(GOOD), schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(yaml.safe_load(GOOD.replace(b"root: app", b"rot: app")), schema)


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
        "AWS_ENDPOINT_URL_BEDROCK_RUNTIME",
    ],
)
def test_an_address_or_key_of_models_is_refused_and_its_value_not_repeated(name: str) -> None:
    (message,) = problems_of(f"system:\n  adapter: a:A\n  environment: {{{name}: planted-value}}\n".encode())
    assert message.startswith("ratiba.yml:3: ")
    assert f"{name} cannot be set here" in message
    assert "openai-base-url" in message
    assert "planted-value" not in message


@pytest.mark.parametrize("name", ["OPENAI_MODEL", "ANTHROPIC_MODEL", "OPENAI_TIMEOUT", "MY_OPENAI_BASE_URL"])
def test_other_variables_of_a_system_are_its_own(name: str) -> None:
    read = read_configuration("ratiba.yml", f"system: {{adapter: 'a:A', environment: {{{name}: x}}}}".encode())
    assert read.system.environment == {name: "x"}


@pytest.mark.parametrize("value", ["20", "0.2", '"20"', '"-20 %"', '"20 % more"', "[20 %]"])
def test_a_limit_of_an_increase_is_a_percentage(value: str) -> None:
    content = f"system: {{adapter: 'a:A'}}\nlimits:\n  cost_increase: {value}\n"
    with pytest.raises(SuiteError) as caught:
        read_configuration("ratiba.yml", content.encode())
    (problem,) = caught.value.problems
    assert (problem.line, "write it as 20 %" in problem.message) == (3, True)
