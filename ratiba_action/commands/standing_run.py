"""A run that stays open and runs one scenario after another on request, for tests."""

import asyncio
import threading
import time
from collections.abc import Coroutine, MutableMapping, Sequence
from contextlib import AsyncExitStack, ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from ratiba_action.decide.deciding import DecideRequest, decide, request_of
from ratiba_action.metrics.judging.cache import JudgeCache
from ratiba_action.model.answer_origin import AnswerOrigin
from ratiba_action.model.change import Mode
from ratiba_action.model.measurement import ScenarioResult
from ratiba_action.model.plan import Plan
from ratiba_action.model.verdict import Spending
from ratiba_action.money.budget import Ledger
from ratiba_action.privacy.masking import Redactor
from ratiba_action.run.arms import head_inputs, scratch_folder
from ratiba_action.run.composition import open_services
from ratiba_action.run.evaluation_inputs import read_inputs
from ratiba_action.run.inputs import RunLog, RunRequest, SilentProgress
from ratiba_action.run.notes import origin_of
from ratiba_action.run.provider_keys import cache_folder, require_key
from ratiba_action.run.runner import run_plan
from ratiba_action.run.services import Measured, RunServices
from ratiba_action.settings.settings import Settings


class StandingRun:
    """Runs the scenarios of a checkout one by one; database, worker and gateway are started once.

    Args:
        repository: the checkout.
        settings: of the run.
        environment: of the process.
        cache: whether cached judge scores may be used.
        clear_cache: delete them first.
    """

    def __init__(
        self,
        repository: Path,
        settings: Settings,
        environment: MutableMapping[str, str],
        *,
        cache: bool = True,
        clear_cache: bool = False,
    ) -> None:
        decided = decide(replace(request_of(settings, DecideRequest(repository)), floor=Mode.BLOCKING), environment)
        root = decided.change.git.root if decided.change.git is not None else repository
        self._request = RunRequest(
            settings=settings, decided=decided, repository=root, environment=environment, cache=cache
        )
        self._log = RunLog(SilentProgress())
        self._clear_cache = clear_cache
        self._redactor = Redactor(settings.secrets)
        self._results: list[ScenarioResult] = []
        self._services: RunServices | None = None
        self._ledger = Ledger(settings.budget_usd)
        self._folders, self._parts = ExitStack(), AsyncExitStack()
        self._loop = asyncio.new_event_loop()
        # An embedded server dies with the thread that started it, so the thread stays until ``close``.
        self._thread = threading.Thread(target=self._loop.run_forever, name="ratiba-scenarios", daemon=True)
        self._thread.start()

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
        if self._clear_cache:
            JudgeCache(cache_folder(self._request.environment), self._log.note).clear()
        self._head = head_inputs(inputs)
        scratch = self._folders.enter_context(scratch_folder())
        ledger, seconds = self._ledger, inputs.seconds_allowed
        deadline = None if seconds is None else time.monotonic() + seconds
        opened = open_services(inputs, self._head, ledger=ledger, log=self._log, scratch=scratch, deadline=deadline)
        self._services = self._wait(self._parts.enter_async_context(opened))

    def results(self, scenario_id: str) -> tuple[ScenarioResult, ...]:
        """Run all trials of one scenario; secrets and identifiers are masked.

        Raises:
            LookupError: the run has no scenario of that id.
        """
        trials = tuple(trial for trial in self._head.plan.trials if trial.scenario.id == scenario_id)
        if not trials or self._services is None:
            raise LookupError(scenario_id)
        results: tuple[ScenarioResult, ...] = self._wait(run_plan(Plan(trials), self._services))
        self._results += results
        return tuple(self._redactor.result(result) for result in results)

    def close(self) -> None:
        """Close everything that was started."""
        try:
            if self._services is not None:
                self._wait(self._services.finish(Measured(tuple(self._results)), cancelled=False))
            self._wait(self._parts.aclose())
        finally:
            self._folders.close()
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    def _wait(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()
