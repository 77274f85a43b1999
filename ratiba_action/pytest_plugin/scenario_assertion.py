"""``assert_scenario``, and the report of the scenarios that a pytest session ran."""

import asyncio
import inspect
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest

from ratiba_action.checks.custom_code import needs_custom_code
from ratiba_action.checks.failure_rules import validate_rule
from ratiba_action.config.renamed_keys import warn_of_former_keys
from ratiba_action.errors import ConfigurationError, RatibaError, UsageError, WorkerError
from ratiba_action.metrics.registry import is_judged, load_metric, metric_problems
from ratiba_action.model.answer_origin import AnswerOrigin
from ratiba_action.model.change import Mode, ModeDecision, Subject
from ratiba_action.model.conversation import AnsweredCalls, Reply, ReportedUsage
from ratiba_action.model.measurement import ScenarioResult
from ratiba_action.model.model_request import ModelRequest
from ratiba_action.model.plan import HEAD, Arm, Plan, Tenant, Trial
from ratiba_action.model.scenario import Assertion, Scenario, Turn
from ratiba_action.model.values import Usd
from ratiba_action.model.verdict import Evidence, Limits, PassRateRule, Report, Spending
from ratiba_action.money.budget import Ledger
from ratiba_action.ports import Metric
from ratiba_action.privacy.masking import Redactor
from ratiba_action.publish.full_publication import every_file
from ratiba_action.pytest_plugin.collection import describe
from ratiba_action.reporting.directory import write_report_directory
from ratiba_action.reporting.summary import summarise
from ratiba_action.run.inputs import RunLog, SilentProgress
from ratiba_action.run.runner import run_plan
from ratiba_action.run.services import Arms, ArmServices, RunServices
from ratiba_action.suite.load import is_scenario_file, load_suite, read_scenario_files
from ratiba_action.systems.dialogue import parse_reply, parse_reported_usage
from ratiba_action.systems.worker_session import opening
from ratiba_action.systems.worker_system import SECRET_NAME
from ratiba_action.tenancy.no_database import NoDatabase
from ratiba_action.util.language_detection import LanguageDetection
from ratiba_action.util.text import printable
from ratiba_action.verdict.decision import next_step
from ratiba_action.verdict.pairing import content_digest
from ratiba_action.verdict.quarantine import day_of
from ratiba_action.verdict.trials import Standing, outcomes_of, standing
from ratiba_action.worker.plain_callable import as_adapter

_SESSION: ContextVar["ScenarioReport | None"] = ContextVar("ratiba_session", default=None)
"""The report that results of this pytest session are added to; None where none was asked for."""


def assert_scenario(scenario: str | Path | Mapping[str, Any], system: Any) -> None:
    """See ``pytest_plugin.assert_scenario``, the public name, which loads this module when a test calls it."""
    __tracebackhide__ = True
    scenarios = _read(scenario)
    for chosen in scenarios:
        _refuse_what_needs_a_gate(chosen)
    failed: list[str] = []
    cause: Exception | None = None
    for chosen in scenarios:
        tested = _InProcess(system)
        results = _apart(lambda chosen=chosen, tested=tested: _run(chosen, tested))  # type: ignore[misc]
        session = _SESSION.get()
        if session is not None:
            session.add(results)
        (outcome,) = outcomes_of(results)
        if outcome.standing is not Standing.PASSED:
            cause = cause or tested.raised
            wrong = [result for result in results if standing(result) is not Standing.PASSED]
            failed += [f"scenario {chosen.id}:", *(line for result in wrong for line in describe(result))]
    if failed:
        raise AssertionError("\n".join(failed)) from cause


def _read(scenario: str | Path | Mapping[str, Any]) -> tuple[Scenario, ...]:
    if isinstance(scenario, Mapping):
        files = {"scenario.yaml": json.dumps(dict(scenario), default=str).encode()}
        (given,) = load_suite(files, metric_problems, validate_rule).scenarios
        warn_of_former_keys(*files.popitem())
        return (replace(given, path=""),)
    path = Path(scenario).resolve()
    folder, name = path.parent.name, f"{path.parent.name}/{path.name}"
    if not path.is_file() or not is_scenario_file(name, folder):
        raise UsageError(f"There is no scenario file {str(scenario)!r}.", "Give the path of a .yaml file.")
    found = read_scenario_files(path.parent.parent, folder)
    files = {file: found[file] for file in found if file == name or not is_scenario_file(file, folder)}
    suite = load_suite(files, metric_problems, validate_rule)
    warn_of_former_keys(name, files[name])
    gates = [gate.metric for cases in suite.data_sets for gate in cases.gates]
    if gates:
        _refuse(suite.data_sets[0].id, f"the other cases of a run for {', '.join(gates)}")
    return suite.scenarios


def _refuse_what_needs_a_gate(scenario: Scenario) -> None:
    judged = [entry.label for entry in scenario.assertions if is_judged(entry.metric, entry.parameters)]
    rows = bool(scenario.rows) or any(turn.expect.rows for turn in scenario.turns)
    needs = [f"a judge for {', '.join(judged)}"] if judged else []
    needs += ["a database for its rows"] if rows else []
    needs += ["a model that plays the customer"] if scenario.simulated_user is not None else []
    needs += ["a worker for code of the repository"] if needs_custom_code([scenario]) else []
    if needs:
        _refuse(scenario.id, " and ".join(needs))


def _refuse(scenario_id: str, needs: str) -> NoReturn:
    raise ConfigurationError(
        f"The scenario {scenario_id!r} needs {needs}, which assert_scenario does not have.",
        f"Run: ratiba gate --scenario {scenario_id}",
    )


def _apart(work: Callable[[], Sequence[ScenarioResult]]) -> Sequence[ScenarioResult]:
    """What some work gives on a thread of its own: the caller's may run an event loop already."""
    ended: list[Sequence[ScenarioResult] | BaseException] = []

    def run() -> None:
        try:
            ended.append(work())
        except BaseException as error:  # noqa: BLE001 - raised again where the caller waits
            ended.append(error)

    thread = threading.Thread(target=run, name="ratiba-scenario", daemon=True)
    thread.start()
    thread.join()
    (result,) = ended
    if isinstance(result, BaseException):
        raise result
    return result


def _run(scenario: Scenario, system: "_InProcess") -> Sequence[ScenarioResult]:
    arm = Arm(HEAD, "")
    languages = {turn.expect.language for turn in scenario.turns} - {None}
    detection = LanguageDetection(sorted({"sw", "en", *filter(None, languages)})) if languages else None
    services = RunServices(
        Arms({HEAD: ArmServices(arm, system)}),
        NoDatabase(),
        _NoGateway(),
        _deterministic,
        RunLog(SilentProgress()),
        concurrency=1,
        detect_language=detection.language_of if detection is not None else None,
    )
    trials = tuple(Trial(scenario, arm, number) for number in range(scenario.strategy.trials))
    return asyncio.run(run_plan(Plan(trials), services))


def _deterministic(assertion: Assertion) -> Metric:
    if is_judged(assertion.metric, assertion.parameters):
        raise ConfigurationError("assert_scenario has no judge.", "Run: ratiba gate.")
    return load_metric(assertion.metric, None, assertion.parameters)


class _InProcess:
    """Implements ``SystemUnderTest`` by an object of this process.

    Args:
        subject: a function, an object for one conversation, or an adapter.
    """

    def __init__(self, subject: Any) -> None:
        self._subject = subject
        self.raised: Exception | None = None

    async def start(self) -> None:
        """Nothing is started."""

    async def migrate(self, _dsn: str) -> None:
        """There is no database."""

    async def close(self) -> None:
        """Nothing was started."""

    async def open(self, scenario: Scenario, tenant: Tenant, environment: Mapping[str, str]) -> "_Session":
        """Start a conversation; a class is made anew for it."""
        context = SimpleNamespace(**{**opening(scenario, tenant, environment)["context"], "now": scenario.now})
        made = await self.call(self._subject) if isinstance(self._subject, type) else self._subject
        adapter = await self.call(as_adapter, made, getattr(made, "__name__", type(made).__name__))
        return _Session(self, await self.call(adapter.open, context))

    async def call(self, method: Callable[..., Any], *arguments: Any) -> Any:
        """What a method gives; a synchronous one has no event loop around it."""
        try:
            if inspect.iscoroutinefunction(method):
                return await method(*arguments)
            given = await asyncio.to_thread(method, *arguments)
            return await given if inspect.isawaitable(given) else given
        except Exception as error:
            self.raised = self.raised or error
            raise WorkerError(f"the system raised {type(error).__name__}: {error}") from error


class _Session:
    """Implements ``Session`` for an adapter's conversation in this process."""

    def __init__(self, system: _InProcess, conversation: Any) -> None:
        self._system, self._conversation = system, conversation
        self._open = True
        self.reported_usage: Sequence[ReportedUsage] = ()

    async def send(self, turn: Turn) -> Reply:
        """The reply to a message or an event."""
        name, argument = ("send", turn.user) if turn.event is None else ("deliver", dict(turn.event))
        method = getattr(self._conversation, name, None)
        if not callable(method):
            raise WorkerError(f"the system has no method {name}().")
        answer = await self._system.call(method, argument)
        reply = parse_reply(answer)
        self.reported_usage = parse_reported_usage(answer)
        return reply

    async def close(self) -> None:
        """Let the system end the conversation; may be called twice."""
        end = getattr(self._conversation, "close", None)
        if self._open and callable(end):
            await self._system.call(end)
        self._open = False


class _NoGateway:
    """Implements ``ModelGateway``: the system calls its models by itself."""

    def open_scenario(
        self,
        _scenario_id: str,
        _trial: int,
        _arm: str,
        *,
        seen: Callable[[ModelRequest], None],  # noqa: ARG002 - the protocol's
    ) -> "_NoAccess":
        """Nothing passes it, so that ``seen`` is never called."""
        return _NoAccess()


@dataclass(slots=True)
class _NoAccess:
    """Implements ``ModelAccess`` without an address."""

    environment: Mapping[str, str] = field(default_factory=dict)
    problems: Sequence[RatibaError] = ()
    stale: RatibaError | None = None
    models: Sequence[str] = ()
    calls: AnsweredCalls = field(default_factory=AnsweredCalls)

    def close(self) -> None:
        """Nothing is open."""


class ScenarioReport:
    """Collects the results of a pytest session, and writes the files of a report.

    Args:
        environment: of the process; the values of its secrets are masked.
    """

    def __init__(self, config: pytest.Config, folder: Path, environment: Mapping[str, str]) -> None:
        if hasattr(config, "workerinput") or config.getoption("numprocesses", None):
            raise pytest.UsageError("--ratiba-report needs one process. Remove -n, or remove --ratiba-report.")
        self._folder, self._started = folder, datetime.now(UTC)
        self._results: list[ScenarioResult] = []
        self._written = ""
        self._redactor = Redactor([value for name, value in environment.items() if SECRET_NAME.fullmatch(name)])
        self._spending, self._origin = Ledger(Usd(0)).snapshot(), AnswerOrigin.REPLAY
        self._token = _SESSION.set(self)

    def add(self, results: Sequence[ScenarioResult]) -> None:
        """Add the trials of one scenario; those of an earlier test of the same scenario are replaced."""
        ids = {result.trial.scenario.id for result in results}
        kept = [result for result in self._results if result.trial.scenario.id not in ids]
        self._results = [*kept, *results]

    def pay(self, spending: Spending, origin: AnswerOrigin) -> None:
        """Say what the collected scenarios cost, and where their answers came from."""
        self._spending, self._origin = spending, origin

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        """Write the report, once the scenarios' run has been closed."""
        _SESSION.reset(self._token)
        if not self._results:
            self._written = "no scenario was run, so no report was written"
            return
        try:
            write_report_directory(summarise(self._redactor.report(self._report())), self._folder, render=every_file)
        except RatibaError as error:
            self._written = f"no report: {error}"
            return
        self._written = f"report: {self._folder / 'report.html'}"

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Say where the report is."""
        terminalreporter.write_line(f"ratiba: {printable(self._written)}")

    def _report(self) -> Report:
        # Each test passes or fails alone, so each judged score has to reach its threshold.
        limits, results = Limits(1.0, PassRateRule.STRICT), tuple(self._results)
        apart = "pytest runs each scenario once and compares it with no base"
        day = day_of(self._started)
        evidence = Evidence(Mode.BLOCKING, results, limits, no_further=apart, no_base=apart, day=day)
        verdict = next_step(evidence)
        if isinstance(verdict, Plan):
            raise TypeError("next_step asks for trials that pytest does not run")
        return Report(
            name="pytest",
            subject=Subject(),
            decision=ModeDecision(Mode.BLOCKING, ()),
            verdict=verdict,
            results=results,
            spending=self._spending,
            limits=limits,
            started_at=self._started,
            seconds=(datetime.now(UTC) - self._started).total_seconds(),
            llm=self._origin,
            scenario_digests={result.trial.scenario.id: content_digest(result.trial.scenario) for result in results},
        )
