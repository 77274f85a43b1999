"""The gate's judge in production, against a provider on loopback: within a budget and a time limit."""

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from functools import partial
from pathlib import Path

import pytest

from ratiba_action.config.configuration import Configuration
from ratiba_action.errors import ConfigurationError, InfrastructureError
from ratiba_action.llm.scripted_answers import Step
from ratiba_action.model.conversation import Usage
from ratiba_action.production.inline import CheckedAnswer, InlineRules, check_answer, read_inline_rules
from ratiba_action.production.inline_judge import InlineJudge
from ratiba_action.settings.settings import Settings, read_settings
from tests.support.live_repository import RATES
from tests.support.model_servers import ModelServer, Received
from tests.support.provider_faults import Served, Stalled
from tests.support.served_models import served_models

pytestmark = pytest.mark.processes
KEY = "sk-planted-0123456789abcdef"
CONFIGURATION = Configuration.model_validate(
    {
        "system": {"adapter": "a:A"},
        "prices": {"claude-opus-5-5": {"input_per_million": 5.0, "output_per_million": 25.0}},
    }
)
Serve = Callable[[Received], Served]


def scored(_: Received) -> Step:
    return Step("anthropic", data={"reason": "plain", "score": 2}, usage=Usage(1_000, 100))


def _serve(serve: list[Serve], received: Received) -> Served:
    return serve[-1](received)


@pytest.fixture
def serve() -> list[Serve]:
    return [scored]


@pytest.fixture
def models(serve: list[Serve]) -> Iterator[ModelServer]:
    with served_models(ModelServer(partial(_serve, serve), KEY, RATES)) as server:
        yield server


@pytest.fixture
def settings(models: ModelServer) -> Settings:
    return read_settings({"RATIBA_ANTHROPIC_API_KEY": KEY, "RATIBA_ANTHROPIC_BASE_URL": models.url}, {})


def rules_of(folder: Path, seconds: float = 30) -> InlineRules:
    path = folder / "checks.yaml"
    assertion = "{metric: CoherenceMetric, threshold: 0.7, on_failure: block}"
    path.write_text(f"language: sw\nassertions:\n  - {assertion}\njudge: {{seconds: {seconds}}}\n")
    return read_inline_rules(path)


def checked(judge: InlineJudge, rules: InlineRules) -> CheckedAnswer:
    question = "Naitwa Wanjiku, simu yangu ni 0712 345 432"
    return check_answer(question, "Asante, umehifadhiwa kesho saa nane.", [], rules, judge=judge, names=["Wanjiku"])


def test_a_low_score_blocks_and_what_it_cost_is_known(settings: Settings, models: ModelServer, tmp_path: Path) -> None:
    with InlineJudge(settings, tmp_path, {}, configuration=CONFIGURATION) as judge:
        result = checked(judge, rules_of(tmp_path))
        assert judge.spent == models.bill.total > 0
    assert result.blocked
    assert [(problem.kind, problem.name) for problem in result.problems] == [("score", "CoherenceMetric")]
    asked = json.dumps([received.body for received in models.received], ensure_ascii=False)
    assert "345" not in asked.replace("***432", "")
    assert "Wanjiku" not in asked


def test_a_late_judge_is_a_flag_and_takes_no_longer_than_allowed(
    settings: Settings, serve: list[Serve], tmp_path: Path
) -> None:
    serve.append(lambda received: Stalled(scored(received), 10))
    with InlineJudge(settings, tmp_path, {}, configuration=CONFIGURATION) as judge:
        began = time.monotonic()
        result = checked(judge, rules_of(tmp_path, seconds=2))
        assert time.monotonic() - began < 30
    assert judge.spent > 0, "the provider may charge for a call that was given up"
    assert (result.flagged, result.blocked) == (True, False)
    assert result.problems[0].reason == "the judge did not answer within 2 s"


def test_a_budget_that_is_used_up_is_a_flag_and_no_call_is_made(
    settings: Settings, models: ModelServer, tmp_path: Path
) -> None:
    with InlineJudge(
        replace(settings, budget_usd=Decimal("0.000001")), tmp_path, {}, configuration=CONFIGURATION
    ) as judge:
        result = checked(judge, rules_of(tmp_path))
    assert (result.flagged, result.blocked, models.received) == (True, False, ())
    assert "0.000001" in result.problems[0].reason or "budget" in result.problems[0].reason.lower()


def test_an_answer_of_the_judge_that_cannot_be_used_is_a_flag(
    settings: Settings, serve: list[Serve], tmp_path: Path
) -> None:
    serve.append(lambda _: Step("anthropic", data={"reason": "far", "score": 99}, usage=Usage(10, 10)))
    with InlineJudge(settings, tmp_path, {}, configuration=CONFIGURATION) as judge:
        result = checked(judge, rules_of(tmp_path))
    assert (result.flagged, result.blocked, result.problems[0].kind) == (True, False, "error")


def test_a_judge_of_the_systems_own_family_is_noted(settings: Settings, tmp_path: Path) -> None:
    notes: list[str] = []
    InlineJudge(
        settings, tmp_path, {}, generators=["claude-sonnet-5-5"], note=notes.append, configuration=CONFIGURATION
    )
    assert len(notes) == 1
    assert "claude-opus-5-5 is of the family of claude-sonnet-5-5" in notes[0]


def test_a_judge_without_a_key_or_of_the_generators_model_is_refused(settings: Settings, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="also writes the answers"):
        InlineJudge(settings, tmp_path, {}, generators=["claude-opus-5-5"], configuration=CONFIGURATION)
    of_the_shell = {"ANTHROPIC_API_KEY": KEY}  # for other programs: nobody asked this one to spend it
    judge = InlineJudge(read_settings(of_the_shell, {}), tmp_path, of_the_shell, configuration=CONFIGURATION)
    with pytest.raises(InfrastructureError, match="no key"):
        judge.__enter__()
