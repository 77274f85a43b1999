"""The example's scenarios: one of each layer, each file of the system named, and a candidate as promotion writes it."""

import subprocess
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
import yaml

from ratiba_action.checks.failure_rules import validate_rule
from ratiba_action.metrics.registry import metric_problems
from ratiba_action.model.scenario import Layer, Scenario
from ratiba_action.privacy.masking import Redactor
from ratiba_action.production.candidate import Review, make_candidate, path_of
from ratiba_action.production.conversation import ProductionConversation, ProductionTurn
from ratiba_action.production.feedback import Feedback
from ratiba_action.production.tenants import TenantFacts
from ratiba_action.suite.load import load_suite, read_scenario_files
from ratiba_action.util.gitignore import PatternList

PROJECT = Path(__file__).parents[3]
PROMOTED = "scenarios/from_production/production_bmcjfmchmcpc.yaml"


@pytest.fixture(scope="module")
def scenarios() -> tuple[Scenario, ...]:
    return load_suite(read_scenario_files(PROJECT, "scenarios"), metric_problems, validate_rule).scenarios


def test_the_booking_flow_has_scenarios_of_every_layer(scenarios: tuple[Scenario, ...]) -> None:
    assert {scenario.layer for scenario in scenarios} == set(Layer)


def test_every_file_of_the_system_is_named_by_a_scenario_that_depends_on_it(scenarios: tuple[Scenario, ...]) -> None:
    """The guards name the whole folder, which says nothing about a file that is new."""
    tracked = subprocess.check_output(["git", "ls-files", "examples/booking_assistant"], cwd=PROJECT, text=True)
    text = {".md", ".txt", ".in", ".ini"}
    files = [name for name in tracked.splitlines() if Path(name).suffix not in text or "/prompts/" in name]
    code = [name for name in files if not name.endswith("__init__.py")]
    assert "examples/booking_assistant/booking_assistant/settlement.py" in code
    named = [pattern for scenario in scenarios if scenario.layer != Layer.FSM for pattern in scenario.touches]
    assert [name for name in code if PatternList(named).match(name) is None] == []


def test_the_promoted_scenario_is_what_promotion_makes_of_the_conversation() -> None:
    """An invented conversation, before it was masked; what a person adds afterwards is left out of the comparison."""
    texts = (
        ("Habari, mimi ni Faith Wambua. Naomba manicure kesho saa tano asubuhi", "Habari Faith Wambua! Manicure kesho"),
        ("Ndio, niwekee", "Booking yako ya manicure imethibitishwa: Jumatano 22 Aprili saa tano asubuhi"),
        ("Samahani, tusogeze hadi saa tisa mchana. Nipigie 0722 410 693 ikishindikana", "Manicure Jumatano 22 Aprili"),
        ("Ndio, badilisha", "Booking yako ya manicure imethibitishwa: Jumatano 22 Aprili saa tisa mchana"),
    )
    conversation = ProductionConversation(
        ("8f0c2a61b7d94e53a1c6e2f4907b3d18",),
        tuple(ProductionTurn(user, reply=reply) for user, reply in texts),
        datetime(2026, 4, 21, 6, 40, tzinfo=UTC),
        verticals=frozenset({"salon"}),
        language="sw",
        system_type="chatbot",
        prompt_version="booking_orchestrator@3c1f9ab",
    )
    comment = "Nimewekewa mara mbili, saa tano na saa tisa"
    feedback = Feedback(
        "6d1f0a", "trace", conversation.trace_ids[0], "thumbs_down", datetime(2026, 4, 21, 9, 5, tzinfo=UTC), comment
    )
    redactor = Redactor(names=["Faith Wambua"])
    candidate = make_candidate(
        conversation, feedback, TenantFacts("salon"), redactor, Review("@salon", date(2026, 5, 31))
    )
    written = yaml.safe_load((PROJECT / PROMOTED).read_text())
    assert path_of(candidate, "scenarios") == PROMOTED
    assert [turn["user"] for turn in written["turns"]] == [turn["user"] for turn in candidate.data["turns"]]
    for key in ("id", "layer", "language", "system_type", "vertical", "now", "customer"):
        assert written[key] == candidate.data[key], key
    for mine, its in zip(
        candidate.data["provenance"].pop("replies"), written["provenance"].pop("replies"), strict=True
    ):
        assert its.startswith(mine)
    assert written["provenance"] == candidate.data["provenance"]
    assert "quarantine" not in written
    assert "proposed" not in written["tags"]
