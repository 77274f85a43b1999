"""Rows R of docs/features.md, each with an input of its own: a museum in Lyon, and a town library in Portugal."""

import asyncio
import hashlib
import json
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml

pytest.importorskip("langfuse", reason="needs the extra 'langfuse'")

from ratiba_action.main import run
from ratiba_action.privacy.masking import Redactor
from ratiba_action.settings.settings import read_settings
from tests.features.conftest import Models
from tests.support.git_repository import GitRepository
from tests.support.langfuse_server import LangfuseState, langfuse_server
from tests.support.production_project import ProductionProject
from tests.support.small_repository import SmallRepository
from tests.support.sql import tenants_on

MUSEUM = """\
system:
  prompt: {file: prompts/accueil.md, provider: openai, model: gpt-5, max_output_tokens: 200}
  prompts: [prompts/*.md]
judge: {cross_check: null}
"""
VISIT = """\
id: visite_du_dimanche
language: fr
now: 2026-05-03T09:00:00+02:00
customer: {name: Odile, phone: "+1 202-555-0100"}
turns:
  - user: Le musée est-il ouvert le dimanche ?
    expect: {contains: dimanche}
assertions:
  - {metric: AnswerRelevancyMetric, threshold: 0.9}
  - metric: GEval
    threshold: 0.7
    with: {criterion: accueil, steps: [La réponse est-elle aimable ?]}
"""


@pytest.fixture
def museum(project: SmallRepository, models: Models) -> SmallRepository:
    """A museum's prompt with one scenario, and models that answer in French."""
    project.write(".github/ratiba.yml", MUSEUM)
    project.write("prompts/accueil.md", "Tu accueilles les visiteurs d'un musée de Lyon.\n")
    project.write("scenarios/visite.yaml", VISIT)
    project.commit()

    def says(fields: frozenset[str], text: str) -> str | dict[str, Any] | None:
        if not fields:
            return "Oui, le dimanche de 10 h à 18 h."
        return {"score": 8, "reason": "aimable"} if "aimable" in text else None

    models.says = says
    return project


async def test_deepeval_scores_a_conversation_that_langfuse_has_as_a_trace_with_its_tenant_prompt_model_and_cost(
    museum: SmallRepository,
) -> None:
    """R1 and R10."""
    state = LangfuseState()
    with langfuse_server(state) as host:
        museum.environment.update(
            **state.environment(host),
            RATIBA_LANGFUSE_SECONDS="60",
        )
        ended = await asyncio.to_thread(museum.gate, "--mode", "blocking")
    assert ended.code == 0, ended.printed
    assert {score["name"]: score["value"] for score in state.scores.values()} == {
        "AnswerRelevancyMetric": 1.0,
        "GEval": 0.8,
        "ratiba_passed": True,
    }
    (trace,) = (span for span in state.spans if not span.parent_id)
    reported = {
        name.rpartition(".")[2]: value for name, value in trace.attributes.items() if ".trace.metadata." in name
    }
    commit = GitRepository(museum.folder).git("rev-parse", "HEAD")
    assert reported["conversation_id"] == trace.trace_id == next(iter(state.scores.values()))["traceId"]
    assert (reported["model"], reported["prompt_version"]) == ("gpt-5", f"accueil@{commit[:7]}")
    assert reported["tenant_id"]
    assert reported["cost_usd"] == ended.outputs["spent_usd"]
    log = [json.loads(line) for line in (ended.report / "events.jsonl").read_text().splitlines()]
    assert [line["sequence"] for line in log] == list(range(1, len(log) + 1))
    assert {"conversation_started", "model_call", "turn", "judge_call", "score"} <= {line["type"] for line in log}


LENDING = """\
def answer(message):
    args = {"telefone": "912 345 678", "livro": "Os Maias"}
    return {"text": "Emprestado.", "tool_calls": [{"name": "emprestar", "args": args, "output": {"ok": True}}]}
"""


@pytest.mark.parametrize(("rule", "code"), [("must_emit", 0), ("must_not_emit", 1)])
def test_a_rule_on_a_type_of_event_decides_and_the_log_has_no_argument_of_a_tool(
    project: SmallRepository, rule: str, code: int
) -> None:
    """R10 and R13."""
    project.write(".github/ratiba.yml", 'system: {adapter: "bib:answer", database: false}\n')
    project.write("bib.py", LENDING)
    scenario = "id: emprestar\nlanguage: pt\nturns:\n  - {user: Quero Os Maias}\n"
    project.write("scenarios/emprestar.yaml", f"{scenario}rules:\n  - {{type: {rule}, value: tool_call}}\n")
    ended = project.gate()
    assert ended.code == code, ended.printed
    events = (ended.report / "events.jsonl").read_text()
    (called,) = (json.loads(line) for line in events.splitlines() if '"tool_call"' in line and "args_sha256" in line)
    canonical = json.dumps({"livro": "Os Maias", "telefone": "912 345 678"}, separators=(",", ":"))
    assert called["data"] == {"name": "emprestar", "args_sha256": hashlib.sha256(canonical.encode()).hexdigest()}
    assert "912 345" not in events


R2 = {
    "fsm": "script: [{text: Bom dia!}]\nturns:\n  - {user: Olá, expect: {contains: bom dia}}",
    "turn": "turns:\n  - {user: Olá, expect: {contains: bom dia}}",
    "replay": "turns:\n  - {user: Olá, reply: Bom dia! Em que posso ajudar?}",
    "golden": "turns:\n  - {user: Olá, expect: {contains: bom dia}}\n  - {user: Obrigada, expect: {contains: ajudar}}",
    "production": "provenance: {captured: '2026-04-20'}\nturns:\n  - {user: De +351***222, expect: {contains: ajudar}}",
}


async def test_a_suite_has_a_scenario_of_each_of_the_five_layers(project: SmallRepository, models: Models) -> None:
    """R2."""
    project.write(".github/ratiba.yml", MUSEUM)
    project.write("prompts/accueil.md", "És a assistente de uma biblioteca.\n")
    for layer, rest in R2.items():
        project.write(f"scenarios/{layer}.yaml", f"id: biblioteca_{layer}\nlanguage: pt\nlayer: {layer}\n{rest}\n")
    models.says = lambda _fields, _text: "Bom dia! Em que posso ajudar?"
    ended = await asyncio.to_thread(project.gate)
    assert ended.code == 0, ended.printed
    assert "5 of 5 scenarios passed" in ended.comment
    assert len(models.asked) == 5, "the model of the fsm scenario is mocked"


R4 = [
    ("assistente/prompts/bibliotecaria.md", "Sê breve.", "blocking"),
    ("bot/fsm/estados.py", "ESTADOS = ['ABERTO']", "blocking"),
    ("bot/catalogo.py", "LIVROS = []", "advisory"),
    ("docs/guia.md", "# Guia", "skip"),
    ("package.json", json.dumps({"dependencies": {"@langchain/core": "^1.0.0"}}), "blocking"),
    ("package.json", json.dumps({"dependencies": {"@langchain/core": "^0.3.9"}}), "advisory"),
]


@pytest.mark.parametrize("change", R4)
def test_the_changed_paths_choose_the_mode_by_the_matrix(
    tmp_path: Path, environment: dict[str, str], capsys: pytest.CaptureFixture[str], change: tuple[str, str, str]
) -> None:
    """R4."""
    path, content, mode = change
    git = GitRepository(tmp_path)
    git.commit({"package.json": json.dumps({"dependencies": {"@langchain/core": "^0.3.1"}}), "bot/catalogo.py": ""})
    git.git("checkout", "-q", "-b", "mudanca")
    git.commit({path: content})
    assert run(["decide", "--json", "--repo", str(tmp_path)], environment) == 0
    decided = json.loads(capsys.readouterr().out)
    assert decided["mode"] == mode
    assert any(path == reason["path"] for reason in decided["reasons"])


async def test_near_the_cap_the_cross_check_ends_first_and_the_caps_are_20_and_300_where_none_is_given(
    museum: SmallRepository, models: Models
) -> None:
    """R5."""
    museum.write(".github/ratiba.yml", MUSEUM.replace("null", "{provider: openai, model: gpt-5.6, share: 1.0}"))
    museum.write("scenarios/visite_2.yaml", VISIT.replace("dimanche", "dimanche_2", 1))
    museum.commit()
    ended = await asyncio.to_thread(museum.gate, "--mode", "blocking", "--budget-usd", "0.35")
    assert ended.code == 0, ended.printed
    checked = ended.results["report"]["cross_checking"]["status"]
    assert (checked["share"], checked["compared"], bool(checked["stopped"])) == (1.0, 0, True)
    assert "gpt-5.6, reduced from 100% to 0%" in ended.comment
    assert {received.body["model"] for received in models.asked} == {"gpt-5", "claude-opus-5-5"}
    usual = read_settings({}, {})
    assert (usual.budget_usd, usual.monthly_budget_usd) == (Decimal(20), Decimal(300))


LIBRARY = {
    "tenant_id": "biblioteca_evora",
    "vertical": "barbershop",
    "customer_name": "Inês Carvalho",
    "language": "pt",
}


def test_disliked_conversations_become_masked_candidates_and_liked_ones_do_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """R6."""
    state = LangfuseState()
    checkout = tmp_path / "checkout"
    (checkout / "scenarios").mkdir(parents=True)
    with langfuse_server(state) as url:
        production = ProductionProject(state, url, tmp_path / "home")
        disliked = production.converse(
            "Sou a Inês Carvalho, ligue 912 345 678", "O livro 9789720049575 já chegou? ines@example.pt", facts=LIBRARY
        )
        liked = production.converse("Tudo bem, obrigada", facts=LIBRARY)
        production.dislike(disliked)
        production.dislike(liked, "thumbs_up")
        code = run(["promote", "--json", "--repo", str(checkout)], production.environment)
    assert code == 0
    (written,) = json.loads(capsys.readouterr().out)["written"]
    text = (checkout / written).read_text()
    candidate = yaml.safe_load(text)
    assert [turn["user"] for turn in candidate["turns"]] == [
        "Sou a <name>, ligue ***",
        "O livro *** já chegou? i***@***",
    ]
    assert candidate["tags"] == ["proposed", "from_production"]
    assert candidate["provenance"]["feedback"] == "thumbs_down"
    assert "Inês" not in text
    assert candidate["customer"] == {"name": "Alex Doe", "phone": "+1 202-555-0100"}, "of no country, as the language"
    assert candidate["now"].endswith("+00:00")


@pytest.mark.parametrize("vertical", ["dental", "physio", "medical", "legal", "library"])
def test_conversations_of_a_clinic_or_a_lawyer_are_not_promoted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], vertical: str
) -> None:
    """R14."""
    state = LangfuseState()
    checkout = tmp_path / "checkout"
    (checkout / "scenarios").mkdir(parents=True)
    with langfuse_server(state) as url:
        production = ProductionProject(state, url, tmp_path / "home")
        production.dislike(production.converse("Bom dia", facts={**LIBRARY, "vertical": vertical}))
        code = run(["promote", "--json", "--repo", str(checkout)], production.environment)
    printed = capsys.readouterr()
    assert code == 2
    assert f"'{vertical}'" in printed.err
    assert json.loads(printed.out)["written"] == []
    assert list((checkout / "scenarios").rglob("*.yaml")) == []


R13 = (
    "Inês Carvalho (ines@example.pt, +254 712 345 432) paid KES 12,500, receipt SJK4X8Q2ZP, "
    "OrderTrackingId b945e4af-80a5-4ec1-8706-e03f8332fb04, policy 99887766."
)


def test_identifiers_are_masked_and_payments_stay_as_they_are() -> None:
    """R13."""
    masked = Redactor(names=["Inês Carvalho"]).text(R13)
    assert masked == (
        "<name> (i***@***, +254***432) paid KES 12,500, receipt SJK4X8Q2ZP, "
        "OrderTrackingId b945e4af-80a5-4ec1-8706-e03f8332fb04, policy ***."
    )
    assert Redactor(names=["Inês Carvalho"]).text(masked) == masked


R11_CONFTEST = """\
import psycopg
import pytest
from alembic import command
from alembic.config import Config
from langgraph.checkpoint.postgres import PostgresSaver


@pytest.fixture(scope="session")
def ratiba_migrate(pytestconfig):
    def migrate(database_url):
        config = Config()
        config.set_main_option("script_location", str(pytestconfig.rootpath / "migrations"))
        config.attributes["url"] = database_url
        command.upgrade(config, "head")
        with PostgresSaver.from_conn_string(database_url) as saver:
            saver.setup()

    return migrate


@pytest.fixture
def ratiba_orchestrator():
    class Orchestrator:
        def __init__(self, dsn):
            self.dsn = dsn

        def lend(self, book):
            with psycopg.connect(self.dsn) as connection:
                connection.execute("INSERT INTO loans (book) VALUES (%s)", (book,))
                return connection.execute("SELECT count(*), current_schema() FROM loans").fetchone()

    return lambda environment: Orchestrator(environment.dsn)
"""
R11_MIGRATIONS = {
    "migrations/env.py": """\
import psycopg
from alembic import context
from sqlalchemy import create_engine

engine = create_engine("postgresql+psycopg://", creator=lambda: psycopg.connect(context.config.attributes["url"]))
with engine.connect() as connection, connection.begin():
    context.configure(connection=connection)
    context.run_migrations()
""",
    "migrations/versions/first.py": """\
from alembic import op

revision, down_revision = "0001", None


def upgrade():
    op.execute("CREATE TABLE loans (id serial PRIMARY KEY, book text NOT NULL)")
""",
}
R11_TESTS = """\
import re

import pytest


@pytest.fixture
def scenario_id():
    return "emprestimo_simples"


@pytest.mark.parametrize("book", ["Os Maias", "Mensagem"])
def test_a_loan(tenant_scoped_eval_environment, book):
    environment = tenant_scoped_eval_environment
    count, schema = environment.orchestrator.lend(book)
    assert count == 1
    assert schema == environment.tenant.schema
    assert re.fullmatch(r"test_tenant_emprestimo_simples_[0-9a-f]{8}", schema)
    with environment.saver() as saver:
        assert list(saver.list(None)) == []
"""


@pytest.mark.processes
async def test_each_test_has_a_tenant_with_alembics_tables_and_langgraphs_that_is_gone_afterwards(
    tmp_path: Path, environment: dict[str, str], embedded_server_dsn: str
) -> None:
    """R11."""
    GitRepository(tmp_path).write(
        {"conftest.py": R11_CONFTEST, "test_loans.py": R11_TESTS, "pytest.ini": "[pytest]\n", **R11_MIGRATIONS}
    )
    words = [sys.executable, "-m", "pytest", "-q", "-p", "ratiba_action.pytest_plugin", "-p", "no:cacheprovider"]
    words += ["--ratiba-database-url", embedded_server_dsn]
    alone = environment | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(Path(__file__).parents[2])}
    ended = await asyncio.to_thread(
        lambda: subprocess.run(words, cwd=tmp_path, env=alone, capture_output=True, text=True, check=False, timeout=120)
    )
    assert "2 passed" in ended.stdout, ended.stdout + ended.stderr
    assert await tenants_on(embedded_server_dsn) == set()
