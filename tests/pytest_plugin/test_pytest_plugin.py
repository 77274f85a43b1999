"""The fixture for the users' own tests, in a pytest of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.sql import tenants_on

pytestmark = pytest.mark.processes

SUITE = """
import psycopg
import pytest

seen = set()
migrated = []


@pytest.fixture(scope="session")
def ratiba_migrate():
    def migrate(dsn):
        from langgraph.checkpoint.postgres import PostgresSaver

        migrated.append(dsn)
        with PostgresSaver.from_conn_string(dsn) as saver:
            saver.setup()

    return migrate


@pytest.fixture
def ratiba_orchestrator():
    return lambda environment: ("talks to", environment.tenant.schema)


def rows(environment):
    with psycopg.connect(environment.dsn) as connection:
        return connection.execute("SELECT max(v) FROM checkpoint_migrations").fetchone()[0]


@pytest.mark.parametrize("number", [1, 2])
def test_plain(tenant_scoped_eval_environment, number):
    tenant = tenant_scoped_eval_environment.tenant
    assert tenant.schema not in seen
    seen.add(tenant.schema)
    assert tenant.schema.startswith(f"test_tenant_test_plain_{number}_")
    assert tenant_scoped_eval_environment.orchestrator == ("talks to", tenant.schema)
    assert rows(tenant_scoped_eval_environment) == 9
    assert len(migrated) == 1


def test_saver(tenant_scoped_eval_environment):
    with tenant_scoped_eval_environment.saver() as saver:
        assert list(saver.list(None)) == []


async def test_async(tenant_scoped_eval_environment):
    async with tenant_scoped_eval_environment.async_saver() as saver:
        assert [each async for each in saver.alist(None)] == []


class TestNamed:
    @pytest.fixture
    def scenario_id(self):
        return "spa_booking_swahili_happy"

    def test_named(self, tenant_scoped_eval_environment):
        assert tenant_scoped_eval_environment.tenant.schema.startswith("test_tenant_spa_booking_swahili_happy_")
"""


def run_pytest(folder: Path, *options: str, **variables: str) -> subprocess.CompletedProcess[str]:
    arguments = ["-p", "no:cacheprovider", "-o", "asyncio_mode=auto", "-W", "error", *options]
    arguments += ["-o", "asyncio_default_fixture_loop_scope=function"]
    environment = {name: value for name, value in os.environ.items() if name != "RATIBA_DATABASE_URL"}
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    plugins = ["-p", "ratiba_action.pytest_plugin", "-p", "pytest_asyncio.plugin"]
    return subprocess.run(
        [sys.executable, "-m", "pytest", *plugins, *arguments, str(folder)],
        cwd=folder,
        env=environment | {"PYTHONPATH": str(Path(__file__).parents[2]), **variables},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


async def test_each_test_has_a_fresh_migrated_tenant_that_is_dropped_afterwards(
    tmp_path: Path, embedded_server_dsn: str
) -> None:
    (tmp_path / "test_suite.py").write_text(SUITE)
    ended = run_pytest(tmp_path, "--ratiba-database-url", embedded_server_dsn)
    assert ended.returncode == 0, ended.stdout
    assert "5 passed" in ended.stdout
    assert await tenants_on(embedded_server_dsn) == set()


ASYNCHRONOUS = """
import asyncio

import pytest


class Orchestrator:
    def __init__(self, schema):
        self.schema, self.loop = schema, asyncio.get_running_loop()

    async def send(self, message):
        assert asyncio.get_running_loop() is self.loop
        return f"{message} from {self.schema}"


@pytest.fixture
def ratiba_orchestrator():
    async def build(environment):
        await asyncio.sleep(0)
        return Orchestrator(environment.tenant.schema)

    return build


def test_plain(tenant_scoped_eval_environment):
    environment = tenant_scoped_eval_environment
    assert environment.run(environment.orchestrator.send("Habari")) == f"Habari from {environment.tenant.schema}"


async def test_async(tenant_scoped_eval_environment):
    environment = tenant_scoped_eval_environment
    assert environment.orchestrator.schema == environment.tenant.schema
    said = await asyncio.to_thread(environment.run, environment.orchestrator.send("Habari"))
    assert said == f"Habari from {environment.tenant.schema}"
"""


async def test_an_asynchronous_orchestrator_is_awaited_before_the_test(
    tmp_path: Path, embedded_server_dsn: str
) -> None:
    (tmp_path / "test_suite.py").write_text(ASYNCHRONOUS)
    ended = run_pytest(tmp_path, "--ratiba-database-url", embedded_server_dsn)
    assert ended.returncode == 0, ended.stdout
    assert "2 passed" in ended.stdout
    failing = ASYNCHRONOUS.replace("await asyncio.sleep(0)", "raise LookupError('no model')")
    (tmp_path / "test_suite.py").write_text(failing)
    ended = run_pytest(tmp_path, "--ratiba-database-url", embedded_server_dsn)
    assert "LookupError: no model" in ended.stdout
    assert await tenants_on(embedded_server_dsn) == set(), "a factory that fails leaves no tenant"


INHERITED = """
import os
import subprocess

def test_it(tenant_scoped_eval_environment):
    inherited = subprocess.run(["env"], capture_output=True, text=True, check=True).stdout
    assert "RATIBA_DATABASE_URL" not in os.environ
    assert "PLANTED" not in inherited
    assert "OPENAI_API_KEY=of-the-tests" in inherited
"""


@pytest.mark.parametrize("options", [(), ("-p", "xdist.plugin", "-n", "1")], ids=["here", "in a worker"])
async def test_no_child_of_a_test_inherits_the_gates_secrets(
    tmp_path: Path, embedded_server_dsn: str, options: tuple[str, ...]
) -> None:
    (tmp_path / "test_suite.py").write_text(INHERITED)
    secrets = {"RATIBA_DATABASE_URL": embedded_server_dsn, "RATIBA_OPENAI_API_KEY": "PLANTED"}
    ended = run_pytest(tmp_path, *options, **secrets, OPENAI_API_KEY="of-the-tests")
    assert ended.returncode == 0, ended.stdout + ended.stderr


async def test_a_test_that_fails_leaves_no_tenant(tmp_path: Path, embedded_server_dsn: str) -> None:
    (tmp_path / "test_suite.py").write_text("def test_it(tenant_scoped_eval_environment):\n    assert False\n")
    ended = run_pytest(tmp_path, "--ratiba-database-url", embedded_server_dsn)
    assert ended.returncode == 1
    assert await tenants_on(embedded_server_dsn) == set()


def test_a_server_that_cannot_be_used_is_reported_without_a_traceback(tmp_path: Path) -> None:
    (tmp_path / "test_suite.py").write_text("def test_it(tenant_scoped_eval_environment):\n    pass\n")
    ended = run_pytest(tmp_path, "--ratiba-database-url", "mysql://u:secret@h/d")
    assert ended.returncode == 1
    assert "postgresql://user:password@host:port/database" in ended.stdout
    assert "Traceback" not in ended.stdout
    assert "secret" not in ended.stdout


def test_loading_the_plugin_loads_nothing_heavy() -> None:
    script = "import sys, ratiba_action.pytest_plugin; print(*(m.split('.')[0] for m in sys.modules))"
    output = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert not {"psycopg", "deepeval", "langgraph", "pydantic", "yaml"} & set(output.split())
    assert "ratiba_action.tenancy" not in output


MARKED = """
import pytest

@pytest.mark.evaluation
@pytest.mark.llm_integration
def test_marked():
    pass
"""


def test_the_markers_of_evaluations_are_known_and_the_judges_cache_is_cleared_without_scenarios(tmp_path: Path) -> None:
    (tmp_path / "test_marked.py").write_text(MARKED)
    scores = tmp_path / "scores"
    scores.mkdir()
    (scores / f"{'a' * 64}.json").write_text("{}")
    (scores / "notes.txt").write_text("mine")
    options = ("--strict-markers", "-m", "evaluation and llm_integration", f"--rootdir={tmp_path}")
    cleared = run_pytest(tmp_path, *options, "--deepeval-cache-clear", RATIBA_CACHE_DIR=str(scores), CI="")
    assert cleared.returncode == 0, cleared.stdout + cleared.stderr
    assert "1 passed" in cleared.stdout
    assert f"the judges' cached scores in {scores} are deleted" in cleared.stdout
    assert [path.name for path in scores.iterdir()] == ["notes.txt"]
