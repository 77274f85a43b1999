"""The rows N of docs/features.md, each through its command with an input that is in no example."""

import asyncio
import json
import os
import re
from collections.abc import AsyncIterator
from decimal import Decimal
from pathlib import Path

import pytest
import yaml
from markdown_it import MarkdownIt

from ratiba_action.main import run
from ratiba_action.model.conversation import Usage
from ratiba_action.reporting.results_json import load_report
from tests.support.gate_forks import GateForks
from tests.support.git_repository import GitRepository
from tests.support.github_server import GithubState, Pull, github_server
from tests.support.live_repository import ADAPTER as CALLING
from tests.support.live_repository import KEY, RATES, Talk
from tests.support.lockers import ADAPTER, PROMPT, TOKEN, ask, lockers, of_event, of_pull_request
from tests.support.model_servers import ModelServer
from tests.support.pull_request_events import pull_request_event, workflow_run_event
from tests.support.small_repository import Ended, SmallRepository

pytestmark = pytest.mark.processes

JUDGED = """\
system: {adapter: adapter:Adapter, database: false}
judge: {model: claude-opus-5-5, cross_check: {model: gpt-5.6, share: 1.0}}
prices:
  gpt-5: {input_per_million: 2, output_per_million: 10}
  gpt-5.6: {input_per_million: 3, output_per_million: 15}
  claude-opus-5-5: {input_per_million: 5, output_per_million: 25}
"""
CODE = "{state: KYSYTTY, contains: henkilöllisyystodistus}"


@pytest.fixture
def locker(tmp_path: Path, forks: GateForks) -> SmallRepository:
    """The help line of a parcel locker."""
    return lockers(tmp_path, forks)


@pytest.fixture
def talk() -> Talk:
    """What the stand-ins answer."""
    return Talk(text="Automaatti on auki.")


@pytest.fixture
async def models(locker: SmallRepository, talk: Talk) -> AsyncIterator[ModelServer]:
    """Stand-ins for a system's model and both judges; the help line calls them."""
    async with ModelServer(talk, KEY, RATES) as server:
        locker.write("adapter.py", CALLING)
        locker.write(".github/ratiba.yml", JUDGED)
        locker.environment.update(RATIBA_LLM="live", **server.environment)
        yield server


async def gate(repository: SmallRepository, *options: str, **variables: str) -> Ended:
    """Run the gate to its end, while stand-ins answer."""
    return await asyncio.to_thread(lambda: repository.gate("--mode", "blocking", *options, **variables))


def plain(ended: Ended) -> str:
    """The comment without Markdown's backslashes."""
    return ended.comment.replace("\\", "")


def head_of(repository: SmallRepository) -> tuple[GitRepository, str]:
    """The history of a repository, and the commit that is checked out."""
    history = GitRepository(repository.folder)
    return history, history.git("rev-parse", "HEAD")


@pytest.mark.parametrize(("package", "mode"), [("ioredis", "advisory"), ("@mistralai/mistralai", "blocking")])
def test_a_lock_file_is_reduced_to_the_packages_that_matter(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], package: str, mode: str
) -> None:
    """N1: one major bump of a package that counts, and one of another, in a lock file of npm."""
    before = {"ioredis": "5.4.1", "@mistralai/mistralai": "1.3.0"}

    def lock(versions: dict[str, str]) -> str:
        packages = {
            f"node_modules/{name}": {
                "version": version,
                "resolved": f"https://packages.example/{name}/-/x-{version}.tgz",
                "integrity": "sha512-a",
            }
            for name, version in versions.items()
        }
        return json.dumps({"lockfileVersion": 3, "packages": packages})

    repository = GitRepository(tmp_path / "bot")
    narrowed = "dependencies: ['@mistralai/mistralai']\n"
    repository.commit({"package-lock.json": lock(before), ".github/ratiba.yml": narrowed})
    repository.write({"package-lock.json": lock(before | {package: "9.0.0"})})
    assert run(["decide", "--json", "--repo", str(repository.folder)], {"PATH": os.environ["PATH"]}) == 0
    decided = json.loads(capsys.readouterr().out)
    assert decided["mode"] == mode
    assert [(each["package"], each["change"]) for each in decided["dependencies"]] == [(package, "major")]


async def test_one_cap_covers_the_system_and_both_judges(
    locker: SmallRepository, models: ModelServer, talk: Talk
) -> None:
    """N2: the providers' bill, whoever called, is within the cap and what the report says."""
    talk.usage, talk.judged = Usage(400, 400), Usage(2_000, 1_100)
    for number in range(6):
        ask(locker, f"kysymys_{number}", f"Onko lokero {number} vapaa?", "{state: SAID}")
        path = locker.folder / f"scenarios/kysymys_{number}.yaml"
        path.write_text(path.read_text() + "assertions: [{metric: EnglishFluencyMetric, threshold: 0.5}]\n")
    locker.commit()
    ended = await gate(locker, "--concurrency", "2", RATIBA_EVAL_BUDGET_USD="0.30")
    assert (ended.code, ended.outputs["conclusion"]) == (3, "incomplete"), ended.printed
    assert 0 < models.bill.total <= Decimal("0.30")
    assert Decimal(str(ended.outputs["spent_usd"])) == models.bill.total


async def test_runs_of_a_pull_request_share_its_cap_and_another_has_its_own(
    locker: SmallRepository, models: ModelServer, talk: Talk, database: str, tmp_path: Path
) -> None:
    """N3: the second run of one pull request has only what the first one left, another pull request has all."""
    ask(locker, "lokero", "Onko lokero 7 vapaa?", "{state: SAID}")
    locker.commit()
    history, base = head_of(locker)
    head = history.commit({"prompts/lokero.md": "Ole ystävällinen.\n"})
    shared = {"RATIBA_LEDGER_URL": database, "RATIBA_EVAL_BUDGET_USD": "0.010"}
    talk.usage = Usage(900, 400)
    first = await gate(locker, **of_pull_request(tmp_path, base, head, 501), **shared)
    second = await gate(locker, **of_pull_request(tmp_path, base, head, 502), **shared)
    assert (first.code, second.code) == (0, 3), second.printed
    assert "the pull request salon/assistant#7" in second.printed
    assert models.bill.total <= Decimal("0.010")
    event = pull_request_event(base, head)
    event["number"] = event["pull_request"]["number"] = 8
    other = await gate(locker, **of_event(tmp_path, "pull_request", event, 503), **shared)
    assert other.code == 0, other.printed


def test_nothing_measured_is_never_green_and_a_skip_reports(locker: SmallRepository) -> None:
    """N4: a scenario whose model was never recorded, then a change of documentation alone."""
    locker.write("adapter.py", CALLING)
    locker.write(".github/ratiba.yml", "system: {adapter: adapter:Adapter, database: false}\n")
    ask(locker, "lokero", "Onko lokero 7 vapaa?", "{state: SAID}")
    locker.commit()
    ended = locker.gate("--mode", "blocking", "--llm", "replay")
    assert (ended.code, ended.outputs["conclusion"]) == (3, "incomplete"), ended.printed
    assert "Nothing was measured, so the run cannot pass" in ended.comment
    locker.write("LUEMINUT.md", "# Automaatti\n")
    skipped = locker.gate("--llm", "replay")
    assert (skipped.code, skipped.outputs["mode"], skipped.outputs["conclusion"]) == (0, "skip", "skipped")


def test_no_difference_is_shown_for_a_scenario_that_is_another_one(locker: SmallRepository, tmp_path: Path) -> None:
    """N5: the customer asks something else than in the earlier results."""
    metric = "assertions: [{metric: KeyPhraseMetric, threshold: 0.5}]\n"
    file = tmp_path / "aiempi.json"
    for name, message in (("eka", "sano Hei Aino"), ("toka", "sano Hei Eero")):
        ask(locker, name, message, "{key_phrases: [Hei]}")
        path = locker.folder / f"scenarios/{name}.yaml"
        path.write_text(path.read_text() + metric)
    locker.commit()
    assert locker.gate("--mode", "blocking", "--baseline-out", str(file)).code == 0
    ask(locker, "toka", "sano Hei vain", "{key_phrases: [Hei]}")
    path.write_text(path.read_text() + metric)
    locker.commit()
    ended = locker.gate("--mode", "blocking", "--baseline", str(file))
    comparison = load_report((ended.report / "results.json").read_bytes()).verdict.comparison
    assert comparison is not None, ended.printed
    assert [pair.scenario_id for pair in comparison.scenarios] == ["eka"]
    assert {pair.scenario_id for pair in comparison.not_comparable} == {"toka"}


def test_a_run_by_hand_updates_the_comment_and_the_status_with_both_attempts(
    locker: SmallRepository, tmp_path: Path
) -> None:
    """N7: a pull request's own run, then one by hand with its number."""
    ask(locker, "koodi", "Mikä on koodi?", CODE)
    locker.commit()
    history, base = head_of(locker)
    head = history.commit({"prompts/ohje.md": PROMPT + "Kiitä lopuksi.\n"})
    state = GithubState(pulls={7: Pull(head, base, files=("prompts/ohje.md",))}, heads={7: head}, clone=locker.folder)
    with github_server(state) as address:
        given = {"GITHUB_API_URL": address, "RATIBA_GITHUB_TOKEN": TOKEN}
        first = locker.gate(**of_pull_request(tmp_path, base, head, 41), **given)
        assert first.code == 0, first.printed
        event = {
            "ref": "refs/heads/main",
            "inputs": {"pull-request": "7"},
            "repository": {"full_name": "salon/assistant"},
        }
        again = locker.gate(**of_event(tmp_path, "workflow_dispatch", event, 42), **given, RATIBA_PULL_REQUEST="7")
    assert again.code == 0, again.printed
    (comment,) = state.comments
    assert " run=42 " in comment["body"].splitlines()[0]
    assert "The last 2 runs on this pull request" in comment["body"]
    (status,) = state.statuses
    assert (status["sha"], status["state"]) == (head, "success")


def test_a_forks_report_is_posted_by_the_second_workflow(locker: SmallRepository, tmp_path: Path) -> None:
    """N8: the results of a gate that had no token, posted by the command of the second workflow."""
    ask(locker, "koodi", "Mikä on koodi?", CODE)
    locker.commit()
    history, base = head_of(locker)
    head = history.commit({"prompts/ohje.md": "Olet pakettiautomaatin neuvoja.\n"})
    ended = locker.gate(**of_pull_request(tmp_path, base, head, 555))
    assert (ended.code, "## Failed" in ended.comment) == (1, True), ended.printed
    state = GithubState(pulls={7: Pull(head=head, head_repository="other/assistant")})
    with github_server(state) as address:
        variables = of_event(tmp_path, "workflow_run", workflow_run_event(head, run_attempt=1), 900)
        given = {"GITHUB_API_URL": address, "GITHUB_SERVER_URL": "https://github.com", "RATIBA_GITHUB_TOKEN": TOKEN}
        results = str(ended.report / "results.json")
        code = run(["report", "--workflow-run", "--results", results], variables | given | {"GITHUB_ACTIONS": "true"})
    assert code == 0
    (comment,) = state.comments
    assert "## Failed" in comment["body"]
    assert "koodi" in comment["body"]


def test_each_scenario_has_a_database_of_its_own(locker: SmallRepository, embedded_server_dsn: str) -> None:
    """N9: two scenarios that write the same row each find it once."""
    locker.write(".github/ratiba.yml", "system: {adapter: hylly:Hylly, price_per_turn_usd: 0}\n")
    locker.write(
        "hylly.py",
        "import psycopg\n\n\nclass Hylly:\n    def migrate(self, database_url):\n"
        "        with psycopg.connect(database_url) as connection:\n"
        '            connection.execute("CREATE TABLE varaukset (lokero int PRIMARY KEY)")\n\n'
        "    def open(self, context):\n        self.url = context.database_url\n        return self\n\n"
        "    def send(self, message):\n        with psycopg.connect(self.url) as connection:\n"
        '            connection.execute("INSERT INTO varaukset VALUES (12)")\n'
        '            role = connection.execute("SELECT current_user").fetchone()[0]\n'
        '        return {"text": role}\n',
    )
    for name in ("aamu", "ilta"):
        ask(locker, name, "Varaa lokero 12", "{rows: [{table: varaukset, count: 1}]}")
    locker.commit()
    ended = locker.gate("--mode", "blocking", RATIBA_DATABASE_URL=embedded_server_dsn)
    assert (ended.code, ended.outputs["passed"]) == (0, 2), ended.printed
    report = load_report((ended.report / "results.json").read_bytes())
    roles = {result.transcript.exchanges[0].reply.text for result in report.results}  # type: ignore[union-attr]
    assert len(roles) == 2, "each has a role of its own"


def test_hostile_text_of_a_reply_is_harmless_in_a_bounded_comment(locker: SmallRepository) -> None:
    """N10: a reply that calls people, loads a picture, closes the comment's parts and goes on for ever."""
    hostile = (
        "@ylläpito ![kuva](https://paha.example/i.png) </details><script>x</script> <!-- ratiba --> #1 \u202eoikea"
    )
    for number in range(5):
        ask(locker, f"pitka_{number}", f"sano {hostile} {'pitkä ' * 3_000}", "{contains: puuttuu}")
    locker.commit()
    ended = locker.gate("--mode", "blocking", GITHUB_ACTIONS="true")
    assert ended.code == 1, ended.printed
    assert 0 < len(ended.comment) <= 65_536, "GitHub's limit"
    rendered = MarkdownIt("commonmark", {"html": True}).render(ended.comment)
    assert not re.search(r"<img|<script|href=\"https://paha|(?<![\w`])@ylläpito|\u202e", rendered), rendered[:3_000]
    assert rendered.count("<details") == rendered.count("</details>")


def test_what_the_system_reads_of_itself_and_above_it_is_no_key(locker: SmallRepository) -> None:
    """N11: a system that searches its environment, and that of every process it can see."""
    key = "sk-audit-planted-" + "9f" * 16
    ask(locker, "ymparisto", "Mikä on ympäristö?", "{state: KERROTTU}")
    locker.commit()
    keys = {"RATIBA_OPENAI_API_KEY": key, "RATIBA_ANTHROPIC_API_KEY": key, "RATIBA_GITHUB_TOKEN": TOKEN}
    ended = locker.gate("--mode", "blocking", "--llm", "replay", **keys)
    assert ended.code == 0, ended.printed
    (result,) = load_report((ended.report / "results.json").read_bytes()).results
    assert result.transcript.exchanges[0].reply.text == "Löytyi 0."  # type: ignore[union-attr]


def test_of_two_neighbouring_lines_of_a_prompt_the_guilty_one_is_named(locker: SmallRepository) -> None:
    """N14: three lines of a prompt are edited, two of them side by side."""
    ask(locker, "koodi", "Mikä on koodi?", CODE)
    locker.commit()
    edited = PROMPT.replace("Puhu kohteliaasti.", "Puhu hyvin kohteliaasti.").replace("lyhyesti", "hyvin lyhyesti")
    locker.write("prompts/ohje.md", edited.replace("Pyydä henkilöllisyystodistus ennen koodia.", "Kerro koodi heti."))
    ended = locker.gate()
    assert (ended.code, ended.outputs["mode"]) == (1, "blocking"), ended.printed
    (line,) = (text for text in plain(ended).splitlines() if text.startswith("**Which line did it:**"))
    assert "`prompts/ohje.md` line 3 (“Pyydä henkilöllisyystodistus ennen koodia.” → “Kerro koodi heti.”) makes" in line
    assert "the other 2 changed parts do not" in line


def test_a_line_that_no_scenario_protects_is_named(locker: SmallRepository) -> None:
    """N15: the rule of a prompt has a scenario, the limit of days has none; migrations are no part of it."""
    ask(locker, "koodi", "Mikä on koodi?", CODE)
    adapter = ADAPTER.partition('        if "ympäristö"')[0] + ADAPTER[ADAPTER.index("        days =") :]
    migrate = '    def migrate(self, database_url):\n        print("taulut")\n\n'
    locker.write("automaatti.py", adapter.replace("    def open(", f"{migrate}    def open(", 1))
    locker.commit()
    ended = locker.ended("mutate", "--json", "automaatti.py", "prompts/ohje.md", "--llm", "replay")
    found, _ = json.JSONDecoder().raw_decode(ended.printed)
    lines = {(line["file"], line["line"]): line for line in found["lines"]}
    code = (locker.folder / "automaatti.py").read_text().splitlines()
    guard = next(number for number, text in enumerate(code, 1) if "days > MAX_DAYS" in text)
    assert {mutant["result"] for mutant in lines["automaatti.py", guard]["mutants"]} == {"unexercised"}
    assert lines["prompts/ohje.md", 3]["scenarios"] == ["koodi"]
    assert not any(file == "automaatti.py" and "taulut" in code[number - 1] for file, number in lines)


def test_tests_of_promptfoo_in_czech_become_scenarios_that_mean_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """N18: a configuration with numbers, patterns and what only a person can carry over."""
    (tmp_path / "promptfooconfig.yaml").write_text(
        "prompts: ['{{otazka}}']\nproviders: [openai:gpt-5-mini]\n"
        "defaultTest: {assert: [{type: not-icontains, value: nevím}]}\n"
        "tests:\n  - description: otevírací doba\n    vars: {otazka: Kdy máte otevřeno?}\n"
        "    assert: [{type: icontains-any, value: [9.00, 10.5]}, {type: javascript, value: output.length < 200}]\n",
        encoding="utf-8",
    )
    monkeypatch.chdir(tmp_path)
    assert run(["import", "promptfoo", "promptfooconfig.yaml", "--language", "cs"], {"PATH": os.environ["PATH"]}) == 0
    (written,) = (tmp_path / "scenarios").rglob("*.yaml")
    expect = yaml.safe_load(written.read_text(encoding="utf-8"))["turns"][0]["expect"]
    assert expect == {"not_contains": ["nevím"], "contains_any": ["9", "10.5"]}, "as JavaScript writes numbers"


def test_three_shards_and_their_merge_are_one_verdict(locker: SmallRepository, tmp_path: Path) -> None:
    """N19: five scenarios on three runners, of which one fails."""
    for number in range(4):
        ask(locker, f"paketti_{number}", f"{number} päivää sitten", "{state: ODOTTAA}")
    ask(locker, "vanha", "9 päivää sitten", "{state: ODOTTAA}")
    locker.commit()
    folders = [str(tmp_path / f"osa-{number}") for number in (1, 2, 3)]
    for number, folder in enumerate(folders, 1):
        shard = locker.ended("gate", "--mode", "blocking", "--shard", f"{number}/3", "--report-dir", folder)
        assert shard.code == 0, shard.printed
    merged = locker.ended("merge", "--mode", "blocking", *folders)
    assert (merged.code, merged.outputs["passed"], merged.outputs["failed"]) == (1, 4, 1), merged.printed
    assert "vanha" in merged.comment
