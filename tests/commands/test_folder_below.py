"""Every command in a folder below the repository's root: it means the repository, and writes to its root."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from ratiba_action.cli import COMMANDS
from tests.support.git_repository import GitRepository
from tests.support.in_process_repository import run_here

pytestmark = pytest.mark.processes

BELOW = "prompts/of/today"
IMPORTED = "scenarios/cases/cases_hi.yaml"
FILES = {
    "bot.py": "def answer(text):\n    return 'hello ' + text\n",
    f"{BELOW}/greeting.md": "Say hello.\n",
    ".gitignore": "ratiba-report/\n",
    ".github/ratiba.yml": "system: {adapter: 'bot:answer'}\n",
    "scenarios/greets.yaml": (
        "id: greets\nlanguage: en\nmetrics: {fluency: false}\nturns: [{user: Hi}]\n"
        "rules: [{type: must_contain, value: hello}]\n"
    ),
}
MISTAKES = {
    ".github/ratiba.yml": "system: {adapter: 'bot:answer'}\ncolour: blue\n",
    "scenarios/greets.yaml": "id: greets\nlanguage: en\nturns: [{user: Hi}]\ncolour: blue\n",
    "scenarios/calibration/human_labelled.yaml": "colour: blue\n",
}
REPORTED = {
    "gate": (),
    "validate": (),
    "record": (),
    "chat": (),
    "explain": ("--scenario", "greets"),
    "mutate": (),
    "site": ("--from", "{files}", "--to", "{files}/site"),
    "report": ("--results", "{files}/results.json", "--diff", "{files}/results.json"),
    "compare": ("{files}", "{files}"),
    "merge": ("{files}",),
    "generate": ("--propose",),
    "sample": (),
    "promote": (),
    "drift": (),
    "canary": ("--stable", "a", "--canary", "b"),
    "check": ("--rules", "{files}/rules.yaml", "--judge", "--question", "a", "--answer", "b"),
    "calibrate": ("run",),
    "view": ("--no-open", "--config", ".github/ratiba.yml"),
    "dataset": ("push",),
}
"""Commands that read the configuration, the scenarios or the calibration set, with what they need."""

WRITTEN = {
    "init": (("--yes",), ".github/workflows/eval-on-prompt-change.yml"),
    "import": (("csv", "{files}/cases.csv", "--map", "input=question", "--map", "contains=answer"), IMPORTED),
    "generate": (("--template", "rag_faithfulness"), "scenarios/rag_faithfulness.yaml"),
    "gate": ((), "ratiba-report/results.json"),
    "mutate": ((), "ratiba-report/mutation.html"),
    "merge": (("{files}",), "ratiba-report/results.json"),
    "site": (("--from", "{files}"), "site/index.html"),
}
"""Commands that write into the repository, with a file that they write."""

SHOWN = {
    "doctor": ((), ".github/ratiba.yml"),
    "decide": ((), f"{BELOW}/greeting.md"),
    "report": ((), "greets"),
}
WITHOUT_A_REPOSITORY = {
    "status": "the ledger's database",
    "wait": "the ledger's database",
    "completion": "the parsers",
}
"""Commands that read nothing of a repository, with what they read."""

SERVICES = {
    "RATIBA_LANGFUSE_HOST": "http://127.0.0.1:9",
    "RATIBA_LANGFUSE_PUBLIC_KEY": "pk-lf-1",
    "RATIBA_LANGFUSE_SECRET_KEY": "sk-lf-1",
    "RATIBA_SLACK_WEBHOOK_URL": "http://127.0.0.1:9/hook",
    "RATIBA_OPENAI_API_KEY": "sk-0123456789abcdefghij",
}

Command = Callable[..., tuple[int, str]]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files that commands are given, outside of the repository; ``results.json`` of a run among them."""
    folder = tmp_path_factory.mktemp("files")
    repository = GitRepository(tmp_path_factory.mktemp("measured"))
    repository.commit(FILES)
    run_here(["gate", "--mode", "blocking"], repository.folder, {"PATH": os.environ["PATH"], "HOME": str(folder)})
    shutil.copytree(repository.folder / "ratiba-report", folder, dirs_exist_ok=True)
    (folder / "rules.yaml").write_text(
        "language: en\nassertions: [{metric: FaithfulnessByClaimMetric, threshold: 0.5}]\n"
    )
    (folder / "cases.csv").write_text("question,answer\nHi,hello Hi\n")
    return folder


@pytest.fixture
def repository(tmp_path: Path) -> GitRepository:
    repository = GitRepository(tmp_path / "repository")
    repository.commit(FILES)
    return repository


@pytest.fixture
def below(repository: GitRepository, finished: Path, tmp_path: Path) -> Command:
    """Runs a command in the folder below, and asserts that it leaves no file there."""

    def run(name: str, arguments: tuple[str, ...], **variables: str) -> tuple[int, str]:
        folder = repository.folder / BELOW
        before = sorted(folder.rglob("*"))
        environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path / "home"), "NO_COLOR": "1", **variables}
        done = run_here([name, *(word.format(files=finished) for word in arguments)], folder, environment)
        assert sorted(folder.rglob("*")) == before
        return done.returncode, done.stdout + done.stderr

    return run


def test_every_command_is_tried_here() -> None:
    assert {*REPORTED, *WRITTEN, *SHOWN, *WITHOUT_A_REPOSITORY} == {*COMMANDS}


@pytest.mark.parametrize("name", REPORTED)
def test_a_command_reports_mistakes_in_the_repositorys_files(
    name: str, repository: GitRepository, below: Command
) -> None:
    repository.write(MISTAKES)
    code, printed = below(name, REPORTED[name], **SERVICES)
    assert code == 2
    assert any(f"{path}:" in printed for path in MISTAKES), printed
    assert "colour" in printed


@pytest.mark.parametrize("name", WRITTEN)
def test_a_command_writes_to_the_repositorys_root(name: str, repository: GitRepository, below: Command) -> None:
    arguments, path = WRITTEN[name]
    if name == "init":
        shutil.rmtree(repository.folder / ".github")
        shutil.rmtree(repository.folder / "scenarios")
    else:
        repository.write({"bot.py": FILES["bot.py"] + "# edited\n"})
    _, printed = below(name, arguments)
    assert (repository.folder / path).is_file(), printed


@pytest.mark.parametrize("name", SHOWN)
def test_a_command_shows_the_repository(name: str, repository: GitRepository, below: Command, finished: Path) -> None:
    arguments, expected = SHOWN[name]
    repository.write({f"{BELOW}/greeting.md": "Say hello, please.\n"})
    shutil.copytree(finished, repository.folder / "ratiba-report")
    assert expected in below(name, arguments)[1]
