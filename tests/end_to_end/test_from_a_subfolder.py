"""Commands in a folder below the repository's root: they work as in the root, and write their report to it."""

from pathlib import Path

import pytest

from tests.support.in_process_repository import run_here
from tests.support.small_repository import SmallRepository

RIGHT = "system: {adapter: 'plain:answer', database: false, price_per_turn_usd: 0}\n"
WRONG = "comparison: {confirm_level: often}\n"


@pytest.fixture
def below(local: SmallRepository) -> Path:
    local.write(".github/ratiba.yml", RIGHT)
    local.write("plain.py", "def answer(text):\n    return text\n")
    local.write("scenarios/says.yaml", "id: says\nlanguage: fr\nturns: [{user: Salut, expect: {contains: [Salut]}}]\n")
    local.write("docs/deep/notes.md", "notes\n")
    local.commit()
    return local.folder / "docs/deep"


def ratiba(folder: Path, local: SmallRepository, *arguments: str) -> tuple[int, str]:
    done = run_here(arguments, folder, local.environment)
    return done.returncode, done.stdout + done.stderr


def test_the_report_is_written_to_the_root_where_the_next_commands_find_it(local: SmallRepository, below: Path) -> None:
    report = local.folder / "ratiba-report"
    code, printed = ratiba(below, local, "gate", "--mode", "blocking")
    assert code == 0, printed
    assert (report / "results.json").exists()
    assert [path.name for path in below.iterdir()] == ["notes.md"]
    for command in ("report", "gate --dry-run", "decide", "validate"):
        code, printed = ratiba(below, local, *command.split())
        assert code == 0, printed
    assert ratiba(below, local, "report", "--open")[1].strip().endswith(f"{report}/report.html")


def test_a_report_folder_that_is_given_is_one_of_the_current_folder(local: SmallRepository, below: Path) -> None:
    code, printed = ratiba(below, local, "gate", "--mode", "blocking", "--report-dir", "mine")
    assert code == 0, printed
    assert (below / "mine/results.json").exists()
    assert not (local.folder / "ratiba-report").exists()


def test_files_are_written_below_the_root(local: SmallRepository, below: Path) -> None:
    (below / "questions.csv").write_text("question,answer\nHello?,Hi\n")
    columns = ("--map", "input=question", "--map", "answer=answer")
    code, printed = ratiba(below, local, "import", "csv", "questions.csv", *columns)
    assert code == 0, printed
    assert list((local.folder / "scenarios").glob("questions*"))
    assert not (below / "scenarios").exists()
    code, printed = ratiba(below, local, "generate", "--template", "agent_tool_call")
    assert code == 0, printed
    assert not (below / "scenarios").exists()


@pytest.mark.parametrize(
    "command",
    [
        "gate --dry-run",
        "validate",
        "promote",
        "record",
        "explain --scenario says",
        "mutate",
    ],
)
def test_the_configuration_of_the_root_is_read(local: SmallRepository, below: Path, command: str) -> None:
    local.write(".github/ratiba.yml", WRONG)
    keys = {f"RATIBA_LANGFUSE_{name}": "pk-lf-x" for name in ("PUBLIC_KEY", "SECRET_KEY")}
    keys |= {"RATIBA_LANGFUSE_HOST": "http://127.0.0.1:9", "RATIBA_ANTHROPIC_API_KEY": "x"}
    done = run_here(command.split(), below, local.environment | keys)
    assert done.returncode == 2
    assert "ratiba.yml" in done.stdout + done.stderr


@pytest.mark.parametrize(
    "command", ["compare ../../ratiba-report ../../ratiba-report", "report --diff ../../ratiba-report"]
)
def test_the_rules_of_the_roots_configuration_compare_runs(local: SmallRepository, below: Path, command: str) -> None:
    ratiba(below, local, "gate", "--mode", "blocking")
    assert ratiba(below, local, *command.split())[0] == 0
    local.write(".github/ratiba.yml", WRONG)
    code, printed = ratiba(below, local, *command.split())
    assert (code, "ratiba.yml" in printed) == (2, True)
