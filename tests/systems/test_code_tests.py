"""What a model wrote runs in the worker's sandbox, bounded, and its tests decide."""

import sys
from pathlib import Path

import pytest

from ratiba_action.errors import ConfigurationError
from ratiba_action.metrics.registry import load_metric, metric_problems
from ratiba_action.model.measurement import Case, Score
from ratiba_action.model.values import JsonObject
from ratiba_action.ports import CodeMetric
from ratiba_action.systems.separation import has_landlock
from ratiba_action.systems.worker_system import WorkerSystem
from ratiba_action.worker import code_tests
from tests.support.cases import case, exchange
from tests.systems.conftest import StartWorker

ADAPTER = """
    class Adapter:
        def open(self, context):
            return self
        def send(self, message):
            return {"text": message}
"""
DOUBLE = "def double(x):\n    return 2 * x"
PASSES: JsonObject = {"tests": ["assert double(2) == 4"]}


def wrote(code: str) -> Case:
    return case(exchange("Write it", f"```python\n{code}\n```"), exchange("Asante", "Karibu"))


def left_in(folder: Path) -> list[Path]:
    return list(folder.rglob("ratiba-code-*"))


async def measure(system: WorkerSystem, code: str, parameters: JsonObject = PASSES) -> Score:
    metric = load_metric("CodeTestsMetric", None, {"seconds": 30, **parameters})
    assert isinstance(metric, CodeMetric)
    return await metric.with_code(system).measure(wrote(code), 1.0)


async def test_the_score_is_the_share_of_tests_that_pass(start_worker: StartWorker) -> None:
    tests = ["assert double(2) == 4", "assert double('a') == 'aa'", "assert double(1) == 3, double(1)", "triple(1)"]
    score = await measure(await start_worker(ADAPTER), DOUBLE, {"tests": tests})
    assert score.value == 2 / 4
    assert score.reason == "test 3: AssertionError: 2; test 4: NameError: name 'triple' is not defined"


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("def double(:", "SyntaxError"),
        ("import os; os._exit(0)", "exit code 0 before its test was through"),
        ("raise SystemExit(0)", "SystemExit: 0"),
        ("while True: pass", "no end within 2 s"),
        ("x = 'x' * (1 << 30)", "MemoryError"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "exit code -9"),
        ("print('double')\nimport sys; sys.stdout.flush(); import os; os._exit(0)", "double"),
        ("import os\nwhile True: os.write(1, b'x' * 4096)", ""),
        ("class E(BaseException):\n    def __str__(self): raise self\nraise E", "before its test was through"),
    ],
)
async def test_code_that_does_not_come_to_its_test_has_failed_it(
    start_worker: StartWorker, code: str, message: str
) -> None:
    endless: JsonObject = {"seconds": 2} if message == "no end within 2 s" else {}
    score = await measure(await start_worker(ADAPTER), code, {**PASSES, **endless})
    assert score.value == 0
    assert message in score.reason


def test_its_time_begins_when_python_has_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = tmp_path / "python"
    slow.write_text(f'#!/bin/sh\nsleep 3\nexec {sys.executable} "$@"\n')
    slow.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(slow))
    order = {"code": DOUBLE, "test": "assert double(2) == 4", "seconds": 2.0, "memory_mb": 256}
    assert code_tests.run_test(order) == {"failure": ""}


async def test_code_sees_no_environment_and_leaves_the_system_as_it_is(
    start_worker: StartWorker, tmp_path: Path
) -> None:
    system = await start_worker(ADAPTER, environment={"HOUSE_SECRET": "planted-0001"})
    code = "import os\ndef double(x):\n    return sorted(os.environ)"
    seen: JsonObject = {"tests": ["assert double(1) == ['HOME', 'LC_ALL', 'TMPDIR'], double(1)"]}
    score = await measure(system, code, seen)
    assert score.reason == "1 of 1 tests pass"
    assert left_in(tmp_path) == []


async def test_the_code_starts_no_process_that_outlives_it(start_worker: StartWorker, tmp_path: Path) -> None:
    code = (
        "import subprocess, sys\ndef double(x):\n    return 2 * x\n"
        "try:\n    subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\nexcept OSError:\n    pass"
    )
    assert (await measure(await start_worker(ADAPTER), code)).value == 1
    assert left_in(tmp_path) == []


async def test_the_code_cannot_open_the_systems_files_where_the_kernel_has_landlock(start_worker: StartWorker) -> None:
    code = (
        "import pathlib, sys\n"
        "def double(x):\n"
        "    path = pathlib.Path(sys.argv[0]).parent.parent / 'copy' / 'assistant.py'\n"
        "    assert path.exists()\n"
        "    try:\n"
        "        path.write_text('mine')\n"
        "    except PermissionError:\n"
        "        return False\n"
        "    return True"
    )
    expected: JsonObject = {"tests": [f"assert double(2) is {not has_landlock()}"]}
    assert (await measure(await start_worker(ADAPTER), code, expected)).reason == "1 of 1 tests pass"


async def test_a_reply_without_code_fails_every_test(start_worker: StartWorker) -> None:
    system = await start_worker(ADAPTER)
    metric = load_metric("CodeTestsMetric", None, PASSES)
    assert isinstance(metric, CodeMetric)
    score = await metric.with_code(system).measure(case(exchange("?", "No.")), 1.0)
    assert (score.value, score.reason) == (0, "no reply holds a block of python")


async def test_without_anything_that_runs_code_there_is_no_score() -> None:
    with pytest.raises(ConfigurationError, match="cannot run code"):
        await load_metric("CodeTestsMetric", None, PASSES).measure(wrote(DOUBLE), 1.0)


@pytest.mark.parametrize(
    "parameters", [{}, {"tests": []}, {"tests": [""]}, {**PASSES, "seconds": 0}, {**PASSES, "memory_mb": 1 << 20}]
)
def test_bounds_that_cannot_be_are_refused_when_the_scenario_is_loaded(parameters: JsonObject) -> None:
    assert metric_problems("CodeTestsMetric", parameters)
