"""The ``system`` section of the configuration: the system under test, and how it is started."""

import re
from collections.abc import Mapping
from decimal import Decimal
from types import MappingProxyType
from typing import Annotated, Any, Self

from pydantic import Field, ModelWrapValidatorHandler, ValidationError, field_validator, model_validator
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError

from ratiba_action.config.model_limits import Name
from ratiba_action.config.system_kinds import (
    ARMS,
    ContainerBlock,
    HttpBlock,
    LangChain,
    LangGraph,
    LlamaIndex,
    PathInside,
    PromptBlock,
    ReplayBlock,
    ServeBlock,
    VariantBlock,
    VariantName,
    serve_problems,
)
from ratiba_action.util.text import nearest_names
from ratiba_action.util.validation import StrictModel

_OURS = frozenset({"PATH", "HOME", "TMPDIR", "DATABASE_URL"})
_MODELS = re.compile(
    r"(?:OPENAI|ANTHROPIC|AZURE_OPENAI|AZURE_AI|OPENROUTER|GEMINI|GOOGLE|MISTRAL|COHERE|GROQ)_(?:[A-Z]+_)*"
    r"(?:BASE_URL|API_BASE|ENDPOINT|API_KEY|AUTH_TOKEN|AD_TOKEN)|AWS_ENDPOINT_URL_BEDROCK_RUNTIME"
)
"""Where the providers' SDKs look for an address and a key."""
_GLOB = re.compile(r"(?:(?![*]{2})[\w./*?-]|(?<![^/])[*]{2}(?=/))+")

KINDS = ("adapter", "url", "http", "command", "prompt", "replay", "langgraph", "langchain", "llamaindex")
"""Kinds of systems; a configuration has exactly one of these keys."""
_WITH_DATABASE = frozenset({"adapter", "url"})
"""Kinds that have a database by default."""
_WITHOUT_DATABASE = frozenset({"http", "prompt", "replay"})
"""Kinds that cannot have one."""
_MEANINGLESS: Mapping[str, tuple[str, ...]] = MappingProxyType({"replay": ("price_per_turn_usd",)})
"""Keys without an effect for a kind."""
_NO_ENVIRONMENT = frozenset({"url", "http", "prompt", "replay"})
"""Kinds that get no environment variables from the gate, unless it starts the server."""
_SERVERS = frozenset({"url", "http"})
"""Kinds that are a server."""
_STARTS = ("serve", "container")
"""Keys that start a server."""


class SystemBlock(StrictModel):
    """The system under test and how the worker starts it."""

    root: PathInside = Field(default=".", description="folder of the system inside the repository")
    adapter: Annotated[str, Field(pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$")] | None = Field(
        default=None, description="module:attribute of a class or a function"
    )
    url: Annotated[str, Field(pattern=r"^https?://[^\s@?#]+$", max_length=2_000)] | None = Field(
        default=None, description="URL of a running system that implements the gate's own protocol"
    )
    http: HttpBlock | None = Field(default=None, description="a running system with its own HTTP interface")
    serve: ServeBlock | None = Field(default=None, description="starts the server of url or http; default: it runs")
    container: ContainerBlock | None = Field(
        default=None, description="starts the server of url or http in a container; default: it runs"
    )
    version_path: Annotated[str, Field(pattern=r"^/([^\s@#{}/\\][^\s@#{}\\]*)?$", max_length=500)] | None = Field(
        default=None, description="path at which a running server of url or http answers with its commit"
    )
    version_header: Annotated[str, Field(pattern=r"^[A-Za-z0-9-]{1,100}$")] | None = Field(
        default=None, description="header in which each answer of a running server of http names its commit"
    )
    command: Annotated[list[Name], Field(min_length=1)] | None = Field(
        default=None, description="a program that speaks JSON lines"
    )
    prompt: PromptBlock | None = Field(default=None, description="a prompt file and a model")
    replay: ReplayBlock | None = Field(default=None, description="captured replies")
    langgraph: LangGraph | None = Field(default=None, description="a LangGraph graph: module:attribute, or a block")
    langchain: LangChain | None = Field(default=None, description="a LangChain runnable: module:attribute, or a block")
    llamaindex: LlamaIndex | None = Field(default=None, description="a LlamaIndex engine: module:attribute, or a block")
    database: bool | None = Field(
        default=None,
        description="whether each scenario gets a tenant; default: true for adapter, url, and kinds that need it",
    )
    python: Name | None = Field(default=None, description="interpreter; default: the one that runs the gate")
    setup: Annotated[list[Name], Field(min_length=1)] | None = Field(default=None, description="a command")
    setup_reads: list[Name] | None = Field(
        default=None,
        description="every file below root that setup reads: it runs once for all copies with the same files",
    )
    setup_timeout_seconds: Annotated[int, Field(ge=1, le=3_600)] = 600
    preload: list[Annotated[str, Field(pattern=r"^[A-Za-z_][\w.]*$")]] = Field(default_factory=list)
    environment: dict[Annotated[str, Field(pattern=r"^[A-Za-z_]\w*$")], str] = Field(default_factory=dict)
    prompts: list[Name] = Field(default_factory=list, description="glob patterns of prompt files, below root")
    turn_timeout_seconds: Annotated[float, Field(gt=0, le=3_600, allow_inf_nan=False)] = 60.0
    price_per_turn_usd: Annotated[Decimal, Field(ge=0, le=1_000, allow_inf_nan=False, strict=False)] | None = Field(
        default=None, description="for a system that bypasses the gateway; 0: it calls no model"
    )
    variants: dict[VariantName, VariantBlock] = Field(
        default_factory=dict, description="the same system with other models or parameters, run by name"
    )

    def as_variant(self, name: str) -> Self:
        """The system with what a variant changes, and without variants.

        Raises:
            KeyError: there is no such variant.
        """
        variant = self.variants[name]
        changed: dict[str, Any] = {"environment": {**self.environment, **variant.environment}, "variants": {}}
        if variant.prompt is not None and self.prompt is not None:
            changed["prompt"] = self.prompt.model_copy(update=variant.prompt.changed)
        return self.model_copy(update=changed)

    @property
    def kind(self) -> str:
        """The kind that is set, one of ``KINDS``."""
        return next(name for name in KINDS if getattr(self, name) is not None)

    @property
    def runs_elsewhere(self) -> bool:
        """Whether it is a server that the gate does not start."""
        return self.kind in _SERVERS and not self.is_started

    @property
    def is_started(self) -> bool:
        """Whether it is a server that the gate starts, as a process or in a container."""
        return self.serve is not None or self.container is not None

    @property
    def has_database(self) -> bool:
        """Whether each conversation gets a tenant of its own."""
        needed = self.kind in _WITH_DATABASE or getattr(getattr(self, self.kind), "needs_database", False)
        return needed if self.database is None else self.database

    @property
    def prompt_patterns(self) -> tuple[str, ...]:
        """Glob patterns of every prompt file, below root."""
        given = [self.prompt, *(variant.prompt for variant in self.variants.values())]
        files = [block.file for block in given if block is not None and block.file is not None]
        return (*self.prompts, *dict.fromkeys(files))

    @property
    def models(self) -> frozenset[tuple[str, str]]:
        """Every (model, provider) that the configuration itself names for the system."""
        return frozenset({(self.prompt.model, self.prompt.provider)} if self.prompt is not None else ())

    @property
    def costs_are_declared(self) -> bool:
        """Whether the cost of calls that bypass the gateway is known; captured replies cost nothing."""
        return self.price_per_turn_usd is not None or self.replay is not None

    @model_validator(mode="wrap")
    @classmethod
    def _every_mistake_at_once(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """Add what is wrong with the keys together to what is wrong with each of them."""
        problems = [
            InitErrorDetails(type=_value_error(text), loc=place, input=data)
            for place, text in (_contradictions(data) if isinstance(data, dict) else ())
        ]
        try:
            block = handler(data)
        except ValidationError as error:
            problems += [_again(details) for details in error.errors(include_url=False)]
        if problems:
            raise ValidationError.from_exception_data(cls.__name__, problems)
        return block

    @field_validator("prompts")
    @classmethod
    def _prompts_stay_inside(cls, value: list[str]) -> list[str]:
        for pattern in value:
            parts = pattern.split("/")
            if not _GLOB.fullmatch(pattern) or pattern.startswith("/") or ".." in parts or not set(parts) - {"", "."}:
                raise ValueError(f"{pattern!r} is not a glob pattern below root, such as prompts/*.md")
        return value

    @field_validator("setup_reads")
    @classmethod
    def _set_up_reads_inside(cls, value: list[str] | None) -> list[str] | None:
        for name in value or ():
            if not {"", ".", ".."}.isdisjoint(name.split("/")) or not name.isprintable():
                raise ValueError(f"{name!r} is not the path of a file below root, such as requirements.txt")
        return value

    @field_validator("variants")
    @classmethod
    def _variants_leave_the_gate_its_own(cls, value: dict[str, VariantBlock]) -> dict[str, VariantBlock]:
        taken = sorted(ARMS & value.keys())
        if taken:
            raise ValueError(f"{taken[0]!r} is not allowed as the name of a variant: it names base or head")
        for variant in value.values():
            cls._environment_is_its_own(variant.environment)
        return value

    @field_validator("environment")
    @classmethod
    def _environment_is_its_own(cls, value: dict[str, str]) -> dict[str, str]:
        taken = sorted(name for name in value if name in _OURS or name.startswith(("LD_", "RATIBA_", "GITHUB_")))
        if taken:
            raise ValueError(f"{', '.join(taken)} cannot be set here; the gate sets it")
        models = sorted(name for name in value if _MODELS.fullmatch(name))
        if models:
            msg = (
                f"{', '.join(models)} cannot be set here: the gate provides the address and key of models; "
                "set the real ones as inputs of the gate, such as openai-base-url and openai-api-key"
            )
            raise ValueError(msg)
        return value


def _value_error(text: str) -> PydanticCustomError:
    return PydanticCustomError("value_error", "{error}", {"error": text})


def _again(details: ErrorDetails) -> InitErrorDetails:
    """Converts an error of Pydantic into the form that it accepts as input."""
    context = details.get("ctx", {})
    if details["type"] == "value_error":
        return InitErrorDetails(
            type=_value_error(str(context.get("error"))), loc=details["loc"], input=details["input"]
        )
    return InitErrorDetails(type=details["type"], loc=details["loc"], input=details["input"], ctx=context)


def _contradictions(data: Mapping[str, Any]) -> list[tuple[tuple[str, ...], str]]:
    """Contradictions between keys of the section: the key and the problem."""
    given = [name for name in KINDS if data.get(name) is not None]
    if not given and any(nearest_names(str(key), KINDS) for key in data if key not in SystemBlock.model_fields):
        return []  # reported as a misspelt key
    if len(given) != 1:
        names = f"{', '.join(KINDS[:-1])} or {KINDS[-1]}"
        found = f"; this gives {' and '.join(given)}" if given else ""
        return [((), f"give exactly one of {names}{found}")]
    (kind,) = given
    problems: list[tuple[tuple[str, ...], str]] = [
        ((name,), f"it has no effect for a system of kind {kind!r}; remove it")
        for name in _MEANINGLESS.get(kind, ())
        if name in data
    ]
    with_container = kind in _SERVERS and data.get("container") is not None
    if kind in _WITHOUT_DATABASE and data.get("database") is True and not with_container:
        problems.append((("database",), f"a system of kind {kind!r} gets no database from the gate"))
    if data.get("setup_reads") is not None and data.get("setup") is None:
        problems.append((("setup_reads",), "it has no effect without setup, the command that reads these files"))
    return problems + _missing_stores(data) + _useless_variants(data, kind) + _servers(data, kind)


def _servers(data: Mapping[str, Any], kind: str) -> list[tuple[tuple[str, ...], str]]:
    """Keys of a server that contradict each other or the kind."""
    given = [name for name in (*_STARTS, "version_path", "version_header") if data.get(name) is not None]
    if kind not in _SERVERS:
        return [
            ((name,), f"it has no effect for a system of kind {kind!r}; it belongs to url or http") for name in given
        ]
    block = data[kind]
    url, place = (block.get("url"), ("http", "url")) if isinstance(block, dict) else (block, (kind,))
    problems: list[tuple[tuple[str, ...], str]] = [
        (place, text) for text in serve_problems(url, served=bool({*_STARTS} & {*given}))
    ]
    if {*_STARTS} <= {*given}:
        problems.append((("container",), "give serve or container: each of them starts the server"))
    container = data.get("container")
    named = isinstance(container, dict) and container.get("image") is not None
    started = next((name for name in _STARTS if name in given), None)
    if started is not None and not named:
        problems += [
            ((name,), f"it has no effect with {started}: the gate knows which code it starts")
            for name in given
            if name not in _STARTS
        ]
    if isinstance(container, dict) and container.get("migrate") is not None:
        if kind == "url":
            problems.append((("container", "migrate"), "a system of kind 'url' creates its tables at POST /migrate"))
        elif data.get("database") is not True:
            problems.append((("container", "migrate"), "it has no effect without a database; add database: true"))
    if kind == "url" and "version_header" in given:
        problems.append((("version_header",), "a system of kind 'url' has version_path only"))
    return problems


def _useless_variants(data: Mapping[str, Any], kind: str) -> list[tuple[tuple[str, ...], str]]:
    """Variants that would equal the system itself."""
    variants = data.get("variants")
    bare = kind in _NO_ENVIRONMENT and not any(data.get(name) is not None for name in _STARTS)
    useless = [key for key, has in (("environment", bare), ("prompt", kind != "prompt")) if has]
    return [
        (("variants", str(name), key), f"it has no effect for a system of kind {kind!r}")
        for name, block in (variants.items() if isinstance(variants, dict) else ())
        for key in useless
        if isinstance(block, dict) and block.get(key)
    ]


def _missing_stores(data: Mapping[str, Any]) -> list[tuple[tuple[str, ...], str]]:
    """Stores that a framework's section needs and other keys forbid."""
    problems: list[tuple[tuple[str, ...], str]] = []
    for kind in ("langgraph", "langchain", "llamaindex"):
        block = data.get(kind)
        if not isinstance(block, dict):
            continue
        if data.get("database") is False and (block.get("saver") == "postgres" or block.get("migrate")):
            problems.append((("database",), f"{kind} needs a database; remove this line"))
        environment = data.get("environment")
        if block.get("saver") == "redis" and not (isinstance(environment, dict) and environment.get("REDIS_URL")):
            problems.append(((kind, "saver"), "redis needs the server's address: set REDIS_URL in system.environment"))
    return problems
