"""Tests of pytest are found by reading their files, on both sides of a change."""

from dataclasses import replace
from pathlib import Path

import pytest

from ratiba_action.model.scenario import Scenario, Suite
from ratiba_action.suite.ratchet import ratchet_suite
from ratiba_action.suite.team_tests import FoundTests, TestFiles, files_of_checkout, find_tests, with_tests

FILE = """
import sys, unittest
import pytest

def test_one(): pass

@pytest.mark.smoke
@pytest.mark.parametrize("x", [1, 2])
async def test_two(x): pass

def helper(): pass

class TestGroup:
    def test_three(self): pass
    class TestInner:
        def test_four(self): pass

class Bills(unittest.TestCase):
    def test_five(self): pass

class Other:
    def test_never(self): pass

if sys.version_info:
    def test_six(): pass
else:
    def test_seven(): pass
try:
    import x
except ImportError:
    def test_eight(): pass
"""


def found(contents: dict[str, str], *paths: str, root: str = ".") -> FoundTests:
    def below(folder: str) -> list[str]:
        return [name for name in contents if name.startswith(f"{folder}/")]

    def read(name: str) -> bytes | None:
        return contents[name].encode() if name in contents else None

    return find_tests(paths or ("tests",), root, TestFiles(below, read), ".github/ratiba.yml")


def nodes(tests: FoundTests) -> list[str]:
    return [scenario.test.node for scenario in tests.scenarios if scenario.test is not None]


def test_functions_and_methods_are_scenarios_with_their_lines_and_marks() -> None:
    tests = found({"tests/evals/test_it.py": FILE, "tests/evals/conftest.py": "", "tests/evals/own.py": FILE})
    assert [node.removeprefix("tests/evals/test_it.py::") for node in nodes(tests)] == [
        *("test_one", "test_two", "TestGroup::test_three", "TestGroup::TestInner::test_four", "Bills::test_five"),
        *("test_six", "test_seven", "test_eight"),
    ]
    two = tests.scenarios[1]
    assert (two.id, two.line, two.path) == ("tests_evals_test_it__test_two", 9, "tests/evals/test_it.py")
    assert two.tags == {"pytest", "smoke", "parametrize"}
    assert two.assertions == ()


def test_a_file_that_is_named_may_have_any_name_and_names_are_relative_to_the_system() -> None:
    tests = found({"app/checks/quality.py": "def test_a(): pass"}, "app/checks/quality.py", root="app")
    assert nodes(tests) == ["checks/quality.py::test_a"]


@pytest.mark.parametrize(
    ("contents", "paths", "problem"),
    [
        ({}, ("tests",), ".github/ratiba.yml: tests: 'tests' is no file, and no folder with test_*.py in it"),
        ({"tests/own.py": ""}, ("tests",), "no folder with test_*.py"),
        ({"tests/test_a.py": "x = 1"}, ("tests",), "no test function was found in tests/test_a.py"),
        ({"tests/test_a.py": "def test_a(:"}, ("tests",), "tests/test_a.py:1: cannot be read as Python: "),
        ({"tests/test_a.py": "\0"}, ("tests",), "tests/test_a.py: cannot be read as Python: "),
        ({"tests/test_a.py": "(" * 5_000}, ("tests",), "cannot be read as Python"),
        ({"tests/test_a.py": "def test_a(): pass"}, ("tests", "more"), "'more' is no file"),
        ({"tests/test_a.py": "def test_a(): pass"}, ("/etc",), "'/etc' is no file"),
    ],
)
def test_what_cannot_be_collected_is_a_mistake_with_its_place(
    contents: dict[str, str], paths: tuple[str, ...], problem: str
) -> None:
    assert problem in "\n".join(map(str, found(contents, *paths).problems))


def test_tests_outside_of_the_system_are_a_mistake() -> None:
    (problem,) = found({"tests/test_a.py": "def test_a(): pass"}, root="app").problems
    assert "'tests' is not in system.root, 'app'" in str(problem)


def test_ids_are_unique_and_fit_a_file_name() -> None:
    names = ["Ä" * 80, "a", "A"]
    tests = found({"tests/test_a.py": "\n".join(f"def test_{name}(): pass" for name in names)})
    ids = [scenario.id for scenario in tests.scenarios]
    assert len(set(ids)) == 3
    assert all(len(scenario_id) <= 100 and scenario_id.isascii() for scenario_id in ids)


def test_an_id_that_a_scenario_has_is_a_mistake() -> None:
    tests = found({"tests/test_a.py": "def test_a(): pass"})
    (one,) = tests.scenarios
    other = replace(one, test=None, path="scenarios/own.yaml")
    _, problems = with_tests(Suite((other,), ""), tests)
    assert "is already used in scenarios/own.yaml" in str(problems)


def suite_of(contents: dict[str, str]) -> Suite:
    suite, problems = with_tests(Suite((), ""), found(contents))
    assert problems == ()
    return suite


def test_a_change_that_edits_removes_or_configures_tests_is_reported() -> None:
    base = {"tests/test_a.py": "def test_a(): assert score > 0.8\ndef test_b(): pass\n", "conftest.py": ""}
    edited = {**base, "tests/test_a.py": "def test_a(): assert score > 0.1\n"}
    suite, notes = ratchet_suite(suite_of(edited), suite_of(base))
    assert [scenario.id for scenario in suite.scenarios] == ["tests_test_a__test_a"]
    assert notes == (
        (
            "This change removes scenarios: tests_test_a__test_b; edits what scenarios ask or expect: "
            "tests_test_a__test_a. Check that this is meant."
        ),
        "tests_test_a__test_a: this change edits its test.",
    )
    _, notes = ratchet_suite(suite_of({**base, "conftest.py": "collect_ignore = []"}), suite_of(base))
    assert notes[1:] == (
        "tests/test_a.py, 2 tests (tests_test_a__test_a, tests_test_a__test_b): this change edits its test.",
    )
    assert ratchet_suite(suite_of(base), suite_of(base))[1] == ()


def test_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "secret.py").write_text("def test_a(): pass")
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/test_a.py").symlink_to(tmp_path / "secret.py")
    (problem,) = find_tests(["tests"], ".", files_of_checkout(tmp_path), "ratiba.yml").problems
    assert "symbolic link" in str(problem)


def scenario_of(tests: FoundTests) -> Scenario:
    (scenario,) = tests.scenarios
    return scenario


def test_its_code_is_that_of_its_file_and_of_what_pytest_loads_for_it() -> None:
    base = {"tests/evals/test_a.py": "def test_a(): pass", "tests/conftest.py": "", "app.py": "", "tests/own.py": ""}
    code = {scenario_of(found(base)).test}
    for name in ("tests/evals/test_a.py", "tests/conftest.py", "conftest.py", "app.py", "tests/own.py"):
        code.add(scenario_of(found({**base, name: base.get(name, "") + "\n# more"})).test)
    assert len(code) == 4, "the test, both conftests; the system's own code is what is tested"
