"""``ratiba import promptfoo .`` and ``ratiba gate --llm live`` in new repositories end as ``promptfoo eval`` does.

``benchmarks/import_examples.py`` runs promptfoo itself, and keeps its verdicts in ``promptfoo_examples.json``.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from shutil import which

import pytest

from benchmarks.import_examples import run_two_commands, write_repository
from benchmarks.promptfoo_examples import EXAMPLES
from benchmarks.promptfoo_repositories import DIFFERENT, REPOSITORIES, RUN_CODE
from benchmarks.promptfoo_runs import environment, stand_in

pytestmark = pytest.mark.processes
ALL = {**EXAMPLES, **REPOSITORIES}
KEPT = json.loads((Path(__file__).parent / "promptfoo_examples.json").read_text())


@pytest.fixture
def address() -> Iterator[str]:
    with stand_in() as given:
        yield given


def needs_node(name: str) -> bool:
    return "javascript" in "".join(ALL[name].values()) or any(path.endswith(".js") for path in ALL[name])


@pytest.mark.parametrize("name", ["http", "asserts", "chosen", "talk", "generated", "red", "format", "bare"])
def test_two_commands_end_as_promptfoo_does(name: str, tmp_path: Path, address: str) -> None:
    if needs_node(name) and which("node") is None:
        pytest.skip("needs Node")
    home = tmp_path / "home"
    home.mkdir()
    write_repository(tmp_path / "repository", ALL[name], address, home)
    variables, runs_code = environment(address, home), name in RUN_CODE
    verdicts, code, printed = run_two_commands(tmp_path / "repository", variables, runs_code=runs_code)
    assert verdicts == KEPT[name], printed
    assert code == (0 if all(all(each) for each in KEPT[name].values()) else 1), printed
    assert (tmp_path / "repository/ratiba-report/comment.md").is_file()


def test_every_example_of_the_documentation_has_a_kept_verdict() -> None:
    assert EXAMPLES.keys() <= KEPT.keys() <= ALL.keys()
    assert DIFFERENT.keys() < REPOSITORIES.keys()


def test_an_imported_suite_is_compared_with_the_base_under_a_cap(tmp_path: Path, address: str) -> None:
    folder, home = tmp_path / "repository", tmp_path / "home"
    home.mkdir()
    write_repository(folder, EXAMPLES["chosen"], address, home)
    variables = environment(address, home)

    def do(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(words, cwd=folder, env=variables, check=False, capture_output=True, text=True)

    def gate(*words: str) -> subprocess.CompletedProcess[str]:
        return do(sys.executable, "-m", "ratiba_action", "gate", "--llm", "live", *words)

    assert do(sys.executable, "-m", "ratiba_action", "import", "promptfoo", ".").returncode == 0
    do("git", "add", ".")
    do("git", "-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "-qm", "The suite of the gate")
    do("git", "checkout", "-qb", "shorter")
    (folder / "prompts/promptfoo_1.txt").write_text("Tell {{word}}")
    ended = gate()
    comment = (folder / "ratiba-report/comment.md").read_text()
    assert ended.returncode == 1, ended.stdout
    assert "`prompts/promptfoo_1.txt` line 1" in comment
    assert "the base fails as well" in comment
    capped = gate("--budget-usd", "0.00001")
    assert capped.returncode == 3, capped.stdout
    results = json.loads((folder / "ratiba-report/results.json").read_text())["report"]
    assert float(results["spending"]["list_price"]) <= 0.00001
