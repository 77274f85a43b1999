"""Tests of other tools become scenarios, and what does not is listed with its file and line."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.authoring.deepeval_tests import AS_THEY_ARE, DEEPEVAL_METRICS
from ratiba_action.authoring.goldens import FIELDS, FORMATS
from ratiba_action.authoring.imports import NotImportedError, slug
from ratiba_action.authoring.promptfoo.assertion_types import ASSERTIONS, OTHERS, SAME, TYPES, rule_of
from ratiba_action.authoring.promptfoo.case_inputs import render
from ratiba_action.authoring.ragas_files import RAGAS_METRICS
from ratiba_action.authoring.scorers import INSPECT_SCORERS, OPENAI_SCORERS
from ratiba_action.checks.turn_checks import check_turn
from ratiba_action.config.configuration import read_configuration
from ratiba_action.errors import SuiteError, UsageError
from ratiba_action.metrics.registry import metric_names
from ratiba_action.model.conversation import Reply
from ratiba_action.model.scenario import Scenario
from ratiba_action.util.instants import LocalTime
from tests.support.command_run import CommandRun
from tests.support.suites import suite_of

PAGE = Path(__file__).parents[2] / "docs/import.md"
OUTCOMES = {"mapped": "the same", "approximated": "similar", "manual": "for a person"}


def tables() -> Mapping[str, str]:
    """The tables of the page, as the code has them."""

    def rows(head: str, listed: list[tuple[str, ...]]) -> str:
        columns = head.count("|") - 1
        return f"{head}\n|{' --- |' * columns}\n" + "".join(f"| {' | '.join(row)} |\n" for row in listed)

    def names(name: str) -> str:
        others = [other for other, same in SAME.items() if same == name and other not in {"fn", "eval", "grade"}]
        return ", ".join(f"`{each}`" for each in (name, *others))

    alike: dict[tuple[str, str], list[str]] = {}
    for name, rule in ASSERTIONS.items():
        alike.setdefault((rule.becomes, OUTCOMES[rule.outcome]), []).append(names(name))
    return {
        "promptfoo": rows(
            "| type | here | meaning |",
            [(", ".join(listed), becomes, outcome) for (becomes, outcome), listed in alike.items()],
        ),
        "deepeval": rows(
            "| metric | here | what differs |",
            [
                (name, f"`{each.becomes}`", each.note or "nothing")
                for name, each in {**DEEPEVAL_METRICS, **AS_THEY_ARE}.items()
            ],
        ),
        "scorers": rows(
            "| scorer | here | what differs |",
            [
                (f"`{name}`", f"`{each.metric}`", each.note or "nothing")
                for name, each in {**INSPECT_SCORERS, **OPENAI_SCORERS}.items()
            ],
        ),
        "ragas": rows("| metric | here |", [(name, f"`{each}`") for name, each in RAGAS_METRICS.items()]),
        "fields": rows("| field | becomes |", [(f"`{name}`", what) for name, what in FIELDS.items()]),
        "formats": rows(
            "| format | mapping |",
            [
                (f"`{name}`", ", ".join(f"`{key}={column}`" for key, column in mapping.items()))
                for name, mapping in FORMATS.items()
            ],
        ),
    }


@pytest.mark.parametrize("name", ["promptfoo", "deepeval", "scorers", "ragas", "fields", "formats"])
def test_the_page_has_the_tables_of_the_code(name: str) -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert f"<!-- {name} -->\n{tables()[name]}<!-- /{name} -->" in page


def found(printed: Mapping[str, Any], outcome: str) -> list[tuple[str, int, str, str]]:
    listed = (each for each in printed["findings"] if each["outcome"] == outcome)
    return [(each["file"], each["line"], each["what"], each["result"]) for each in listed]


def scenarios(folder: Path) -> list[Scenario]:
    return list(suite_of(folder).scenarios)


def problems(command: CommandRun, *words: str) -> list[str]:
    with pytest.raises(SuiteError) as caught:
        command("import", *words)
    return [str(each) for each in caught.value.problems]


def promptfoo(*asserts: Mapping[str, Any], **more: Any) -> str:
    return json.dumps({"tests": [{"vars": {"q": "hi {x}"}, "assert": list(asserts), **more}]}, indent=1)


def passes(scenario: Scenario, reply: str) -> bool:
    """Whether a reply passes every deterministic assertion of an imported scenario."""
    from ratiba_action.checks.failure_rules import check_rule  # beside its only use
    from ratiba_action.model.conversation import Exchange, Transcript

    (turn,) = scenario.turns
    checks = check_turn(1, turn, Reply(reply), LocalTime(scenario.now))
    for rule in scenario.rules:
        checks += check_rule(rule, Transcript(scenario.id, (Exchange(turn, Reply(reply)),)))
    assert checks
    return all(check.passed for check in checks)


@pytest.mark.parametrize(
    ("wanted", "good", "bad"),
    [
        ({"type": "contains", "value": "Paris"}, ["in Paris."], ["in paris.", "Lyon"]),
        ({"type": "contains", "value": "$5.00 (net)"}, ["is $5.00 (net)!"], ["$5x00 (net)"]),
        ({"type": "not-contains", "value": "Cafe 100 EUR"}, ["ok"], ["Cafe 100 EUR", "Cafe 100\u00a0EUR"]),
        ({"type": "contains", "value": 0}, ["10"], ["one"]),
        ({"type": "icontains", "value": "Paris"}, ["in PARIS."], ["Lyon"]),
        ({"type": "contains-all", "value": ["A", "3"]}, ["A 3"], ["A", "a 3"]),
        ({"type": "contains-any", "value": ["A|B", "C"]}, ["A|B", "C"], ["A", "c"]),
        ({"type": "contains-any", "value": ["1", "2"]}, ["no 2"], ["3"]),
        ({"type": "icontains-any", "value": ["one", "TWO"]}, ["Two"], ["3"]),
        ({"type": "icontains-all", "value": ["one", "TWO"]}, ["two ONE"], ["two"]),
        ({"type": "not-contains", "value": "AI"}, ["ai", ""], ["An AI"]),
        ({"type": "not-contains", "value": "42"}, ["4 2"], ["a42"]),
        ({"type": "not-icontains", "value": "AI"}, ["no"], ["an ai"]),
        ({"type": "not-contains-any", "value": ["A", "B"]}, ["a b"], ["xA", "B"]),
        ({"type": "not-icontains-any", "value": ["A", "B"]}, ["c"], ["xa", "B"]),
        ({"type": "contains-any", "value": "red, green"}, ["a red one"], ["blue", "Green"]),
        ({"type": "contains-all", "value": "red,\n green"}, ["green red"], ["red", "red, Green"]),
        ({"type": "icontains-any", "value": '"a, b", c'}, ["A, B", "C"], ["a b"]),
        ({"type": "icontains-all", "value": " one ,, TWO ,"}, ["two ONE"], ["one"]),
        ({"type": "not-contains-any", "value": "password, sk-"}, ["none"], ["my password", "sk-1"]),
        ({"type": "not-icontains-any", "value": 'internal, "say ""hi"""'}, ["hi"], ["INTERNAL", 'Say "Hi"']),
        ({"type": "not-contains-any", "value": '"a\\"b", c'}, ["ab"], ['a"b', "c"]),
        ({"type": "contains", "value": "red, green"}, ["red, green"], ["red"]),
        ({"type": "starts-with", "value": "He (l"}, ["He (llo"], [" He (l", "he (l"]),
        ({"type": "not-starts-with", "value": "He"}, ["he", "\nHe"], ["Hello"]),
        ({"type": "regex", "value": r"\d{4}"}, ["in 2026"], ["in 26"]),
        ({"type": "not-regex", "value": "^a"}, ["ba"], ["ab"]),
        ({"type": "equals", "value": "Yes."}, ["Yes.", " Yes.\n"], ["yes.", "Yes. No."]),
        ({"type": "equals", "value": {"a": [1, {"${b}": "x"}]}}, ['{"a": [1.0, {"${b}": "x"}]}'], ['{"a": []}', "a"]),
        ({"type": "not-equals", "value": "No (1)"}, ["No", "No (1)."], ["No (1)"]),
        ({"type": "is-json"}, ["[]"], ["```json\n[]\n```"]),
        ({"type": "word-count", "value": {"max": 2}}, ["a b"], ["a b c"]),
    ],
)  # fmt: skip
def test_an_assertion_passes_and_fails_as_in_promptfoo(
    wanted: Mapping[str, Any], good: list[str], bad: list[str], folder: Path, command: CommandRun
) -> None:
    (folder / "a.json").write_text(promptfoo(wanted))
    printed = command.json("import", "promptfoo", "a.json")
    assert found(printed, "manual") == []
    (scenario,) = scenarios(folder)
    assert scenario.turns[0].user == "hi {x}"
    assert [passes(scenario, reply) for reply in good] == [True] * len(good)
    assert [passes(scenario, reply) for reply in bad] == [False] * len(bad)


def test_an_assertion_that_is_measured_becomes_a_metric_or_a_limit(folder: Path, command: CommandRun) -> None:
    asserts: list[dict[str, Any]] = [
        {"type": "llm-rubric", "value": "Greets {{q}}", "threshold": 0.8},
        {"type": "g-eval", "value": ["Is short", "Is kind"]},
        {"type": "similar", "value": "hello", "threshold": 0.9},
        {"type": "cost", "threshold": 0.002},
        {"type": "cost", "threshold": 0.001},
        {"type": "latency", "threshold": 1500},
        {"type": "trajectory:tool-used", "value": ["find", "book"]},
    ]
    (folder / "a.json").write_text(promptfoo(*asserts))
    printed = command.json("import", "promptfoo", "a.json")
    (scenario,) = scenarios(folder)
    measured = [(entry.label, entry.threshold) for entry in scenario.assertions]
    assert measured == [
        ("GEval", 0.8),
        ("GEval imported-2", 0.7),
        ("EmbeddingSimilarityMetric", 0.9),
    ]
    assert scenario.assertions[0].parameters["steps"] == ["Greets hi {x}"]
    assert (scenario.limits.seconds, str(scenario.limits.usd)) == (1.5, "0.001")
    assert [rule.value for rule in scenario.rules] == [["find", "book"]]
    assert scenario.turns[0].expect.answer == "hello"
    assert found(printed, "manual") == []


@pytest.mark.parametrize(
    ("wanted", "reason"),
    [
        ({"type": "javascript", "value": "file://none.js"}, "none.js"),
        ({"type": "python", "value": "file://../../x.py"}, "lies outside the repository"),
        ({"type": "javascript", "value": "output.includes('{{ q + 1 }}')"}, "none is evaluated"),
        ({"type": "javascript"}, "not a text"),
        ({"type": "perplexity", "threshold": 2}, "promptfoo_left.py"),
        ({"type": "not-similar", "value": "x"}, "promptfoo_left.py"),
        ({"type": "is-xml", "value": {"elements": 1}}, "no list `requiredElements`"),
        ({"type": "is-json", "value": "[1"}, "no JSON and no YAML"),
        ({"type": "word-count", "value": "many"}, "not a number of words"),
        ({"type": "trajectory:step-count", "value": {"min": 1}}, "only calls of tools"),
        ({"type": "trajectory:tool-args-match", "value": "find"}, "no tool's name"),
        ({"type": "of-tomorrow", "value": "x"}, "promptfoo_left.py"),
        ({"type": "contains"}, "not a text"),
        ({"type": "not-contains-any", "value": '"password, sk-'}, "quotation mark"),
        ({"type": "contains-all", "value": '"red" green, blue'}, "quotation mark"),
        ({"type": "icontains-any", "value": " , "}, "not a text"),
        ({"type": "not-icontains-any", "value": 'a, ""'}, "not a text"),
        ({"type": "contains", "value": " "}, "not a text"),
        ({"type": "contains", "value": {"a": 1}}, "not a text"),
        ({"type": "contains", "value": "{{ missing }}"}, "not a text"),
        ({"type": "contains", "value": "{{ q + 1 }}"}, "none is evaluated"),
        ({"type": "contains", "value": "{{ q | sort }}"}, "the filter 'sort' is not known here"),
        ({"type": "contains", "value": "{{ env.HOME }}"}, "a variable of the environment"),
        ({"type": "contains", "value": "{% for x in q %}"}, "none is evaluated"),
        ({"type": "contains", "value": "x", "transform": "file://none.js"}, "none.js"),
        ({"type": "contains", "value": "file://x.js"}, "not a text file"),
        ({"type": "regex", "value": "(a+)+$"}, "takes longer"),
        ({"type": "regex", "value": "(?<"}, "not a regular expression"),
        ({"type": "starts-with", "value": ["a", "b"]}, "one suffices"),
        ({"type": "cost"}, "its threshold is not a number"),
        ({"type": "cost", "threshold": 0}, "its threshold is 0"),
        ({"type": "llm-rubric", "value": "x", "threshold": 7}, "not from 0 to 1"),
        ({"type": "word-count", "value": {}}, "neither `min` nor `max`"),
    ],
)
def test_what_cannot_be_imported_is_left_to_a_person_with_its_line(
    wanted: Mapping[str, Any], reason: str, folder: Path, command: CommandRun
) -> None:
    text = promptfoo({"type": "contains", "value": "1"}, wanted)
    (folder / "a.json").write_text(text)
    ((file, line, what, result),) = found(command.json("import", "promptfoo", "a.json"), "manual")
    assert file == "a.json"
    assert f'"type": "{wanted["type"]}"' in "".join(text.splitlines()[line - 1 : line + 1])
    assert wanted["type"] in what
    assert reason in result
    (scenario,) = scenarios(folder)
    assert scenario.turns[0].expect.reply is not None
    assert not scenario.assertions


def test_everything_beside_the_assertions_is_listed(folder: Path, command: CommandRun) -> None:
    (folder / "promptfooconfig.yaml").write_text("""\
prompts: ["Answer {{q}}"]
providers: [openai:gpt-4.1]
evaluateOptions: {maxConcurrency: 2}
future: 1
assertionTemplates:
  kind: {type: icontains, value: welcome}
defaultTest:
  metadata: {b: 2}
  options: {provider: openai:gpt-4.1}
  vars: {greeting: Hello}
  assert: [{type: icontains, value: "{{greeting}}", weight: 2, metric: tone}]
tests:
  - description: a greeting
    vars: {q: one}
    metadata: {a: 1}
    assert:
      - $ref: '#/assertionTemplates/kind'
      - {type: icontains, value: zero, weight: 0}
      - {type: assert-set, threshold: 0.5, assert: [{type: llm-rubric, value: three}, {type: cost, threshold: 1}]}
  - {vars: {q: [two, three]}, options: {disableDefaultAsserts: true}, assert: [{type: is-json, value: {type: object}}]}
  - {vars: {q: x}, options: {transform: output.a}, assert: [{type: is-json}]}
  - {path: file://make.py:tests}
  - https://example.com/tests.csv
scenarios:
  - config: [{vars: {q: four}}, {vars: {q: five}}]
    tests: [{assert: [{type: icontains, value: "{{q}}"}]}]
""")
    printed = command.json("import", "promptfoo", "promptfooconfig.yaml", "--map", "input=q")
    lines = {(line, what) for _, line, what, _ in [*found(printed, "approximated"), *found(printed, "manual")]}
    assert lines >= {
        (3, "evaluateOptions"),
        (4, "future"),
        (8, "metadata"),
        (9, "options.provider"),
        (11, "assert icontains: metric"),
        (15, "metadata"),
        (18, "assert icontains"),
        (19, "assert llm-rubric"),
        (19, "assert cost"),
        (22, "tests"),
        (23, "tests"),
    }
    by_message = {scenario.turns[0].user: scenario for scenario in scenarios(folder)}
    assert set(by_message) == {"one", "two", "three", "four", "five", "x"}
    assert passes(by_message["one"], "Hello, WELCOME to three")
    assert not passes(by_message["one"], "Hello")
    (entry,) = by_message["two"].assertions
    assert entry.parameters == {"kind": "is-json", "value": {"type": "object"}}
    *_, entry = by_message["x"].assertions
    assert entry.parameters == {"kind": "is-json", "transform": ["output.a"]}
    assert not passes(by_message["five"], "hello 4")
    assert passes(by_message["five"], "hello five")


def test_code_of_assertions_becomes_a_metric_that_the_gate_runs(folder: Path, command: CommandRun) -> None:
    (folder / "checks").mkdir()
    (folder / "checks/tone.js").write_text("module.exports = () => true;")
    asserts: list[dict[str, Any]] = [
        {"type": "javascript", "value": "output.length < 20 && context.vars.q !== '${x}'"},
        {"type": "not-python", "value": "'{{q}}' in output", "threshold": 0.5},
        {"type": "javascript", "value": "file://checks/tone.js:polite", "config": {"words": ["a"]}},
    ]
    (folder / "a.json").write_text(promptfoo(*asserts))
    printed = command.json("import", "promptfoo", "a.json")
    assert not found(printed, "manual")
    (scenario,) = scenarios(folder)
    assert [(each.metric, each.threshold, dict(each.parameters)) for each in scenario.assertions] == [
        ("promptfoo_checks:JavaScript", 1.0, {"code": asserts[0]["value"]}),
        ("promptfoo_checks:Python", 1.0, {"code": "'hi {x}' in output", "minimum": 0.5, "negate": True}),
        ("promptfoo_checks:JavaScript", 1.0, {"code": asserts[2]["value"], "config": {"words": ["a"]}}),
    ]
    assert "promptfoo_checks.py" in printed["written"]


PROMPTFOO = """\
prompts:
  - file://prompts/answer.txt
  - id: file://chat.json
  - "Reply to {{ question }} in {{ tone }}.{% for each in facts %} {{ each }}{% endfor %}"
providers:
  - openai:chat:gpt-4.1-mini
  - {id: anthropic:messages:claude-haiku-4-5, label: haiku, config: {max_tokens: 50, temperature: 0.3, top_p: 0.5}}
defaultTest: {vars: &defaults {tone: brief}}
tests:
  - description: opening hours
    vars: {<<: *defaults, question: Open on Sunday?, facts: [[a, b]]}
    assert: &asserts [{type: icontains, value: "{{tone}}"}]
  - {vars: {question: "It is {{tone}}", facts: [[]]}, assert: *asserts}
"""


def test_prompts_and_providers_become_the_system_and_variables_its_inputs(folder: Path, command: CommandRun) -> None:
    (folder / "prompts").mkdir()
    (folder / "prompts/answer.txt").write_text("Answer {{ question }}\n---\nHelp with {{ question | upper }}\n")
    (folder / "chat.json").write_text('[{"role": "user", "content": "{{ question }} {{ country }}"}]')
    (folder / "promptfooconfig.yaml").write_text(PROMPTFOO)
    printed = command.json("import", "promptfoo", "promptfooconfig.yaml")
    assert not found(printed, "manual")
    configuration = read_configuration(".github/ratiba.yml", (folder / ".github/ratiba.yml").read_bytes())
    assert configuration.pass_rate == 1
    prompt = configuration.system.prompt
    assert prompt is not None
    assert prompt.model_dump(exclude_defaults=True) == {
        "file": "prompts/promptfoo_1.txt",
        "provider": "openai",
        "model": "gpt-4.1-mini",
        "max_output_tokens": 1024,
        "temperature": 0,
        "template": "jinja",
        "role": "user",
    }
    assert (folder / "prompts/promptfoo_2.txt").read_text() == "Help with {{ question | upper }}"
    variants = configuration.system.variants
    assert len(variants) == 7
    assert variants["haiku-promptfoo-3"].prompt is not None
    assert variants["haiku-promptfoo-3"].prompt.model_dump(exclude_none=True) == {
        "file": "prompts/promptfoo_3.txt",
        "provider": "anthropic",
        "model": "claude-haiku-4-5",
        "max_output_tokens": 50,
        "temperature": 0.3,
        "request": {"top_p": 0.5},
    }
    written = scenarios(folder)
    assert {each.variant for each in written} == {"", *variants}
    two, one = [each for each in written if not each.variant]
    assert (one.title, one.turns[0].user) == (
        "opening hours openai:chat:gpt-4.1-mini promptfoo_1",
        "Open on Sunday?",
    )
    assert one.inputs == {"tone": "brief", "question": "Open on Sunday?", "facts": [["a", "b"]], "country": ""}
    assert two.inputs == {"tone": "brief", "question": "It is brief", "facts": [[]], "country": ""}
    assert two.turns[0].user == "It is brief"
    assert command.json("import", "promptfoo", "promptfooconfig.yaml")["written"] == []


def test_a_configuration_that_is_there_stays_and_the_system_is_printed(folder: Path, command: CommandRun) -> None:
    (folder / ".github").mkdir()
    (folder / ".github/ratiba.yml").write_text("system: {adapter: 'a:B'}\n")
    (folder / "promptfooconfig.yaml").write_text(
        "prompts: ['{{ q }}']\nproviders: [openai:gpt-5-mini]\n"
        "tests: [{vars: {q: x}, assert: [{type: contains, value: x}]}]\n"
    )
    printed = command.json("import", "promptfoo", "promptfooconfig.yaml")
    assert (folder / ".github/ratiba.yml").read_text() == "system: {adapter: 'a:B'}\n"
    assert printed["configuration"]["system"]["prompt"]["model"] == "gpt-5-mini"
    assert "temperature" not in printed["configuration"]["system"]["prompt"]


def test_scenarios_of_variants_that_a_configuration_has_not_are_not_written(folder: Path, command: CommandRun) -> None:
    (folder / ".github").mkdir()
    (folder / ".github/ratiba.yml").write_text("system: {adapter: 'a:B'}\n")
    (folder / "promptfooconfig.yaml").write_text(
        "prompts: ['{{ q }}']\nproviders: [openai:gpt-5-mini, openai:gpt-5]\n"
        "tests: [{vars: {q: x}, assert: [{type: contains, value: x}]}]\n"
    )
    printed = command.json("import", "promptfoo", "promptfooconfig.yaml")
    assert [each.variant for each in scenarios(folder)] == [""]
    left = [each["result"] for each in printed["findings"] if each["what"] == "system.variants"]
    assert left == ["1 test is not written for them: add the `system` below to the configuration, and import again"]
    (folder / ".github/ratiba.yml").write_text(json.dumps({"system": printed["configuration"]["system"]}))
    command.json("import", "promptfoo", "promptfooconfig.yaml")
    assert sorted(each.variant for each in scenarios(folder)) == ["", "openai-gpt-5"]


@pytest.mark.parametrize(
    ("prompt", "provider", "what", "reason"),
    [
        ("file://make.py:build", "openai:gpt-4.1", "prompts", "make.py"),
        ("file://make.rb", "openai:gpt-4.1", "prompts", "makes prompts by code"),
        ("{{ q | wordcloud }}", "openai:gpt-4.1", "prompts", "Jinja has no filter wordcloud"),
        ("{% if q %}{% endfor %}", "openai:gpt-4.1", "prompts", "line 1 of the prompt is no Jinja template"),
        ("{{ env.HOME }}", "openai:gpt-4.1", "prompts", "environment variables (env)"),
        ("file://../../etc.txt", "openai:gpt-4.1", "prompts", "it lies outside the repository"),
        ("file://none/*.txt", "openai:gpt-4.1", "prompts", "names 0 files"),
        ("{{ q }}", "webhook:https://example.com", "providers", "describe it as `system.http`"),
        ("{{ q }}", "openai:embedding:text-embedding-3-small", "providers", "describe it as `system.http`"),
        ("{{ q }}", "azure:chat:desk", "providers", "it has no `config.apiHost`"),
        ("{{ q }}", "file://provider.js", "providers", "provider.js"),
    ],
)
def test_a_prompt_or_provider_that_the_gate_cannot_run_is_left_to_a_person(  # noqa: PLR0917 - a row
    prompt: str, provider: str, what: str, reason: str, folder: Path, command: CommandRun
) -> None:
    tests = [{"vars": {"q": "x", "other": "y"}, "assert": [{"type": "icontains", "value": "a"}]}]
    content = {"prompts": [prompt], "providers": [provider], "tests": tests}
    (folder / "a.json").write_text(json.dumps(content))
    printed = command.json("import", "promptfoo", "a.json", "--map", "input=q")
    assert any(kind == what and reason in result for _, _, kind, result in found(printed, "manual"))
    assert not (folder / ".github").exists()
    (scenario,) = scenarios(folder)
    assert scenario.inputs == {"q": "x", "other": "y"}


def test_rows_of_a_csv_file_carry_their_assertions(folder: Path, command: CommandRun) -> None:
    (folder / "tests.csv").write_text(
        "q,__expected1,__expected2,__description,__threshold\n"
        'a,Paris,"contains-any: x, 1",first,\n'
        'b,"not a type: x",similar(0.6):hello,second,\n'
        "c,javascript:1,file://a.js,third,0.5\n"
        "d,perplexity(3),icontains:E,fourth,\n"
    )
    printed = command.json("import", "promptfoo", "tests.csv")
    by_message = {scenario.turns[0].user: scenario for scenario in scenarios(folder)}
    assert passes(by_message["a"], "Paris") is False
    first, second = (by_message[name].turns[0].expect.reply for name in "ab")
    assert first is not None
    assert second is not None
    assert (first.equals, second.equals) == ("Paris", "not a type: x")
    assert [entry.threshold for entry in by_message["b"].assertions] == [0.6]
    left = [(line, what) for _, line, what, _ in found(printed, "manual")]
    assert left == [(4, "assert javascript"), (5, "assert perplexity")]
    (entry,) = by_message["c"].assertions
    assert (entry.metric, entry.parameters["minimum"]) == ("promptfoo_checks:Set", 0.5)
    assert entry.parameters["assertions"] == [{"kind": "javascript", "code": "1"}]


GOLDENS = [
    {"input": "When?", "expected_output": "At nine", "context": None, "name": "When"},
    {"input": "Where?", "expected_output": "Nairobi", "context": ["x"]},
    {
        "input": [
            {"role": "system", "content": "s"},
            {"role": "user", "content": "Hi"},
            {"role": "user", "content": "Who?"},
        ]
    },
    {"scenario": "a customer complains", "expected_outcome": "calm"},
]


def test_goldens_are_compared_with_their_answers(folder: Path, command: CommandRun) -> None:
    (folder / "goldens.json").write_text(json.dumps(GOLDENS, indent=1))
    (folder / "goldens.csv").write_text("input,expected_output,context\nWhen?,At nine,a|b\n")
    printed = command.json("import", "deepeval", "goldens.json", "--metric", "RougeLMetric=0.4")
    by_message = {scenario.turns[-1].user: scenario for scenario in scenarios(folder)}
    assert set(by_message) == {"When?", "Where?"}
    assert by_message["When?"].id == "goldens_when"
    assert [(entry.metric, entry.threshold) for entry in by_message["Where?"].assertions] == [("RougeLMetric", 0.4)]
    assert [(what, result.partition(":")[0]) for _, _, what, result in found(printed, "manual")] == [
        ("test", "not written"),
        ("conversational golden", "not imported"),
    ]
    assert command.json("import", "deepeval", "goldens.csv", "--prefix", "csv")["tests"] == 1


TEST_FILE = """\
import os
os.system("touch executed")
SHARED = [FaithfulnessMetric(0.4), BiasMetric(threshold=0.2), SummarizationMetric(threshold=0.5)]
case = LLMTestCase(input="Not this one", actual_output="")


@pytest.mark.parametrize("case", [LLMTestCase(input="First", actual_output="x"), Golden(input="Second")])
def test_many(case):
    assert_test(case, SHARED)


def test_own():
    case = LLMTestCase(input="Third", actual_output=ask(), expected_output="3")
    assert_test(test_case=case, metrics=[ExactMatchMetric(), GEval(name="N", criteria=os.environ["X"]), metric()])
    assert len(case.actual_output) < 3


def test_computed():
    evaluate([LLMTestCase(input=f"{os.getcwd()}", actual_output="")], [PatternMatchMetric(pattern="(a+)+$")])
"""


def test_a_pytest_file_is_parsed_and_not_run(folder: Path, command: CommandRun) -> None:
    (folder / "test_a.py").write_text(TEST_FILE)
    printed = command.json("import", "deepeval", "test_a.py")
    assert not (folder / "executed").exists()
    by_message = {scenario.turns[0].user: scenario for scenario in scenarios(folder)}
    assert set(by_message) == {"First", "Second", "Third"}
    assert [(entry.metric, entry.threshold) for entry in by_message["First"].assertions] == [
        ("FaithfulnessMetric", 0.5),
        ("BiasMetric", 0.2),
        ("deepeval.metrics:SummarizationMetric", 0.5),
    ]
    reply = by_message["Third"].turns[0].expect.reply
    assert reply is not None
    assert reply.equals == "3"
    left = [(line, what) for _, line, what, _ in found(printed, "manual")]
    assert left == [
        (4, "LLMTestCase"),
        (14, "GEval"),
        (14, "metric"),
        (15, "assert"),
        (19, "PatternMatchMetric"),
        (19, "LLMTestCase"),
    ]


ELSEWHERE = """\
@observe(metrics=[FaithfulnessMetric(threshold=0.9)])
def retrieve(q): return q
for golden in EvaluationDataset().evals_iterator(metrics=[PIILeakageMetric(threshold=0.9)]):
    retrieve(golden.input)
def test_loop():
    for metric in [AnswerRelevancyMetric(threshold=0.8), deepeval.metrics.HallucinationMetric(threshold=0.2)]:
        metric.measure(case)
class Team:
    judge = GEval(name="Kind", criteria="Is it kind?")
    politeness = PolitenessMetric()
span.update(metrics=[make_metric()])
"""


def test_a_metric_that_no_run_names_is_left_to_a_person(folder: Path, command: CommandRun) -> None:
    (folder / "test_a.py").write_text(ELSEWHERE)
    (folder / "goldens.json").write_text(json.dumps([{"input": "Where?", "expected_output": "Here"}]))
    printed = command.json("import", "deepeval", "goldens.json", "test_a.py")
    (scenario,) = scenarios(folder)
    assert [(entry.metric, entry.threshold) for entry in scenario.assertions] == [
        ("PIILeakageMetric", 0.9),
        ("AnswerRelevancyMetric", 0.8),
        ("deepeval.metrics:HallucinationMetric", 0.2),
    ]
    assert [(line, what) for _, line, what, _ in found(printed, "manual")] == [
        (1, "FaithfulnessMetric"),
        (9, "GEval"),
        (10, "PolitenessMetric"),
        (11, "metric"),
    ]


@pytest.mark.parametrize("written", ["T", "limits.low", "1 - LOW", "float(T)", "os.environ['T']", "T if x else 0.5"])
def test_what_is_not_written_as_a_number_is_shown_as_it_is_written(
    folder: Path, command: CommandRun, written: str
) -> None:
    case = 'LLMTestCase(input="Hi", actual_output=ask())'
    (folder / "test_a.py").write_text(
        f"def test_it():\n    assert_test({case}, [BiasMetric(threshold={written}), FaithfulnessMetric()])\n"
    )
    printed = command.json("import", "deepeval", "test_a.py")
    assert "<ast." not in str(printed)
    (result,) = [result for _, _, what, result in found(printed, "manual") if what == "BiasMetric"]
    assert f"its threshold `{written}` is not a number written here" in result


@pytest.mark.parametrize(
    ("form", "row", "expected"),
    [
        ("langsmith", {"inputs": {"question": "Who?"}, "outputs": {"answer": "Me"}, "metadata": {"a": 1}}, "Me"),
        ("ragas", {"user_input": "Who?", "reference": "Me", "retrieved_contexts": ["x"], "response": "You"}, "Me"),
        ("langfuse", {"id": "a", "input": {"question": "Who?"}, "expectedOutput": {"answer": "Me"}}, "Me"),
        ("langfuse", {"id": "a", "input": "Who?", "expected_output": "Me", "metadata": None}, "Me"),
        ("ragas", {"question": "Who?", "ground_truths": ["Me"], "contexts": ["x"]}, "Me"),
        ("plain", {"input": "Who?", "answer": "Me"}, "Me"),
    ],
)
def test_exports_of_other_tools_have_a_format(
    form: str, row: Mapping[str, Any], expected: Any, folder: Path, command: CommandRun
) -> None:
    (folder / "rows.jsonl").write_text(json.dumps(row) + "\n")
    words = ("--map", "answer=answer") if form == "plain" else ()
    assert command.json("import", "jsonl", "rows.jsonl", "--format", form, *words)["tests"] == 1
    (scenario,) = scenarios(folder)
    expect = scenario.turns[0].expect
    assert scenario.turns[0].user == "Who?"
    assert expect.answer == expected


def test_columns_become_what_map_says_and_the_others_are_listed(folder: Path, command: CommandRun) -> None:
    (folder / "q.csv").write_text(
        'question,must,never,topic,owner\nWhen?,"[""9"", ""nine""]",no,HOURS,A\n'
        "Where?,Nairobi,no,PLACE,B\nWhy?,x,no,OTHER,\n"
    )
    fields = ("input=question", "contains=must", "not_contains=never", "label=topic")
    words = [word for each in fields for word in ("--map", each)]
    printed = command.json("import", "csv", "q.csv", "--language", "sw", "--system-type", "classifier", *words)
    assert found(printed, "manual") == [
        ("q.csv", 1, "column owner", "not imported: give --map FIELD=owner if it asserts something")
    ]
    assert printed["configuration"] == {"metrics": {"classifier": [{"metric": "LabelMetric", "threshold": 1.0}]}}
    rows = {scenario.id: scenario for scenario in scenarios(folder)}
    assert set(rows) == {
        "q_contains_not_contains__when",
        "q_contains_not_contains__where",
        "q_contains_not_contains__why",
    }
    first = rows["q_contains_not_contains__when"]
    assert first.language == "sw"
    assert first.turns[0].expect.reply is not None
    assert first.turns[0].expect.reply.contains == ("9", "nine")
    assert first.turns[0].expect.label == "HOURS"
    template = yaml.safe_load((folder / "scenarios/q/q_contains_not_contains.yaml").read_text())
    assert template["turns"][0]["expect"]["not_contains"] == ["no"]


def test_a_second_import_changes_nothing_and_says_so(folder: Path, command: CommandRun) -> None:
    (folder / "a.json").write_text(promptfoo({"type": "contains", "value": "1"}))
    assert "Would write: scenarios/a/a_hi_x.yaml" in command("import", "promptfoo", "a.json", "--dry-run")
    assert not (folder / "scenarios").exists()
    first = command.json("import", "promptfoo", "a.json")
    (path,) = first["written"]
    before = (folder / path).stat().st_mtime_ns
    assert "Nothing changed" in command("import", "promptfoo", "a.json")
    second = command.json("import", "promptfoo", "a.json")
    assert (second["written"], second["unchanged"]) == ([], [path])
    assert (folder / path).stat().st_mtime_ns == before


def test_a_file_with_other_content_is_never_overwritten_and_nothing_else_is_written(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, command: CommandRun
) -> None:
    tests = [{"vars": {"q": q}, "assert": [{"type": "contains", "value": "1"}]} for q in ("one", "two")]
    (folder / "a.json").write_text(json.dumps({"tests": tests}))
    (folder / "scenarios/a").mkdir(parents=True)
    (folder / "scenarios/a/a_two.yaml").write_text("mine\n")
    with pytest.raises(UsageError, match=r"other content.\n  scenarios/a/a_two\.yaml"):
        command("import", "promptfoo", "a.json")
    assert [path.name for path in (folder / "scenarios/a").iterdir()] == ["a_two.yaml"]
    (folder / "scenarios/a/a_two.yaml").unlink()
    (folder / "scenarios/a").rmdir()
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (folder / "scenarios/a").symlink_to(elsewhere)
    with pytest.raises(UsageError, match="symbolic link"):
        command("import", "promptfoo", "a.json")
    assert list(elsewhere.iterdir()) == []


def test_the_terminal_shows_each_part_with_its_place_and_what_to_do_next(folder: Path, command: CommandRun) -> None:
    (folder / "a.json").write_text(
        promptfoo({"type": "llm-rubric", "value": "x"}, {"type": "human"}, {"type": "icontains", "value": "y"})
    )
    printed = command("import", "promptfoo", "a.json")
    for title, part in (
        ("Mapped", "assert icontains"),
        ("Approximated", "assert llm-rubric"),
        ("For a person", "human"),
    ):
        assert f"{title}:\n" in printed
        assert part in printed
    assert "  a.json:12: assert human → no counterpart" in printed
    assert "def human_1(evidence):" in (folder / "promptfoo_left.py").read_text()
    assert "1 test imported. 2 mapped, 1 approximated, 1 for a person." in printed
    assert "criterion: Rubric" in printed
    assert printed.endswith("run: ratiba validate\n")


@pytest.mark.parametrize(
    ("cell", "language"),
    [("file://a.py", "Python"), ("file://a.py:check", "Python"), ("file://a.pyx.js", "JavaScript")],
)
def test_a_file_in_a_cell_is_code_of_the_language_that_its_name_says(
    cell: str, language: str, folder: Path, command: CommandRun
) -> None:
    for name in ("a.py", "a.pyx.js"):
        (folder / name).write_text("")
    (folder / "t.csv").write_text(f"q,__expected\na,{cell}\n")
    command("import", "promptfoo", "t.csv")
    (scenario,) = scenarios(folder)
    assert [(each.metric, each.parameters["code"]) for each in scenario.assertions] == [
        (f"promptfoo_checks:{language}", cell)
    ]


def test_a_list_or_mapping_that_stands_in_a_prompt_is_named(folder: Path, command: CommandRun) -> None:
    test = {"vars": {"o": {"a": 1}, "q": "x"}, "assert": [{"type": "contains", "value": "x"}]}
    content = {"prompts": ["{{ o }} {{ q }}"], "providers": ["openai:gpt-4.1"], "tests": [test]}
    (folder / "a.json").write_text(json.dumps(content))
    near = found(command.json("import", "promptfoo", "a.json", "--map", "input=q"), "approximated")
    assert any(what == "vars" and result.startswith("o: a list or mapping") for _, _, what, result in near)


def test_what_is_the_same_of_many_tests_is_one_line_with_its_count(folder: Path, command: CommandRun) -> None:
    asserts = [{"type": "icontains", "value": "y"}, {"type": "classifier", "value": "polite"}]
    tests = [{"vars": {"q": f"question {number}"}, "assert": asserts} for number in range(30)]
    (folder / "a.json").write_text(json.dumps({"tests": tests}, indent=1))
    printed = command("import", "promptfoo", "a.json")
    assert "  a.json:3 and 29 more: test → a scenario\n" in printed
    assert " and 29 more: assert classifier → no counterpart" in printed
    assert (folder / "promptfoo_left.py").read_text().count("def ") == 1
    assert len(printed.splitlines()) < 15


BOMB = (
    "b0: &b0 [x, x]\n"
    + "".join(f"b{n}: &b{n} [{', '.join([f'*b{n - 1}'] * 9)}]\n" for n in range(1, 9))
    + "tests: *b8\n"
)


@pytest.mark.parametrize(
    ("source", "name", "content", "message"),
    [
        ("promptfoo", "a.yaml", BOMB, "its aliases, written out, are more than 100,000 values"),
        ("promptfoo", "a.yaml", "tests:\n  - !!python/object/apply:os.system [id]\n", "a.yaml:2: the tag"),
        ("promptfoo", "a.yaml", "tests: " + "[" * 5_000, "a.yaml:1: nested more than 40 levels deep"),
        ("promptfoo", "a.json", '{"tests":\n' + "[" * 100_000, "a.json:2: nested more than 40 levels deep"),
        ("promptfoo", "a.yaml", "tests: [\n", "a.yaml:2: not valid YAML"),
        ("promptfoo", "a.yaml", "", "a.yaml:1: the file is empty"),
        ("promptfoo", "a.yaml", "- 5\n- text\n", "a.yaml:1: a test: 5 is not a mapping"),
        ("promptfoo", "a.yaml", "just text", "a.yaml:1: 'just text' is not a mapping with `tests`"),
        ("promptfoo", "a.yaml", "x: 1\ntests: 5\n", "a.yaml:2: tests: 5 is not a list of tests or a file"),
        ("promptfoo", "a.yaml", "tests:\n  - vars: text\n", "a.yaml:2: vars: "),
        ("promptfoo", "a.yaml", "tests:\n  - vars: [5]\n", "a.yaml:2: vars: [5] is not a mapping"),
        ("promptfoo", "a.yaml", "tests:\n  - vars: ['v/*.yaml']\n", "a.yaml:2: vars: 'v/*.yaml' names 0 files"),
        ("promptfoo", "a.yaml", "tests:\n- vars: {q: a}\n  assert: x\n", "a.yaml:3: assert: 'x' is not a list"),
        ("promptfoo", "a.yaml", "tests:\n- vars: {q: a}\n  assert: [x]\n", "a.yaml:3: an assertion: 'x' is not"),
        ("promptfoo", "a.yaml", "tests:\n- vars: {q: a}\n  assert: [{type: 5}]\n", "a.yaml:3: assert: 5 is not a type"),
        ("promptfoo", "a.yaml", "tests:\n- {vars: {q: a}, options: 5}\n", "a.yaml:2: options: 5 is not a mapping"),
        ("promptfoo", "a.yaml", "\ndefaultTest: 5\n", "a.yaml:2: defaultTest: 5 is not a mapping"),
        ("promptfoo", "a.yaml", "\nscenarios: 5\n", "a.yaml:2: scenarios: 5 is not a list"),
        ("promptfoo", "a.yaml", "tests: file://../../secret.yaml\n", "a.yaml:1: tests: 'file://../../secret.yaml': "),
        ("promptfoo", "a.yaml", "tests: file:///etc/x.yaml\n", "lies outside the repository"),
        ("promptfoo", "a.yaml", "tests: ../*.yaml\n", "names 0 files"),
        ("promptfoo", "a.yaml", "tests: link.yaml\n", "symbolic link"),
        ("promptfoo", "a.yaml", "tests: file://pipe.yaml\n", "not a regular file"),
        ("promptfoo", "a.yaml", "tests:\n- {vars: {q: file://../../secret.txt}}\n", "vars: inner/../../secret.txt"),
        ("promptfoo", "a.yaml", "tests: [{vars: {q: a}, assert: [{type: regex, value: file://link.txt}]}]", "link.txt"),
        ("promptfoo", "a.yaml", "defaultTest: file://missing.yaml\n", "a.yaml:1: defaultTest: inner/missing.yaml:1: "),
        ("promptfoo", "a.csv", 'q,__expected\na,"b\n', "a.csv:2: not CSV"),
        ("deepeval", "a.json", '{"a": 1}', "a.json:1: {'a': 1} is not a list of rows"),
        ("deepeval", "a.json", "[\n5]", "a.json:2: 5 is not a mapping"),
        ("deepeval", "a.json", '[{"output": "x"}]', "a.json:1: there is no 'input'; it has 'output'"),
        ("deepeval", "a.py", "def f(:\n", "a.py:1: not Python"),
        ("deepeval", "a.py", "x = 1\0", "a.py:1: not Python"),
        ("deepeval", "a.py", "x = " + "(" * 2_000 + ")" * 2_000, "a.py:1: not Python"),
        ("deepeval", "a.py", "x = " + "-" * 100_000 + "1", "a.py:1: not Python"),
        ("deepeval", "a.py", "x = 1" + "+1" * 100_000, "a.py:1: not Python"),
        ("deepeval", "a.txt", "x", "does not end with .csv, .json or .jsonl"),
        ("jsonl", "a.jsonl", '{"input": "x"}\n{"input": \n', "a.jsonl:2: not a JSON object on one line"),
        ("csv", "a.csv", "a,b\n1\n", "a.csv:2: 1 cells, but the first line names 2 columns"),
        ("csv", "a.csv", "question\nx\n", "a.csv:2: there is no 'input'; it has 'question'. Give --map input=COLUMN"),
    ],
)  # fmt: skip
def test_a_malformed_or_hostile_file_is_refused_with_its_line_and_nothing_is_written(  # noqa: PLR0917 - a row
    source: str, name: str, content: str, message: str, folder: Path, command: CommandRun
) -> None:
    inner = folder / "inner"
    inner.mkdir()
    (folder / "secret.yaml").write_text("- vars: {q: secret}\n")
    (folder / "secret.txt").write_text("secret")
    (inner / "link.yaml").symlink_to(folder / "secret.yaml")
    (inner / "link.txt").symlink_to(folder / "secret.txt")
    os.mkfifo(inner / "pipe.yaml")
    (inner / name).write_text(content)
    found_problems = problems(command, source, f"inner/{name}")
    assert any(f"inner/{message}" in each or message in each for each in found_problems), found_problems
    assert not (folder / "scenarios").exists()


@pytest.mark.parametrize("source", ["promptfoo", "deepeval"])
@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("tests: []".encode("utf-16"), "a.json:1: byte 0xff is not UTF-8"),
        (b'[{"input":\n "caf\xe9"}]', "a.json:2: byte 0xe9 is not UTF-8"),
        (b"[" + b" " * 10_000_000 + b"]", "a.json:1: it cannot be read: it has 10,000,002 bytes"),
    ],
    ids=["utf-16", "latin-1", "10 MB"],
)
def test_other_encodings_and_large_files_are_refused(
    source: str, content: bytes, message: str, folder: Path, command: CommandRun
) -> None:
    (folder / "a.json").write_bytes(content)
    assert problems(command, source, "a.json")[0].startswith(message)
    assert not (folder / "scenarios").exists()


def test_all_problems_of_all_files_are_reported_at_once(folder: Path, command: CommandRun) -> None:
    (folder / "a.yaml").write_text("tests:\n  - 5\n  - 6\n")
    (folder / "b.yaml").write_text("tests: 5\n")
    assert [each.partition(": ")[0] for each in problems(command, "promptfoo", "a.yaml", "b.yaml")] == [
        "a.yaml:2",
        "a.yaml:3",
        "b.yaml:1",
    ]


def test_a_byte_order_mark_is_no_mistake(folder: Path, command: CommandRun) -> None:
    (folder / "a.json").write_bytes(promptfoo({"type": "contains", "value": "1"}).encode("utf-8-sig"))
    assert command.json("import", "promptfoo", "a.json")["tests"] == 1


@pytest.mark.parametrize(
    "name", ["../../etc/passwd", "a\n\x1b[31m::error::x", "", "ÉCOLE №5", "x" * 300, "تجربة", "${input}", "."]
)
def test_a_hostile_name_makes_a_harmless_id(name: str, folder: Path, command: CommandRun) -> None:
    (folder / "a.json").write_text(promptfoo({"type": "contains", "value": "1"}, description=name))
    (path,) = command.json("import", "promptfoo", "a.json")["written"]
    assert Path(path).parent == Path("scenarios/a")
    (scenario,) = scenarios(folder)
    assert scenario.id == Path(path).stem
    assert len(scenario.id) <= 70


def test_texts_that_look_like_columns_or_templates_stay_what_they_are(folder: Path, command: CommandRun) -> None:
    rows = [{"input": f"say ${{x}} {number}", "equals": "${input}", "contains": f"$${{{number}}}"} for number in "123"]
    (folder / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    words = ("--map", "equals=equals", "--map", "contains=contains")
    assert command.json("import", "jsonl", "rows.jsonl", *words)["tests"] == 3
    for scenario, number in zip(scenarios(folder), "123", strict=True):
        assert scenario.turns[0].user == f"say ${{x}} {number}"
        reply = scenario.turns[0].expect.reply
        assert reply is not None
        assert (reply.equals, reply.contains) == ("${input}", (f"$${{{number}}}",))


def test_credentials_and_identifiers_are_reported_and_a_credential_is_not_written(
    folder: Path, command: CommandRun
) -> None:
    key = "sk-ant-api03-" + "Ab3" * 20
    rows = [{"input": f"my key is {key}", "equals": "x"}, {"input": "call +254 712 345 678", "equals": "x"}]
    (folder / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    text = command("import", "jsonl", "rows.jsonl", "--map", "equals=equals", "--json")
    assert key not in text
    assert "0712" not in text
    left = found(json.loads(text), "manual")
    assert [line for _, line, _, _ in left] == [1, 2]
    assert "not written: it contains" in left[0][3]
    assert left[1][3] == "written, and contains a phone number; replace it unless it is fictional"
    (scenario,) = scenarios(folder)
    assert scenario.id == "rows_test"


def test_a_file_of_code_only_imports_nothing(folder: Path, command: CommandRun) -> None:
    (folder / "a.json").write_text(promptfoo({"type": "ruby", "value": "true"}))
    assert "Nothing was imported." in command("import", "promptfoo", "a.json", code=2)
    assert not (folder / "scenarios").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("csv", "a.csv", "--map", "inputs=q"), "--map is 'inputs=q'"),
        (("csv", "a.csv", "--map", "input"), "--map is 'input'"),
        (("promptfoo", "a.csv", "--map", "answer=q"), "--map is 'answer=q'"),
        (("csv", "a.csv", "--metric", "RougeLMetric"), "--metric is 'RougeLMetric'"),
        (("csv", "a.csv", "--metric", "CoherenceMetric=1"), "--metric is 'CoherenceMetric=1'"),
        (("csv", "a.csv", "--metric", "RougeLMetric=2"), "--metric is 'RougeLMetric=2'"),
        (("csv", "a.csv", "--prefix", "../x"), "--prefix is '../x'"),
        (("csv", "a.csv", "--language", "English"), "--language is 'English'"),
        (("csv", "a.csv", "--repo", "nowhere"), "There is no folder"),
    ],
)
def test_a_wrong_option_is_reported(words: tuple[str, ...], message: str, folder: Path, command: CommandRun) -> None:
    (folder / "a.csv").write_text("input\nx\n")
    with pytest.raises(UsageError, match=r"There is no|is '") as caught:
        command("import", *words)
    assert message in str(caught.value)


def test_every_metric_of_the_tables_exists_here() -> None:
    for each in DEEPEVAL_METRICS.values():
        assert each.becomes in {*metric_names(), "must_call_tool"} or each.becomes.startswith("expect.")
    assert set(SAME.values()) <= set(ASSERTIONS)
    assert not set(SAME) & set(ASSERTIONS)
    assert [name for name in TYPES if rule_of(name) is OTHERS and name in ASSERTIONS] == []


TEXT = st.text("ab{} %#x\n", max_size=30)


@given(TEXT, st.dictionaries(st.sampled_from(["a", "b", "x"]), TEXT))
def test_nothing_in_a_text_is_evaluated(text: str, variables: Mapping[str, str]) -> None:
    try:
        rendered = render(text, variables)
    except NotImportedError:
        assert "{{" in text or "{%" in text or "{#" in text
        return
    if "{{" not in text:
        assert rendered == text


@given(st.text(), st.integers(1, 60))
def test_a_slug_is_an_id(text: str, longest: int) -> None:
    name = slug(text, longest)
    assert len(name) <= longest
    assert name == "" or (name.isascii() and name.replace("_", "a").isalnum() and name == name.lower())
