"""Starts what DeepEval runs in: before the suite is read where that seems to need it, else beside the services."""

import os
import re
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path

from ratiba_action.checks.custom_code import is_address
from ratiba_action.config.configuration import Configuration, load_configuration
from ratiba_action.config.metrics_block import FLUENCY_METRICS
from ratiba_action.errors import RatibaError
from ratiba_action.metrics.judging.judging_processes import JudgingProcesses
from ratiba_action.metrics.registry import is_judged, metric_names
from ratiba_action.model.plan import HEAD
from ratiba_action.model.scenario import Scenario
from ratiba_action.run.arms import scratch_folder
from ratiba_action.run.closed_places import closed_places
from ratiba_action.run.inputs import ArmInputs, RunInputs, RunRequest
from ratiba_action.suite.load import scenario_files_below
from ratiba_action.systems.judging_launch import open_judging_server
from ratiba_action.systems.separation import room
from ratiba_action.systems.workplace import Surroundings
from ratiba_action.util.locked_folder import read_plain_file
from ratiba_action.util.loop_thread import LoopThread
from ratiba_action.util.persisted_credentials import persisted_credentials

_MANY_SCENARIOS, _MAX_JUDGING = 100, 4
"""From how many scenarios on more than one process judges, and how many do at most."""
_LOOKED_AT = 500
"""Files of a suite that are searched for a judged metric at most, before they are read."""


@contextmanager
def judging_begun(request: RunRequest) -> Iterator[RunRequest]:
    """The request, with what DeepEval runs in begun where its suite seems to need it.

    It starts in a thread, serves every run of the request, and ends with the context. Where the files do not show that
    it is needed, the first run starts its own.
    """
    configuration = None if request.kept is not None or request.dry_run else _configuration(request)
    if configuration is None or not _seems_judged(request, configuration):
        yield request
        return
    with ExitStack() as stack:
        around = surroundings_of_judging(request, configuration, stack.enter_context(scratch_folder()))
        loop, parts = LoopThread("ratiba-judging"), AsyncExitStack()
        stack.callback(loop.close)
        stack.callback(lambda: loop.wait(parts.aclose()))
        server = loop.wait(parts.enter_async_context(open_judging_server(lambda: around)))
        yield replace(request, begun_judging=loop.begin(server.control()))


def _configuration(request: RunRequest) -> Configuration | None:
    """The configuration, where the run's is sure to close the same places; None also where it cannot be read."""
    if request.shard_reports or request.settings.config in request.decided.change.files.paths:
        return None
    try:
        return load_configuration(request.repository, request.settings.config)
    except RatibaError:
        return None  # the run says why


def _seems_judged(request: RunRequest, configuration: Configuration) -> bool:
    """Whether a scenario that is asked for names a judged metric, or gets one by its language; by a look at the text.

    A wrong guess costs time and decides nothing.
    """
    judged = [name for name in metric_names() if is_judged(name)]
    if any(name in judged for names in configuration.metrics.names.values() for name in names):
        return True
    named = re.compile(rf"\b(?:{'|'.join(judged)})\b".encode())
    asked = [name.encode() for name in (*request.choice.scenarios, *request.choice.tags)]
    for text in islice(_texts(request.repository, request.settings.scenarios), _LOOKED_AT):
        if asked and not any(name in text for name in asked):
            continue
        if named.search(text) or (
            configuration.metrics.fluency.enabled and _FLUENT.search(text) and not _SILENT.search(text)
        ):
            return True
    return False


_FLUENT = re.compile(rf"^language:\s*['\"]?(?:{'|'.join(FLUENCY_METRICS)})\b".encode(), re.MULTILINE)
_SILENT = re.compile(rb"^(?:fluency:\s*false|layer:\s*fsm|system_type:\s*(?:search|classifier))\b", re.MULTILINE)


def _texts(repository: Path, folder: str) -> Iterator[bytes]:
    for name in scenario_files_below(repository, folder):
        with suppress(OSError):
            yield read_plain_file(repository, name)


@asynccontextmanager
async def open_judging(
    inputs: RunInputs, arm: ArmInputs, scratch: Path, note: Callable[[str], None]
) -> AsyncIterator[JudgingProcesses]:
    """What DeepEval's metrics run in; started beside whatever comes next where a scenario needs it, else by the first.

    Args:
        note: takes what a reader should know about layers of its sandbox that this machine does not have.

    Raises:
        ConfigurationError: it is needed, and DeepEval is not installed.
    """
    async with AsyncExitStack() as stack:
        kept = inputs.kept.judging_control if inputs.kept is not None else None
        around = partial(surroundings_of_judging, inputs, inputs.configuration, scratch)
        server = await stack.enter_async_context(open_judging_server(around, kept, inputs.begun_judging, note))
        if judges_by_deepeval(arm.scenarios):
            server.begin()
        number = min(_MAX_JUDGING, (os.cpu_count() or 1) - 1) if len(arm.scenarios) > _MANY_SCENARIOS else 1
        processes = JudgingProcesses(server.connect, max(number, 1))
        stack.push_async_callback(processes.close)
        yield processes


def judges_by_deepeval(scenarios: Sequence[Scenario]) -> bool:
    """Whether a judged metric is the gate's own; the repository's and its tests run with their own DeepEval."""
    entries = (entry for scenario in scenarios for entry in scenario.assertions)
    return any(not is_address(entry.metric) and is_judged(entry.metric) for entry in entries)


async def ready_to_judge(judging: JudgingProcesses, arm: ArmInputs) -> None:
    """Wait until the scenarios of an arm can be judged.

    Raises:
        InfrastructureError: DeepEval could not be started.
    """
    if judges_by_deepeval(arm.scenarios):
        await judging.start()


def surroundings_of_judging(request: RunRequest, configuration: Configuration, scratch: Path) -> Surroundings:
    """Where DeepEval runs: no code of the repository does there, so that keys may be on the same machine."""
    root, git = str(request.repository), request.decided.change.git
    persisted = persisted_credentials(git, request.environment)
    return Surroundings(
        request.repository,
        inherited=request.environment,
        scratch=room(HEAD, scratch),
        private=closed_places(request, configuration, persisted, root),
    )
