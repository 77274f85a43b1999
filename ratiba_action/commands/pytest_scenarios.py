"""Scenario files as tests, one item each; imported only in a pytest that was asked to collect them."""

from collections.abc import Iterable, Iterator, MutableMapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ratiba_action.checks.failure_rules import validate_rule
from ratiba_action.commands.standing_run import StandingRun
from ratiba_action.errors import ConfigurationError, RatibaError, SuiteError
from ratiba_action.metrics.registry import metric_problems
from ratiba_action.model.measurement import Errored, NotRun, ScenarioResult
from ratiba_action.model.scenario import Scenario
from ratiba_action.settings.settings import read_settings
from ratiba_action.suite.load import is_scenario_file, load_suite, read_scenario_files
from ratiba_action.util.locked_folder import read_plain_file
from ratiba_action.util.text import printable
from ratiba_action.verdict.quarantine import day_of, quarantine_in_force
from ratiba_action.verdict.trials import Standing, is_measured, outcomes_of, standing


class ScenarioTests:
    """Collects the scenario files of a folder, and runs them with one server and worker for this process.

    Args:
        config: pytest's.
        folder: of the scenarios, from pytest's root folder.
        environment: variables of this process; names the inputs.
    """

    def __init__(self, config: pytest.Config, folder: str, environment: MutableMapping[str, str]) -> None:
        self._config = config
        self._environment = environment
        self._folder = folder
        self._run: StandingRun | None = None
        self._broken: RatibaError | None = None

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
            SuiteError: it is wrong.
        """
        root = self._config.rootpath
        name = path.relative_to(root).as_posix()
        files = {
            other: content
            for other, content in read_scenario_files(root, self._folder).items()
            if not is_scenario_file(other, self._folder)
        }
        files[name] = read_plain_file(root, name)
        return load_suite(files, metric_problems, validate_rule).scenarios

    def results(self, scenario_id: str) -> tuple[ScenarioResult, ...]:
        """What came of a scenario's conversations.

        Raises:
            RatibaError: nothing could be started; the same one for each test.
        """
        if self._broken is not None:
            raise self._broken
        if self._run is None:
            self._run = self._open()
            try:
                self._run.start()
            except RatibaError as error:
                self._broken = error
                raise
        return self._run.results(scenario_id)

    def _open(self) -> StandingRun:
        option = self._config.getoption
        llm = option("--ratiba-llm")
        if llm != "replay" and hasattr(self._config, "workerinput"):
            raise ConfigurationError(
                f"--ratiba-llm is {llm!r}, and tests run in several processes, which would each spend the budget.",
                "Leave -n out, or replay.",
            )
        given = {"llm": llm, "scenarios": self._folder, "database-url": option("--ratiba-database-url")}
        settings = read_settings(self._environment, given)
        return StandingRun(
            self._config.rootpath,
            settings,
            self._environment,
            cache=not option("--no-deepeval-cache"),
            clear_cache=option("--deepeval-cache-clear"),
        )

    def pytest_unconfigure(self) -> None:
        """End what was started."""
        if self._run is not None:
            self._run.close()

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Say what a reader should know."""
        for warning in dict.fromkeys(self._run.warnings if self._run is not None else ()):
            terminalreporter.write_line(f"ratiba: {printable(warning)}")


class _File(pytest.File):
    """One scenario file."""

    def __init__(self, *, tests: ScenarioTests, **given: Any) -> None:
        super().__init__(**given)
        self._tests = tests

    def collect(self) -> Iterator["_Item"]:
        """One item a scenario: several where the file has cases."""
        try:
            scenarios = self._tests.scenarios(self.path)
        except SuiteError as error:
            raise self.CollectError("\n".join(printable(str(problem)) for problem in error.problems)) from None
        for scenario in scenarios:
            item: _Item = _Item.from_parent(self, name=scenario.id, scenario=scenario, tests=self._tests)
            yield item


class ScenarioFailure(Exception):  # noqa: N818 - what pytest shows is its text
    """A conversation that did not hold; its text is for a reader."""


class _Item(pytest.Item):
    """One scenario."""

    def __init__(self, *, scenario: Scenario, tests: ScenarioTests, **given: Any) -> None:
        super().__init__(**given)
        self._scenario = scenario
        self._tests = tests
        self.extra_keyword_matches.update(scenario.tags)

    def runtest(self) -> None:
        """Hold the conversation; every repeat must pass, or as many as the strategy says."""
        try:
            results = self._tests.results(self._scenario.id)
        except RatibaError as error:
            raise ScenarioFailure(printable(str(error))) from None
        (outcome,) = outcomes_of(results)
        if outcome.standing is Standing.PASSED:
            return
        broken = [result for result in outcome.trials if standing(result) is not Standing.PASSED]
        told = "\n".join(line for result in broken for line in describe(result))
        held = quarantine_in_force(outcome.scenario, day_of(datetime.now(UTC)))
        if held is not None:
            pytest.xfail(f"in quarantine until {held.until.isoformat()}: {printable(held.reason)}")
        raise ScenarioFailure(told)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The text of the failure, without a traceback of ours."""
        if isinstance(excinfo.value, ScenarioFailure):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Where the scenario stands."""
        return self.path, max(self._scenario.line - 1, 0), self._scenario.id


def describe(result: ScenarioResult) -> Iterable[str]:
    """What did not hold, turn by turn: what was said, what was expected and got, and scores with their reasons."""
    if isinstance(result, NotRun):
        return [f"not run: {printable(result.reason)}"]
    if isinstance(result, Errored):
        return [f"{result.phase.value} error: {printable(result.told)}"]
    lines: list[str] = []
    for check in result.checks:
        if check.passed:
            continue
        where = f"turn {check.turn}" if check.turn else "conversation"
        place = f"{result.trial.scenario.path}:{check.line}: " if check.line else ""
        lines += [f"{place}{where}: {check.what}", f"    expected: {check.expected}", f"    got:      {check.got}"]
        if 0 < check.turn <= len(result.transcript.exchanges):
            exchange = result.transcript.exchanges[check.turn - 1]
            lines += [f"    customer: {exchange.turn.user or dict(exchange.turn.event or {})}"]
            lines += [f"    system:   {exchange.reply.text}"]
    if not is_measured(result):
        lines.append("nothing was measured: give a turn an `expect`, or write rules or assertions")
    lines += [
        f"{score.metric}: {score.value:.2f}, at least {score.threshold:.2f} is needed: {score.reason}"
        for score in result.deciding_scores
        if not score.passed
    ]
    return [printable(line) for line in lines]
