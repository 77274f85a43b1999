"""The whole line from inputs to a verdict on fakes: no process, no database, no socket, and no model."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from ratiba_action.config.configuration import read_configuration
from ratiba_action.decide.deciding import Decided
from ratiba_action.decide.read import Change
from ratiba_action.model.answer_origin import Llm
from ratiba_action.model.change import ChangedFiles, Mode, ModeDecision, Subject
from ratiba_action.model.plan import BASE, HEAD, Arm, Selection
from ratiba_action.model.scenario import Assertion, Scenario, Suite
from ratiba_action.money.budget import Ledger
from ratiba_action.ports import Metric
from ratiba_action.run.base_commit import BaseInputs, NoBase
from ratiba_action.run.gate import RunOutcome, evaluate
from ratiba_action.run.inputs import ArmInputs, RunInputs, RunLog
from ratiba_action.run.planned_run import plan_run
from ratiba_action.run.services import Arms, ArmServices, RunServices, TrialCalls
from ratiba_action.run.session import RunSession
from ratiba_action.settings.settings import read_settings
from tests.support.gateways import InMemoryGateway
from tests.support.progress import RecordedProgress
from tests.support.systems import Line, ScriptedSystem
from tests.support.tenants import InMemoryTenants

Script = Mapping[str, Sequence[Line]]
"""Each scenario's lines, by its id."""

_BASE_COMMIT = "b" * 40


def no_metric(assertion: Assertion) -> Metric:
    """Refuses: the scenarios of the test have no metric."""
    raise AssertionError(assertion)


@dataclass(frozen=True, kw_only=True)
class InProcessGate:
    """A gate whose system, tenants and gateway are the test's.

    Args:
        folder: stands for the checkout; nothing is read from it but recordings, if there are any.
        scenarios: of the suite; all of them run.
        head: what the system of the change says.
        base: what the base's says; None where there is no base.
        mode: of the run.
        environment: variables of the inputs, beside ``RATIBA_LLM``.
        llm: where model answers would come from.
        configuration: YAML.
        metric: makes the metric of an assertion.
        calls: say why a trial must not start.
        opened: the arms whose systems were started, in that order; filled by runs.
    """

    folder: Path
    scenarios: Sequence[Scenario]
    head: Script
    base: Script | None = None
    mode: Mode = Mode.BLOCKING
    environment: Mapping[str, str] = field(default_factory=dict)
    llm: Llm = Llm.REPLAY
    configuration: str = "system: {adapter: 'assistant:Adapter'}\n"
    metric: Callable[[Assertion], Metric] = no_metric
    calls: TrialCalls = field(default_factory=TrialCalls)
    opened: list[str] = field(default_factory=list)

    def run(self) -> RunOutcome:
        """Run the gate from its inputs to its outcome."""
        log = RunLog(RecordedProgress())
        return evaluate(plan_run(self.inputs()), log, partial(RunSession, self.services))

    def inputs(self) -> RunInputs:
        """What the run evaluates, as if it had been read from a checkout."""
        configuration = read_configuration("ratiba.yml", self.configuration.encode())
        scenarios = tuple(self.scenarios)
        files = ChangedFiles(("prompts/assistant.md",), _BASE_COMMIT, "c" * 40)
        decision = ModeDecision(self.mode, ())
        recorded = {scenario.id: () for scenario in scenarios}
        base = BaseInputs(_BASE_COMMIT, configuration, frozenset(recorded), recorded)
        return RunInputs(
            settings=read_settings({**self.environment, "RATIBA_LLM": self.llm.value}, {}),
            decided=Decided(decision, Change(files, Subject(event="pull_request", pull_request=7))),
            repository=self.folder,
            environment={"HOME": str(self.folder)},
            configuration=configuration,
            suite=Suite(scenarios, "digest"),
            selection=Selection(decision, scenarios),
            base=NoBase("the change has no base") if self.base is None else base,
        )

    @asynccontextmanager
    async def services(
        self,
        inputs: RunInputs,
        head: ArmInputs,
        *,
        ledger: Ledger,  # noqa: ARG002 - the protocol's: nothing is paid
        log: RunLog,
        scratch: Path,  # noqa: ARG002 - the protocol's: nothing is written
        deadline: float | None = None,
        with_base: bool = False,
    ) -> AsyncIterator[RunServices]:
        """What trials need; ``OpenServices``."""
        tenants = InMemoryTenants()
        await tenants.start()

        async def start(arm: Arm, script: Script) -> ArmServices:
            self.opened.append(arm.name)
            system = ScriptedSystem(script)
            await system.start()
            await tenants.prepare(arm, system.migrate)
            return ArmServices(arm, system)

        waiting = {HEAD: partial(start, head.arm, self.head)}
        if with_base and self.base is not None:
            waiting[BASE] = partial(start, Arm(BASE, "base", _BASE_COMMIT), self.base)
        arms = Arms(waiting=waiting)
        yield RunServices(arms, tenants, InMemoryGateway(), self.metric, log, inputs.at_once, deadline, self.calls)
        await tenants.close()
