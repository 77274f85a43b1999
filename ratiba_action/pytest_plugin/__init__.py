"""pytest plug-in: ``assert_scenario``, and ``tenant_scoped_eval_environment``, a fresh tenant for each test.

Every pytest of an environment where the gate is installed loads this module, so it imports next to nothing; the
database is started, and swept of what crashed sessions left, by the first test that asks for the fixture. Scenario
files are collected as tests where the ini file or ``--ratiba`` asks for it. Start with ``collection.py``.
"""

import asyncio
import inspect
import os
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, MutableMapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager, AbstractContextManager

    from ratiba_action.model.plan import Arm, Tenant
    from ratiba_action.tenancy.provisioner import PostgresTenantProvisioner

_OPTION = "--ratiba-database-url"
_VARIABLE = "RATIBA_DATABASE_URL"
_ENVIRONMENT = pytest.StashKey[MutableMapping[str, str]]()
_CLEARED = pytest.StashKey[str]()
"""Folder of the judges' cached scores that were deleted."""

Migrate = Callable[[str], "Awaitable[None] | None"]
"""Creates the system's tables, given a connection string; synchronous or asynchronous."""


@dataclass(slots=True)
class EvalEnvironment:
    """What a test gets.

    Args:
        orchestrator: what the factory of ``ratiba_orchestrator`` built, or None; an asynchronous one is awaited.
        run: waits for a coroutine on the event loop that an asynchronous factory was awaited on.
    """

    tenant: "Tenant"
    orchestrator: Any = None
    run: Callable[[Coroutine[Any, Any, Any]], Any] = asyncio.run

    @property
    def dsn(self) -> str:
        """Connection string of the tenant's role, its search path set; holds a password."""
        return self.tenant.dsn

    def saver(self) -> "AbstractContextManager[Any]":
        """A LangGraph ``PostgresSaver`` that sees this tenant only; a context manager."""
        from langgraph.checkpoint.postgres import PostgresSaver  # only tests that ask for it pay

        return PostgresSaver.from_conn_string(self.dsn)

    def async_saver(self) -> "AbstractAsyncContextManager[Any]":
        """The same for asynchronous tests; an asynchronous context manager."""
        from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver

        return AsyncPostgresSaver.from_conn_string(self.dsn)


class TenantsOfASession:
    """Tenants for tests of any kind: the database is spoken to on a thread with an event loop of its own.

    Args:
        provisioner: not started yet.
    """

    def __init__(self, provisioner: "PostgresTenantProvisioner") -> None:
        from ratiba_action.util.loop_thread import LoopThread  # pytest must not pay for it at its start

        self._provisioner = provisioner
        self._arms: dict[Migrate, Arm] = {}
        self._loop = LoopThread("ratiba-tenants")
        self.wait = self._loop.wait

    def start(self) -> None:
        """Start the server and sweep it.

        Raises:
            DatabaseError: there is no server that can be used.
        """
        self.wait(self._provisioner.start())

    def one(self, scenario_id: str, migrate: Migrate) -> Iterator["Tenant"]:
        """A fresh tenant, dropped when the iterator goes on. Each distinct ``migrate`` has one template."""
        arm = self.wait(self._prepared(migrate))
        manager = self._provisioner.provision(scenario_id, arm)
        tenant = self.wait(manager.__aenter__())
        try:
            yield tenant
        finally:
            self.wait(manager.__aexit__(None, None, None))

    async def _prepared(self, migrate: Migrate) -> "Arm":
        from ratiba_action.model.plan import Arm  # pytest must not pay for it at its start

        async def run(dsn: str) -> None:
            outcome = await asyncio.to_thread(migrate, dsn)
            if inspect.isawaitable(outcome):
                await outcome

        if migrate not in self._arms:
            arm = Arm(f"pytest {len(self._arms)}", "")
            await self._provisioner.prepare(arm, run)
            self._arms[migrate] = arm
        return self._arms[migrate]

    def close(self) -> tuple[str, ...]:
        """Drop what is left and end the server; returns warnings."""
        self.wait(self._provisioner.close())
        self._loop.close()
        return self._provisioner.warnings


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of tenants and of scenarios."""
    group = parser.getgroup("ratiba")
    group.addoption(
        _OPTION,
        default=None,
        metavar="URL",
        help=f"PostgreSQL server for tenants (default: ${_VARIABLE}, else an embedded one)",
    )
    group.addoption("--ratiba", action="store_true", help="collect scenario files as tests (default folder: scenarios)")
    group.addoption(
        "--ratiba-llm",
        default="replay",
        choices=("replay", "auto", "live"),
        help="where answers of models come from; anything but replay may spend the budget, and needs one process",
    )
    group.addoption("--no-deepeval-cache", action="store_true", help="judge everything anew")
    group.addoption("--deepeval-cache-clear", action="store_true", help="forget the judges' earlier scores first")
    group.addoption(
        "--ratiba-report",
        metavar="DIR",
        help="write a report of the scenarios that ran: results.json, report.html, junit.xml and more",
    )
    parser.addini("ratiba_scenarios", "folder of scenario files to collect, from the root folder", default="")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Iterator[None]:
    """Keep what scenarios print from the runner of a workflow, before pytest itself takes hold of the output."""
    requested = early_config.known_args_namespace.ratiba or early_config.getini("ratiba_scenarios")
    if requested and os.environ.get("GITHUB_ACTIONS") == "true" and "PYTEST_XDIST_WORKER" not in os.environ:
        from ratiba_action.settings.environment import protect_process
        from ratiba_action.settings.step_output import keep_harmless

        protect_process()  # the filter is a copy of this process
        keep_harmless(os.environ)
    return (yield)


_MARKERS = (
    "evaluation: an evaluation of a system that models answer for (ratiba)",
    "llm_integration: calls the API of a model, which costs money (ratiba)",
)


def pytest_configure(config: pytest.Config) -> None:
    """Take the gate's secrets out of the environment; collect scenarios where the ini file or ``--ratiba`` asks."""
    for marker in _MARKERS:
        config.addinivalue_line("markers", marker)
    # pytest-xdist's workers get theirs from this process, and take them out themselves.
    if config.getoption("dist", "no") == "no" and any(name.startswith("RATIBA_") for name in os.environ):
        from ratiba_action.settings.environment import take_inputs  # only who gives an input pays

        config.stash[_ENVIRONMENT] = take_inputs(os.environ)
    if config.getoption("--deepeval-cache-clear") and not hasattr(config, "workerinput"):
        _clear_cache(config)
    folder = config.getini("ratiba_scenarios") or ("scenarios" if config.getoption("--ratiba") else "")
    report = None
    if config.getoption("--ratiba-report"):
        from ratiba_action.pytest_plugin.scenario_assertion import ScenarioReport  # only who asks pays

        report = ScenarioReport(config, Path(config.getoption("--ratiba-report")), _environment(config))
        config.pluginmanager.register(report, "ratiba-report")
    if folder:
        from ratiba_action.pytest_plugin.collection import ScenarioTests

        tests = ScenarioTests(config, folder.strip("/"), _environment(config), report)
        config.pluginmanager.register(tests, "ratiba-scenarios")


def _clear_cache(config: pytest.Config) -> None:
    from ratiba_action.errors import RatibaError
    from ratiba_action.metrics.judging.cache import JudgeCache
    from ratiba_action.run.cache_place import cache_folder

    try:
        folder = cache_folder(_environment(config), config.rootpath)
    except RatibaError as error:
        raise pytest.UsageError(str(error)) from error
    JudgeCache(folder, lambda _: None).clear()
    config.stash[_CLEARED] = str(folder)


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Say which scores of judges were deleted."""
    folder = config.stash.get(_CLEARED, "")
    return [f"ratiba: the judges' cached scores in {folder} are deleted"] if folder else []


def assert_scenario(scenario: "str | Path | Mapping[str, Any]", system: Any) -> None:
    """Run a scenario with a system in this process, and check every deterministic assertion of it.

    Args:
        scenario: a scenario file; or the content of one.
        system: a function that takes the message and returns the reply, or anything else that ``system.adapter`` may
            name.

    Raises:
        AssertionError: an assertion failed, nothing was measured, or the system raised, with that exception as cause.
        SuiteError: the scenario is invalid; every problem with its line.
        ConfigurationError: it needs a judge, a database or code of the repository, which only a gate runs.
    """
    __tracebackhide__ = True
    from ratiba_action.pytest_plugin import scenario_assertion  # only tests that call it pay

    scenario_assertion.assert_scenario(scenario, system)


def _environment(config: pytest.Config) -> MutableMapping[str, str]:
    """The variables of this process, the gate's secrets among them."""
    return config.stash.get(_ENVIRONMENT, os.environ)


@pytest.fixture(scope="session")
def ratiba_tenants(pytestconfig: pytest.Config) -> Iterator[TenantsOfASession]:
    """The session's tenants; not meant to be overridden."""
    from ratiba_action.errors import RatibaError  # only tests that ask for it pay
    from ratiba_action.tenancy.provisioner import PostgresTenantProvisioner
    from ratiba_action.tenancy.server import choose_server

    url = pytestconfig.getoption(_OPTION) or _environment(pytestconfig).get(_VARIABLE)
    try:
        tenants = TenantsOfASession(PostgresTenantProvisioner(choose_server(url), "pytest"))
        try:
            tenants.start()
        except RatibaError:
            tenants.close()
            raise
    except RatibaError as error:
        pytest.fail(str(error), pytrace=False)
    yield tenants
    for warning in tenants.close():
        pytestconfig.issue_config_time_warning(pytest.PytestWarning(warning), stacklevel=2)


@pytest.fixture
def scenario_id(request: pytest.FixtureRequest) -> str:
    """Stands in the tenant's name; the test's own name unless it is overridden."""
    return str(request.node.name)


@pytest.fixture(scope="session")
def ratiba_migrate() -> Migrate:
    """Override it: return a function that creates the system's tables, given a connection string."""
    return _migrate_nothing


def _migrate_nothing(_dsn: str) -> None:
    """An empty schema."""


@pytest.fixture
def ratiba_orchestrator() -> Callable[[EvalEnvironment], Any]:
    """Override it: return a function, synchronous or asynchronous, that builds what the test talks to."""
    return lambda _environment: None


@pytest.fixture
def tenant_scoped_eval_environment(
    ratiba_tenants: TenantsOfASession,
    scenario_id: str,
    ratiba_migrate: Migrate,
    ratiba_orchestrator: Callable[[EvalEnvironment], Any],
) -> Iterator[EvalEnvironment]:
    """A fresh tenant with the system's tables, dropped after the test."""
    for tenant in ratiba_tenants.one(scenario_id, ratiba_migrate):
        environment = EvalEnvironment(tenant, run=ratiba_tenants.wait)
        built = ratiba_orchestrator(environment)
        environment.orchestrator = ratiba_tenants.wait(_awaited(built)) if inspect.isawaitable(built) else built
        yield environment


async def _awaited(built: Awaitable[Any]) -> Any:
    return await built
