"""What runs the repository's rules and metrics: the base's for all arms, and an arm's own where it edits them."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from ratiba_action.checks.custom_code import declared_judge_calls, is_address, needs_custom_code
from ratiba_action.errors import InfrastructureError, WorkerError
from ratiba_action.model.plan import BASE, Arm
from ratiba_action.model.scenario import Scenario
from ratiba_action.model.values import JsonObject
from ratiba_action.ports import CustomCode
from ratiba_action.run.base_commit import export_commit
from ratiba_action.run.inputs import ArmInputs, Kept, RunInputs

if TYPE_CHECKING:
    from ratiba_action.systems.worker_system import WorkerSystem

_FOLDER = "judging-base"
_REMEDY = (
    "Rules and metrics run with the base's files, set-up and packages. If those are what this change fixes, edit the "
    "module of the rule or metric too: it then runs with this change's own, and the comment says so."
)


class Judges:
    """Implements ``CustomCode`` by the code of two sides.

    Args:
        theirs: runs the base's, started once for all arms; None where there is no base.
        own: runs the arm's own; None where nothing of it judges.
        edited: addresses that the arm's own code answers for.
        start_theirs: starts the base's unless that was done.
    """

    def __init__(
        self,
        theirs: "WorkerSystem | None",
        own: "WorkerSystem | None",
        edited: Collection[str] = (),
        start_theirs: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self._theirs, self._own, self._edited, self._start_theirs = theirs, own, frozenset(edited), start_theirs

    @property
    def workers(self) -> "tuple[WorkerSystem, ...]":
        """What runs the code."""
        return tuple(worker for worker in (self._theirs, self._own) if worker is not None)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the reader of a report should know about how the code was run."""
        return tuple(dict.fromkeys(warning for worker in self.workers for warning in worker.warnings))

    async def start_theirs(self) -> None:
        """Start the base's side, unless it is: before any code of the change runs.

        Raises:
            WorkerError: it could not be started.
        """
        if self._start_theirs is not None:
            await self._start_theirs()

    async def start(self) -> None:
        """Start both sides.

        Raises:
            WorkerError: one of them could not be started.
        """
        own = [self._own.start()] if self._own is not None else []
        await asyncio.gather(*own, *([self._start_theirs()] if self._start_theirs is not None else []))

    def is_own(self, address: str) -> bool:
        """Whether the arm's own code answers for an address."""
        return self._theirs is None or (self._own is not None and address in self._edited)

    async def run(
        self, address: str, evidence: JsonObject, judge: Callable[[Any], Awaitable[JsonObject]] | None = None
    ) -> Any:
        """See ``CustomCode``."""
        return await self._code(address).run(address, evidence, judge)

    async def describe(self, address: str) -> JsonObject:
        """See ``CustomCode``."""
        return await self._code(address).describe(address)

    def _code(self, address: str) -> CustomCode:
        code = self._own if self.is_own(address) else self._theirs
        if code is None:
            raise WorkerError(f"nothing runs {address!r}.")
        return code


class OpenJudges(Protocol):
    """Opens what runs rules and metrics: its files are copied, and nothing of it is started."""

    async def __call__(
        self, stack: AsyncExitStack, arm: ArmInputs, kept: Kept | None, *, repository: Path | None = None
    ) -> "WorkerSystem":
        """What runs them, which ends with the stack.

        Args:
            arm: whose rules and metrics they are.
            repository: see ``Surroundings``.
        """
        ...


class JudgesOfRun:
    """Makes the judges of each arm; those of the base serve all of them and end with the run."""

    def __init__(
        self,
        stack: AsyncExitStack,
        inputs: RunInputs,
        scratch: Path,
        open_judges: OpenJudges,
    ) -> None:
        self._stack, self._inputs, self._scratch, self._open = stack, inputs, scratch, open_judges
        self._theirs: WorkerSystem | None = None
        self._starting = asyncio.Lock()
        self._started = False

    @property
    def kept(self) -> tuple[str, Path] | None:
        """For ``Kept``: the commit whose code judges, and the folder of its files; None where the checkout's does."""
        judging = self._inputs.judging.base
        return None if judging is None else (judging.commit, self._scratch / _FOLDER)

    async def open(self, stack: AsyncExitStack, arm: ArmInputs, kept: Kept | None = None) -> Judges | None:
        """What judges an arm, its files copied and not started; None where nothing of the repository does.

        Raises:
            InfrastructureError: the base's files cannot be had.
            WorkerError: files cannot be copied.
        """
        if not needs_custom_code(arm.scenarios):
            return None
        named = {entry.metric for scenario in arm.scenarios for entry in scenario.assertions}
        named |= {address for scenario in arm.scenarios for rule in scenario.rules for address in _texts(rule.value)}
        judging = self._inputs.judging.base
        if judging is not None:
            theirs = await self._of_base(arm, kept)
            edited = judging.own & named if arm.arm.name != BASE else frozenset[str]()
            own = await self._open(stack, arm, kept) if edited else None
            return Judges(theirs, own, edited, self._start)
        return Judges(None, await self._open(stack, arm, kept))

    async def _of_base(self, arm: ArmInputs, kept: Kept | None) -> "WorkerSystem":
        judging = self._inputs.judging.base
        if self._theirs is None and judging is not None:
            root = await asyncio.to_thread(self._export, kept)
            configuration = arm.configuration.model_copy(update={"system": judging.system})
            base = replace(arm, arm=Arm(BASE, str(root), judging.commit), configuration=configuration)
            self._theirs = await self._open(self._stack, base, kept, repository=self._inputs.repository)
        if self._theirs is None:
            raise WorkerError("there is no base to judge by.")
        return self._theirs

    def _export(self, kept: Kept | None) -> Path:
        """The folder of the base's files, written unless that was done."""
        judging, git = self._inputs.judging.base, self._inputs.decided.change.git
        if judging is None or git is None:
            raise InfrastructureError("The base's rules and metrics cannot be read: there is no repository.")
        commit, folder = (kept.judging if kept is not None else None) or ("", self._scratch)
        if commit == judging.commit and folder.is_dir():
            return folder
        folder = self._scratch / _FOLDER
        try:
            folder.mkdir(mode=0o700)
        except OSError as error:
            raise InfrastructureError(f"The base's rules and metrics cannot be written: {error}.") from error
        root = judging.system.root
        export_commit(git, judging.commit, folder, under="" if root == "." else f"{root}/", pointers=True)
        return folder

    async def _start(self) -> None:
        async with self._starting:
            if self._started or self._theirs is None:
                return
            try:
                await self._theirs.start()
            except WorkerError as error:
                message = f"What runs the base's rules and metrics could not be started: {error.problem}"
                raise WorkerError(message, f"{error.remedy} {_REMEDY}".strip()) from error
            self._started = True


def calls_judge(scenarios: Iterable[Scenario]) -> bool:
    """Whether a metric of the repository's own calls a judge."""
    return any(
        declared_judge_calls(entry.metric, entry.parameters) > 0
        for scenario in scenarios
        for entry in scenario.assertions
        if is_address(entry.metric)
    )


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(value) if isinstance(value, list | tuple) else (str(value),)
