"""A configuration that no run with a key could use: found before it is merged, and repaired by the change that does."""

import pytest

from tests.support.live_repository import CONFIGURATION, KEY, SYSTEM, LiveRepository

CONFIGURED = ".github/ratiba.yml"
PROMPTED = CONFIGURATION.replace("prompts: [prompts/*.md]", "prompts: []")
BROKEN = {
    "a cross-check without a price": PROMPTED.replace("cross_check: {model: gpt-5.6,", "cross_check: {model: gpt-99,"),
    "a cross-check that is the judge": PROMPTED.replace(
        "cross_check: {model: gpt-5.6,", "cross_check: {provider: anthropic, model: claude-opus-5-5,"
    ),
    "a judge that is the system's model": PROMPTED.replace(
        "model: claude-opus-5-5\n", f"provider: openai\n  model: {SYSTEM}\n"
    ),
    "a judge that may answer too little": f"{PROMPTED}models: {{max_output_tokens: 500}}\n",
}


@pytest.fixture
async def recorded(live: LiveRepository) -> LiveRepository:
    """A repository whose scenario is recorded, with a configuration that works."""
    live.small.write(CONFIGURED, PROMPTED)
    live.scenario("greeting", "Hello")
    live.small.commit()
    await live.record()
    live.small.commit()
    return live


@pytest.mark.parametrize("configuration", BROKEN.values(), ids=BROKEN)
async def test_a_judge_block_that_no_live_run_could_use_is_a_mistake_in_a_replay_too(
    configuration: str, recorded: LiveRepository
) -> None:
    small = recorded.small
    assert small.run(["validate"], small.folder, small.environment).returncode == 0
    small.write(CONFIGURED, configuration)
    checked = small.run(["validate"], small.folder, small.environment)
    assert checked.returncode == 2
    assert f"{CONFIGURED}:" in checked.stdout
    ended = await recorded.gate(RATIBA_LLM="replay", RATIBA_ANTHROPIC_API_KEY="", RATIBA_OPENAI_API_KEY="")
    assert ended.code == 2, ended.printed
    assert f"{CONFIGURED}:" in ended.printed


@pytest.mark.parametrize("configuration", BROKEN.values(), ids=BROKEN)
async def test_the_change_that_repairs_the_bases_block_runs_with_its_own_and_says_so(
    configuration: str, recorded: LiveRepository
) -> None:
    recorded.small.write(CONFIGURED, configuration)
    base = recorded.small.commit()
    recorded.git.git("switch", "--quiet", "--create", "repair")
    recorded.small.write(CONFIGURED, PROMPTED)
    head = recorded.small.commit()
    ended = await recorded.gate(**recorded.pull_request(base, head))
    assert ended.code == 0, ended.printed
    assert "The base branch's settings cannot be used" in ended.comment
    assert "This change repairs them" in ended.comment


async def test_a_change_that_only_asks_for_another_judge_gets_the_bases(recorded: LiveRepository) -> None:
    base = recorded.small.commit()
    recorded.git.git("switch", "--quiet", "--create", "lenient")
    recorded.small.write(CONFIGURED, PROMPTED.replace("model: claude-opus-5-5", "model: claude-haiku-4-5"))
    head = recorded.small.commit()
    ended = await recorded.gate(**recorded.pull_request(base, head))
    assert ended.code == 0, ended.printed
    assert ended.results["report"]["judge_model"] == "claude-opus-5-5"
    assert "cannot be used" not in ended.comment


async def test_a_system_that_moves_to_the_bases_judge_is_reported_where_that_one_comes_from(
    recorded: LiveRepository,
) -> None:
    base = recorded.small.commit()
    recorded.git.git("switch", "--quiet", "--create", "self-judging")
    own = PROMPTED.replace("model: claude-opus-5-5", "model: claude-sonnet-5-5")
    prompt = "prompt: {file: prompts/spa.md, provider: anthropic, model: claude-opus-5-5, max_output_tokens: 300}"
    recorded.small.write("prompts/spa.md", "Be friendly.")
    recorded.small.write(CONFIGURED, own.replace("adapter: adapter:Adapter", prompt))
    head = recorded.small.commit()
    ended = await recorded.gate(**recorded.pull_request(base, head))
    assert ended.code == 2, ended.printed
    assert "from the base branch" in ended.printed
    assert "in a commit of its own" in ended.printed


async def test_a_base_whose_judge_has_no_key_is_repaired_by_a_judge_that_has_one(recorded: LiveRepository) -> None:
    base = recorded.small.commit()
    recorded.git.git("switch", "--quiet", "--create", "repair")
    own = PROMPTED.replace("judge:\n  model: claude-opus-5-5", "judge:\n  provider: openai\n  model: gpt-5.6")
    own = own.replace("cross_check: {model: gpt-5.6, share: 1.0}", "cross_check: null")
    recorded.small.write(CONFIGURED, own)
    head = recorded.small.commit()
    only = {"RATIBA_ANTHROPIC_API_KEY": "", "RATIBA_OPENAI_API_KEY": KEY}
    ended = await recorded.gate(**recorded.pull_request(base, head), **only)
    assert ended.code == 0, ended.printed
    assert "There is no key for the judge's provider 'anthropic'." in ended.comment


async def test_what_a_configuration_names_and_nobody_finds_is_said_with_its_line(recorded: LiveRepository) -> None:
    small = recorded.small
    small.write(
        CONFIGURED, CONFIGURATION.replace("prompts/*.md", "promts/*.md").replace("adapter:Adapter", "adapter:Adaptor")
    )
    scenario = (small.folder / "scenarios/greeting.yaml").read_text()
    small.write("deep.py", f"x = {'-' * 100_000}1\n")  # where nobody can look, nothing is said
    custom = (
        "rules:\n  - {type: custom, value: nope.mod:foo}\nassertions:\n  - {metric: nope.mod:bar, threshold: 0.5}\n"
        "  - {metric: deep:bar, threshold: 0.5}\n"
    )
    small.write("scenarios/greeting.yaml", scenario + custom)
    checked = small.run(["validate"], small.folder, small.environment)
    assert checked.returncode == 2
    for text in (
        f"{CONFIGURED}:3: system.prompts.0: no file in this repository matches 'promts/*.md'.",
        f"{CONFIGURED}: system.adapter 'adapter:Adaptor': adapter.py defines no 'Adaptor'",
        "scenarios/greeting.yaml:10: rule 'nope.mod:foo': there is no module 'nope.mod' below system.root.",
        "scenarios/greeting.yaml:12: metric 'nope.mod:bar': there is no module 'nope.mod' below system.root.",
    ):
        assert text in checked.stdout
