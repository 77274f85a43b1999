"""Which system stands behind each way of describing one: a literal table, so that a new way is one more entry."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType

from pydantic import BaseModel

from ratiba_action.config.system_block import SystemBlock
from ratiba_action.config.system_kinds import PORT
from ratiba_action.errors import ConfigurationError
from ratiba_action.model.values import JsonObject
from ratiba_action.ports import ContainerEngine
from ratiba_action.settings.settings import ENGINE, ENGINE_KEY
from ratiba_action.systems.replay_system import ReplaySystem
from ratiba_action.systems.separation import in_container
from ratiba_action.systems.setup_command import SharedSetups
from ratiba_action.systems.worker_system import WorkerAdapter, WorkerSystem
from ratiba_action.systems.workplace import Surroundings, Use

_NO_ADAPTER = "ratiba_worker.lookup:AdapterError"
"""Of a worker that opens no conversation."""


def choose_system(
    block: SystemBlock,
    around: Surroundings,
    setups: SharedSetups | None = None,
    beside: WorkerSystem | None = None,
    *,
    engine: ContainerEngine | None = None,
) -> WorkerSystem | ReplaySystem:
    """The system that a configuration describes, not started.

    Args:
        around: what is the same for every system of the run.
        setups: the shared results of set-up commands, of all arms of a run.
        beside: runs the same code of another arm; None to start what runs it.
        engine: starts containers; None for Docker.

    Raises:
        ConfigurationError: it needs containers, which the gate cannot start in its own.
    """
    if block.replay is not None:
        return ReplaySystem(around.root / block.root, block.replay.transcripts)
    adapter = _served(_IN_WORKER[block.kind](block), block, around.commits)
    if block.container is None:
        adapter = adapter if block.serve is not None else replace(adapter, variants=_variants(block))
        return WorkerSystem(adapter, block, around, setups=setups, beside=beside)
    from ratiba_action.systems.container_server import ContainerServer

    container = ContainerServer(
        engine or _engine(around.inherited),
        block.container,
        str(block.http.url if block.http is not None else block.url),
        block.environment,
    )
    # The worker runs nothing of the repository here: what its image needs is set up by its Dockerfile.
    spoken_to = block.model_copy(update={"setup": None, "python": None, "preload": [], "environment": {}})
    return WorkerSystem(adapter, spoken_to, around, setups=setups, beside=beside, container=container)


def _variants(block: SystemBlock) -> Mapping[str, tuple[JsonObject | None, Mapping[str, str]]]:
    """What the worker is given for a scenario that names a variant."""
    return {
        name: (_IN_WORKER[block.kind](block.as_variant(name)).options, variant.environment)
        for name, variant in block.variants.items()
    }


def _engine(inherited: Mapping[str, str]) -> ContainerEngine:
    """Docker of this machine, or the action's own program: Docker's socket in the gate's container is root outside."""
    from ratiba_action.systems.docker_engine import DockerEngine
    from ratiba_action.systems.remote_engine import RemoteEngine

    path, key = inherited.get(ENGINE), inherited.get(ENGINE_KEY)
    if path and key:
        return RemoteEngine(path, key)
    if in_container(inherited):
        raise ConfigurationError(
            "`system.container` cannot be used here: the gate's container has no access to Docker, and the action's "
            "program that starts containers is not running.",
            "The action starts it where the checked-out configuration has `container` and the runner has Python 3.11 "
            "or newer. Add `actions/setup-python` before the gate's step, or use `system.serve`.",
        )
    return DockerEngine(inherited)


def choose_judges(
    block: SystemBlock, around: Surroundings, setups: SharedSetups, *, with_judge: bool = False
) -> WorkerSystem:
    """What runs the repository's own rules and metrics, not started: processes and files apart from the system's.

    Args:
        setups: see ``choose_system``.
        with_judge: some metric calls a judge, so that DeepEval is preloaded where the interpreter has it.
    """
    preload = ("ratiba_worker.measuring", *(("ratiba_worker.adapters.deepeval_metrics:load",) if with_judge else ()))
    adapter = WorkerAdapter(_NO_ADAPTER, preload=preload, use=Use.JUDGING)
    return WorkerSystem(adapter, block, around, setups=setups)


def choose_tests(
    block: SystemBlock, around: Surroundings, setups: SharedSetups, beside: WorkerSystem | None
) -> WorkerSystem:
    """What runs the repository's own tests, not started: files and processes apart from the system's."""
    preload = ("ratiba_worker.measuring", "ratiba_worker.adapters.pytest_plugins:load")
    adapter = WorkerAdapter(_NO_ADAPTER, preload=preload, use=Use.TESTS)
    return WorkerSystem(adapter, block, around, setups=setups, beside=beside)


def _adapter(block: SystemBlock) -> WorkerAdapter:
    return WorkerAdapter(block.adapter or "")


def _elsewhere(block: SystemBlock) -> WorkerAdapter:
    return WorkerAdapter("ratiba_worker.http_system:Adapter", {"url": block.url})


def _templated(block: SystemBlock) -> WorkerAdapter:
    from ratiba_action.systems.templated_dialogue import TemplatedDialogue

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
    return WorkerAdapter("ratiba_worker.templated_http_system:Adapter", options, dialogue)


def _served(adapter: WorkerAdapter, block: SystemBlock, commits: Sequence[str]) -> WorkerAdapter:
    """What starts the server that an adapter speaks to, or compares the commit that one which runs names."""
    serve, proof = block.serve, {"path": block.version_path, "header": block.version_header}
    if serve is None:
        known = commits and any(proof.values())
        version = {"version": {**proof, "commits": list(commits)}} if known else {}
        return replace(adapter, options={**adapter.options, **version}) if adapter.options is not None else adapter
    environment = {name: value for name, value in block.environment.items() if PORT in value}
    options = {
        "serve": {**serve.model_dump(include={"command", "ready", "seconds"}), "environment": environment},
        "adapter": adapter.address,
        "options": adapter.options,
    }
    return replace(
        adapter,
        address="ratiba_worker.served_system:Adapter",
        options=options,
        start_timeout=adapter.start_timeout + serve.seconds,
    )


def _command(block: SystemBlock) -> WorkerAdapter:
    return WorkerAdapter("ratiba_worker.command_system:Adapter", {"argv": block.command})


def _prompt(block: SystemBlock) -> WorkerAdapter:
    if block.prompt is None:
        raise ValueError("the system is not given as prompt")
    options = {**block.prompt.model_dump(exclude={"template"}), "role": block.prompt.role or "system"}
    if block.prompt.template is None:
        return WorkerAdapter("ratiba_worker.prompt_system:Adapter", options)
    return WorkerAdapter("ratiba_worker.adapters.prompt_template:Adapter", options, preload=("jinja2.sandbox",))


def _langgraph(block: SystemBlock) -> WorkerAdapter:
    return _framework("langgraph", block.langgraph, "langgraph.graph", "langgraph.checkpoint.memory")


def _langchain(block: SystemBlock) -> WorkerAdapter:
    return _framework("langchain", block.langchain, "langchain_core.runnables.base", "langchain_core.tracers.langchain")


def _llamaindex(block: SystemBlock) -> WorkerAdapter:
    return _framework("llamaindex", block.llamaindex, "llama_index.core")


def _framework(name: str, block: BaseModel | None, *preload: str) -> WorkerAdapter:
    if block is None:
        raise ValueError(f"the system is not given as {name}")
    options = {**block.model_dump(exclude={"reply"}), **block.model_dump(include={"reply"}, exclude_none=True)}
    return WorkerAdapter(f"ratiba_worker.adapters.{name}:Adapter", options, preload=preload)


_IN_WORKER: Mapping[str, Callable[[SystemBlock], WorkerAdapter]] = MappingProxyType(
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
