"""Where ports meet adapters: the one module that knows which class stands behind which protocol.

Everything heavy is imported here, inside functions, so that ``decide`` and a skipped run never pay for it.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from functools import partial
from mmap import mmap
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ratiba_action.checks.custom_code import is_address
from ratiba_action.checks.turn_checks import DetectLanguage
from ratiba_action.config.configuration import Configuration
from ratiba_action.metrics.registry import is_judged
from ratiba_action.model.answer_origin import Llm
from ratiba_action.model.plan import BASE, Arm
from ratiba_action.model.scenario import Scenario
from ratiba_action.money.budget import Ledger
from ratiba_action.run.arm_start import ArmsOfRun, Code, OpenedBase, caught, copy_early, start_all
from ratiba_action.run.arms import base_inputs, base_of, head_inputs
from ratiba_action.run.base_commit import BaseInputs, NoBase
from ratiba_action.run.cache_place import cache_folder, mutants_folder, user_cache_folder
from ratiba_action.run.earlier_runs import github_history
from ratiba_action.run.inputs import ArmInputs, Kept, RunInputs, RunLog
from ratiba_action.run.judges import Judges, JudgesOfRun, calls_judge
from ratiba_action.run.model_calls import ModelCalls, open_model_calls
from ratiba_action.run.paid_run import (
    EARLIER_JOURNALS,
    SEALED_JOURNALS,
    journal_folder,
    journal_place,
    require_reachable_servers,
)
from ratiba_action.run.services import NO_BASE, ArmServices, RunServices
from ratiba_action.run.session import RunSession
from ratiba_action.run.tenants import open_tenants
from ratiba_action.settings.environment import has_proxy_password
from ratiba_action.util.persisted_credentials import in_job, persisted_credentials
from ratiba_action.verdict.trials import FailureLimit

if TYPE_CHECKING:
    from ratiba_action.metrics.judging.judging_processes import JudgingProcesses
    from ratiba_action.systems.replay_system import ReplaySystem
    from ratiba_action.systems.scratch import Checkout
    from ratiba_action.systems.worker_system import WorkerSystem
    from ratiba_action.systems.workplace import Surroundings


@asynccontextmanager
async def open_services(
    inputs: RunInputs,
    head: ArmInputs,
    *,
    ledger: Ledger,
    log: RunLog,
    scratch: Path,
    deadline: float | None = None,
    with_base: bool = False,
) -> AsyncIterator[RunServices]:
    """Start everything that a run needs, and end it on every way out.

    The database, a worker and what DeepEval runs in start beside each other: each takes about a second. Where trials
    of the base may run, that worker is the base's, and the change is started by the first plan that names it: until
    then none of its code runs.

    Args:
        scratch: a folder outside the workspace, removed when the run ends.
        deadline: seconds of ``time.monotonic``; see ``RunServices``.
        with_base: trials of the base may run, if there is one.

    Raises:
        InfrastructureError: one of them could not be started.
        ConfigurationError: a model has no price, or the database's address cannot work where the gate runs.
    """
    paid, system_block = inputs.llm != Llm.REPLAY, inputs.configuration.system
    require_reachable_servers(
        inputs.environment,
        inputs.settings.database_url if system_block.has_database else "",
        inputs.settings.ledger_url if paid else "",
    )
    journal = journal_place(inputs, head) if paid else None
    async with AsyncExitStack() as stack:
        judging = await stack.enter_async_context(open_judging(inputs, head, scratch))
        opening = CodeOfRun(stack, inputs, scratch)
        code = await opening.open(stack, head, kept=inputs.kept)
        opened = open_model_calls(
            inputs, head, ledger=ledger, log=log, journal=journal, deadline=deadline, judging=judging
        )
        calls, services = await stack.enter_async_context(opened)
        base = base_of(inputs) if with_base else NoBase(NO_BASE)
        if isinstance(base, NoBase):
            first: Coroutine[Any, Any, OpenedBase | None] = start_all(*code)
        else:
            await copy_early(code[0])
            first = caught(opening.open_base(base, calls))
        tenants, found, _ = await asyncio.gather(
            stack.enter_async_context(open_tenants(inputs, log)), first, ready_to_judge(judging, head)
        )
        no_base = base.reason if isinstance(base, NoBase) else NO_BASE
        arms = ArmsOfRun(head, opening.open, calls, tenants=tenants, log=log, setups=opening.setups, no_base=no_base)
        if found is None:
            await arms.add_started(code)
        else:
            arms.start_later(found, code, watched=paid)
        yield replace(
            services,
            arms=arms,
            tenants=tenants,
            detect_language=_language_detector(head.scenarios),
            stop_rule=partial(FailureLimit, inputs.configuration.suite.max_failed, head.day),
        )


open_session = partial(RunSession, open_services)
"""Makes the session of a run on what the gate runs by: a database, workers, a gateway and models."""


@asynccontextmanager
async def open_kept(inputs: RunInputs, scratch: Path) -> AsyncIterator[Kept]:
    """Start what the runs of a watch have in common: fork servers, a database of their own, and what DeepEval runs in.

    Args:
        inputs: of a run of all the scenarios that are watched.
        scratch: a folder outside the workspace, for as long as it is kept.

    Raises:
        InfrastructureError: one of them could not be started.
        ConfigurationError: the configuration cannot be run.
    """
    from ratiba_action.systems.judging_launch import open_judging_server
    from ratiba_action.systems.worker_system import WorkerSystem
    from ratiba_action.tenancy.server import choose_server

    head, block = head_inputs(inputs), inputs.configuration.system
    async with AsyncExitStack() as stack:
        server = None
        if block.has_database and not inputs.settings.database_url:
            server = choose_server(None)
            stack.push_async_callback(server.stop)
        opening = CodeOfRun(stack, inputs, scratch)
        code = await opening.open(stack, head) if block.setup is None else ()
        judging = None
        if _judges_by_deepeval(head.scenarios):
            judging = await stack.enter_async_context(
                open_judging_server(partial(_beside_system, inputs, head, scratch))
            )
        # The server dies with the thread that starts it, which is this one.
        await asyncio.gather(
            *([server.start()] if server is not None else []),
            start_all(*code),
            *([judging.control()] if judging is not None else []),
        )
        parts = [part for each in code for part in (each.workers if isinstance(each, Judges) else (each,))]
        workers = [worker for worker in parts if isinstance(worker, WorkerSystem)]
        control = await judging.control() if judging is not None else None
        yield Kept(workers, server.dsn if server is not None else "", mmap(-1, 1), opening.judges.kept, control)


def _borrow(worker: "WorkerSystem | ReplaySystem", kept: Kept | None) -> None:
    """Let what needs a fork server use one that is kept."""
    from ratiba_action.systems.worker_system import WorkerSystem

    if kept is not None and isinstance(worker, WorkerSystem):
        borrowed = any(worker.borrow(other) for other in kept.workers)
        kept.missed[0] |= not borrowed


async def _copy(stack: AsyncExitStack, worker: "WorkerSystem", kept: Kept | None) -> None:
    """Copy the files of what runs code of the repository; the stack closes it."""
    stack.push_async_callback(worker.close)
    _borrow(worker, kept)
    await worker.copy()


class CodeOfRun:
    """Opens the code of each arm of a run; what set-up made and what judges serves all of them.

    Args:
        stack: closes the base's, and what judges.
    """

    def __init__(self, stack: AsyncExitStack, inputs: RunInputs, scratch: Path) -> None:
        from ratiba_action.systems.setup_command import SharedSetups

        self._stack, self._inputs, self._scratch = stack, inputs, scratch
        self.setups = SharedSetups()
        self.judges = JudgesOfRun(stack, inputs, scratch, self._open_judges)

    async def _open_judges(
        self, stack: AsyncExitStack, arm: ArmInputs, kept: Kept | None, *, repository: Path | None = None
    ) -> "WorkerSystem":
        """See ``OpenJudges``."""
        from ratiba_action.systems.choose import choose_judges

        around = replace(_surroundings(self._inputs, arm.arm, self._scratch), repository=repository)
        worker = choose_judges(arm.configuration.system, around, self.setups, with_judge=calls_judge(arm.scenarios))
        await _copy(stack, worker, kept)
        return worker

    async def open(
        self, stack: AsyncExitStack, arm: ArmInputs, *, beside: ArmServices | None = None, kept: Kept | None = None
    ) -> Code:
        """An arm's code; the files of all but its system are copied at once. See ``OpenCode``.

        Args:
            beside: the arm whose fork server serves it, where that can be.
        """
        from ratiba_action.systems.choose import choose_system, choose_tests
        from ratiba_action.systems.worker_system import WorkerSystem

        around, block = _surroundings(self._inputs, arm.arm, self._scratch), arm.configuration.system
        lent = () if beside is None else (beside.system, beside.tests)
        first, of_tests = (each if isinstance(each, WorkerSystem) else None for each in lent or (None, None))
        system = choose_system(block, around, self.setups, first)
        stack.push_async_callback(system.close)
        _borrow(system, kept)
        tests = None
        if any(scenario.test is not None for scenario in arm.scenarios):
            tests = choose_tests(block, around, self.setups, of_tests)
            await _copy(stack, tests, kept)
        return system, await self.judges.open(stack, arm, kept), tests

    async def open_base(self, base: BaseInputs, calls: ModelCalls) -> tuple[ArmInputs, Code]:
        """Fetch and start the base; whatever is started ends with the run, however far it came."""
        inputs = self._inputs
        arm = await asyncio.to_thread(base_inputs, inputs, base, self._scratch, github_history(inputs))
        calls.add_arm(arm)
        code = await self.open(self._stack, arm)
        await start_all(*code)
        return arm, code


def _language_detector(scenarios: Sequence[Scenario]) -> DetectLanguage | None:
    """Distinguishes every language that a turn expects, Swahili and English; None where none is expected."""
    from ratiba_action.util.language_detection import LanguageDetection

    expected = {turn.expect.language for scenario in scenarios for turn in scenario.turns} - {None}
    if not expected:
        return None
    languages = sorted({"sw", "en", *(language for language in expected if language is not None)})
    return LanguageDetection(languages).language_of


def checkout_of(inputs: RunInputs, commit: str | None) -> "Checkout":
    """What of the repository a system is run with.

    Args:
        commit: of its arm; None for the working tree as it is.
    """
    from ratiba_action.systems.scratch import Checkout

    # The base's files are those of its commit: what was written to them is a repository no more.
    untracked = not in_job(inputs.environment) and commit is None
    return Checkout(inputs.decided.change.git, committed=commit is not None, untracked=untracked)


def _surroundings(inputs: RunInputs, arm: Arm, scratch: Path) -> "Surroundings":
    from ratiba_action.systems.separation import room
    from ratiba_action.systems.workplace import Surroundings, places_of_job, private_places

    environment, git = inputs.environment, inputs.decided.change.git
    job = in_job(environment)
    persisted = persisted_credentials(git, environment)
    in_checkout = arm.name != BASE and (git is None or Path(arm.root).is_relative_to(git.root))
    return Surroundings(
        Path(arm.root),
        inherited=environment,
        scratch=room(arm.name, scratch),
        checkout=checkout_of(inputs, arm.commit) if in_checkout else None,
        private=(
            *private_places(environment, inputs.settings.report_dir),
            *_places_of_calls(inputs),
            *_event_places(inputs.configuration, arm.root),
            *(places_of_job(git, environment) if job else ()),
            *persisted.files,
        ),
        secrets=bool(inputs.settings.secrets) or has_proxy_password(environment) or bool(persisted.places),
        commits=_commits_of(inputs, arm),
    )


def _commits_of(inputs: RunInputs, arm: Arm) -> tuple[str, ...]:
    """What a server of an arm's code may call its commit: for a pull request, the checkout's merge of it too."""
    git = inputs.decided.change.git
    checked_out = git.commit("HEAD") if git is not None and arm.name != BASE and arm.commit is not None else None
    return tuple(dict.fromkeys(commit for commit in (arm.commit, checked_out) if commit))


@asynccontextmanager
async def open_judging(inputs: RunInputs, arm: ArmInputs, scratch: Path) -> "AsyncIterator[JudgingProcesses]":
    """What DeepEval's metrics run in; started beside whatever comes next where a scenario needs it, else by the first.

    Raises:
        ConfigurationError: it is needed, and DeepEval is not installed.
    """
    from ratiba_action.metrics.judging.judging_processes import JudgingProcesses
    from ratiba_action.systems.judging_launch import open_judging_server

    async with AsyncExitStack() as stack:
        kept = inputs.kept.judging_control if inputs.kept is not None else None
        around = partial(_beside_system, inputs, arm, scratch)
        server = await stack.enter_async_context(open_judging_server(around, kept))
        if _judges_by_deepeval(arm.scenarios):
            server.begin()
        number = min(_MAX_JUDGING, (os.cpu_count() or 1) - 1) if len(arm.scenarios) > _MANY_SCENARIOS else 1
        processes = JudgingProcesses(server.connect, max(number, 1))
        stack.push_async_callback(processes.close)
        yield processes


def _judges_by_deepeval(scenarios: Sequence[Scenario]) -> bool:
    """Whether a judged metric is the gate's own; the repository's and its tests run with their own DeepEval."""
    entries = (entry for scenario in scenarios for entry in scenario.assertions)
    return any(not is_address(entry.metric) and is_judged(entry.metric) for entry in entries)


async def ready_to_judge(judging: "JudgingProcesses", arm: ArmInputs) -> None:
    """Wait until the scenarios of an arm can be judged.

    Raises:
        InfrastructureError: DeepEval could not be started.
    """
    if _judges_by_deepeval(arm.scenarios):
        await judging.start()


def _beside_system(inputs: RunInputs, arm: ArmInputs, scratch: Path) -> "Surroundings":
    """Where DeepEval runs: no code of the repository does there, so that keys may be on the same machine."""
    return replace(_surroundings(inputs, arm.arm, scratch), secrets=False)


_MANY_SCENARIOS, _MAX_JUDGING = 100, 4
"""From how many scenarios on more than one process judges, and how many do at most."""


def _places_of_calls(inputs: RunInputs) -> tuple[str, ...]:
    """Folders of journals, judge cache and mutants: what the system said elsewhere is not its to read or change.

    Also in a run that uses none of them: what its system plants there would be another run's.
    """
    folders = [place(inputs.environment) for place in (journal_folder, user_cache_folder, mutants_folder)]
    folders += [cache_folder(inputs.environment, inputs.repository)]
    folders += [Path(path) for name in (SEALED_JOURNALS, EARLIER_JOURNALS) if (path := inputs.environment.get(name))]
    return tuple(str(folder.resolve()) for folder in folders)


def _event_places(configuration: Configuration, repository: str) -> tuple[str, ...]:
    """Folder of the events of all runs: the system knows of it, and adds nothing to it itself."""
    directory = configuration.events.directory
    return () if directory is None else (os.path.realpath(Path(repository) / directory),)
