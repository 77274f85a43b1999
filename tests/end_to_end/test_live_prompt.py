"""A system that is a prompt file and a model: no code, and the same prices, budget, recordings and judges as any."""

import json

import pytest

from tests.support.live_repository import CONFIGURATION, SYSTEM, LiveRepository, is_judged, report_of
from tests.support.small_repository import SCENARIO

PROMPT = f"prompt: {{file: prompts/spa.md, provider: openai, model: {SYSTEM}, max_output_tokens: 300}}"


@pytest.fixture
def prompted(live: LiveRepository) -> LiveRepository:
    configuration = CONFIGURATION.replace("adapter: adapter:Adapter", PROMPT).replace("  prompts: [prompts/*.md]\n", "")
    live.small.write(".github/ratiba.yml", configuration)
    live.small.write("prompts/spa.md", "Be friendly to guests of the spa.")
    turns = "  - user: Habari\n  - user: Asante\nrules:\n  - {type: must_contain, value: welcome}"
    live.small.write("scenarios/spa.yaml", SCENARIO.format(name="spa", turns=turns))
    # Whoever connects to a database of this run fails.
    live.small.environment["RATIBA_DATABASE_URL"] = "postgresql://127.0.0.1:1/nobody"
    live.small.commit()
    return live


def configure(repository: LiveRepository, old: str, new: str) -> None:
    path = repository.small.folder / ".github/ratiba.yml"
    repository.small.write(".github/ratiba.yml", path.read_text().replace(old, new))
    repository.small.commit()


async def test_a_live_run_asks_the_model_through_the_gate_and_counts_what_it_costs(prompted: LiveRepository) -> None:
    ended = await prompted.gate("--mode", "blocking")
    assert ended.code == 0, ended.printed
    asked = [received.body for received in prompted.models.received if not is_judged(received)]
    assert [len(body["messages"]) for body in asked] == [2, 4]
    assert asked[0]["messages"][0] == {"role": "system", "content": "Be friendly to guests of the spa."}
    report = report_of(ended)
    assert report.spending.live_calls == 2
    assert report.spending.spent > 0
    transcript = json.loads((ended.report / "results.json").read_text())["report"]["results"][0]["transcript"]
    assert [name.partition("@")[0] for name in transcript["prompt_versions"]] == ["spa"]


async def test_a_prompts_model_without_a_price_is_reported_before_anything_is_asked(prompted: LiveRepository) -> None:
    configure(prompted, f"model: {SYSTEM}, max", "model: nobodys-model, max")
    ended = await prompted.gate("--mode", "blocking")
    assert ended.code == 2
    assert "nobodys-model" in ended.printed
    assert prompted.models.received == ()


async def test_a_prompt_does_not_pass_the_budget(prompted: LiveRepository) -> None:
    ended = await prompted.gate("--mode", "blocking", "--budget-usd", "0.0001")
    assert ended.code == 3, ended.printed
    assert prompted.models.received == ()


async def test_an_edited_prompt_makes_its_recordings_stale(prompted: LiveRepository) -> None:
    await prompted.record()
    prompted.small.commit()
    before = len(prompted.models.received)
    replayed = await prompted.gate("--mode", "blocking", RATIBA_LLM="replay")
    assert replayed.code == 0, replayed.printed
    prompted.small.write("prompts/spa.md", "Be rude.")
    edited = await prompted.gate(RATIBA_LLM="replay")
    assert edited.code == 3, edited.printed
    assert edited.outputs["mode"] == "blocking"
    assert len(prompted.models.received) == before
