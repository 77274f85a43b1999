"""Rules and metrics of the repository run in the worker and get plain data only."""

import json
from pathlib import Path

import pytest

from ratiba_action.errors import ConfigurationError
from ratiba_action.model.scenario import Assertion, FailureRule
from ratiba_action.run.runner import CustomMetric, check_custom_rules
from tests.support.cases import case, create, exchange
from tests.systems.conftest import StartWorker

ADAPTER = """
    class Adapter:
        def open(self, context):
            return self
        def send(self, message):
            return {"text": message}
"""
CASE = case(exchange("Habari", "Karibu!", create("2026-04-26T14:00"), state="BOOKED"), rows={"bookings": ({"id": 1},)})


def write(tmp_path: Path, code: str) -> None:
    package = tmp_path / "system" / "own"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "tone.py").write_text(code, encoding="utf-8")


async def test_a_class_is_asked_by_its_method_measure_and_reported_its_parameters(
    tmp_path: Path, start_worker: StartWorker
) -> None:
    write(
        tmp_path,
        "import json\n"
        "class Tone:\n"
        "    async def measure(self, evidence):\n"
        "        return {'value': evidence['parameters']['gives'], 'reason': json.dumps(evidence, sort_keys=True)}\n",
    )
    system = await start_worker(ADAPTER)
    assertion = Assertion("own.tone:Tone", 0.6, parameters={"gives": 0.5})
    score = await CustomMetric(assertion, system).measure(CASE, 0.6)
    assert (score.metric, score.version, score.value, score.threshold, score.judged) == (
        *("own.tone:Tone", "own", 0.5, 0.6),
        False,
    )
    assert json.loads(score.reason)["turns"][0]["reply"]["state"] == "BOOKED"
    assert json.loads(score.reason)["rows"] == {"bookings": [{"id": 1}]}


async def test_a_function_is_a_rule(tmp_path: Path, start_worker: StartWorker) -> None:
    write(
        tmp_path,
        "def greets(evidence):\n"
        "    said = evidence['turns'][0]['reply']['text']\n"
        "    return {'passed': said.startswith('Karibu'), 'reason': said}\n"
        "def thanks(evidence):\n"
        "    return {'passed': False}\n",
    )
    system = await start_worker(ADAPTER)
    ruled = case(*CASE.transcript.exchanges, rules=(FailureRule("custom", ["own.tone:greets", "own.tone:thanks"], 9),))
    checks = await check_custom_rules(ruled, system)
    assert [(check.kind, check.line, check.passed, check.got) for check in checks] == [
        ("rule", 9, True, "Karibu!"),
        ("rule", 9, False, "does not hold"),
    ]


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import nowhere_to_be_found", "nowhere_to_be_found"),
        ("", "has no attribute 'Tone'"),
        ("from typing import Any as Tome\nclass Tonne: pass", "has no attribute 'Tone' (did you mean 'Tonne'?)"),
        ("class Tone: pass", "no method measure"),
        ("def Tone(evidence): raise RuntimeError('dropped')", "RuntimeError: dropped"),
        ("def Tone(evidence): return 1.0", "answered 1.0"),
        ("def Tone(evidence): return {'value': 1.5}", "1.5, not a number from 0 to 1"),
        ("def Tone(evidence): return {'value': True}", "True, not a number from 0 to 1"),
        ("def Tone(evidence): return {'value': float('nan')}", "not a JSON number"),
        ("def Tone(evidence): return {'value': 1, 'threshold': 0}", "'threshold'"),
        ("def Tone(evidence): return {'value': 1, 'reason': 3}", "the reason 3"),
        ("def Tone(evidence): import os; os._exit(3)", "exit code 3"),
        ("def Tone(evidence): return {'value': 1, 'reason': 'x' * 2_000_000}", "bytes"),
    ],
)
async def test_what_is_no_score_is_an_error_that_names_the_metric(
    tmp_path: Path, start_worker: StartWorker, code: str, message: str
) -> None:
    write(tmp_path, code)
    system = await start_worker(ADAPTER)
    with pytest.raises(ConfigurationError) as raised:
        await CustomMetric(Assertion("own.tone:Tone", 1.0), system).measure(CASE, 1.0)
    assert "own.tone:Tone" in str(raised.value)
    assert message in str(raised.value)


async def test_code_that_hangs_is_ended(tmp_path: Path, start_worker: StartWorker) -> None:
    write(tmp_path, "def Tone(evidence):\n    while True: pass\n")
    system = await start_worker(ADAPTER, turn_timeout_seconds=0.5)
    with pytest.raises(ConfigurationError, match=r"no answer within 0\.5 s"):
        await CustomMetric(Assertion("own.tone:Tone", 1.0), system).measure(CASE, 1.0)


async def test_code_sees_no_tenant_and_no_token_that_opens_anything(tmp_path: Path, start_worker: StartWorker) -> None:
    write(
        tmp_path,
        "import os\n"
        "def Tone(evidence):\n"
        "    held = {name: value for name, value in os.environ.items() if name.startswith(('DATABASE', 'RATIBA'))}\n"
        "    keys = {value for name, value in os.environ.items() if name.endswith(('_KEY', '_TOKEN'))}\n"
        "    return {'value': 0.0 if held else 1.0, 'reason': ' '.join([*held, *keys])}\n",
    )
    secret = {"ANTHROPIC_API_KEY": "sk-planted-0001", "RATIBA_DATABASE_URL": "postgresql://u:p@h/d"}
    system = await start_worker(ADAPTER, inherited={"PATH": "/usr/bin:/bin", **secret})
    score = await CustomMetric(Assertion("own.tone:Tone", 1.0), system).measure(CASE, 1.0)
    assert (score.value, score.reason) == (1.0, "no-conversation")


async def test_a_rule_without_anything_that_runs_it_is_an_error() -> None:
    ruled = case(*CASE.transcript.exchanges, rules=(FailureRule("custom", "own.tone:greets"),))
    with pytest.raises(ConfigurationError, match="cannot run custom rules"):
        await check_custom_rules(ruled, None)
