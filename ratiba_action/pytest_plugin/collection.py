"""Collects scenario files as pytest items; imported only if pytest is asked to collect them."""

from collections.abc import Iterable, Iterator, MutableMapping, Sequence
from contextlib import AsyncExitStack, ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pytest

from ratiba_action.checks.failure_rules import validate_rule
from ratiba_action.config.renamed_keys import warn_of_former_keys
from ratiba_action.decide.deciding import DecideRequest, decide, request_of
from ratiba_action.errors import ConfigurationError, RatibaError, SuiteError
from ratiba_action.metrics.registry import metric_problems
from ratiba_action.model.answer_origin import AnswerOrigin
from ratiba_action.model.change import Mode
from ratiba_action.model.measurement import Errored, NotRun, ScenarioResult
from ratiba_action.model.plan import Plan
from ratiba_action.model.scenario import Scenario
from ratiba_action.model.verdict import Spending
from ratiba_action.money.budget import Ledger
from ratiba_action.privacy.masking import Redactor
from ratiba_action.run.arms import head_inputs, scratch_folder
from ratiba_action.run.composition import open_session
from ratiba_action.run.evaluation_inputs import read_inputs
from ratiba_action.run.inputs import RunLog, RunRequest, SilentProgress
from ratiba_action.run.notes import origin_of
from ratiba_action.run.provider_keys import require_key
from ratiba_action.run.services import Measured
from ratiba_action.settings.settings import Settings, read_settings
from ratiba_action.suite.load import is_scenario_file, load_suite, read_scenario_files
from ratiba_action.util.locked_folder import read_plain_file
from ratiba_action.util.loop_thread import LoopThread
from ratiba_action.util.text import printable
from ratiba_action.verdict.quarantine import day_of, quarantine_in_force
from ratiba_action.verdict.trials import Standing, is_measured, outcomes_of, standing

if TYPE_CHECKING:
    from ratiba_action.run.session import RunSession


class StandingRun:
    """Runs the scenarios of a checkout one by one; database, worker and gateway are started once.

    Args:
        cache: whether cached judge scores may be used.
    """

    def __init__(
        self,
        repository: Path,
        settings: Settings,
        environment: MutableMapping[str, str],
        *,
        cache: bool = True,
    ) -> None:
        decided = decide(replace(request_of(settings, DecideRequest(repository)), floor=Mode.BLOCKING), environment)
        root = decided.change.git.root if decided.change.git is not None else repository
        self._request = RunRequest(
            settings=settings, decided=decided, repository=root, environment=environment, cache=cache
        )
        self._log = RunLog(SilentProgress())
        self._redactor = Redactor(settings.secrets)
        self._results: list[ScenarioResult] = []
        self._session: RunSession | None = None
        self._ledger = Ledger(settings.budget_usd)
        self._folders, self._parts = ExitStack(), AsyncExitStack()
        self._loop = LoopThread("ratiba-scenarios")

    @property
    def warnings(self) -> Sequence[str]:
        """Warnings, masked."""
        return tuple(self._redactor.text(warning) for warning in self._log.warnings)

    @property
    def spending(self) -> Spending:
        """The money of the run so far."""
        return self._ledger.snapshot()

    @property
    def origin(self) -> AnswerOrigin:
        """Where the answers came from so far."""
        return origin_of(self._request.settings.llm, self.spending)

    def start(self) -> None:
        """Read the inputs, and start what every scenario needs.

        Raises:
            RatibaError: files are invalid, or something could not be started.
        """
        inputs = read_inputs(self._request)
        require_key(inputs.settings, inputs.configuration, inputs.environment)
        warn_of_former_keys(inputs.settings.config, read_plain_file(inputs.repository, inputs.settings.config))
        self._head = head_inputs(inputs)
        scratch = self._folders.enter_context(scratch_folder())
        session = open_session(inputs, self._head, ledger=self._ledger, log=self._log, scratch=scratch)
        self._session = self._loop.wait(self._parts.enter_async_context(session))

    def results(self, scenario_id: str) -> tuple[ScenarioResult, ...]:
        """Run all trials of one scenario; secrets and identifiers are masked.

        Raises:
            LookupError: the run has no scenario of that id.
        """
        trials = tuple(trial for trial in self._head.plan.trials if trial.scenario.id == scenario_id)
        if not trials or self._session is None:
            raise LookupError(scenario_id)
        results = tuple(self._loop.wait(self._session.run(Plan(trials))))
        self._results += results
        return tuple(self._redactor.result(result) for result in results)

    def close(self) -> None:
        """Close everything that was started."""
        try:
            if self._session is not None:
                self._loop.wait(self._session.finish(Measured(tuple(self._results))))
            self._loop.wait(self._parts.aclose())
        finally:
            self._folders.close()
            self._loop.close()


class CollectedResults(Protocol):
    """Where results go besides pytest."""

    def add(self, results: Sequence[ScenarioResult]) -> None:
        """Add the trials of one scenario."""
        ...

    def pay(self, spending: Spending, origin: AnswerOrigin) -> None:
        """Say what the scenarios cost, and where their answers came from."""
        ...


class ScenarioTests:
    """Collects the scenario files of a folder, and runs them with one server and worker per process.

    Args:
        folder: of the scenarios, from pytest's root folder.
        environment: of this process, with the inputs.
        report: given every result; None for nothing.
    """

    def __init__(
        self,
        config: pytest.Config,
        folder: str,
        environment: MutableMapping[str, str],
        report: CollectedResults | None = None,
    ) -> None:
        self._config = config
        self._report = report
        self._environment = environment
        self._folder = folder
        self._run: StandingRun | None = None
        self._warnings: tuple[str, ...] = ()
        self._start_error: RatibaError | None = None

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> "_File | None":
        """A collector for a scenario file."""
        root = self._config.rootpath
        inside = file_path.is_relative_to(root)
        if not inside or not is_scenario_file(file_path.relative_to(root).as_posix(), self._folder):
            return None
        collector: _File = _File.from_parent(parent, path=file_path, tests=self)
        return collector

    def scenarios(self, path: Path) -> tuple[Scenario, ...]:
        """The scenarios of one file.

        Raises:
            SuiteError: it is invalid.
        """
        root = self._config.rootpath
        name = path.relative_to(root).as_posix()
        files = {
            other: content
            for other, content in read_scenario_files(root, self._folder).items()
            if not is_scenario_file(other, self._folder)
        }
        files[name] = read_plain_file(root, name)
        warn_of_former_keys(name, files[name])
        # To collect them; the run reads them again, with the configuration's time zone for those that name none.
        return load_suite(files, metric_problems, validate_rule, timezone=None).scenarios

    def results(self, scenario_id: str) -> tuple[ScenarioResult, ...]:
        """The results of a scenario.

        Raises:
            RatibaError: the run could not be started; the same error for each test.
        """
        if self._start_error is not None:
            raise self._start_error
        if self._run is None:
            self._run = self._open()
            try:
                self._run.start()
            except RatibaError as error:
                self._start_error = error
                raise
        results = self._run.results(scenario_id)
        if self._report is not None:
            self._report.add(results)
        return results

    def _open(self) -> StandingRun:
        option = self._config.getoption
        llm = option("--ratiba-llm")
        if llm != "replay" and hasattr(self._config, "workerinput"):
            raise ConfigurationError(
                f"--ratiba-llm is {llm!r}, but tests run in several processes, which would each spend the budget.",
                "Remove -n, or use --ratiba-llm replay.",
            )
        given = {"llm": llm, "scenarios": self._folder, "database-url": option("--ratiba-database-url")}
        settings = read_settings(self._environment, given)
        return StandingRun(
            self._config.rootpath,
            settings,
            self._environment,
            cache=not option("--no-deepeval-cache"),
        )

    def pytest_sessionfinish(self) -> None:
        """Close the run, which ends what it still has to pay for."""
        run, self._run = self._run, None
        if run is None:
            return
        try:
            run.close()
        finally:
            self._warnings = tuple(run.warnings)
            if self._report is not None:
                self._report.pay(run.spending, run.origin)

    def pytest_unconfigure(self) -> None:
        """Close the run of a session that did not finish."""
        self.pytest_sessionfinish()

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print warnings."""
        for warning in dict.fromkeys(self._warnings):
            terminalreporter.write_line(f"ratiba: {printable(warning)}")


class _File(pytest.File):
    """One scenario file."""

    def __init__(self, *, tests: ScenarioTests, **given: Any) -> None:
        super().__init__(**given)
        self._tests = tests

    def collect(self) -> Iterator["_Item"]:
        """One item per scenario: several if the file has cases."""
        try:
            scenarios = self._tests.scenarios(self.path)
        except SuiteError as error:
            raise self.CollectError("\n".join(printable(str(problem)) for problem in error.problems)) from None
        for scenario in scenarios:
            item: _Item = _Item.from_parent(self, name=scenario.id, scenario=scenario, tests=self._tests)
            yield item


class ScenarioFailure(Exception):  # noqa: N818 - pytest shows its text
    """A scenario that failed; its text is shown to the user."""


class _Item(pytest.Item):
    """One scenario."""

    def __init__(self, *, scenario: Scenario, tests: ScenarioTests, **given: Any) -> None:
        super().__init__(**given)
        self._scenario = scenario
        self._tests = tests
        self.extra_keyword_matches.update(scenario.tags)

    def runtest(self) -> None:
        """Run the scenario; every trial must pass, or as many as its strategy requires."""
        try:
            results = self._tests.results(self._scenario.id)
        except RatibaError as error:
            raise ScenarioFailure(printable(str(error))) from None
        (outcome,) = outcomes_of(results)
        if outcome.standing is Standing.PASSED:
            return
        failed = [result for result in outcome.trials if standing(result) is not Standing.PASSED]
        message = "\n".join(line for result in failed for line in describe(result))
        quarantine = quarantine_in_force(outcome.scenario, day_of(datetime.now(UTC)))
        if quarantine is not None:
            pytest.xfail(f"in quarantine until {quarantine.until.isoformat()}: {printable(quarantine.reason)}")
        raise ScenarioFailure(message)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The text of the failure, without the gate's traceback."""
        if isinstance(excinfo.value, ScenarioFailure):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """The file and line of the scenario."""
        return self.path, max(self._scenario.line - 1, 0), self._scenario.id


def describe(result: ScenarioResult) -> Iterable[str]:
    """The failures of a trial: turn, messages, expected and got, and scores with their reasons."""
    if isinstance(result, NotRun):
        return [f"not run: {printable(result.reason)}"]
    if isinstance(result, Errored):
        return [f"{result.phase.value} error: {printable(result.explanation)}"]
    lines: list[str] = []
    for check in result.checks:
        if check.passed:
            continue
        turn = f"turn {check.turn}" if check.turn else "conversation"
        place = f"{result.trial.scenario.path}:{check.line}: " if check.line and result.trial.scenario.path else ""
        lines += [f"{place}{turn}: {check.what}", f"    expected: {check.expected}", f"    got:      {check.got}"]
        if 0 < check.turn <= len(result.transcript.exchanges):
            exchange = result.transcript.exchanges[check.turn - 1]
            lines += [f"    customer: {exchange.turn.user or dict(exchange.turn.event or {})}"]
            lines += [f"    system:   {exchange.reply.text}"]
    if not is_measured(result):
        lines.append("nothing was measured: add `expect` to a turn, or add rules or assertions")
    lines += [
        f"{score.metric}: {score.value:.2f}{score.vote_note} is below {score.threshold:.2f}: {score.reason}"
        for score in result.deciding_scores
        if not score.passed
    ]
    return [printable(line) for line in lines]
