"""A Python system under test, run in processes of its own under its own interpreter."""

import asyncio
import contextlib
import functools
import json
import os
import re
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ratiba_action.errors import WorkerError
from ratiba_action.llm.access import gateway_environment
from ratiba_action.model.plan import Tenant
from ratiba_action.model.scenario import Scenario
from ratiba_action.model.values import JsonObject
from ratiba_action.ports import Session
from ratiba_action.systems.dialogue import Dialogue, plain_dialogue
from ratiba_action.systems.fork_server import ForkServer
from ratiba_action.systems.judging_files import JudgingFiles
from ratiba_action.systems.launch import INHERITED, launch, programs_of_the_gate
from ratiba_action.systems.link import JudgeCall, Link, open_link
from ratiba_action.systems.read_files import ReadFiles
from ratiba_action.systems.scratch import copied_files, copy_files
from ratiba_action.systems.setup_command import Setup, SharedSetups
from ratiba_action.systems.worker_session import TeamTestSession, WorkerSession, opening
from ratiba_action.systems.workplace import Surroundings, Use, Workplace, create_workplace
from ratiba_action.util.dsn import passwords_in
from ratiba_action.util.folder_tree import remove_tree
from ratiba_action.worker.conversation import replace_files
from ratiba_action.worker.model_hosts import called_hosts, notes_of_called

if TYPE_CHECKING:
    from ratiba_action.config.system_block import SystemBlock  # needs pydantic
    from ratiba_action.systems.container_server import ContainerServer, RunningServer  # so does this

SECRET_NAME = re.compile(r".*(KEY|TOKEN|SECRET|PASSWORD)", re.IGNORECASE)
ADAPTER = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")
_PARTS_OF_A_VALUE = re.compile(r"[:;,=\s]")
"""What stands between the paths in a variable: an empty one is the current folder."""
_NOWHERE, _NO_TOKEN = "http://127.0.0.1:9", "no-conversation"
"""The port of the discard service, on which nothing listens."""
_FIRST_TIME = 978_307_200
"""2001-01-01 UTC: no file of a checkout that was just copied is from then."""


@dataclass(frozen=True, slots=True)
class WorkerAdapter:
    """What the worker loads.

    Args:
        address: ``module:attribute``; ``ratiba_worker`` is the worker's own package.
        options: plain data that one of the worker's own adapters is made with; None for an adapter of the repository.
        dialogue: how a conversation of a scenario speaks with it.
        preload: frameworks that the fork server imports, and functions that it calls, as ``module:function``.
        use: rules, metrics and tests run by an interpreter that starts without a line of the repository or of a
            package, and finds modules of the repository last; rules and metrics in a copy that they cannot write to,
            and that the processes of no system can reach.
        start_timeout: seconds for preloading, for ``open`` and for ``migrate``.
        variants: options and further variables of each variant that a scenario can name.
    """

    address: str
    options: JsonObject | None = None
    dialogue: Callable[[Scenario], Dialogue] = plain_dialogue
    preload: tuple[str, ...] = ()
    use: Use = Use.SYSTEM
    start_timeout: float = 120.0
    variants: Mapping[str, tuple[JsonObject | None, Mapping[str, str]]] = field(default_factory=dict)


class WorkerSystem:
    """Implements ``SystemUnderTest`` or ``CustomCode``. No code of the repository runs in the gate's own process.

    Args:
        setups: what set-up commands made of declared files already; None for nothing.
        beside: another one that is started and differs in its folder alone: its fork server serves both, unless a
            set-up command makes files of their own. It is closed last.
        container: the server that the adapter speaks to, one for each conversation; None where it has none.
    """

    def __init__(
        self,
        adapter: WorkerAdapter,
        block: "SystemBlock",
        around: Surroundings,
        *,
        setups: SharedSetups | None = None,
        beside: "WorkerSystem | None" = None,
        container: "ContainerServer | None" = None,
    ) -> None:
        self._container = container
        self._built_from: dict[str, JsonObject] = {}
        self._adapter, self._block, self._around = adapter, block, around
        self._root = around.root / block.root
        self._preload = [*adapter.preload, *block.preload]
        self._isolated = None if adapter.use is Use.SYSTEM else (around.repository or around.root) / block.root
        self._setups = setups or SharedSetups()
        self._shared: tuple[str, ...] = ()
        self._beside = beside if block.setup is None else None
        self._workplace: Workplace | None = None
        self._server: ForkServer | None = None
        self._links: set[Link] = set()
        self._starting = asyncio.Lock()
        self._describing = asyncio.Lock()
        self._described: dict[str, JsonObject] = {}
        self._warnings: list[str] = []
        self._changed: tuple[str, ...] = ()
        self._files: dict[str, JsonObject] = {}
        self._traced: dict[str, dict[str, frozenset[int]]] | None = None
        self._traced_files: tuple[str, ...] | None = None
        self._called: set[str] = set()
        self.reads = ReadFiles()
        self._borrowed: ForkServer | None = None

    def borrow(self, kept: "WorkerSystem") -> bool:
        """Work where another one works, with its fork server, which stays open; call it before ``copy``.

        The files are copied anew, and no process of the repository's code outlives a conversation, so that this one
        does what it would do with a fork server of its own.

        Args:
            kept: started, with no conversation open.

        Returns:
            Whether it could: the fork server lives, was started as this one would be, and would import the same again.
        """
        server = kept.lent_to(self.started_with)
        if server is None:
            return False
        copying = functools.partial(copy_files, self._root, checkout=self._around.checkout)
        try:
            self._workplace = server.place.renewed(copying)
        except (OSError, WorkerError):
            return False
        self._server = self._borrowed = server
        self._warnings = [*server.warnings]
        return True

    def lent_to(self, started_with: object) -> ForkServer | None:
        """Its fork server; None if another one has to start its own.

        Args:
            started_with: what the other one would start its fork server with.
        """
        server = self._server
        if server is None or server is self._borrowed or self._block.setup is not None:
            return None
        return server if started_with == self.started_with and server.as_started else None

    @property
    def started_with(self) -> object:
        """What the fork server and its sandbox are made of."""
        around = self._around
        return self._root, self._isolated, around.uid, tuple(around.private), around.secrets, self.runs_in_server

    @property
    def runs_in_server(self) -> object:
        """What is configured to run in the fork server, whatever files are there."""
        block = self._block
        inherited = {name: value for name, value in self._around.inherited.items() if INHERITED.fullmatch(name)}
        kind = (block.python, block.setup, self._adapter.use)
        return kind, self._preload, block.environment, inherited, self._made_of()

    async def start_ahead(self, other: "WorkerSystem") -> None:
        """Start the fork server before ``start`` where it runs what another one's runs, and nothing of this copy.

        What goes wrong is left to ``start``, which tries again.

        Args:
            other: of the other arm, which need not run yet; what it runs has been decided by files that are trusted.
        """
        if self.runs_in_server == other.runs_in_server and self._runs_no_own_line():
            with contextlib.suppress(WorkerError, OSError):
                await self.control()

    def _runs_no_own_line(self) -> bool:
        """Whether its fork server imports installed libraries alone: nothing that is configured names a file here."""
        block, workplace = self._block, self._workplace
        system = self._adapter.use is Use.SYSTEM and self._container is None and self._beside is None
        if workplace is None or not system or block.setup is not None or "/" in (block.python or ""):
            return False
        named = (part for value in block.environment.values() for part in _PARTS_OF_A_VALUE.split(value))
        return not any(os.path.lexists(workplace.copy / part) for part in named)

    def replace_file(self, name: str, text: str, number: int) -> None:
        """Let every conversation from now on find another text in a file of its copy.

        The conversation's own process writes it, so that the sandbox holds for a path that the system has made a link
        of. No conversation of another text may still be open.

        Args:
            name: below the system's root.
            number: another one for every other text, from 0.
        """
        self._files[name] = {"text": text, "time": _FIRST_TIME + number}

    def trace(self, *, on: bool, files: tuple[str, ...] | None = None) -> None:
        """Note which lines each conversation from now on runs, or no longer.

        Args:
            files: below the system's root; None for all of its own.
        """
        self._traced, self._traced_files = {} if on else None, files

    @property
    def executed(self) -> Mapping[str, Mapping[str, frozenset[int]]]:
        """Lines that ran since ``trace``, by scenario and by file below the system's root."""
        return self._traced or {}

    async def watch_reads(self) -> None:
        """Note in ``reads`` which files each conversation from now on reads, and what ``migrate`` has read.

        What a container reads of its image cannot be seen from here.

        Raises:
            InfrastructureError: git cannot list them.
        """
        if self._container is not None:
            return
        files = await asyncio.to_thread(copied_files, self._root, self._around.checkout)
        await self.reads.watch(self._require_workplace().copy, files)

    def _note_lines(self, scenario_id: str, answer: Any) -> None:
        found = answer.items() if isinstance(answer, dict) else ()
        if self._traced is not None:
            known = self._traced.setdefault(scenario_id, {})
            for name, lines in found:
                if isinstance(lines, list):
                    ran = frozenset(line for line in lines if isinstance(line, int))
                    known[str(name)] = known.get(str(name), frozenset()) | ran

    @property
    def folder(self) -> Path | None:
        """Holds its copy, its home and its temporary files; None before they are there."""
        return self._workplace.folder if self._workplace is not None else None

    @property
    def guardian(self) -> int | None:
        """Process id of the guardian of its fork server; None while it has none of its own."""
        return self._server.guardian if self._server is not None else None

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the reader of a report should know about how this system was run."""
        called = notes_of_called(self._called)
        return tuple(dict.fromkeys((*_warnings_of(self._workplace), *self._changed, *self._warnings, *called)))

    async def copy(self) -> None:
        """Copy the files; what is changed in the repository afterwards is not run.

        Raises:
            WorkerError: they could not be copied, or there is no such adapter.
            ConfigurationError: the gate's secrets could not be kept from the system here.
        """
        if self._workplace is not None:
            return
        address = self._adapter.address
        if ADAPTER.fullmatch(address) is None:
            raise WorkerError(f"the adapter {address!r} is not `module:attribute`.", "Correct `system.adapter`.")
        copying = functools.partial(copy_files, self._root, checkout=self._around.checkout)
        if self._beside is not None:
            self._workplace = await self._beside.further_copy(copying)
            return
        self._workplace = await create_workplace(
            copying,
            self._around,
            self._block.environment,
            python=self._block.python,
            use=self._adapter.use,
        )

    async def further_copy(self, copying: Callable[[Path], tuple[str, ...]]) -> Workplace:
        """The same workplace with another copy of files, for a system beside this one.

        Args:
            copying: writes the files to an empty folder, and says what a reader should know about them.

        Raises:
            WorkerError: this one is not started, or the files could not be copied.
        """
        return await asyncio.to_thread(self._require_workplace().with_copy, copying)

    async def start(self) -> None:
        """Copy the files if that was not done, run the set-up command or build the image, and start the fork server.

        Raises:
            WorkerError: one of these failed.
            ImageError: the system's image cannot be built.
            ConfigurationError: the gate's secrets could not be kept from the system here.
        """
        try:
            await self.copy()
            workplace = self._require_workplace()
            if self._block.setup is not None:
                await self._set_up(workplace, self._block.setup)
            if self._adapter.use is Use.JUDGING:
                await asyncio.to_thread(workplace.seal)
            if self._container is not None:
                await self._container.prepare(workplace.copy)
            await self.control()
        except BaseException:
            await self.close()
            raise

    async def _set_up(self, workplace: Workplace, argv: Sequence[str]) -> None:
        block, around = self._block, self._around
        setup = Setup(
            tuple(argv),
            None if block.setup_reads is None else tuple(block.setup_reads),
            block.setup_timeout_seconds,
            replace(around, private=(*around.private, *workplace.closed)),
            block.environment,
            python=block.python,
        )
        judging = await asyncio.to_thread(JudgingFiles.of, workplace.copy) if self._isolated is not None else None
        if setup.reads is None:
            await setup.run(workplace)
        else:
            shared = await self._setups.get(setup, workplace.copy)
            await asyncio.to_thread(shared.link_into, workplace.copy)
            self._shared = (str(shared.workplace.folder),)
        if judging is not None:
            self._changed = await asyncio.to_thread(judging.require_code)

    async def control(self) -> socket.socket:
        """The fork server's socket; started, or started again after hostile code ended it."""
        if self._beside is not None:
            return await self._beside.control()
        async with self._starting:
            workplace = self._require_workplace()
            if self._server is not None and not self._server.hung_up:
                return self._server.control
            self._server = None if self._server is self._borrowed else self._server
            await self._end_server()
            near, far = socket.socketpair()
            near.settimeout(0)
            described = (json.dumps(self._preload), json.dumps(self._made_of()))
            isolated = () if self._isolated is None else (str(self._isolated.resolve()),)
            command_line = workplace.server_command if self._isolated is None else workplace.isolated_command
            argv = (*command_line, str(far.fileno()), *described, *isolated)
            try:
                command = await launch(
                    argv,
                    environment=workplace.environment,
                    cwd=workplace.copy,
                    folder=workplace.folder,
                    identity=workplace.identity,
                    descriptors=[far.fileno()],
                    private=(*self._around.private, *workplace.closed),
                    read_only=(*workplace.read_only, *programs_of_the_gate(), str(self._root.resolve())),
                    shared=self._shared,
                    hide_names=workplace.hide_names,
                )
            except BaseException:
                near.close()
                raise
            finally:
                far.close()
            self._server = ForkServer(command, near, workplace)
            try:
                await self._server.await_ready(self._adapter.start_timeout)
            except WorkerError:
                self._server = None
                raise
            self._warnings = self._server.warnings
            return near

    def _require_workplace(self) -> Workplace:
        if self._workplace is None:
            raise WorkerError("the system under test is not started.")
        return self._workplace

    async def migrate(self, dsn: str) -> None:
        """Load the adapter in a process of its own, and run its ``migrate`` there.

        Args:
            dsn: of the template schema; empty for a system without a database, which migrates nothing.

        Raises:
            ConfigurationError: there is no such adapter.
            WorkerError: it raised, with the end of its traceback; or hung or ended.
        """
        secrets = [dsn, *passwords_in(dsn)]
        server = None
        if self._container is not None:
            await self._container.migrate(dsn)
            if self._block.url is not None and dsn:
                server = await self._container.start({}, Tenant("", "", dsn), secrets)
                dsn = server.tenant.dsn
        link = await self._link("migration", secrets)
        try:
            fields = {"database_url": dsn, "environment": {**self._without_models(), "DATABASE_URL": dsn}}
            await link.request("migrate", {**self._made_of(server), **fields}, self._adapter.start_timeout)
            with contextlib.suppress(WorkerError):  # it has migrated
                self.reads.report(None, await link.request("reads", {}, self._adapter.start_timeout))
        finally:
            await self._release(link)
            if server is not None:
                await server.ended()

    async def open(self, scenario: Scenario, tenant: Tenant, environment: Mapping[str, str]) -> Session:
        """Start a conversation in a process of its own, and its server where that runs in a container.

        Raises:
            WorkerError: the adapter cannot be imported, or its ``open`` raised, hung or ended; or the server was not
                ready in time.
        """
        if self._container is None:
            return await self._open(scenario, tenant, environment)
        try:
            await self._build_again()
            server = await self._container.start(environment, tenant, _secrets(tenant, environment))
        except WorkerError as problem:
            raise WorkerError(f"scenario {scenario.id!r}: {problem.problem}", problem.remedy) from problem
        try:
            return server.carry(await self._open(scenario, server.tenant, environment, server))
        except BaseException:
            await server.ended()
            raise

    async def _build_again(self) -> None:
        """Build the image once more if files of the copy were replaced since."""
        async with self._starting:
            if self._container is not None and self._built_from != self._files:
                copy = self._require_workplace().copy
                await asyncio.to_thread(replace_files, self._files, str(copy))
                await self._container.prepare(copy)
                self._built_from = dict(self._files)

    async def _open(
        self,
        scenario: Scenario,
        tenant: Tenant,
        environment: Mapping[str, str],
        server: "RunningServer | None" = None,
    ) -> WorkerSession:
        options, variables = self._adapter.options, dict[str, str]()
        if scenario.variant:
            if scenario.variant not in self._adapter.variants:
                known = ", ".join(sorted(self._adapter.variants)) or "none"
                raise WorkerError(
                    f"scenario {scenario.id!r} runs with the variant {scenario.variant!r}, and the system has no such "
                    f"variant. Those that scenarios can name are: {known}.",
                    "Add it to system.variants, or remove `variant` from the scenario.",
                )
            options, named = self._adapter.variants[scenario.variant]
            variables = dict(named)
        link = await self._link(f"scenario {scenario.id!r}", _secrets(tenant, environment))
        try:
            # The gateway's stand-ins for keys of AWS give way to those that the configuration gives for other services.
            given = {name: value for name, value in environment.items() if name not in self._block.environment}
            opened = opening(scenario, tenant, {**given, **variables})
            fields = {**self._made_of(server, options), **opened, "hosts": self._watches_hosts}
            traced = self._traced is not None
            if self._files or traced:
                trace = {"trace": {"files": self._traced_files}} if traced else {}
                fields |= {"files": self._files, **trace}
            self.reads.opened(scenario.id)
            try:
                await link.request("open", fields, self._adapter.start_timeout)
            except BaseException:
                await self.reads.closed(scenario.id)
                raise
        except BaseException:
            await self._release(link)
            raise
        asked: dict[str, Callable[[Any], None]] = {}
        if traced:
            asked["lines"] = functools.partial(self._note_lines, scenario.id)
        if self._watches_hosts:
            asked["hosts"] = lambda answer: self._called.update(called_hosts(answer))
        if self.reads.files:
            asked["reads"] = functools.partial(self.reads.report, scenario.id)
        ended = functools.partial(self.reads.closed, scenario.id)
        return WorkerSession(
            link,
            scenario.id,
            self._block.turn_timeout_seconds,
            self._adapter.dialogue(scenario),
            asked=asked,
            ended=ended,
        )

    @property
    def _watches_hosts(self) -> bool:
        """Whether calls of models that bypass the gateway are unexpected: they are not declared, and it is Python."""
        return not self._block.price_per_turn_usd and not self._block.runs_elsewhere

    async def open_test(
        self, scenario: Scenario, tenant: Tenant, environment: Mapping[str, str], judge: JudgeCall
    ) -> TeamTestSession:
        """Start a process for a test of the repository's own.

        Raises:
            WorkerError: there is none.
        """
        if scenario.test is None:
            raise WorkerError(f"scenario {scenario.id!r} is no test.")
        secrets = _secrets(tenant, environment)
        link = await self._link(f"test {scenario.test.node!r}", secrets)
        fields: JsonObject = {
            "node": scenario.test.node,
            "known": list(scenario.test.beside),
            "environment": opening(scenario, tenant, environment)["environment"],
            "judge": True,
            **self._where(),
        }
        return TeamTestSession(link, fields, self._block.turn_timeout_seconds, judge, secrets)

    def _made_of(self, server: "RunningServer | None" = None, options: JsonObject | None = None) -> JsonObject:
        options = options or self._adapter.options
        if options is not None and server is not None:
            options = {**options, "url": server.address}
        return {
            "adapter": self._adapter.address,
            **({} if options is None else {"options": options}),
            **self._where(),
        }

    def _where(self) -> JsonObject:
        """The folders that a process works in, where they are not the fork server's."""
        if self._beside is None:
            return {}
        workplace = self._require_workplace()
        own = {
            name: value for name, value in workplace.private_variables.items() if name not in self._block.environment
        }
        return {"folder": str(workplace.copy), "folders": own}

    async def run(self, address: str, evidence: JsonObject, judge: JudgeCall | None = None) -> Any:
        """Call the repository's own rule or metric, in a process of its own that holds no tenant and no token.

        Raises:
            WorkerError: it cannot be imported, raised, hung, ended, or its answer is no JSON.
        """
        return await self._measure("measure", address, judge, evidence=dict(evidence))

    async def describe(self, address: str) -> JsonObject:
        """Which code a metric is, found out once.

        Raises:
            WorkerError: it cannot be imported, hung or ended.
        """
        async with self._describing:
            if address not in self._described:
                self._described[address] = await self._measure("describe", address, None)
            return self._described[address]

    async def _measure(self, operation: str, address: str, judge: JudgeCall | None, **more: Any) -> Any:
        link = await self._link(f"{address!r}", ())
        try:
            fields = {
                "adapter": address,
                "environment": self._without_models(),
                "judge": judge is not None or operation == "describe",
                **self._where(),
                **more,
            }
            return await link.request(operation, fields, self._block.turn_timeout_seconds, judge)
        finally:
            await self._release(link)

    def _without_models(self) -> dict[str, str]:
        """For code that is loaded outside a conversation: clients that are made when a module is imported need a key.

        The address leads nowhere, so that no call is made that no conversation answers for.
        """
        nowhere = gateway_environment(_NOWHERE, _NO_TOKEN)
        return {name: value for name, value in nowhere.items() if name not in self._block.environment}

    async def _link(self, name: str, secrets: Sequence[str]) -> Link:
        link = await open_link(await self.control(), name, secrets)
        self._links = {known for known in self._links if known.open} | {link}
        return link

    async def _release(self, link: Link) -> None:
        self._links.discard(link)
        await link.end()

    async def close(self) -> None:
        """End every process and remove the copy; may be called twice."""
        self.reads.close()
        links, self._links = self._links, set()
        await asyncio.gather(*(link.end() for link in links))
        if self._container is not None:
            await self._container.close()
        borrowed = self._borrowed is not None
        if self._server is self._borrowed:
            self._server = None
        await self._end_server()
        workplace, self._workplace, self._borrowed = self._workplace, None, None
        if workplace is not None:
            self._warnings = [*_warnings_of(workplace), *self._warnings]
        if workplace is not None and not borrowed:
            await asyncio.to_thread(remove_tree, workplace.folder if self._beside is None else workplace.copy.parent)

    async def _end_server(self) -> None:
        server, self._server = self._server, None
        if server is not None:
            await server.end()


def _secrets(tenant: Tenant, environment: Mapping[str, str]) -> list[str]:
    """Texts of a conversation that must not appear in a message."""
    tokens = [value for name, value in environment.items() if SECRET_NAME.fullmatch(name)]
    return [*tokens, tenant.dsn, *passwords_in(tenant.dsn)]


def _warnings_of(workplace: Workplace | None) -> tuple[str, ...]:
    return () if workplace is None else (*workplace.left_out, *workplace.warnings)
