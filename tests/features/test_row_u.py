"""Rows U of docs/features.md, each with an input of its own: the help desk of a ferry line in Norway."""

import asyncio
import json
from typing import Any

import yaml

from tests.features.conftest import Models
from tests.support.small_repository import SmallRepository

SESSION: dict[str, Any] = {
    "id": "ferge_avgang",
    "language": "no",
    "captured_at": "2026-06-12T07:40:00+02:00",
    "provider": "openai",
    "tags": ["rutetider"],
    "names": ["Sigrid Nes"],
    "messages": [
        {"role": "system", "content": "Du hjelper reisende."},
        {"role": "user", "content": "Sigrid Nes her, når går ferga? sigrid@example.no"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"type": "function", "id": "1", "function": {"name": "rutetid", "arguments": '{"fra": "Moss"}'}}
            ],
        },
        {"role": "tool", "tool_call_id": "1", "content": "08:15"},
        {"role": "assistant", "content": "Hei Sigrid! Neste ferge går 08:15."},
    ],
}
FERRY = """\
def answer(message):
    assert message == "<name> her, når går ferga? s***@***", message
    return {
        "text": "Hei <name>! Neste ferge går 08:15.",
        "tool_calls": [{"name": "rutetid", "args": {"fra": "FRA"}, "output": "08:15"}],
    }
"""


def test_a_captured_session_becomes_a_scenario_that_runs_and_fails_where_the_system_answers_otherwise(
    project: SmallRepository,
) -> None:
    """U1."""
    project.write("session.json", json.dumps(SESSION))
    words = ["generate", "--from", "session.json"]
    made = project.run(words, project.folder, project.environment)
    assert made.returncode == 0, made.stderr
    (path,) = (project.folder / "scenarios").glob("*.yaml")
    scenario = yaml.safe_load(path.read_text())
    assert scenario["tags"] == ["proposed", "rutetider"]
    assert scenario["provenance"] == {"captured_at": "2026-06-12T07:40:00+02:00", "provider": "openai"}
    project.write(".github/ratiba.yml", 'system: {adapter: "ferge:answer", database: false}\n')
    project.write("ferge.py", FERRY.replace("FRA", "Moss"))
    same = project.gate()
    assert same.code == 0, same.printed
    project.write("ferge.py", FERRY.replace("FRA", "Horten"))
    other = project.gate()
    assert other.code == 1
    assert "rutetid(fra=Moss)" in other.comment
    assert "rutetid(fra=Horten)" in other.comment


VARIANTS = """\
system:
  prompt: {file: prompts/ferge.md, provider: openai, model: gpt-5, max_output_tokens: 100}
  variants:
    claude: {prompt: {provider: anthropic, model: claude-haiku-4-5}}
    streng: {prompt: {file: prompts/streng.md}}
"""
CASE = "id: billett\nlanguage: no\nturns:\n  - {user: Hva koster billetten?, expect: {contains: 45 kroner}}\n"


async def test_one_case_runs_against_several_providers_and_prompts_and_two_versions_are_compared(
    project: SmallRepository, models: Models
) -> None:
    """U3."""
    project.write(".github/ratiba.yml", VARIANTS)
    project.write("prompts/ferge.md", "Du hjelper reisende.\n")
    project.write("prompts/streng.md", "Svar aldri med en pris.\n")
    project.write("scenarios/billett.yaml", CASE)
    models.says = lambda _fields, text: "Det sier jeg ikke." if "aldri" in text else "Billetten koster 45 kroner."
    ended = await asyncio.to_thread(project.gate, "--variants")
    assert ended.code == 0, ended.printed
    rows = {row["name"]: (row["passed"], row["failed"]) for row in ended.results["report"]["variants"]}
    assert rows == {"": (1, 0), "claude": (1, 0), "streng": (0, 1)}
    assert {received.body["model"] for received in models.asked} == {"gpt-5", "claude-haiku-4-5"}
    first = project.folder.parent / "first.json"
    first.write_bytes((project.report / "results.json").read_bytes())
    second = await asyncio.to_thread(project.gate, "--variant", "streng")
    assert second.code == 1, second.printed
    shown = project.run(["compare", str(first), str(project.report)], project.folder, project.environment)
    assert shown.returncode == 0, shown.stderr
    assert "| `billett` | passed | failed |" in shown.stdout
    assert "| B (streng) |" in shown.stdout
    assert "<summary>Metrics<" not in shown.stdout, "there is none, and no empty table"
    refused = await asyncio.to_thread(project.gate, "--baseline", str(project.report / "results.json"))
    assert refused.code == 2
    assert "it is a run of the variant 'streng'" in refused.printed
