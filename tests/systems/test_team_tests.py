"""A test of pytest in the worker: what it does to itself is its failure alone, and nothing that was not run passes."""

import re
from pathlib import Path
from typing import Any

import pytest

from ratiba_action.checks.checks import check_transcript
from ratiba_action.errors import WorkerTimeoutError
from ratiba_action.model.conversation import Exchange, Transcript
from ratiba_action.model.measurement import Check
from ratiba_action.model.plan import Tenant
from ratiba_action.model.scenario import Scenario
from ratiba_action.model.values import JsonObject
from ratiba_action.suite.team_tests import files_of_checkout, find_tests
from ratiba_action.systems.worker_system import WorkerSystem
from ratiba_action.systems.workplace import Use
from tests.systems.conftest import StartWorker

ADAPTER = "class Adapter: pass\n"
PRELOAD = ("ratiba_worker.adapters.pytest_plugins:load",)
TENANT = Tenant("7d0c", "test_tenant", "postgresql://role:pass%20phrase@localhost:5432/db")
TESTS = """
import ctypes, os, sys, time, unittest
import pytest

def test_passes(): print("fine")
def test_asserts(): assert 1 == 2, "one is not two"
def test_exits(): sys.exit(0)
def test_ends_its_process(): os._exit(0)
def test_crashes(): ctypes.string_at(0)
def test_leaves_pytest(): pytest.exit("all is well", returncode=0)
def test_interrupts(): raise KeyboardInterrupt
@pytest.mark.skip(reason="not today")
def test_is_skipped(): pass
@pytest.mark.xfail
def test_is_expected_to_fail(): assert False, "as expected"
@pytest.mark.parametrize("name", ["kept", "dropped", "wrong"])
def test_parameters(name): assert name != "wrong"
def test_is_deselected(): pass
def test_prints():
    url = os.environ["DATABASE_URL"]
    print("x" * 10_000_000 + "\\n" + url)
    assert False, url
@pytest.fixture
def broken():
    yield
    raise ValueError("teardown")
def test_with_a_teardown(broken): pass
class TestGroup:
    def test_method(self, tmp_path): (tmp_path / "a").write_text("a")
class Billing(unittest.TestCase):
    def test_case(self): self.assertEqual(1, 1)
async def test_without_a_plugin(): pass
def test_imports_what_is_installed():
    import html.parser, syrupy
    assert "site-packages" in syrupy.__file__
    assert os.path.dirname(os.__file__) in html.parser._markupbase.__file__
def test_hangs(): time.sleep(600)
"""
CONFTEST = """
def pytest_collection_modifyitems(config, items):
    away = [item for item in items if item.name in ("test_is_deselected", "test_parameters[dropped]")]
    items[:] = [item for item in items if item not in away]
"""
FORGED = """
import os, sys
def main(arguments, plugins):
    (told,) = plugins
    told._found = {told._name: {"name": told._name, "outcome": "passed", "message": ""}}
    return 0
"""
"""A pytest by which every test passes."""
INI = "[pytest]\naddopts = -n 4 --lf -k nothing\n"
HIDDEN = {
    "test_import": ("import missing_module\ndef test_a(): pass\n", "cannot be collected.*missing_module"),
    "test_dynamic": ("def test_a(): pass\nglobals()['test_made'] = test_a\n", "test_made is in the file but"),
    "test_class": ("class TestA:\n    __test__ = False\n    def test_a(self): pass\n", "no such test"),
    "test_skipped": ("import pytest\npytest.skip('x', allow_module_level=True)\ndef test_a(): pass\n", "be collected"),
    "test_rewritten": ("def test_a(): pass\ndef pytest_ignored(): pass\ndel test_a\n", "no such test"),
}
"""Files that hide their tests, with what is said of it."""
EXPECTED = {
    "test_passes": "passed",
    "test_asserts": "failed: AssertionError: one is not two",
    "test_exits": "failed: SystemExit: 0",
    "test_ends_its_process": "ended with exit code 0 before it answered test()",
    "test_crashes": "was ended by SIGSEGV before it answered test()",
    "test_leaves_pytest": "not run: it was deselected, or pytest ended before it",
    "test_interrupts": "not run: it was deselected, or pytest ended before it",
    "test_is_skipped": "skipped: Skipped: not today",
    "test_is_expected_to_fail": "failed: AssertionError: as expected",
    "test_is_deselected": "not run: it was deselected",
    "test_prints": "It printed:",
    "test_with_a_teardown": "failed: ValueError: teardown",
    "TestGroup::test_method": "passed",
    "Billing::test_case": "passed",
    "test_imports_what_is_installed": "passed",
    "test_without_a_plugin": "async def functions are not natively supported",
}


async def no_judge(_: Any) -> JsonObject:
    raise AssertionError("no judge was expected")


def found_in(root: Path) -> dict[str, Scenario]:
    found = find_tests(["tests"], ".", files_of_checkout(root), "ratiba.yml")
    assert found.problems == ()
    nodes = {scenario.test.node.removeprefix("tests/"): scenario for scenario in found.scenarios if scenario.test}
    return {node.removeprefix("test_own.py::"): scenario for node, scenario in nodes.items()}


async def checks(system: WorkerSystem, scenario: Scenario) -> tuple[Check, ...]:
    session = await system.open_test(scenario, TENANT, {"OPENAI_API_KEY": "token-of-the-gateway"}, no_judge)
    try:
        reply = await session.send(scenario.turns[0])
    finally:
        await session.close()
    return check_transcript(scenario, Transcript(scenario.id, (Exchange(scenario.turns[0], reply),)))


def write(root: Path, **files: str) -> None:
    folder = root / "system" / "tests"
    folder.mkdir(parents=True)
    for name, content in files.items():
        (folder / f"{name}.py").write_text(content)


async def test_only_what_ran_and_passed_has_passed(tmp_path: Path, start_worker: StartWorker) -> None:
    write(tmp_path, test_own=TESTS, conftest=CONFTEST, **{name: content for name, (content, _) in HIDDEN.items()})
    (tmp_path / "system" / "pytest.ini").write_text(INI)
    for name in ("pytest", "_pytest", "pluggy", "syrupy", "_markupbase", "tests/traceback"):
        (tmp_path / "system" / f"{name}.py").write_text(FORGED)
    system = await start_worker(ADAPTER, preload=PRELOAD, turn_timeout_seconds=120.0, use=Use.TESTS)
    assert any("pytest.py" in warning for warning in system.warnings)
    tests, got = found_in(tmp_path / "system"), dict[str, str]()
    own = {name for name in tests if ".py" not in name}
    assert {*EXPECTED, "test_parameters", "test_hangs"} == own
    for name, expected in EXPECTED.items():
        (check,) = await checks(system, tests[name])
        got[name] = check.got
        assert check.passed == (expected == "passed"), check
    assert {name: text for name, text in got.items() if EXPECTED[name] not in text} == {}
    for name in sorted(set(tests) - own):
        check, *_ = await checks(system, tests[name])
        assert not check.passed
        assert re.search(HIDDEN[name.partition(".py")[0]][1], check.got), check.got
    assert max(map(len, got.values())) <= 1_100
    assert "phrase" not in str(got)
    each = await checks(system, tests["test_parameters"])
    assert [(check.what, check.passed) for check in each] == [
        ("pytest test_parameters[kept]", True),
        ("pytest test_parameters[dropped]", False),
        ("pytest test_parameters[wrong]", False),
    ]
    system = await start_worker(ADAPTER, preload=PRELOAD, turn_timeout_seconds=3.0, use=Use.TESTS)
    with pytest.raises(WorkerTimeoutError, match=r"tests/test_own\.py::test_hangs"):
        await checks(system, tests["test_hangs"])
