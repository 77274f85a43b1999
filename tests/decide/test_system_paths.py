import pytest

from ratiba_action.decide.plain_yaml import YamlDoubt, read_plain_form
from ratiba_action.decide.protection import Protection
from ratiba_action.decide.rules import default_rules
from ratiba_action.decide.selection import decide_mode
from ratiba_action.decide.system_paths import read_system_paths
from ratiba_action.model.change import ChangedFiles, Mode, Rule

BLOCK = """\
# a comment
system:
  root: app          # the system
  adapter: shop.adapter:Adapter
  environment: {TZ: Africa/Nairobi}
  prompts:
    - knowledge/*.md
    - "tone.txt"
rows:
  prompts: SELECT 1
"""
EXPECTED = (
    Rule(Mode.BLOCKING, "/app/knowledge/*.md"),
    Rule(Mode.BLOCKING, "/app/tone.txt"),
    Rule(Mode.ADVISORY, "/app/shop/adapter.py"),
    Rule(Mode.ADVISORY, "/app/shop/adapter/"),
)


def paths_of(text: str) -> tuple[Rule, ...]:
    return read_system_paths(read_plain_form("ratiba.yml", text))


def mode_of(path: str, configuration: str) -> Mode:
    decision = decide_mode(
        ChangedFiles((path,)),
        default_rules(),
        reader=lambda _side, _path: None,
        protection=Protection(),
        floors=paths_of(configuration),
    )
    return decision.mode


@pytest.mark.parametrize(
    "text",
    [
        BLOCK,
        BLOCK.replace("    - ", "  - "),
        BLOCK.replace("knowledge/*.md", "./knowledge//*.md"),
        "---\n" + BLOCK,
        BLOCK.replace(
            '  prompts:\n    - knowledge/*.md\n    - "tone.txt"\n', "  prompts: [knowledge/*.md, 'tone.txt']\n"
        ),
        "system: {root: app, adapter: 'shop.adapter:Adapter', prompts: [knowledge/*.md, tone.txt]}\n",
        '{"system": {"root": "app", "adapter": "shop.adapter:Adapter", "prompts": ["knowledge/*.md", "tone.txt"]}}\n',
        "'system':\n  root:\n    app\n  adapter: shop.adapter:Adapter\n  prompts: [knowledge/*.md,\n    tone.txt]\n",
        '"syst\\x65m":\n  root: app\n  adapter: shop.adapter:Adapter\n  prompts: ["\\x6bnowledge/*.md", tone.txt]\n',
        "system: {root: 'app', preload: [a], adapter: 'shop.adapter:Adapter', prompts: [knowledge/*.md, 'tone.txt']}\n",
    ],
)
def test_prompts_and_adapter_are_read_in_every_plain_form(text: str) -> None:
    assert paths_of(text) == EXPECTED


def test_without_a_root_the_paths_start_at_the_repository() -> None:
    assert paths_of("system:\n  prompts: [a.md]\n") == (Rule(Mode.BLOCKING, "/a.md"),)


def test_a_hidden_root_keeps_its_dot() -> None:
    assert paths_of("system:\n  root: ./.app\n  prompts: [a.md]\n") == (Rule(Mode.BLOCKING, "/.app/a.md"),)


def test_without_a_system_block_there_is_nothing() -> None:
    assert paths_of("judge: {model: x}\n") == ()


@pytest.mark.parametrize(
    "text",
    [
        "system: *elsewhere\n",
        "--- {system: {prompts: [a.md]}}\n",
        "system:\n  prompts: &p\n    - a.md\n",
        "system:\n  prompts:\n    - !!str a.md\n",
        "system:\n  prompts: {a: b}\n",
        "system:\n  prompts:\n",
        "system:\n  prompts: [[a.md]]\n",
        "system: text\n",
        "- system\n",
        "system:\n  prompts: [a.md]\nsystem:\n  prompts: []\n",
        "system:\n  ? prompts\n  : [a.md]\n",
    ],
)
def test_a_form_that_is_not_understood_is_reported_so_that_it_blocks(text: str) -> None:
    with pytest.raises(YamlDoubt, match=r"^ratiba.yml:\d+: "):
        paths_of(text)


@pytest.mark.parametrize(
    "text",
    [
        "system:\n  prompt: {file: prompts/a.md, model: x}\n",
        "system:\n  prompt:\n    model: x\n    file: ./prompts/a.md  # the prompt\n",
        "system: {prompt: {file: prompts/a.md, model: x}}\n",
    ],
)
def test_the_file_of_a_system_that_is_a_prompt_blocks(text: str) -> None:
    assert paths_of(text) == (Rule(Mode.BLOCKING, "/prompts/a.md"),)


@pytest.mark.parametrize(
    "text",
    [
        "system:\n  prompt: &a {file: a.md}\n",
        "system:\n  prompt:\n    model: x\n",
        "system:\n  prompt:\n",
        'system:\n  python: "x\n  prompt: {file: harmless.md}\n    "\n  prompt: {file: real.md}\n',
    ],
)
def test_a_prompt_whose_file_is_not_certain_is_reported_so_that_it_blocks(text: str) -> None:
    with pytest.raises(YamlDoubt, match=r"^ratiba.yml:\d+: "):
        paths_of(text)


VARIANTS = """\
system:
  prompt: {file: prompts/a.md, model: x}
  variants:
    gpt-5.6:
      environment: {FILE: "file: no.md"}
      prompt:
        file: short.md
    "5": {prompt: {model: y, file: long.md}}
    cold:
      prompt: {temperature: 0}
"""


def test_the_prompts_of_variants_block_too() -> None:
    expected = ("/prompts/a.md", "/short.md", "/long.md")
    assert paths_of(VARIANTS) == tuple(Rule(Mode.BLOCKING, path) for path in expected)


@pytest.mark.parametrize(
    "text",
    [
        "system:\n  variants: *others\n",
        "system:\n  variants:\n    mini: *other\n",
        "system:\n  variants:\n    mini:\n      <<: *other\n",
        "system:\n  variants:\n    mini:\n      prompt: *other\n",
        "system:\n  variants: {mini: {prompt: {file: a.md}}\n",
        "system:\n  replay: *captured\n",
        "system:\n  langgraph: [spa:build]\n",
    ],
)
def test_a_variant_or_a_kind_in_another_form_is_reported_so_that_it_blocks(text: str) -> None:
    with pytest.raises(YamlDoubt, match=r"^ratiba.yml:\d+: "):
        paths_of(text)


@pytest.mark.parametrize(
    "text",
    ["system:\n  root: app\n  replay: {transcripts: ./kept}\n", "system: {root: app, replay: {transcripts: kept/}}\n"],
)
def test_captured_replies_block_as_recordings_do(text: str) -> None:
    assert paths_of(text) == (Rule(Mode.BLOCKING, "/app/kept/"),)


def test_a_replay_of_the_scenarios_own_replies_names_no_folder() -> None:
    assert paths_of("system:\n  replay: {}\n") == ()


@pytest.mark.parametrize(
    ("text", "modules"),
    [
        ("system:\n  langgraph: spa.graph:build\n", ("spa/graph",)),
        ("system:\n  langchain: {runnable: bot:chain.inner, takes: text}\n", ("bot",)),
        (
            "system:\n  llamaindex:\n    engine: shop.engine:make\n    migrate: shop.tables:create\n",
            ("shop/engine", "shop/tables"),
        ),
        ("system:\n  langgraph:\n    graph: spa:build\n    response_nodes:\n      - answer\n", ("spa",)),
    ],
)
def test_the_code_that_a_framework_runs_is_at_least_advisory(text: str, modules: tuple[str, ...]) -> None:
    expected = [Rule(Mode.ADVISORY, f"/{module}{end}") for module in modules for end in (".py", "/")]
    assert list(paths_of(text)) == expected


@pytest.mark.parametrize(
    ("container", "path"),
    [
        ("{port: 80}", "/app/Dockerfile"),
        ("{port: 80, build: ./bot/, dockerfile: docker/README.md}", "/app/bot/docker/README.md"),
    ],
)
def test_the_file_that_an_image_is_built_by_is_at_least_advisory(container: str, path: str) -> None:
    assert paths_of(f"system:\n  root: app\n  container: {container}\n") == (Rule(Mode.ADVISORY, path),)


def test_a_body_that_speaks_of_prompts_is_no_prompt() -> None:
    text = "system:\n  http:\n    body:\n      prompt: {file: a.md}\n  prompts: [b.md]\n"
    assert paths_of(text) == (Rule(Mode.BLOCKING, "/b.md"),)


@pytest.mark.parametrize(
    ("path", "mode"),
    [
        ("app/knowledge/prices.md", Mode.BLOCKING),
        ("app/knowledge/deep/prices.md", Mode.SKIP),
        ("app/shop/adapter.py", Mode.ADVISORY),
        ("docs/guide.md", Mode.SKIP),
    ],
)
def test_a_prompt_that_looks_like_documentation_blocks_all_the_same(path: str, mode: Mode) -> None:
    assert mode_of(path, BLOCK) is mode


@pytest.mark.parametrize(
    ("path", "mode"),
    [
        ("app/evals/test_tone.py", Mode.BLOCKING),
        ("app/evals/deep/conftest.py", Mode.BLOCKING),
        ("app/conftest.py", Mode.BLOCKING),
        ("conftest.py", Mode.BLOCKING),
        ("pytest.ini", Mode.BLOCKING),
        ("app/own [1].py", Mode.BLOCKING),
        ("app/own 1.py", Mode.ADVISORY),
        ("app/evals.md", Mode.SKIP),
        ("evals/test_tone.py", Mode.ADVISORY),
    ],
)
def test_tests_of_the_repository_and_what_collects_them_always_block(path: str, mode: Mode) -> None:
    assert mode_of(path, BLOCK + 'tests: [app/evals, "app/own [1].py"]\n') is mode
