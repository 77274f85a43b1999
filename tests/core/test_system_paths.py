import pytest

from ratiba_action.core.model.change import ChangedFiles, Mode, Rule
from ratiba_action.core.protection import Protection
from ratiba_action.core.rules import default_rules
from ratiba_action.core.selection import decide_mode
from ratiba_action.core.system_paths import read_system_paths

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


def mode_of(path: str, configuration: str) -> Mode:
    decision = decide_mode(
        ChangedFiles((path,)),
        default_rules(),
        reader=lambda _side, _path: None,
        protection=Protection(),
        floors=read_system_paths(configuration),
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
    ],
)
def test_prompts_and_adapter_are_read_in_every_plain_form(text: str) -> None:
    assert read_system_paths(text) == EXPECTED


def test_without_a_root_the_paths_start_at_the_repository() -> None:
    assert read_system_paths("system:\n  prompts: [a.md]\n") == (Rule(Mode.BLOCKING, "/a.md"),)


def test_a_hidden_root_keeps_its_dot() -> None:
    assert read_system_paths("system:\n  root: ./.app\n  prompts: [a.md]\n") == (Rule(Mode.BLOCKING, "/.app/a.md"),)


def test_without_a_system_block_there_is_nothing() -> None:
    assert read_system_paths("judge: {model: x}\n") == ()


@pytest.mark.parametrize(
    "text",
    [
        "system: *elsewhere\n",
        "\ufeffsystem:\n  prompts: [a.md]\n",
        "  system:\n    prompts: [a.md]\n",
        '{"system": {"prompts": ["a.md"]}}\n',
        "--- {system: {prompts: [a.md]}}\n",
        '"syst\\x65m":\n  prompts: [a.md]\n',
        "system:\n  prompts:\n    [a.md]\n",
        "system:\n  prompts: &p\n    - a.md\n",
        "system:\n  prompts:\n    - !!str a.md\n",
        'system:\n  prompts: ["\\x61.md"]\n',
        "system:\n  prompts: ['a, b.md']\n",
        "system:\n  root:\n    app\n  prompts: [a.md]\n",
        "system:\n  prompts: ['a[1.md']\n",
        "system: {prompts: [a.md],\n  root: app}\n",
        "system:\n  prompts: [a.md,\n    b.md]\n",
        "system:\n  prompts: [a.md]\nsystem:\n  prompts: []\n",
        "system:\n  ? prompts\n  : [a.md]\n",
    ],
)
def test_a_form_that_is_not_understood_is_told_so_that_it_blocks(text: str) -> None:
    with pytest.raises(ValueError, match=r"system|list|line"):
        read_system_paths(text)


@pytest.mark.parametrize(
    "text",
    [
        "system:\n  prompt: {file: prompts/a.md, model: x}\n",
        "system:\n  prompt:\n    model: x\n    file: ./prompts/a.md  # the prompt\n",
    ],
)
def test_the_file_of_a_system_that_is_a_prompt_blocks(text: str) -> None:
    assert read_system_paths(text) == (Rule(Mode.BLOCKING, "/prompts/a.md"),)


@pytest.mark.parametrize(
    "text",
    [
        "system: {prompt: {file: a.md}}\n",
        'system:\n  prompt: {"file": a.md}\n',
        'system:\n  prompt:\n    "file": a.md\n',
        "system:\n  prompt: &a {file: a.md}\n",
        "system:\n  prompt:\n    file:\n      a.md\n",
        "system:\n  prompt:\n    model: x\n",
        "system:\n  prompt:\n",
        'system:\n  python: "x\n  prompt: {file: harmless.md}\n    "\n  prompt: {file: real.md}\n',
    ],
)
def test_a_prompt_whose_file_is_not_certain_is_told_so_that_it_blocks(text: str) -> None:
    with pytest.raises(ValueError, match=r"system"):
        read_system_paths(text)


def test_a_body_that_speaks_of_prompts_is_no_prompt() -> None:
    text = "system:\n  http:\n    body:\n      prompt: {file: a.md}\n  prompts: [b.md]\n"
    assert read_system_paths(text) == (Rule(Mode.BLOCKING, "/b.md"),)


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
