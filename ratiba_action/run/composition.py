"""Where ports meet adapters: the one module that knows which class stands behind which protocol.

Everything heavy is imported here, inside functions, so that ``decide`` and a skipped run never pay for it.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import AbstractContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from mmap import mmap
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ratiba_action.checks.turn_checks import DetectLanguage
from ratiba_action.decide.deciding import DecideChange, decide
from ratiba_action.model.answer_origin import Llm
from ratiba_action.model.plan import BASE, Arm
from ratiba_action.model.scenario import Scenario
from ratiba_action.money.budget import Ledger
from ratiba_action.run.arm_start import ArmsOfRun, Code, OpenedBase, begun, caught, copy_early, start_all, start_base
from ratiba_action.run.arms import base_inputs, base_of, head_inputs
from ratiba_action.run.base_commit import BaseInputs, NoBase
from ratiba_action.run.changed_requests import raised_by_requests
from ratiba_action.run.closed_places import closed_places, places_of_calls
from ratiba_action.run.earlier_runs import github_history
from ratiba_action.run.event_logging import Tracer, tracer_of
from ratiba_action.run.inputs import ArmInputs, Kept, RunInputs, RunLog, RunRequest
from ratiba_action.run.judges import Judges, JudgesOfRun, calls_judge
from ratiba_action.run.judging_start import (
    judges_by_deepeval,
    judging_begun,
    open_judging,
    ready_to_judge,
    surroundings_of_judging,
)
from ratiba_action.run.model_calls import open_model_calls
from ratiba_action.run.paid_run import (
    journal_place,
    require_reachable_servers,
)
from ratiba_action.run.services import NO_BASE, ArmServices, RunServices
from ratiba_action.run.session import OpenSession, RunSession
from ratiba_action.run.tenants import open_tenants
from ratiba_action.settings.environment import has_proxy_password
from ratiba_action.util.persisted_credentials import in_job, persisted_credentials
from ratiba_action.verdict.trials import FailureLimit

if TYPE_CHECKING:
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

    The database, a worker and what DeepEval runs in start beside each other: each takes about a second. The database
    begins before any file is copied, and files are copied while the gateway's library is loaded. Where trials of the
    base may run, that worker is the base's, and the change is started by the first plan that names it: until then none
    of its code runs.

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
        tenants_open = await stack.enter_async_context(begun(stack.enter_async_context(open_tenants(inputs, log))))
        judging = await stack.enter_async_context(open_judging(inputs, head, scratch, log.note))
        opening = CodeOfRun(stack, inputs, scratch)
        code = await opening.open(stack, head, kept=inputs.kept)
        base = base_of(inputs) if with_base else NoBase(NO_BASE)
        base_open = None
        if isinstance(base, BaseInputs):
            base_open = await stack.enter_async_context(begun(caught(opening.open_base(base))))
        copied = await stack.enter_async_context(begun(copy_early(code[0])))
        opened = open_model_calls(
            inputs, head, ledger=ledger, log=log, journal=journal, deadline=deadline, judging=judging
        )
        calls, services = await stack.enter_async_context(opened)
        judging_ready = await stack.enter_async_context(begun(ready_to_judge(judging, head)))
        await copied
        if base_open is None:
            first: Coroutine[Any, Any, OpenedBase | None] = start_all(*code)
        else:
            first = start_base(stack, await base_open, code, idle_after=() if paid else (tenants_open, judging_ready))
        _ask_git_again(inputs)
        tenants, found, _ = await asyncio.gather(tenants_open, first, judging_ready)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """What ``ratiba gate`` needs of the world besides the files of its checkout.

    Args:
        decide_change: says what has changed, by the event and the repository, and what mode that asks for.
        begin_judging: gives a request back with what DeepEval runs in begun, and ends that.
        open_session: makes what scenarios run in.
        raise_by_requests: makes an advisory run a blocking one where the change alters what it sends to models.
        tracer: makes the function that sends the run's traces.
    """

    decide_change: DecideChange = decide
    begin_judging: Callable[[RunRequest], AbstractContextManager[RunRequest]] = judging_begun
    open_session: OpenSession = open_session
    raise_by_requests: Callable[[RunInputs, OpenSession], RunInputs] = raised_by_requests
    tracer: Tracer = tracer_of


REAL_WORLD = World()
"""Git, GitHub, processes, a database and models."""


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
        if judges_by_deepeval(head.scenarios):
            judging = await stack.enter_async_context(
                open_judging_server(lambda: surroundings_of_judging(inputs, inputs.configuration, scratch))
            )
        _ask_git_again(inputs)
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


def _ask_git_again(inputs: RunInputs) -> None:
    """What git has answered until now is not believed once code of the repository runs."""
    if (git := inputs.decided.change.git) is not None:
        git.forget()


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
        self._of_calls = places_of_calls(inputs)  # the same for all arms, and known before code of one of them runs
        self.setups = SharedSetups()
        self.judges = JudgesOfRun(stack, inputs, scratch, self._open_judges)

    async def _open_judges(
        self, stack: AsyncExitStack, arm: ArmInputs, kept: Kept | None, *, repository: Path | None = None
    ) -> "WorkerSystem":
        """See ``OpenJudges``."""
        from ratiba_action.systems.choose import choose_judges

        around = replace(self._surroundings(arm.arm), repository=repository)
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

        around, block = self._surroundings(arm.arm), arm.configuration.system
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

    async def open_base(self, base: BaseInputs) -> tuple[ArmInputs, Code]:
        """Fetch the base and copy its files; nothing of it runs yet. It ends with the run, however far it came."""
        inputs = self._inputs
        arm = await asyncio.to_thread(base_inputs, inputs, base, self._scratch, github_history(inputs))
        code = await self.open(self._stack, arm)
        await copy_early(code[0])
        return arm, code

    def _surroundings(self, arm: Arm) -> "Surroundings":
        from ratiba_action.systems.separation import room
        from ratiba_action.systems.workplace import Surroundings

        inputs = self._inputs
        environment, git = inputs.environment, inputs.decided.change.git
        persisted = persisted_credentials(git, environment)
        in_checkout = arm.name != BASE and (git is None or Path(arm.root).is_relative_to(git.root))
        return Surroundings(
            Path(arm.root),
            inherited=environment,
            scratch=room(arm.name, self._scratch),
            checkout=checkout_of(inputs, arm.commit) if in_checkout else None,
            private=closed_places(inputs, inputs.configuration, persisted, arm.root, self._of_calls),
            secrets=bool(inputs.settings.secrets) or has_proxy_password(environment) or bool(persisted.places),
            commits=_commits_of(inputs, arm),
        )


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


def _commits_of(inputs: RunInputs, arm: Arm) -> tuple[str, ...]:
    """What a server of an arm's code may call its commit: for a pull request, the checkout's merge of it too."""
    git = inputs.decided.change.git
    checked_out = git.commit("HEAD") if git is not None and arm.name != BASE and arm.commit is not None else None
    return tuple(dict.fromkeys(commit for commit in (arm.commit, checked_out) if commit))
