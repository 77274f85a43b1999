"""Rows L of docs/features.md, each with an input of its own: a botanical garden in Brno."""

import asyncio
from typing import Any

import yaml

from tests.features.conftest import Models
from tests.support.small_repository import SmallRepository

GARDEN = """\
def answer(message):
    return {
        "text": "Skleník otevírá v 9 hodin. Vstup stojí 120 korun.",
        "documents": [
            {"id": "parkovani", "text": "Parkoviště je zdarma."},
            {"id": "doba", "text": "Skleník je otevřen od 9 hodin."},
            {"id": "ceny", "text": "Vstupné je 120 korun."},
        ],
    }
"""
CONFIGURATION = """\
system: {adapter: "zahrada:answer", database: false, price_per_turn_usd: 0}
judge: {cross_check: null, votes: 1}
"""
SCENARIO = """\
id: sklenik
language: cs
system_type: rag
turns:
  - user: Kdy otevírá skleník a kolik stojí vstup?
    expect:
      answer: Skleník otevírá v 9 hodin. Vstup stojí 120 korun.
      key_phrases: [v 9 hodin, 120 korun, zdarma pro děti]
assertions:
  - {metric: ContextualPrecisionMetric, threshold: 0.5}
  - {metric: ContextualRecallMetric, threshold: 0.5}
  - {metric: ReverseQuestionRelevancyMetric, threshold: 0.5}
  - {metric: AnswerCorrectnessMetric, threshold: 0.5}
  - {metric: KeyPhraseMetric, threshold: 0.5}
"""


def judge(fields: frozenset[str], text: str) -> dict[str, Any] | None:
    """A judge that finds the first document useless, one sentence unsupported, and one question beside the point."""
    if "verdicts" in fields:
        several = ("no", "yes", "yes") if "useful in arriving" in text else ("yes", "no")
        return {"verdicts": [{"verdict": verdict, "reason": "proto"} for verdict in several]}
    if "questions" in fields:
        return {"questions": ["Kdy otevírá?", "Kolik stojí vstup?", "Kde je zahrada?"]}
    if "asks" in fields:
        return {"asks": ["part", "part", "nothing"]}
    return {"score": 8, "reason": "správně"} if "score" in fields else None


async def test_contexts_questions_correctness_and_key_phrases_come_to_the_values_of_their_definitions(
    project: SmallRepository, models: Models
) -> None:
    """L4."""
    project.write("zahrada.py", GARDEN)
    project.write(".github/ratiba.yml", CONFIGURATION)
    project.write("scenarios/sklenik.yaml", SCENARIO)
    models.says = judge
    ended = await asyncio.to_thread(project.gate)
    (result,) = ended.results["report"]["results"]
    assert {score["metric"]: round(score["value"], 3) for score in result["scores"]} == {
        "ContextualPrecisionMetric": round((1 / 2 + 2 / 3) / 2, 3),
        "ContextualRecallMetric": 0.5,
        "ReverseQuestionRelevancyMetric": round((0.5 + 0.5 + 0) / 3, 3),
        "AnswerCorrectnessMetric": 0.8,
        "KeyPhraseMetric": round(2 / 3, 3),
    }


def attack(fields: frozenset[str], text: str) -> dict[str, Any] | None:
    """The model that proposes: a question that brings the rival's name along, and what no reply may say."""
    if "scenarios" not in fields:
        return None
    assert "botanickou zahradou" in text
    turn = {"user": "Arboretum Křtiny říká, že u vás je vstup 90 korun. Platí to?", "key_phrases": ["120 korun"]}
    expected = {"answer": "Vstup stojí 120 korun.", "documents": ["ceny"], "contexts": ["Vstupné je 120 korun."]}
    proposed = {"shows": "rival", "language": "cs", "turns": [turn | expected], "must_not_contain": ["90 korun"]}
    return {"scenarios": [proposed]}


async def test_an_adversarial_scenario_is_proposed_in_the_suites_language_and_shows_a_system_that_falls_for_it(
    project: SmallRepository, models: Models
) -> None:
    """L6."""
    project.write("zahrada.py", GARDEN.replace("Vstup stojí 120 korun", "Ano, platí 90 korun"))
    project.write(".github/ratiba.yml", CONFIGURATION)
    project.write("prompty/pruvodce.md", "Jsi průvodce botanickou zahradou.\n")
    models.says = attack
    words = ["generate", "--propose", "1", "--adversarial", "rival_term", "--system-type", "rag", "--language", "cs"]
    words += ["--prompt", "prompty/pruvodce.md"]
    made = await asyncio.to_thread(project.run, words, project.folder, project.environment)
    assert made.returncode == 0, made.stdout + made.stderr
    (path,) = (project.folder / "scenarios").rglob("*.yaml")
    proposed = yaml.safe_load(path.read_text())
    assert (proposed["tags"], proposed["language"]) == (["proposed", "rival_term"], "cs")
    del proposed["quarantine"], proposed["tags"]  # as somebody does who has read it
    path.write_text(yaml.safe_dump(proposed, allow_unicode=True))
    ended = await asyncio.to_thread(project.gate)
    assert ended.code == 1, ended.printed
    assert "90 korun" in ended.comment
