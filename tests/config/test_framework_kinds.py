"""The blocks of frameworks in the configuration: what is understood, and what is refused with its line."""

import json

import jsonschema
import pytest
import yaml

from ratiba_action.config.configuration import Configuration, read_configuration
from ratiba_action.config.system_block import SystemBlock
from ratiba_action.errors import SuiteError


def system_of(text: str) -> SystemBlock:
    return read_configuration("ratiba.yml", text.encode()).system


def problems_of(text: str) -> list[str]:
    with pytest.raises(SuiteError) as caught:
        read_configuration("ratiba.yml", text.encode())
    return [str(problem) for problem in caught.value.problems]


@pytest.mark.parametrize("kind", ["langgraph", "langchain", "llamaindex"])
def test_an_address_alone_is_a_block_with_every_default(kind: str) -> None:
    short = f"system: {{{kind}: 'shop.graph:build'}}\n"
    key = {"langgraph": "graph", "langchain": "runnable", "llamaindex": "engine"}[kind]
    assert system_of(short) == system_of(f"system: {{{kind}: {{{key}: 'shop.graph:build'}}}}\n")
    assert system_of(short).kind == kind
    jsonschema.validate(json.loads(json.dumps(yaml.safe_load(short))), Configuration.model_json_schema())


def test_a_database_is_there_when_something_is_kept_in_it() -> None:
    assert not system_of("system: {langgraph: 'a:b'}").has_database
    assert system_of("system: {langgraph: {graph: 'a:b', saver: postgres}}").has_database
    assert system_of("system: {langchain: {runnable: 'a:b', migrate: 'a:tables'}}").has_database
    assert system_of("system: {llamaindex: 'a:b', database: true}").has_database


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "{langgraph: shop}",
            "system.langgraph: 'shop' is not allowed: give module:attribute, such as shop.graph:graph",
        ),
        ("{langgraph: {graph: 'a:b', saver: sqlite}}", "allowed: 'memory', 'postgres', 'redis'"),
        ("{langgraph: {graph: 'a:b', saver: redis}}", "set REDIS_URL in system.environment"),
        ("{langgraph: {graph: 'a:b', saver: postgres}, database: false}", "langgraph needs a database"),
        ("{langgraph: {graph: 'a:b', reply: {state: 'a..b'}}}", "reply.state"),
        ("{langgraph: {graph: 'a:b', reply: {stage: a}}}", "stage"),
        ("{langchain: {runnable: 'a:b', takes: mapping}}", "needs input"),
        ("{langchain: {runnable: 'a:b', history: before}}", "keys of a mapping; this runnable takes messages"),
        ("{langgraph: 'a:b', langchain: 'a:b'}", "this gives langgraph and langchain"),
    ],
)
def test_a_mistake_is_named(text: str, message: str) -> None:
    (problem,) = problems_of(f"system: {text}\n")
    assert message in problem


VARIANTS = """\
system:
  adapter: shop:Adapter
  environment: {MODEL: gpt-5, TONE: warm}
  variants:
    mini: {environment: {MODEL: gpt-5-mini}}
"""


def test_a_variant_is_the_system_with_what_it_changes() -> None:
    system = system_of(VARIANTS)
    variant = system.as_variant("mini")
    assert variant.environment == {"MODEL": "gpt-5-mini", "TONE": "warm"}
    assert (variant.adapter, variant.variants) == (system.adapter, {})
    assert system.environment["MODEL"] == "gpt-5"


def test_a_variant_of_a_prompt_changes_its_model_and_its_prompts_are_all_prompts() -> None:
    system = system_of(
        "system:\n"
        "  prompt: {file: a.md, provider: openai, model: gpt-5, max_output_tokens: 100}\n"
        "  variants:\n"
        "    claude: {prompt: {provider: anthropic, model: claude-sonnet-5-5}}\n"
        "    short: {prompt: {file: short.md}}\n"
    )
    changed = system.as_variant("claude").prompt
    assert changed is not None
    assert changed.model_dump(exclude_defaults=True) == {
        "file": "a.md",
        "provider": "anthropic",
        "model": "claude-sonnet-5-5",
        "max_output_tokens": 100,
    }
    assert system.prompt_patterns == ("a.md", "short.md")


@pytest.mark.parametrize(
    ("variant", "message"),
    [
        ("base: {environment: {MODEL: a}}", "base"),
        ("../up: {environment: {MODEL: a}}", "../up"),
        ("mini: {}", "the variant changes nothing"),
        ("mini: {prompt: {model: a}}", "it has no effect for a system of kind 'adapter'"),
        ("mini: {environment: {OPENAI_API_KEY: a}}", "OPENAI_API_KEY cannot be set here"),
        ("mini: {environment: {DATABASE_URL: a}}", "DATABASE_URL cannot be set here"),
        ("mini: {environment: {MODEL: sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789}}", "looks like a credential"),
    ],
)
def test_a_variant_names_what_differs_and_no_key(variant: str, message: str) -> None:
    (problem,) = problems_of(VARIANTS.replace("mini: {environment: {MODEL: gpt-5-mini}}", variant))
    assert message in problem
    assert "abcdefghijk" not in problem


def test_a_system_elsewhere_reads_no_variable_of_a_variant() -> None:
    (problem,) = problems_of(VARIANTS.replace("adapter: shop:Adapter", "url: http://shop:80"))
    assert "it has no effect for a system of kind 'url'" in problem
