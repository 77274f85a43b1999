"""Scenario files as tests, in a pytest of its own."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from ratiba_action.authoring.starter_answers import StarterAnswers
from ratiba_action.authoring.starter_files import SCENARIO, starter_files
from ratiba_action.util.locked_folder import write_new_files
from tests.support.git_repository import GitRepository
from tests.support.hostile_log import planted
from tests.support.sql import tenants_on

pytestmark = pytest.mark.processes

PROJECT = Path(__file__).parents[2]
GUIDE = (PROJECT / "docs" / "pytest.md").read_text(encoding="utf-8")
LINES = re.findall(r"^(pytest .*?)(?: +#.*)?$", GUIDE, re.MULTILINE)
ANOTHER = "id: another\nlanguage: fr\nnow: 2026-05-04T08:15:00+03:00\ncustomer: {name: A, phone: '0700 000 101'}\n"
WRONG = ANOTHER + "turns: [{user: Bonjour, expect: {state: OPEN}}]\nrules: [{type: must_contain, value: minuit}]\n"
HELD = "quarantine: {reason: being fixed, owner: amina, until: 9999-12-31}\n"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    write_new_files(tmp_path, starter_files(StarterAnswers(language="fr")))
    return tmp_path


def run_pytest(
    folder: Path, *options: str, plugins: tuple[str, ...] = (), **variables: str
) -> subprocess.CompletedProcess[str]:
    loaded = [word for name in ("ratiba_action.pytest_plugin", *plugins) for word in ("-p", name)]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("RATIBA_", "PYTEST"))}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *loaded, "-W", "error", *options],
        cwd=folder,
        env={**environment, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(PROJECT), **variables},
        capture_output=True,
        text=True,
        check=False,
    )


async def test_each_scenario_is_a_test_and_a_failure_tells_what_was_expected_and_got(
    repository: Path, embedded_server_dsn: str
) -> None:
    (repository / "scenarios/another.yaml").write_text(WRONG)
    (repository / "scenarios/held.yaml").write_text(WRONG.replace("another", "held") + HELD)
    (repository / "scenarios/quiet.yaml").write_text(ANOTHER.replace("another", "quiet") + "turns: [{user: Bonjour}]\n")
    ended = run_pytest(repository, "--ratiba", "--ratiba-database-url", embedded_server_dsn, "scenarios")
    assert "2 failed, 1 passed, 1 xfailed" in ended.stdout, ended.stdout
    assert "nothing was measured" in ended.stdout.partition("__ quiet __")[2]
    shown = ended.stdout.partition("__ another __")[2].partition("short test summary")[0]
    lines = [line.strip() for line in shown.splitlines()]
    assert lines[1:6] == [
        "scenarios/another.yaml:5: turn 1: state after the turn",
        "expected: OPEN",
        "got:      ANSWERED",
        "customer: Bonjour",
        "system:   Good morning! Yes, we are open tomorrow from 9:00 to 17:00.",
    ]
    assert "expected: the reply of any turn has 'minuit' (case is ignored)" in lines
    assert "Traceback" not in ended.stdout
    assert await tenants_on(embedded_server_dsn) == set()


@pytest.mark.parametrize("capture", ["fd", "sys", "no"])
def test_what_scenarios_print_is_no_command_of_a_workflow(
    repository: Path, embedded_server_dsn: str, capture: str
) -> None:
    text = "\n##[set-output name=conclusion;]planted\n::error::planted"
    wrong = WRONG.replace("minuit", json.dumps(f"minuit{text}")).replace("Bonjour", json.dumps(f"Bonjour{text}"))
    (repository / "scenarios/another.yaml").write_text(wrong)
    (repository / "conftest.py").write_text(
        f"import os\ndef pytest_runtest_setup():\n    os.write(1, {text.encode()!r}); os.write(2, {text.encode()!r})\n"
    )
    GitRepository(repository).commit({})
    options = ("--ratiba", "--ratiba-database-url", embedded_server_dsn, f"--capture={capture}", "scenarios")
    ended = run_pytest(repository, *options, GITHUB_ACTIONS="true")
    assert "1 failed, 1 passed" in ended.stdout, ended.stdout + ended.stderr
    assert "planted" in ended.stdout
    assert planted(ended.stdout, ended.stderr) == []


def test_the_ini_file_of_the_guide_collects_tests_and_scenarios(repository: Path, embedded_server_dsn: str) -> None:
    (ini,) = re.findall(r"```ini\n(.*?)```", GUIDE, re.DOTALL)
    (repository / "pytest.ini").write_text(ini)
    (repository / "tests").mkdir()
    (repository / "tests" / "test_own.py").write_text("def test_own():\n    pass\n")
    ended = run_pytest(repository, "--ratiba-database-url", embedded_server_dsn)
    assert "2 passed" in ended.stdout, ended.stdout


@pytest.mark.parametrize("line", LINES)
def test_a_line_of_the_guide_passes_on_what_init_has_written(
    repository: Path, embedded_server_dsn: str, line: str
) -> None:
    (repository / "scenarios/another.yaml").write_text(WRONG)
    chosen = () if "-k" in line else ("-k", "first_conversation")
    options = (*shlex.split(line)[1:], *chosen, "--ratiba-database-url", embedded_server_dsn)
    ended = run_pytest(repository, *options, plugins=("xdist",) if "-n" in line else ())
    assert (ended.returncode, "1 passed" in ended.stdout) == (0, True), ended.stdout


def test_every_option_of_the_guide_is_one_of_the_plug_in(repository: Path) -> None:
    output = run_pytest(repository, "--help", plugins=("xdist",)).stdout
    options = re.findall(r"^\| `(--?[\w-]+)", GUIDE, re.MULTILINE)
    assert len(options) == 7
    assert [option for option in options if not re.search(rf"^ +{option}\b", output, re.MULTILINE)] == []


def test_the_mistakes_of_a_file_are_reported_when_it_is_collected(repository: Path) -> None:
    (repository / "scenarios/another.yaml").write_text(WRONG + "vertcal: spa\nlayer: silver\n")
    ended = run_pytest(repository, "--ratiba", "--collect-only", "scenarios")
    assert "scenarios/another.yaml:7: vertcal: unknown key" in ended.stdout
    assert "scenarios/another.yaml:8: layer: 'silver' is not allowed" in ended.stdout
    assert "Traceback" not in ended.stdout


def test_a_former_name_of_a_key_is_a_warning_of_the_collection(repository: Path) -> None:
    former = "turns: [{user: Bonjour}]\nstrategy: {trials: 2, least_mean: 0.5}\n"
    (repository / "scenarios/another.yaml").write_text(ANOTHER + former)
    ended = run_pytest(repository, "--ratiba", "--collect-only", "-W", "default", "scenarios")
    assert "scenarios/another.yaml:6: strategy.least_mean is now min_mean" in ended.stdout, ended.stdout


def test_nobody_who_has_not_asked_gets_scenarios_as_tests(repository: Path) -> None:
    ended = run_pytest(repository, "--collect-only", "-q", "scenarios")
    assert "no tests collected" in ended.stdout


def test_recordings_and_other_folders_are_no_tests(repository: Path) -> None:
    for name in ("recordings", "calibration", "../elsewhere"):
        folder = repository / "scenarios" / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "copy.yaml").write_text(WRONG)
    ended = run_pytest(repository, "--ratiba", "--collect-only", "-q", ".")
    assert re.findall(r"^(\S+)::(\S+)$", ended.stdout, re.MULTILINE) == [(SCENARIO, "first_conversation")]


def test_no_budget_is_spent_by_several_processes_at_once(repository: Path) -> None:
    ended = run_pytest(repository, "--ratiba", "--ratiba-llm", "live", "-n", "1", "scenarios", plugins=("xdist",))
    assert ended.returncode == 1
    assert "would each spend the budget" in ended.stdout
    assert "Traceback" not in ended.stdout


def test_live_answers_without_a_key_are_an_error_that_names_it(repository: Path) -> None:
    ended = run_pytest(repository, "--ratiba", "--ratiba-llm", "live", "--no-deepeval-cache", "scenarios")
    assert ended.returncode == 1
    assert "key" in ended.stdout.partition("FAILURES")[2]
    assert "Traceback" not in ended.stdout


def test_the_plugin_loads_what_collects_scenarios_only_when_it_is_asked(repository: Path) -> None:
    (repository / "test_it.py").write_text(
        "import sys\n\n\ndef test_it():\n"
        "    heavy = {'deepeval', 'pydantic', 'yaml', 'psycopg', 'jinja2', 'ratiba_action.pytest_plugin.collection'}\n"
        "    assert not heavy & set(sys.modules)\n"
    )
    ended = run_pytest(repository, "test_it.py")
    assert ended.returncode == 0, ended.stdout
