"""``ratiba gate`` in a real repository, run in the test's own process: only system, tenants and gateway are fakes.

Options, environment, git, decision, configuration, scenarios, verdict, report and exit code are the product's. The
system is the checkout's adapter, imported by the test: what is about workers, sandboxes, databases, real models and
signals needs the process of ``small_repository``.
"""

import argparse
import builtins
import contextlib
import gc
import io
import subprocess
import traceback
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from ratiba_action import main
from ratiba_action.cli import COMMANDS
from ratiba_action.commands import gate, gate_run
from ratiba_action.commands.gate_options import GateOptions, read_options
from ratiba_action.config.configuration import Configuration
from ratiba_action.errors import SystemRaisedError, WorkerError
from ratiba_action.metrics.registry import load_metric
from ratiba_action.model.conversation import Reply, ReportedUsage
from ratiba_action.model.plan import BASE, Arm, Tenant
from ratiba_action.model.scenario import Assertion, Scenario, Turn
from ratiba_action.money.budget import Ledger
from ratiba_action.ports import Metric
from ratiba_action.run.arms import base_of
from ratiba_action.run.base_commit import BaseInputs, NoBase
from ratiba_action.run.composition import REAL_WORLD
from ratiba_action.run.inputs import ArmInputs, RunInputs, RunLog
from ratiba_action.run.services import Arms, ArmServices, RunServices, StartArm
from ratiba_action.run.session import RunSession
from ratiba_action.systems.dialogue import parse_reply
from tests.support.gateways import InMemoryGateway
from tests.support.small_repository import Ended, SmallRepository
from tests.support.systems import ScriptedSystem
from tests.support.tenants import InMemoryTenants


@dataclass(frozen=True)
class Context:
    """What an adapter's ``open`` is given."""

    scenario_id: str
    database_url: str


class ImportedSession:
    """Implements ``RunSession`` with a conversation of an adapter."""

    reported_usage: tuple[ReportedUsage, ...] = ()

    def __init__(self, send: Callable[[str], Any], module: str) -> None:
        self._send, self._module = send, module

    async def send(self, turn: Turn) -> Reply:
        """The adapter's answer.

        Raises:
            SystemRaisedError: it raised an exception.
            WorkerError: its answer is no reply.
        """
        try:
            answer = self._send(turn.user or "")
        except Exception as error:
            frame = traceback.extract_tb(error.__traceback__)[-1]
            kind, place = type(error).__name__, f"{self._module}.py:{frame.lineno} in {frame.name}"
            text = f"{kind}: {error}"
            raise SystemRaisedError(f"the system raised {text}", kind=kind, place=place, message=str(error)) from error
        return parse_reply({"text": answer} if isinstance(answer, str) else answer)

    async def close(self) -> None:
        """Nothing is open."""


class ImportedSystem:
    """Implements ``SystemUnderTest`` with the adapter of a checkout, without a worker.

    Args:
        adapter: as in ``system.adapter``.
        read: the text of a file below the system's root.
    """

    def __init__(self, adapter: str, read: Callable[[str], str]) -> None:
        self._module, _, name = adapter.partition(":")
        self._read, self._modules = read, dict[str, ModuleType]()
        self._made = getattr(self._import(self._module), name)

    def _import(self, name: str, *others: Any) -> ModuleType:
        """The checkout's module, or else an installed one."""
        if name not in self._modules:
            try:
                text = self._read(f"{name}.py")
            except (OSError, subprocess.CalledProcessError):
                return builtins.__import__(name, *others)
            self._modules[name] = module = ModuleType(name)
            module.__dict__["__builtins__"] = {**vars(builtins), "__import__": self._import}
            exec(compile(text, f"{name}.py", "exec"), module.__dict__)  # noqa: S102 - the test's own text
        return self._modules[name]

    async def start(self) -> None:
        """It is imported already."""

    async def migrate(self, dsn: str) -> None:
        """There is no database."""

    async def open(self, scenario: Scenario, tenant: Tenant, _environment: Mapping[str, str]) -> ImportedSession:
        """A conversation with the adapter."""
        if not isinstance(self._made, type):
            return ImportedSession(self._made, self._module)
        conversation = self._made().open(Context(scenario.id, tenant.dsn))
        return ImportedSession(conversation.send, self._module)

    async def close(self) -> None:
        """Nothing is open."""


def _metric(assertion: Assertion) -> Metric:
    return load_metric(assertion.metric, None, assertion.parameters)


def _system(root: Path, configuration: Configuration, commit: str | None) -> ImportedSystem | ScriptedSystem:
    """The system of a checkout, or of a commit of it."""
    block = configuration.system

    def read(name: str) -> str:
        if commit is None:
            return (root / block.root / name).read_text("utf-8")
        command = ["git", "-C", str(root), "show", f"{commit}:{(Path(block.root) / name).as_posix()}"]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    if block.adapter is None:
        return ScriptedSystem({})  # of another kind, which nothing answers for
    return ImportedSystem(block.adapter, read)


class ImportedArms(Arms):
    """Arms on imported systems; others with files of their own can be opened."""

    def __init__(
        self, tenants: InMemoryTenants, started: Mapping[str, ArmServices], waiting: Mapping[str, StartArm]
    ) -> None:
        super().__init__(started, waiting)
        self._tenants = tenants

    @asynccontextmanager
    async def open(self, arm: ArmInputs, template: Arm | None = None) -> AsyncIterator[None]:
        """Start an arm on the files of its root."""
        started = await start_arm(arm.arm, arm.configuration, self._tenants)
        self._started[arm.arm.name] = replace(started, template=template)
        try:
            yield
        finally:
            self.remove(arm.arm.name)


async def start_arm(
    arm: Arm, configuration: Configuration, tenants: InMemoryTenants, commit: str | None = None
) -> ArmServices:
    """Import the system of an arm.

    Raises:
        WorkerError: it cannot be imported.
    """
    try:
        system = _system(Path(arm.root), configuration, commit)
    except Exception as error:
        raise WorkerError(f"the system cannot be imported: {type(error).__name__}: {error}") from error
    await system.start()
    await tenants.prepare(arm, system.migrate)
    return ArmServices(arm, system)


@asynccontextmanager
async def open_services(
    inputs: RunInputs,
    head: ArmInputs,
    *,
    ledger: Ledger,  # noqa: ARG001 - the protocol's: nothing is paid
    log: RunLog,
    scratch: Path,  # noqa: ARG001 - the protocol's: nothing is written
    deadline: float | None = None,
    with_base: bool = False,
) -> AsyncIterator[RunServices]:
    tenants = InMemoryTenants()
    await tenants.start()

    started, waiting = dict[str, ArmServices](), dict[str, StartArm]()
    start = partial(start_arm, head.arm, inputs.configuration, tenants)
    base = base_of(inputs) if with_base else NoBase("no base was asked for")
    if isinstance(base, BaseInputs):
        arm = Arm(BASE, str(inputs.repository), base.commit)
        waiting = {BASE: partial(start_arm, arm, base.configuration, tenants, base.commit), head.arm.name: start}
    else:
        started = {head.arm.name: await start()}
    arms = ImportedArms(tenants, started, waiting)
    yield RunServices(arms, tenants, InMemoryGateway(), _metric, log, inputs.at_once, deadline)
    await tenants.close()


open_session = partial(RunSession, open_services)
"""Makes the session of a run on imported systems."""

DESCRIPTION, EXAMPLE, add_arguments = gate.DESCRIPTION, gate.EXAMPLE, gate.add_arguments
"""What ``cli`` reads of a command."""


def run(arguments: argparse.Namespace, environment: MutableMapping[str, str]) -> int:
    """``ratiba gate`` on the fakes."""
    return gate_run.run(
        read_options(arguments, environment), environment, world=replace(REAL_WORLD, open_session=open_session)
    )


_COMMANDS = {
    **COMMANDS,
    "gate": (__name__, COMMANDS["gate"][1]),
    "explain": ("tests.support.in_process_explain", COMMANDS["explain"][1]),
}


def run_here(
    arguments: Sequence[str], folder: Path, environment: Mapping[str, str]
) -> "subprocess.CompletedProcess[str]":
    """Run a command line of the gate in this process; ``SmallRepository.run``."""
    with _captured(folder) as (out, err):
        try:
            code = main.run(list(arguments), dict(environment), _COMMANDS)
        except SystemExit as ending:  # of argparse, which has printed why
            code = int(ending.code or 0)
    return subprocess.CompletedProcess(list(arguments), code, out.getvalue(), err.getvalue())


def gate_here(repository: SmallRepository, **world: Any) -> Ended:
    """Run the gate of a repository in this process.

    Args:
        world: what of ``World`` is the test's own.
    """
    options = GateOptions(repo=str(repository.folder), inputs={"report-dir": str(repository.report)})
    with _captured(repository.folder) as (out, err):
        code = gate_run.run(
            options, dict(repository.environment), world=replace(REAL_WORLD, **{"open_session": open_session, **world})
        )
    return Ended(code, out.getvalue() + err.getvalue(), repository.report)


@contextmanager
def _captured(folder: Path) -> Iterator[tuple[io.StringIO, io.StringIO]]:
    """Work in a folder, and give what is printed there and to standard error."""
    out, err = io.StringIO(), io.StringIO()
    collecting = gc.get_threshold()  # a gate has its process for itself, and sets it
    with contextlib.chdir(folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            yield out, err
        finally:
            gc.set_threshold(*collecting)
