"""Calls the gate's judge about single answers in production: within a budget, and never longer than a time limit."""

import asyncio
import os
import time
from collections.abc import Callable, Collection, MutableMapping, Sequence
from contextlib import AsyncExitStack, ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Self

from ratiba_action.config.configuration import Configuration, load_configuration
from ratiba_action.errors import ConfigurationError, RatibaError
from ratiba_action.metrics.judging.judge_independence import family_notes
from ratiba_action.metrics.judging.judging_processes import JudgingProcesses
from ratiba_action.model.answer_origin import Llm
from ratiba_action.model.change import Subject
from ratiba_action.model.measurement import Case, Score
from ratiba_action.model.plan import HEAD, Arm
from ratiba_action.model.values import Usd
from ratiba_action.money.budget import Ledger
from ratiba_action.money.pricing import base_model
from ratiba_action.observability.logged_ports import NoEvents
from ratiba_action.privacy.masking import Redactor
from ratiba_action.production.inline import JudgedAssertion
from ratiba_action.production.measuring import masked_case
from ratiba_action.run.arms import scratch_folder
from ratiba_action.run.inputs import ArmInputs, RunLog, SilentProgress
from ratiba_action.run.judging import Judging
from ratiba_action.run.paid_run import open_paid_run, price_list
from ratiba_action.run.provider_keys import keys_line, keys_of, require_key
from ratiba_action.settings.settings import Settings
from ratiba_action.systems.judging_launch import open_judging_server
from ratiba_action.systems.workplace import Surroundings, private_places
from ratiba_action.util.loop_thread import LoopThread

_GRACE = 0.25
"""Seconds beyond the limit for a thread that was not scheduled in time."""
_SPARE = 5.0
"""Seconds that closing waits for calls that were given up."""


class InlineJudge:
    """Implements ``AnswerJudge`` on a thread of its own; open one in a process with ``with``.

    A score near its threshold is not voted on, and nothing is cross-checked: both take longer than an answer may wait.

    Args:
        settings: keys, budget and the shared ledger, from ``read_settings``.
        repository: folder of the configuration.
        generators: models that write the answers; none of them may be the judge.
        configuration: of the gate; None reads it from the repository.
    """

    def __init__(
        self,
        settings: Settings,
        repository: Path,
        environment: MutableMapping[str, str],
        *,
        generators: Collection[str] = (),
        note: Callable[[str], None] = lambda _: None,
        configuration: Configuration | None = None,
    ) -> None:
        given = configuration or load_configuration(repository, settings.config)
        judge = given.judge.model_copy(update={"votes": 1, "samples": 1, "cross_check": None})
        self._configuration = given.model_copy(update={"judge": judge})
        self._settings, self._environment, self._note = (
            replace(settings, llm=Llm.LIVE, shell_keys={}),
            environment,
            note,
        )
        own = [model for model in generators if base_model(model) == base_model(judge.model)]
        if own:
            raise ConfigurationError(
                f"The judge {judge.model!r} also writes the answers ({own[0]!r}).",
                "Configure another model under `judge`.",
            )
        for line in family_notes(generators, judge.model):
            note(line)
        self._arm = ArmInputs(Arm(HEAD, str(repository)), self._configuration, ())
        self._ledger = Ledger(settings.budget_usd)
        self._folders, self._parts = ExitStack(), AsyncExitStack()
        self._judging: Judging | None = None

    @property
    def spent(self) -> Usd:
        """What was paid so far, in US dollars."""
        return self._ledger.snapshot().spent

    def __enter__(self) -> Self:
        """Open the way to the provider.

        Raises:
            InfrastructureError: there is no key for the judge, or the shared ledger cannot be used.
            ConfigurationError: the judge has no price.
        """
        judge = self._configuration.judge
        require_key(self._settings, self._configuration, self._environment)
        self._note(keys_line(self._settings, self._configuration, self._environment))
        if judge.provider not in keys_of(self._settings, self._configuration):
            raise ConfigurationError(
                f"There is no key for the judge's provider {judge.provider!r}.",
                "Set its key, or name a provider under `judge` that has one.",
            )
        prices = price_list(self._configuration, self._settings.base_urls)
        prices.require([(judge.model, judge.provider)])
        with self._folders:
            scratch = self._folders.enter_context(scratch_folder())
            self._folders = self._folders.pop_all()
        self._loop = LoopThread("ratiba-judge")
        log = RunLog(SilentProgress())
        opened = open_paid_run(
            self._settings,
            self._configuration,
            subject=Subject(),
            ledger=self._ledger,
            prices=prices,
            environment=self._environment,
            warn=self._note,
            concurrency=os.cpu_count() or 1,
            events=NoEvents(),
        )
        try:
            paid = self._loop.wait(self._parts.enter_async_context(opened))
            processes = self._loop.wait(self._open_processes(scratch))
        except BaseException:
            self.__exit__()  # the thread and its loop end on every way out
            raise
        self._judging = Judging(
            self._arm,
            prices,
            paid,
            second=None,
            fallback=False,
            cache=None,
            ledger=self._ledger,
            log=log,
            processes=processes,
        )
        return self

    async def _open_processes(self, scratch: Path) -> JudgingProcesses:
        """What DeepEval runs in, ready to measure: this process holds the keys."""
        private = private_places(self._environment, self._settings.report_dir)
        around = Surroundings(Path(), self._environment, scratch, private=private)
        server = await self._parts.enter_async_context(open_judging_server(lambda: around, note=self._note))
        processes = JudgingProcesses(server.connect)
        self._parts.push_async_callback(processes.close)
        await processes.start()
        return processes

    def __exit__(self, *_: object) -> None:
        """Close the connections; a call that was given up is not waited for longer than a few seconds."""
        try:
            self._loop.wait(self._close())
        finally:
            self._folders.close()
            self._loop.close()

    def scores(
        self, case: Case, judged: Sequence[JudgedAssertion], redactor: Redactor, seconds: float
    ) -> Sequence[Score | str]:
        """One score for each assertion, or why there is none; see ``AnswerJudge``.

        Args:
            case: of the answer; the judge gets it masked.
            judged: what to measure, all at once.
            redactor: knows the names in it.
        """
        late = f"the judge did not answer within {seconds:g} s"
        work = self._scores(masked_case(case, redactor), judged, time.monotonic() + seconds, late)
        future = self._loop.begin(work)
        try:
            return future.result(seconds + _GRACE)
        except TimeoutError:
            future.cancel()
            return [late] * len(judged)

    async def _scores(
        self, case: Case, judged: Sequence[JudgedAssertion], until: float, late: str
    ) -> Sequence[Score | str]:
        tasks = [asyncio.create_task(self._score(case, entry)) for entry in judged]
        done, pending = await asyncio.wait(tasks, timeout=max(until - time.monotonic(), 0.0))
        for task in pending:
            task.cancel()  # its reservation stays spent: the provider may charge for it
        return [task.result() if task in done else late for task in tasks]

    async def _score(self, case: Case, entry: JudgedAssertion) -> Score | str:
        if self._judging is None:
            return "the judge was not opened"
        try:
            return await self._judging.metric(entry.assertion).measure(case, entry.assertion.threshold)
        except RatibaError as error:
            return str(error)
        except Exception as error:  # noqa: BLE001 - a mistake in a library of judges must not stop an answer
            return f"the judge failed: {type(error).__name__}"

    async def _close(self) -> None:
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        if left:
            await asyncio.wait(left, timeout=_SPARE)
        await self._parts.aclose()
