"""The rows A of docs/features.md, each through its command with an input that is in no example."""

import asyncio
import json
import os
import re
import subprocess
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pytest
import yaml

from ratiba_action.main import run
from ratiba_action.model.conversation import Usage
from ratiba_action.money.pricing import ModelRates
from tests.support.gate_forks import GateForks
from tests.support.git_repository import GitRepository
from tests.support.live_repository import ADAPTER as CALLING
from tests.support.live_repository import KEY, SYSTEM, Talk
from tests.support.lockers import ask, lockers, of_pull_request
from tests.support.model_servers import ModelServer
from tests.support.small_repository import Ended, SmallRepository

PROJECT = Path(__file__).parents[2]
FERRIES = {
    "talimatlar/bilet_prompt.md": "Sen feribot gişesisin.\n",
    "akis/bilet_fsm.ts": "export const durum = 1\n",
    "kasa/odeme.ts": "export const ucret = 40\n",
    "veri/tarife.csv": "saat;hat\n",
    "OKU.md": "# Feribot\n",
    "package.json": '{"dependencies": {"openai": "^4.2.0"}}\n',
}
CALLING_SYSTEM = "system: {adapter: adapter:Adapter, database: false}\n"
PRICES = "prices: {gpt-5: {input_per_million: 2, output_per_million: 10}}\n"
RATES = {SYSTEM: ModelRates(Decimal(2), Decimal(10), Decimal(2), Decimal(4))}


@pytest.fixture
def ferries(tmp_path: Path) -> GitRepository:
    """A booth for ferry tickets in Turkish, with one commit."""
    repository = GitRepository(tmp_path / "feribot")
    repository.commit(FERRIES)
    return repository


@pytest.fixture
def locker(tmp_path: Path, forks: GateForks) -> SmallRepository:
    """The help line of a parcel locker."""
    return lockers(tmp_path, forks)


def decide(repository: GitRepository, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert run(["decide", "--json", "--repo", str(repository.folder)], {"PATH": os.environ["PATH"]}) == 0
    decided: dict[str, Any] = json.loads(capsys.readouterr().out)
    return decided


@pytest.mark.processes
@pytest.mark.parametrize(("path", "concluded"), [("OKU.md", "skipped"), ("kasa/odeme.ts", None)])
def test_the_first_step_of_the_action_ends_a_skip_without_a_container(
    ferries: GitRepository, tmp_path: Path, path: str, concluded: str | None
) -> None:
    """A1: the script of the step, as bash runs it for a pull request."""
    base = ferries.git("rev-parse", "HEAD")
    variables = of_pull_request(tmp_path / "runner", base, ferries.commit({path: "yeni\n"}))
    step = yaml.safe_load((PROJECT / "action.yml").read_text(encoding="utf-8"))["runs"]["steps"][0]
    done = subprocess.run(
        ["bash", "-e", "-c", step["run"]],
        cwd=ferries.folder,
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path),
            "GITHUB_ACTION_PATH": str(PROJECT),
            "GITHUB_WORKSPACE": str(ferries.folder),
            "GITHUB_ACTIONS": "true",
            "RUNNER_TEMP": str(tmp_path),
            "GITHUB_OUTPUT": str(tmp_path / "output"),
            "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"),
            "GITHUB_API_URL": "http://127.0.0.1:9",
            "RATIBA_COMMENT": "false",
            "DOCKER_HOST": "tcp://127.0.0.1:9",
            **variables,
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    outputs = (tmp_path / "output").read_text()
    found = {name: re.findall(rf"^{name}<<(.+)\n(.+)\n\1$", outputs, re.MULTILINE) for name in ("mode", "conclusion")}
    assert [value for _, value in found["mode"]] == ["advisory" if concluded is None else "skip"]
    assert [value for _, value in found["conclusion"]] == ([] if concluded is None else [concluded])


@pytest.mark.parametrize(
    ("path", "mode", "why"),
    [
        ("talimatlar/bilet_prompt.md", "blocking", "*prompt*"),
        ("akis/bilet_fsm.ts", "blocking", "*fsm*.*"),
        ("kasa/odeme.ts", "advisory", "*.ts"),
        ("veri/tarife.csv", "blocking", "no rule matches"),
        ("OKU.md", "skip", "*.md"),
    ],
)
def test_the_mode_of_a_changed_path_is_explained(
    ferries: GitRepository, capsys: pytest.CaptureFixture[str], path: str, mode: str, why: str
) -> None:
    """A2: the matrix of the seed, for folders with Turkish names."""
    ferries.write({path: "değişti\n"})
    decided = decide(ferries, capsys)
    assert decided["mode"] == mode
    (reason,) = decided["reasons"]
    assert (reason["path"], reason["mode"]) == (path, mode)
    assert why in reason["why"]


@pytest.mark.processes
def test_a_server_of_the_team_holds_the_tenants_and_is_left_as_it_was(
    locker: SmallRepository, embedded_server_dsn: str
) -> None:
    """A3: tables of the team's own, on a server that the gate did not start."""
    locker.write(".github/ratiba.yml", "system: {adapter: hylly:Hylly, price_per_turn_usd: 0}\n")
    locker.write(
        "hylly.py",
        "import psycopg\n\n\nclass Hylly:\n    def migrate(self, database_url):\n"
        "        with psycopg.connect(database_url) as connection:\n"
        '            connection.execute("CREATE TABLE hyllyt (numero int)")\n\n'
        "    def open(self, context):\n        self.url = context.database_url\n        return self\n\n"
        "    def send(self, message):\n        with psycopg.connect(self.url) as connection:\n"
        '            connection.execute("INSERT INTO hyllyt VALUES (%s)", (int(message),))\n'
        '        return {"text": "Selvä."}\n',
    )
    ask(locker, "hylly_varataan", "12", "{rows: [{table: hyllyt, where: {numero: 12}, count: 1}]}")
    locker.commit()
    there = "SELECT nspname FROM pg_namespace UNION ALL SELECT rolname FROM pg_roles ORDER BY 1"
    with psycopg.connect(embedded_server_dsn, autocommit=True) as connection:
        before = connection.execute(there).fetchall()
        ended = locker.gate("--mode", "blocking", RATIBA_DATABASE_URL=embedded_server_dsn)
        assert connection.execute(there).fetchall() == before
    assert (ended.code, ended.outputs["passed"]) == (0, 1), ended.printed


def write_calling_system(repository: SmallRepository, server: ModelServer) -> None:
    """A system whose model is called at a stand-in, with three scenarios."""
    repository.write("adapter.py", CALLING)
    repository.write(".github/ratiba.yml", CALLING_SYSTEM + PRICES)
    for day in ("maanantai", "tiistai", "perjantai"):
        ask(repository, day, f"Milloin automaatti on auki, kun on {day}?", "{key_phrases: [auki]}")
        path = repository.folder / f"scenarios/{day}.yaml"
        path.write_text(path.read_text() + "assertions: [{metric: KeyPhraseMetric, threshold: 0.5}]\n")
    repository.commit()
    repository.environment.update(
        RATIBA_LLM="live", RATIBA_OPENAI_API_KEY=KEY, RATIBA_OPENAI_BASE_URL=f"{server.url}/v1"
    )


async def gate(repository: SmallRepository, *options: str, **variables: str) -> Ended:
    """Run the gate to its end, while the stand-in answers."""
    return await asyncio.to_thread(lambda: repository.gate("--mode", "blocking", *options, **variables))


@pytest.mark.processes
async def test_the_budget_of_the_environment_stops_before_the_call_that_would_pass_it(locker: SmallRepository) -> None:
    """A4: what is billed stays below the cap, and the comment says what to raise."""
    talk = Talk(usage=Usage(900, 400), text="Automaatti on auki.")
    async with ModelServer(talk, KEY, RATES) as server:
        write_calling_system(locker, server)
        ended = await gate(locker, "--concurrency", "1", RATIBA_EVAL_BUDGET_USD="0.012")
        assert (ended.code, ended.outputs["conclusion"]) == (3, "incomplete"), ended.printed
        assert 0 < server.bill.total <= Decimal("0.012")
    assert "Raise budget-usd (RATIBA_EVAL_BUDGET_USD) from $0.012" in ended.comment.replace("\\", ""), ended.comment


@pytest.mark.processes
async def test_the_comment_has_metrics_and_budget(locker: SmallRepository) -> None:
    """A5: a metric that the scenarios name, and what was spent of how much."""
    async with ModelServer(Talk(text="Automaatti on auki aina."), KEY, RATES) as server:
        write_calling_system(locker, server)
        ended = await gate(locker, RATIBA_EVAL_BUDGET_USD="3.50")
    assert ended.code == 0, ended.printed
    assert re.search(r"\| KeyPhraseMetric \S+ \| 3 \| 1.00 \| 3 of 3 \| 0.50 \|", ended.comment), ended.comment
    assert "| spent | USD" in ended.comment
    assert "of 3.50" in ended.comment


def test_init_writes_the_workflow_for_prompts_renovate_and_runs_by_hand(
    ferries: GitRepository, capsys: pytest.CaptureFixture[str]
) -> None:
    """A6: for a repository of one's own, and a bot's major bump of what it depends on."""
    options = ["--yes", "--language", "tr", "--name", "feribot", "--repo", str(ferries.folder)]
    assert run(["init", *options], {"PATH": os.environ["PATH"]}) == 0
    capsys.readouterr()
    text = (ferries.folder / ".github/workflows/eval-on-prompt-change.yml").read_text(encoding="utf-8")
    workflow = yaml.safe_load(text.replace("\non:", "\nevents:"))
    assert {"pull_request", "merge_group", "push", "workflow_dispatch"} == set(workflow["events"])
    assert "pull-request" in workflow["events"]["workflow_dispatch"]["inputs"]
    assert "paths" not in workflow["events"]["pull_request"], "a required check would stay pending"
    assert workflow["jobs"]["gate"]["with"] == {"name": "feribot"}
    ferries.commit({})
    ferries.write({"package.json": '{"dependencies": {"openai": "^5.0.0"}}\n'})
    decided = decide(ferries, capsys)
    assert decided["mode"] == "blocking"
    assert decided["dependencies"][0]["change"] == "major"
