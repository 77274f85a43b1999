"""Prompts and providers of promptfoo become a system of the gate, or a program that the import writes."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from shutil import which
from typing import Any

import pytest

from ratiba_action.config.configuration import Configuration, read_configuration
from ratiba_action.model.scenario import Scenario
from tests.support.command_run import CommandRun
from tests.support.http_stand_in import HttpAnswer, HttpRequest, HttpStandIn, http_answer
from tests.support.suites import suite_of

needs_node = pytest.mark.skipif(which("node") is None, reason="needs Node")
CONTAINS = [{"type": "icontains", "value": "x"}]


def imported(folder: Path, command: CommandRun, content: Mapping[str, Any], *words: str) -> Any:
    """The report of the import of a configuration."""
    (folder / "promptfooconfig.json").write_text(json.dumps(content))
    return command.json("import", "promptfoo", ".", *words)


def results(printed: Mapping[str, Any], outcome: str) -> list[str]:
    return [f"{each['what']}: {each['result']}" for each in printed["findings"] if each["outcome"] == outcome]


def configuration(folder: Path) -> Configuration:
    return read_configuration("ratiba.yml", (folder / ".github/ratiba.yml").read_bytes())


def scenarios(folder: Path) -> dict[str, Scenario]:
    return {each.id: each for each in suite_of(folder).scenarios}


def suite(prompts: list[Any], providers: list[Any], **values: Any) -> dict[str, Any]:
    tests = [{"vars": values or {"q": "x"}, "assert": CONTAINS}]
    return {"prompts": prompts, "providers": providers, "tests": tests}


def replies_of(folder: Path, message: str, environment: Mapping[str, str] | None = None, **inputs: Any) -> list[Any]:
    """The replies of the written program to the same message, once and again."""
    block = configuration(folder).system
    line = json.dumps({"message": message, "context": {"inputs": inputs}}) + "\n"
    found = {**block.environment, **(environment or {})}
    done = subprocess.run(
        [sys.executable, *(block.command or [])[1:]],
        cwd=folder,
        env={"PATH": "/usr/bin:/bin", **found},
        input=line * 2,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(each) for each in done.stdout.splitlines()]


@pytest.mark.parametrize(
    ("provider", "block", "declared"),
    [
        (
            {"id": "google:gemini-2.5-flash", "config": {"temperature": 0.2, "generationConfig": {"topP": 0.9}}},
            {"provider": "gemini", "model": "gemini-2.5-flash", "max_output_tokens": 8192, "temperature": 0.2},
            {"gemini": {"api": "gemini", "key": "GEMINI_API_KEY"}},
        ),
        (
            {"id": "bedrock:amazon.nova-lite-v1:0", "config": {"region": "eu-west-1", "max_tokens": 50}},
            {"provider": "converse", "model": "amazon.nova-lite-v1:0", "max_output_tokens": 50, "temperature": 0},
            {"converse": {"api": "converse", "region": "eu-west-1", "key": "AWS_BEARER_TOKEN_BEDROCK"}},
        ),
        (
            "mistral:mistral-small-latest",
            {"provider": "openai", "model": "mistral-small-latest", "max_output_tokens": 1024},
            {
                "mistral": {
                    "api": "openai",
                    "base_url": "https://api.mistral.ai/v1",
                    "key": "MISTRAL_API_KEY",
                    "output_limit": "max_tokens",
                    "gateway": True,
                }
            },
        ),
        (
            "ollama:chat:llama3.2:3b",
            {"provider": "openai", "model": "llama3.2:3b", "max_output_tokens": 8192},
            {
                "ollama": {
                    "api": "openai",
                    "base_url": "http://127.0.0.1:11434/v1",
                    "output_limit": "max_tokens",
                    "gateway": True,
                }
            },
        ),
        (
            {"id": "azure:chat:desk", "config": {"apiHost": "spa.openai.azure.com", "apiVersion": "2024-10-21"}},
            {"provider": "openai", "model": "desk", "max_output_tokens": 1024, "temperature": 0},
            {
                "azure": {
                    "api": "azure",
                    "base_url": "https://spa.openai.azure.com",
                    "key": "AZURE_API_KEY",
                    "deployment": "desk",
                    "api_version": "2024-10-21",
                    "gateway": True,
                }
            },
        ),
        (
            {
                "id": "openai:chat:team-model",
                "config": {"apiBaseUrl": "{{ env.BASE }}", "apiKey": "{{ env.TEAM_API_KEY }}"},
            },
            {"provider": "openai", "model": "team-model", "max_output_tokens": 1024, "temperature": 0},
            {
                "server-127-0-0-1": {
                    "api": "openai",
                    "base_url": "http://127.0.0.1:9/v1",
                    "key": "TEAM_API_KEY",
                    "gateway": True,
                }
            },
        ),
    ],
)
def test_a_model_of_another_provider_is_a_prompt_and_an_entry_of_providers(
    provider: Any,
    block: dict[str, Any],
    declared: dict[str, Any],
    folder: Path,
    command: CommandRun,
) -> None:
    content = {**suite(["Answer {{q}}"], [provider]), "env": {"BASE": "http://127.0.0.1:9/v1"}}
    printed = imported(folder, command, content)
    assert results(printed, "manual") == []
    found = configuration(folder)
    assert found.system.prompt is not None
    assert found.system.prompt.model_dump(include=set(block)) == block
    written = {name: each.model_dump(exclude_unset=True) for name, each in found.providers.items()}
    assert written == declared
    (_, answers) = next(iter(found.system_models))
    assert answers == next(iter(declared))


def test_a_configuration_without_prompts_has_the_one_of_promptfoo(folder: Path, command: CommandRun) -> None:
    content = suite([], ["openai:gpt-4.1"], prompt="x")
    del content["prompts"]
    imported(folder, command, content)
    assert (folder / "prompts/promptfoo_1.txt").read_text() == "{{prompt}}"


def test_prompts_with_labels_run_with_the_providers_that_name_them(folder: Path, command: CommandRun) -> None:
    for name in ("a", "b"):
        (folder / f"{name}.txt").write_text(f"{name} {{{{q}}}}")
    content = suite([], ["openai:gpt-4.1", {"id": "openai:gpt-4.1-mini", "prompts": ["second"]}])
    imported(folder, command, {**content, "prompts": {"a.txt": "first", "b.txt": "second"}})
    system = configuration(folder).system
    assert system.prompt is not None
    assert system.prompt.file == "a.txt"
    assert set(system.variants) == {"openai-gpt-4-1-b", "openai-gpt-4-1-mini-b"}


def test_calls_in_one_format_go_to_one_provider_and_the_others_are_named(folder: Path, command: CommandRun) -> None:
    providers = ["openai:gpt-5", {"id": "google:gemini-2.5-flash", "config": {"topP": 0.9}}, "mistral:mistral-small"]
    printed = imported(folder, command, suite(["Answer {{q}}"], providers))
    (left,) = results(printed, "manual")
    assert left.startswith("providers: mistral:mistral-small: not imported")
    assert left.endswith("to openai; import it as another suite")
    system = configuration(folder).system
    assert set(system.variants) == {"google-gemini-2-5-flash"}
    varied = system.as_variant("google-gemini-2-5-flash").prompt
    assert varied is not None
    assert (varied.provider, varied.temperature) == ("gemini", None)


def test_a_variant_takes_settings_of_the_first_provider_away(folder: Path, command: CommandRun) -> None:
    first = {"id": "openai:gpt-4.1", "config": {"top_p": 0.5}}
    imported(folder, command, suite(["{{q}}"], [first, "openai:gpt-5"]))
    system = configuration(folder).system
    varied = system.as_variant("openai-gpt-5").prompt
    assert varied is not None
    assert (varied.model, varied.temperature, varied.request) == ("gpt-5", None, {})


PROVIDER_PY = """\
from helper import cut
async def answer(prompt, options, context):
    print("noise")
    return {"output": {"text": cut(prompt, options["config"]["limit"]), "of": context["vars"]["q"]}}
"""
PROVIDER_JS = """\
module.exports = class {
  constructor(options) { this.calls = 0; this.tone = options.config.tone; }
  id() { return 'own'; }
  async callApi(prompt, context) { console.log('noise'); this.calls += 1;
    return { output: `${this.tone} ${prompt} ${context.vars.q} ${this.calls}` }; }
};
"""


@pytest.mark.processes
def test_python_exec_and_echo_run_in_a_program_that_the_import_writes(folder: Path, command: CommandRun) -> None:
    evals = folder / "evals"
    (evals / "prompts").mkdir(parents=True)
    (evals / "bot.py").write_text(PROVIDER_PY)
    (evals / "helper.py").write_text("def cut(text, limit): return text[:limit]\n")
    (evals / "chain.py").write_text("import sys\nprint('chain', sys.argv[1], len(sys.argv))\n")
    (evals / "prompts/ask.txt").write_text("Answer {{ q }}, {{ who.name }}{% if q === 'x' %}!{% endif %}")
    (evals / "make.py").write_text("def make(context): return {'prompt': 'Made of ' + context['vars']['q']}\n")
    providers = [
        {"id": "python:bot.py:answer", "config": {"limit": 8, "api_key": "{{ env.SECRET }}"}},
        "exec: python3 chain.py",
        "echo",
    ]
    content = suite(["file://prompts/*.txt", "file://make.py:make"], providers, q="x", who={"name": "Ann"})
    (evals / "promptfooconfig.json").write_text(json.dumps(content))
    printed = command.json("import", "promptfoo", "evals")
    assert [each.partition(":")[0] for each in results(printed, "manual")] == ["system.price_per_turn_usd"]
    assert configuration(folder).system.price_per_turn_usd == Decimal("0.02")
    assert "# Assumed by the import" in (folder / ".github/ratiba.yml").read_text()
    assert "SECRET" not in (folder / "promptfoo_system.json").read_text()
    assert set(configuration(folder).system.variants) == {
        "python-bot-py-answer-make",
        "exec-python3-chain-py-promptfoo-1",
        "exec-python3-chain-py-make",
        "echo-promptfoo-1",
        "echo-make",
    }
    inputs: dict[str, Any] = {"q": "x", "who": {"name": "Ann"}}
    first = replies_of(folder, "x", **inputs)
    assert first == [{"text": '{"text":"Answer x","of":"x"}', "output": {"text": "Answer x", "of": "x"}}] * 2
    texts = [
        replies_of(folder, "x", configuration(folder).system.variants[name].environment, **inputs)[0]["text"]
        for name in ("exec-python3-chain-py-promptfoo-1", "echo-make")
    ]
    assert texts == ["chain Answer x, Ann! 4", "Made of x"]


@pytest.mark.parametrize(
    ("name", "code", "price"),
    [
        ("python:bot.py", "import json, re\ndef call_api(p, o, c): return {'output': json.dumps(p)}", 0),
        ("python:bot.py", "import requests\ndef call_api(p, o, c): return requests.get(p).json()", "0.02"),
        ("python:bot.py", "from .other import call_api", "0.02"),
        ("python:bot.py", "def call_api(p, o, c): return __builtins__['__import__']('socket')", "0.02"),
        ("python:bot.py", "def call_api(p, o, c): return (1).__class__.__base__.__subclasses__()", "0.02"),
        ("python:bot.py", "def call_api(p, o, c):\n return os.environ['OPENAI_BASE_URL']", None),
        ("python:bot.py", "import pathlib\ndef call_api(p, o, c): return pathlib.os.system(p)", "0.02"),
        ("python:bot.py", "from random import _os", "0.02"),
        ("python:bot.py", "def call_api(p, o, c:", "0.02"),
        ("file://bot.js", "module.exports = (p) => (() => 0).constructor('return fetch')()(p);", "0.02"),
        ("file://bot.js", "module.exports = (prompt) => ({ output: prompt.trim() });", 0),
        ("file://bot.js", "const { join } = require('node:path');\nmodule.exports = (prompt) => join(prompt, 'x');", 0),
        ("file://bot.js", "module.exports = async (prompt) => (await fetch(prompt)).json();", "0.02"),
        ("file://bot.js", "const web = require('https');\nmodule.exports = (prompt) => web.get(prompt);", "0.02"),
        ("file://bot.js", "const name = 'https'; module.exports = (p) => require(name).get(p);", "0.02"),
        ("file://bot.js", "import OpenAI from 'openai';\nexport default (p) => new OpenAI().chat(p);", None),
        ("exec: python3 bot.py", "import sys\nprint(sys.argv[1])", 0),
        ("exec: python3 bot.py", "import subprocess\nsubprocess.run(['ask'])", "0.02"),
        ("exec: ./bot.sh", "", "0.02"),
        ("echo", "", 0),
        ("python:bot.py", "import litellm\ndef call_api(p, o, c): return litellm.completion('openai/gpt-5')", "0.02"),
        ("python:bot.py", "from langchain_openai import ChatOpenAI\ncall_api = ChatOpenAI().invoke", "0.02"),
        ("python:bot.py", "import operator\nfound = operator.attrgetter('gi_' + 'frame')", "0.02"),
        ("python:bot.py", "from operator import methodcaller as m", "0.02"),
        ("python:bot.py", "from operator import *", "0.02"),
        ("python:bot.py", "import string\nfound = string.Formatter().get_field('0.x', (len,), {})", "0.02"),
        ("python:bot.py", "name = '__globals__'", "0.02"),
        ("python:bot.py", "import typing\ndef f(x: 'ask()'): ...\ntyping.get_type_hints(f)", "0.02"),
        ("python:bot.py", "import pathlib\nmatch pathlib:\n case object(os=found): found.system('x')", "0.02"),
        ("python:bot.py", "found = (1 for _ in ()).gi_frame.f_builtins", "0.02"),
        ("python:bot.py", "found = locals()", "0.02"),
    ],
)
def test_the_price_of_a_turn_is_read_from_the_code_or_assumed_and_said(
    folder: Path, command: CommandRun, name: str, code: str, price: Any
) -> None:
    (folder / ("bot.js" if name.endswith("js") else "bot.py")).write_text(code)
    printed = imported(folder, command, suite(["{{q}}"], [name]))
    assert configuration(folder).system.price_per_turn_usd == (None if price is None else Decimal(price))
    outcome = "manual" if price == "0.02" else "approximated"
    assert [each for each in results(printed, outcome) if each.startswith("system.price_per_turn_usd: ")]


HARMLESS = "import calendar\ndef call_api(p, o, c): return {'output': calendar.answer(p)}\n"


@pytest.mark.parametrize(
    ("beside", "price"),
    [
        ("", "0"),
        ("other.py", "0"),
        ("evals/bots/calendar.py", "0.02"),
        ("evals/bots/calendar/answer.py", "0.02"),
        ("evals/calendar.py", "0.02"),
        ("calendar/__init__.py", "0.02"),
        ("evals/bots/locale.py", "0.02"),
        ("evals/prompts/calendar.py", "0.02"),
    ],
)
def test_a_module_of_the_repository_is_not_taken_for_the_one_of_python(
    folder: Path, command: CommandRun, beside: str, price: str
) -> None:
    for path, text in (
        ("evals/bots/bot.py", HARMLESS),
        ("evals/prompts/make.py", "def make(c): return c['vars']['q']"),
    ):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    if beside:
        (folder / beside).parent.mkdir(parents=True, exist_ok=True)
        (folder / beside).write_text("import urllib.request\n")
    content = suite(["file://prompts/make.py:make"], ["python:bots/bot.py"])
    (folder / "evals/promptfooconfig.json").write_text(json.dumps(content))
    command("import", "promptfoo", "evals")
    assert configuration(folder).system.price_per_turn_usd == Decimal(price)


def test_with_a_search_path_of_python_no_module_is_known(folder: Path, command: CommandRun) -> None:
    (folder / "bot.py").write_text(HARMLESS)
    imported(folder, command, {**suite(["{{q}}"], ["python:bot.py"]), "env": {"PYTHONPATH": "elsewhere"}})
    assert configuration(folder).system.price_per_turn_usd == Decimal("0.02")


CLIENT = "import openai\ndef call_api(p, o, c): return openai.OpenAI().chat(p)\n"


@pytest.mark.parametrize("other", ["openai:gpt-5-mini", "echo", "python:second.py"])
def test_beside_another_provider_a_client_of_models_has_an_assumed_price(
    folder: Path, command: CommandRun, other: str
) -> None:
    """The gateway sees the calls of one of them; what the other calls past it would cost nothing."""
    (folder / "bot.py").write_text(CLIENT)
    (folder / "second.py").write_text(CLIENT)
    printed = imported(folder, command, suite(["{{q}}"], [other, "python:bot.py"]))
    assert configuration(folder).system.price_per_turn_usd == Decimal("0.02")
    assert any("python:bot.py" in each for each in results(printed, "manual"))


@pytest.mark.parametrize(
    ("transform", "price"), [("output.trim()", None), ("fetch(output)", "0.02"), ("file://change.py:run", "0.02")]
)
def test_a_transform_has_a_price_like_other_code(
    folder: Path, command: CommandRun, transform: str, price: str | None
) -> None:
    (folder / "change.py").write_text("import requests\ndef run(output, context): return requests.post(output)\n")
    imported(folder, command, suite(["{{q}}"], [{"id": "openai:gpt-5-mini", "transform": transform}]))
    assert configuration(folder).system.price_per_turn_usd == (None if price is None else Decimal(price))


def test_a_pair_that_calls_nothing_beside_a_model_has_an_empty_script(folder: Path, command: CommandRun) -> None:
    """So that no call is expected of it, though no price is declared."""
    imported(folder, command, suite(["{{q}}"], ["openai:gpt-5-mini", "echo"]))
    assert configuration(folder).system.price_per_turn_usd is None
    assert {each.variant: each.script for each in scenarios(folder).values()} == {"": None, "echo": ()}


@pytest.mark.parametrize("tests", [1, 2, 4])
def test_a_test_that_several_pairs_run_is_one_family(folder: Path, command: CommandRun, tests: int) -> None:
    """However many pairs: one bad edit of the prompt is no independent measurement of each."""
    content = suite(["{{q}}"], ["openai:gpt-5-mini", "anthropic:messages:claude-haiku-4-5"])
    asked = [{"vars": {"q": "Open?"}, "assert": CONTAINS} for _ in range(tests)]
    imported(folder, command, {**content, "tests": asked})
    found: dict[str, set[str]] = {}
    for each in scenarios(folder).values():
        found.setdefault(each.family, set()).add(each.variant)
    assert len(found) == tests
    assert "" not in found
    assert all(len(variants) == 2 for variants in found.values())


def test_a_test_that_one_pair_runs_is_of_no_family(folder: Path, command: CommandRun) -> None:
    content = suite(["{{q}}"], ["openai:gpt-5-mini", "anthropic:messages:claude-haiku-4-5"])
    tests = [{"vars": {"q": "Open?"}, "assert": CONTAINS, "providers": ["openai:gpt-5-mini"]}]
    imported(folder, command, {**content, "tests": tests})
    assert [each.family for each in scenarios(folder).values()] == [""]


def test_a_conversation_that_several_pairs_hold_is_one_family(folder: Path, command: CommandRun) -> None:
    content = suite(["{{ _conversation }} {{q}}"], ["openai:gpt-5-mini", "anthropic:messages:claude-haiku-4-5"])
    asked = [
        {"vars": {"q": f"{thread} {turn}"}, "assert": CONTAINS, "metadata": {"conversationId": thread}}
        for thread in ("a", "b")
        for turn in (1, 2)
    ]
    imported(folder, command, {**content, "tests": asked})
    assert sorted(each.family.rpartition("_")[2] for each in scenarios(folder).values()) == ["a", "a", "b", "b"]


@needs_node
@pytest.mark.processes
def test_javascript_makes_prompts_and_answers_and_keeps_its_state_in_a_conversation(
    folder: Path, command: CommandRun
) -> None:
    (folder / "bot.js").write_text(PROVIDER_JS)
    (folder / "make.js").write_text("module.exports = ({ vars, provider }) => `${vars.q} for ${provider.label}`;")
    provider = {"id": "file://bot.js", "label": "bot", "config": {"tone": "kind"}, "transform": "output.toUpperCase()"}
    imported(folder, command, suite(["file://make.js"], [provider]))
    assert [each["text"] for each in replies_of(folder, "x", q="x")] == ["KIND X FOR BOT X 1", "KIND X FOR BOT X 2"]


@needs_node
@pytest.mark.processes
async def test_a_server_is_asked_with_the_body_that_promptfoo_sends(folder: Path, command: CommandRun) -> None:
    asked: list[HttpRequest] = []

    async def answer(request: HttpRequest) -> HttpAnswer:
        asked.append(request)
        return HttpAnswer(http_answer(200, b'{"answer": {"text": "Karibu"}}', {}))

    async with HttpStandIn(answer) as stand_in:
        body = {"messages": [{"role": "user", "content": "{{prompt}}"}], "tone": "{{ tone }}"}
        config = {
            "url": f"{stand_in.url}/chat",
            "method": "POST",
            "headers": {"X-Team": "evals", "Authorization": "Bearer {{ env.KEY }}"},
            "body": body,
            "queryParams": {"lang": "sw"},
            "transformResponse": "json.answer.text",
        }
        printed = imported(
            folder, command, suite(["Say {{q}}"], [{"id": "http", "config": config}], q="x", tone="kind")
        )
        replies = await asyncio.to_thread(replies_of, folder, "x", q="x", tone="kind")
    assert replies == [{"text": "Karibu"}] * 2
    assert asked[0].path == "/chat?lang=sw"
    assert asked[0].headers["x-team"] == "evals"
    assert "authorization" not in asked[0].headers
    assert json.loads(asked[0].content) == {"messages": [{"role": "user", "content": "Say x"}], "tone": "kind"}
    assert any("Authorization" in each for each in results(printed, "manual"))


def test_no_key_of_a_provider_is_written_wherever_it_stands(folder: Path, command: CommandRun) -> None:
    config = {
        "url": "https://bot.example/chat?lang=sw&token=planted-1",
        "queryParams": {"api_key": "planted-2", "lang": "sw"},
        "body": {"prompt": "{{prompt}}", "auth": [{"accessToken": "planted-3"}], "max_tokens": 9},
    }
    printed = imported(folder, command, suite(["Say {{q}}"], [{"id": "http", "config": config}], q="x"))
    written = "".join(
        path.read_text() for path in folder.rglob("*") if path.is_file() and "promptfooconfig" not in str(path)
    )
    assert "planted" not in written
    assert "lang=sw" in written
    assert "max_tokens" in written
    left = " ".join(results(printed, "manual"))
    assert all(name in left for name in ("token", "api_key", "accessToken"))
    refused = imported(folder, command, suite(["Say {{q}}"], ["exec: ./bot --api-key planted-4"], q="x"))
    assert any("its command holds a key" in each for each in results(refused, "manual"))


@pytest.mark.processes
async def test_a_prompt_that_code_makes_is_sent_to_its_model_by_the_program(folder: Path, command: CommandRun) -> None:
    asked: list[HttpRequest] = []

    async def answer(request: HttpRequest) -> HttpAnswer:
        asked.append(request)
        reply: dict[str, Any] = {"choices": [{"message": {"content": "Karibu"}}]}
        if request.path.endswith("/messages"):
            reply = {"content": [{"type": "text", "text": "Karibu"}]}
        return HttpAnswer(http_answer(200, json.dumps(reply).encode(), {}))

    code = "def chat(context): return [{'role': 'system', 'content': 'Be kind'}, {'role': 'user', 'content': 'Hi'}]\n"
    (folder / "make.py").write_text(code)
    imported(folder, command, suite(["file://make.py:chat"], ["openai:gpt-4.1", "anthropic:messages:claude-haiku-4-5"]))
    (variant,) = configuration(folder).system.variants.values()
    async with HttpStandIn(answer) as stand_in:
        names = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY")
        where = {**dict.fromkeys(names, "token"), "OPENAI_BASE_URL": f"{stand_in.url}/v1"}
        where |= {"ANTHROPIC_BASE_URL": stand_in.url}
        first = await asyncio.to_thread(replies_of, folder, "x", where)
        second = await asyncio.to_thread(replies_of, folder, "x", {**where, **variant.environment})
    assert (first[0], second[0]) == ({"text": "Karibu"}, {"text": "Karibu"})
    assert json.loads(asked[0].content) == {
        "model": "gpt-4.1",
        "max_completion_tokens": 1024,
        "temperature": 0,
        "messages": [{"role": "system", "content": "Be kind"}, {"role": "user", "content": "Hi"}],
    }
    assert json.loads(asked[2].content)["system"] == "Be kind"


@pytest.mark.parametrize(
    ("nunjucks", "jinja"),
    [
        ("{% if a === 'b' %}{% elseif a !== null %}{% endif %}", "{% if a == 'b' %}{% elif a != none %}{% endif %}"),
        ("{{ q.toUpperCase() }} {{ q.trim() }}", "{{ q|upper }} {{ q|trim }}"),
        ("{{ items.length }} {{ items.join(', ') }}", "{{ items|length }} {{ items|join(', ') }}"),
        ("{{ '=== null.length' }} === null.length", "{{ '=== null.length' }} === null.length"),
    ],
)
def test_nunjucks_becomes_jinja_inside_its_tags(nunjucks: str, jinja: str, folder: Path, command: CommandRun) -> None:
    printed = imported(folder, command, suite([f"{nunjucks} {{{{q}}}}"], ["openai:gpt-4.1"]))
    assert results(printed, "manual") == []
    assert (folder / "prompts/promptfoo_1.txt").read_text() == f"{jinja} {{{{q}}}}"


CHAT = """\
[{% for each in _conversation %}
  {"role": "user", "content": "{{ each.input }}"}, {"role": "assistant", "content": "{{ each.output }}"},
{% endfor %}{"role": "user", "content": "{{ question }}"}]
"""


def test_tests_of_one_conversation_are_turns_of_one_scenario(folder: Path, command: CommandRun) -> None:
    (folder / "chat.json").write_text(CHAT)

    def turn(question: str, thread: str, *asserts: Mapping[str, Any]) -> dict[str, Any]:
        return {"vars": {"question": question}, "metadata": {"conversationId": thread}, "assert": list(asserts)}

    tests = [
        turn("Who is first?", "a", {"type": "icontains", "value": "first"}),
        turn("Alone", "b", {"type": "icontains", "value": "alone"}),
        turn("And then?", "a", {"type": "python", "value": "context['vars']['question'] in output"}),
    ]
    content = {"prompts": ["file://chat.json"], "providers": ["openai:gpt-4.1"], "tests": tests}
    printed = imported(folder, command, content)
    assert results(printed, "manual") == []
    assert printed["tests"] == 3
    (alone, thread) = scenarios(folder).values()
    assert [each.user for each in alone.turns] == ["Alone"]
    assert [each.user for each in thread.turns] == ["Who is first?", "And then?"]
    assert thread.title == "conversation a: Who is first?"
    assert thread.turns[0].expect.reply is not None
    (entry,) = thread.assertions
    assert (entry.parameters["turn"], entry.parameters["vars"]) == (1, {"question": "And then?"})
    assert (folder / "chat.json").read_text() == CHAT
    written = (folder / "prompts/promptfoo_1.json").read_text()
    assert written.startswith("{% set question = message %}")


def test_rows_with_other_separators_an_index_and_texts_around_the_prompt(folder: Path, command: CommandRun) -> None:
    (folder / "rows.csv").write_text(
        ";word;__expected1;__config:__expected1:threshold;__prefix;__suffix;__metadata:kind\n"
        "0;apple;similar: an apple;0.6;Please. ; Thanks {{word}};fruit\n"
        "1;pear;levenshtein: pear;;;;fruit\n"
    )
    (folder / "d").mkdir()
    (folder / "d/1.txt").write_text("one")
    (folder / "d/2.txt").write_text("two")
    (folder / "default.yaml").write_text("vars: {doc: file://d/*.txt}\n")
    (folder / "set.yaml").write_text("- config: [{vars: {word: fig}}]\n  tests: [{assert: [{type: is-json}]}]\n")
    (folder / "v").mkdir()
    (folder / "v/a.yaml").write_text("word: plum\n")
    content = {
        "prompts": ["Say {{word}} {{doc}}"],
        "providers": ["openai:gpt-4.1"],
        "defaultTest": "file://default.yaml",
        "tests": [{"path": "rows.csv"}, {"vars": "v/*.yaml", "assert": CONTAINS}],
        "scenarios": ["file://set.yaml"],
    }
    printed = imported(folder, command, content)
    assert results(printed, "manual") == []
    found = scenarios(folder).values()
    assert sorted((each.turns[0].user, each.inputs["doc"]) for each in found) == [
        (word, doc) for word in ("apple", "fig", "pear", "plum") for doc in ("one", "two")
    ]
    apple = next(each for each in found if each.turns[0].user == "apple")
    assert (apple.inputs["prompt_prefix"], apple.inputs["prompt_suffix"]) == ("Please. ", " Thanks apple")
    assert [each.threshold for each in apple.assertions] == [0.6]
    prompt = (folder / "prompts/promptfoo_1.txt").read_text()
    assert prompt == "{{ prompt_prefix }}Say {{word}} {{doc}}{{ prompt_suffix }}"


def test_the_metrics_module_stands_where_the_system_is(folder: Path, command: CommandRun) -> None:
    (folder / ".github").mkdir()
    (folder / ".github/ratiba.yml").write_text("system: {root: app, adapter: 'bot:answer', database: false}\n")
    (folder / "app").mkdir()
    (folder / "app/check.js").write_text("module.exports = () => true;")
    (folder / "other.js").write_text("module.exports = () => true;")
    asserts = [{"type": "javascript", "value": f"file://{name}"} for name in ("app/check.js", "other.js")]
    printed = imported(folder, command, {"tests": [{"vars": {"q": "x"}, "assert": asserts}]})
    assert "app/promptfoo_checks.py" in printed["written"]
    (scenario,) = scenarios(folder).values()
    assert scenario.assertions[0].parameters["code"] == "file://check.js"
    assert results(printed, "manual") == [
        "code: other.js is outside 'app/', the system's folder, which is all that metrics see: move it there"
    ]


def test_the_variable_that_would_be_the_message_is_suggested(folder: Path, command: CommandRun) -> None:
    tests = [{"vars": {"tone": "kind", "ask": f"Number {each}?"}, "assert": CONTAINS} for each in range(3)]
    (folder / "a.json").write_text(json.dumps({"tests": tests}, indent=1))
    printed = command("import", "promptfoo", "a.json", code=2)
    (line,) = [each for each in printed.splitlines() if "user's message" in each]
    assert line.startswith("  a.json:3 and 2 more: test")
    assert line.endswith("Give --map input=ask")
    command("import", "promptfoo", "a.json", "--map", "input=ask")
