"""Which system stands behind each way of describing one: a literal table, so that a new way is one more entry."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import MappingProxyType

from pydantic import BaseModel

from ratiba_action.config.system_block import SystemBlock
from ratiba_action.model.scenario import Scenario
from ratiba_action.model.values import JsonObject
from ratiba_action.systems.dialogue import Dialogue, plain_dialogue
from ratiba_action.systems.replay_system import ReplaySystem
from ratiba_action.systems.scratch import Checkout
from ratiba_action.systems.setup_command import SharedSetups
from ratiba_action.systems.templated_dialogue import TemplatedDialogue
from ratiba_action.systems.worker_system import WorkerSystem

_NO_ADAPTER = "ratiba_worker.lookup:AdapterError"
"""Of a worker that opens no conversation."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Where a system runs.

    Args:
        root: the checkout of its arm.
        inherited: the gate's environment.
        scratch: folder to work in; None for the system's temporary folder.
        checkout: the repository that ``root`` is of, and what of it is copied; None for every file.
        private: absolute paths that it must not open.
        secrets: whether the gate holds any.
        setups: the shared results of set-up commands, of all arms of a run.
        beside: what runs the same code of another arm; None to start what runs it.
        repository: the checkout of the run; None where that is ``root``.
    """

    root: Path
    inherited: Mapping[str, str]
    scratch: Path | None = None
    checkout: Checkout | None = None
    private: Sequence[str] = ()
    secrets: bool = False
    setups: SharedSetups = field(default_factory=SharedSetups)
    beside: WorkerSystem | None = None
    repository: Path | None = None


@dataclass(frozen=True, slots=True)
class InWorker:
    """An adapter in the worker.

    Args:
        adapter: ``module:attribute``; ``ratiba_worker`` is the worker's own package.
        options: what the adapter's class is given; None for an adapter of the repository's own.
        dialogue: how a conversation of a scenario speaks with it.
        preload: what every conversation of it imports.
    """

    adapter: str
    options: JsonObject | None = None
    dialogue: Callable[[Scenario], Dialogue] = plain_dialogue
    preload: tuple[str, ...] = ()


def choose_system(block: SystemBlock, around: Surroundings) -> WorkerSystem | ReplaySystem:
    """The system that a configuration describes, not started."""
    if block.replay is not None:
        return ReplaySystem(around.root / block.root, block.replay.transcripts)
    return _worker(block, _IN_WORKER[block.kind](block), around)


def choose_judges(block: SystemBlock, around: Surroundings, *, with_judge: bool = False) -> WorkerSystem:
    """What runs the repository's own rules and metrics, not started: processes and files apart from the system's.

    Args:
        block: of the system.
        around: what is the same for every system of the run.
        with_judge: some metric calls a judge, so that DeepEval is preloaded where the interpreter has it.
    """
    preload = ("ratiba_worker.measuring", *(("ratiba_worker.adapters.deepeval_metrics:load",) if with_judge else ()))
    return _worker(block, InWorker(_NO_ADAPTER, preload=preload), around, isolated=True, judging=True)


def choose_tests(block: SystemBlock, around: Surroundings) -> WorkerSystem:
    """What runs the repository's own tests, not started: files and processes apart from the system's."""
    preload = ("ratiba_worker.measuring", "ratiba_worker.adapters.pytest_plugins:load")
    return _worker(block, InWorker(_NO_ADAPTER, preload=preload), around, isolated=True)


def _worker(
    block: SystemBlock, chosen: InWorker, around: Surroundings, *, isolated: bool = False, judging: bool = False
) -> WorkerSystem:
    return WorkerSystem(
        around.root / block.root,
        chosen.adapter,
        options=chosen.options,
        dialogue=chosen.dialogue,
        inherited=around.inherited,
        python=block.python,
        setup=block.setup,
        setup_reads=block.setup_reads,
        setups=around.setups,
        preload=(*chosen.preload, *block.preload),
        environment=block.environment,
        turn_timeout=block.turn_timeout_seconds,
        setup_timeout=block.setup_timeout_seconds,
        scratch=around.scratch,
        checkout=around.checkout,
        private=around.private,
        secrets=around.secrets,
        judging=judging,
        isolated=(around.repository or around.root) / block.root if isolated else None,
        beside=None if judging else around.beside,
    )


def _adapter(block: SystemBlock) -> InWorker:
    return InWorker(block.adapter or "")


def _elsewhere(block: SystemBlock) -> InWorker:
    return InWorker("ratiba_worker.http_system:Adapter", {"url": block.url})


def _templated(block: SystemBlock) -> InWorker:
    if block.http is None:
        raise ValueError("the system is not given as http")
    http, stream = block.http, block.http.stream
    options = {
        "url": http.url,
        "method": http.method,
        "headers": http.headers,
        "stream": stream is not None,
        "end": stream.end if stream is not None else None,
    }
    dialogue = partial(TemplatedDialogue, http)
    return InWorker("ratiba_worker.templated_http_system:Adapter", options, dialogue)


def _command(block: SystemBlock) -> InWorker:
    return InWorker("ratiba_worker.command_system:Adapter", {"argv": block.command})


def _prompt(block: SystemBlock) -> InWorker:
    if block.prompt is None:
        raise ValueError("the system is not given as prompt")
    return InWorker("ratiba_worker.prompt_system:Adapter", block.prompt.model_dump())


def _langgraph(block: SystemBlock) -> InWorker:
    return _framework("langgraph", block.langgraph, "langgraph.graph", "langgraph.checkpoint.memory")


def _langchain(block: SystemBlock) -> InWorker:
    return _framework("langchain", block.langchain, "langchain_core.runnables.base", "langchain_core.tracers.langchain")


def _llamaindex(block: SystemBlock) -> InWorker:
    return _framework("llamaindex", block.llamaindex, "llama_index.core")


def _framework(name: str, block: BaseModel | None, *preload: str) -> InWorker:
    if block is None:
        raise ValueError(f"the system is not given as {name}")
    options = {**block.model_dump(exclude={"reply"}), **block.model_dump(include={"reply"}, exclude_none=True)}
    return InWorker(f"ratiba_worker.adapters.{name}:Adapter", options, preload=preload)


_IN_WORKER: Mapping[str, Callable[[SystemBlock], InWorker]] = MappingProxyType(
    {
        "adapter": _adapter,
        "url": _elsewhere,
        "http": _templated,
        "command": _command,
        "prompt": _prompt,
        "langgraph": _langgraph,
        "langchain": _langchain,
        "llamaindex": _llamaindex,
    }
)
