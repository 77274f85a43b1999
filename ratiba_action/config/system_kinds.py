"""Configuration sections by kind of system: framework, HTTP, command, prompt, captured replies; and variants."""

import json
import re
from collections.abc import Callable
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, JsonValue, field_validator, model_validator

from ratiba_action.config.model_limits import Name, TokenCount
from ratiba_action.privacy.credentials import find_credentials
from ratiba_action.settings.input_values import parse_folder
from ratiba_action.settings.provider_keys import BUILT_IN
from ratiba_action.util.body_template import VALUES, places, template_problems
from ratiba_action.util.json_expression import Expression, require_field_path
from ratiba_action.util.validation import OneOf, StrictModel

Address = Annotated[str, Field(pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$", max_length=500)]
Path = Annotated[
    str,
    Field(min_length=1, max_length=500, description="a JMESPath of names and indexes"),
    AfterValidator(require_field_path),
]


class FieldsBlock(StrictModel):
    """Path of each part of a reply in a state or an answer."""

    text: Path | None = None
    state: Path | None = None
    payment: Path | None = None
    tool_calls: Path | None = None
    events: Path | None = None
    documents: Path | None = None
    output: Path | None = None


class LangGraphBlock(StrictModel):
    """A graph, compiled or not, or a factory of one."""

    graph: Address = Field(
        description="module:attribute of a graph, or of a factory that takes the saver and the context"
    )
    saver: Literal["memory", "postgres", "redis"] | None = Field(
        default=None, description="where checkpoints are stored; default: the graph's own saver, or memory"
    )
    messages: Path = Field(default="messages", description="key of the messages in the state")
    input: Name | None = Field(default=None, description="key for the user message as text")
    response_nodes: list[Name] = Field(
        default_factory=list, description="nodes whose tokens make the text; default: the last message of a model"
    )
    reply: FieldsBlock = Field(default_factory=FieldsBlock, description="paths in the state after the turn")
    migrate: Address | None = Field(default=None, description="function that creates the system's own tables")

    @property
    def needs_database(self) -> bool:
        """Whether it keeps anything in the tenant."""
        return self.saver == "postgres" or self.migrate is not None


class LangChainBlock(StrictModel):
    """A runnable, or a factory of one."""

    runnable: Address = Field(description="module:attribute of a runnable, or of a factory that takes the context")
    takes: Literal["messages", "text", "mapping"] = Field(
        default="messages", description="messages: of the whole conversation; text: the last; mapping: see input"
    )
    input: Name | None = Field(default=None, description="of a mapping: the key of what the customer says")
    history: Name | None = Field(default=None, description="of a mapping: the key of the messages before it")
    reply: FieldsBlock = Field(default_factory=FieldsBlock, description="paths in an answer that is a mapping")
    migrate: Address | None = Field(default=None, description="function that creates the system's own tables")

    @property
    def needs_database(self) -> bool:
        """Whether it keeps anything in the tenant."""
        return self.migrate is not None

    @model_validator(mode="after")
    def _mapping_has_keys(self) -> Self:
        if self.takes == "mapping" and self.input is None:
            raise ValueError("a runnable that takes a mapping needs input, the key of what the customer says")
        if self.takes != "mapping" and (self.input or self.history):
            raise ValueError(f"input and history are keys of a mapping; this runnable takes {self.takes}")
        return self


class LlamaIndexBlock(StrictModel):
    """A chat engine, a query engine or a retriever, or a factory of one."""

    engine: Address = Field(description="module:attribute of an engine, or of a factory that takes the context")
    sync: bool = Field(default=False, description="call the synchronous methods")
    document_id: Name | None = Field(
        default=None, description="key of a node's metadata that names its document; default: the source's id"
    )
    migrate: Address | None = Field(default=None, description="function that creates the system's own tables")

    @property
    def needs_database(self) -> bool:
        """Whether it keeps anything in the tenant."""
        return self.migrate is not None


def _or_address(key: str) -> Callable[[Any], Any]:
    """Lets a section be given as its address alone."""
    return lambda given: {key: given} if isinstance(given, str) else given


LangGraph = Annotated[
    LangGraphBlock, BeforeValidator(_or_address("graph"), json_schema_input_type=Address | LangGraphBlock)
]
LangChain = Annotated[
    LangChainBlock, BeforeValidator(_or_address("runnable"), json_schema_input_type=Address | LangChainBlock)
]
LlamaIndex = Annotated[
    LlamaIndexBlock, BeforeValidator(_or_address("engine"), json_schema_input_type=Address | LlamaIndexBlock)
]


ARMS = frozenset({"head", "base"})
"""Names that no variant may have."""
PathInside = Annotated[Name, AfterValidator(parse_folder)]
"""A path that does not leave the folder that it starts from."""
VariantName = Annotated[
    str, Field(pattern=r"^[a-z0-9][a-z0-9_.-]{0,39}$", description="also used in the names of its recordings")
]


CHAT_FILES = (".json", ".yaml", ".yml")
"""Suffixes of templates that list messages."""
PROMPT_PROVIDERS = (*BUILT_IN, "gemini", "converse")
"""Whose formats a system that is a prompt can be sent in; those that are not built in are declared."""
_OF_THE_GATE = frozenset(
    {
        *("contents", "max_completion_tokens", "max_tokens", "messages", "model", "n", "stream", "system"),
        *("systemInstruction", "temperature"),
    }
)


def _adds_keys(value: dict[str, JsonValue]) -> dict[str, JsonValue]:
    if taken := sorted(set(value) & _OF_THE_GATE):
        msg = f"{', '.join(taken)} cannot be given here: the gate sets it"
        raise ValueError(msg)
    if find_credentials(json.dumps(value)):
        msg = "it contains what looks like a credential, which is not allowed here"
        raise ValueError(msg)
    return value


Request = Annotated[dict[Name, JsonValue], AfterValidator(_adds_keys)]


class PromptVariant(StrictModel):
    """What a variant changes in a system of kind prompt."""

    file: PathInside | None = None
    provider: Annotated[str, OneOf(PROMPT_PROVIDERS)] | None = None
    model: Name | None = None
    max_output_tokens: TokenCount | None = None
    temperature: Annotated[float, Field(ge=0, le=2, allow_inf_nan=False)] | None = None
    request: Request | None = None

    @property
    def changed(self) -> dict[str, Any]:
        """The values by their keys; a temperature of null is the provider's own."""
        own = {"temperature": None} if "temperature" in self.model_fields_set else {}
        return {**own, **self.model_dump(exclude_none=True)}


class VariantBlock(StrictModel):
    """Differences of a variant from the system as it is."""

    environment: dict[Annotated[str, Field(pattern=r"^[A-Za-z_]\w*$")], str] = Field(
        default_factory=dict, description="variables, such as the name of a model; no keys"
    )
    prompt: PromptVariant | None = None

    @property
    def differences(self) -> tuple[str, ...]:
        """Each thing that differs, ``name=value``, sorted."""
        prompt = self.prompt.changed if self.prompt is not None else {}
        changed = {**self.environment, **{f"prompt.{name}": value for name, value in prompt.items()}}
        return tuple(f"{name}={value}" for name, value in sorted(changed.items()))

    @field_validator("environment")
    @classmethod
    def _no_credentials(cls, value: dict[str, str]) -> dict[str, str]:
        found = sorted(name for name, text in value.items() if find_credentials(text))
        if found:
            # The value is not repeated.
            raise ValueError(f"{', '.join(found)} looks like a credential, which is not allowed here")
        return value

    @model_validator(mode="after")
    def _differs(self) -> Self:
        if not self.differences:
            raise ValueError("the variant changes nothing; add environment or prompt")
        return self


_HEADER = re.compile(r"[A-Za-z0-9-]{1,100}")
_HEADER_VALUE = re.compile(r"[\x20-\x7e]{0,1000}")
_SECRET_NAME = re.compile(r"auth|cookie|key|token|secret|passw|credential|session", re.IGNORECASE)
_SET_BY_US = frozenset({"host", "content-length", "content-type", "connection", "transfer-encoding", "expect"})


def _require_expression(text: str) -> str:
    Expression(text)
    return text


JmesPath = Annotated[str, Field(min_length=1, description="a JMESPath"), AfterValidator(_require_expression)]


class ReplyBlock(StrictModel):
    """JMESPath of each part of a reply in the answer."""

    text: JmesPath | None = None
    state: JmesPath | None = None
    payment: JmesPath | None = None
    tool_calls: JmesPath | None = None
    events: JmesPath | None = None
    documents: JmesPath | None = None
    output: JmesPath | None = None
    usage: JmesPath | None = None


class StreamBlock(StrictModel):
    """An answer as server-sent events with JSON data."""

    text: JmesPath = Field(description="the piece of text in one event; pieces are joined")
    end: Name | None = Field(default=None, description="data of the event that ends an answer, such as [DONE]")


class HttpBlock(StrictModel):
    """A running system with its own HTTP interface."""

    url: Annotated[str, Field(pattern=r"^https?://[^\s@?#]+$", max_length=2_000)]
    method: Literal["POST", "GET", "PUT"] = "POST"
    headers: dict[str, str] = Field(
        default_factory=dict, description="without secrets: the file is readable by the change"
    )
    query: dict[Name, str] = Field(default_factory=dict, description="template of the URL's query")
    body: Any = Field(default=None, description="template of the JSON body; default: no body")
    reply: ReplyBlock = Field(default_factory=ReplyBlock)
    stream: StreamBlock | None = None

    @field_validator("headers")
    @classmethod
    def _no_secret_headers(cls, value: dict[str, str]) -> dict[str, str]:
        problems = [problem for name, text in value.items() for problem in _header_problems(name, text)]
        if problems:
            raise ValueError("; ".join(problems))
        return value

    @field_validator("query", "body")
    @classmethod
    def _places_are_known(cls, value: Any) -> Any:
        problems = template_problems(value)
        if problems:
            raise ValueError("; ".join(problems))
        return value

    @field_validator("query")
    @classmethod
    def _query_values_are_texts(cls, value: dict[str, str]) -> dict[str, str]:
        lists = sorted(places(value) & VALUES)
        if lists:
            raise ValueError(f"a query has text values, but {', '.join(lists)} is not text; use body")
        return value

    @model_validator(mode="after")
    def _text_is_found_somewhere(self) -> Self:
        if (self.reply.text is None) == (self.stream is None):
            raise ValueError("give reply.text, or stream for an answer as server-sent events")
        if self.method == "GET" and self.body is not None:
            raise ValueError("a GET has no body; use query, or another method")
        return self


def _header_problems(name: str, value: str) -> list[str]:
    if not _HEADER.fullmatch(name) or not _HEADER_VALUE.fullmatch(value):
        return [f"the header {name!r} is not a plain line of ASCII"]
    if name.lower() in _SET_BY_US:
        return [f"the header {name!r} is set by the gate"]
    if _SECRET_NAME.search(name) or find_credentials(value):
        # The value is not repeated.
        return [f"the header {name!r} looks like a credential, which is not allowed here; let a proxy add it"]
    return []


DATABASE_PORT = 5432
"""Where a container finds its tenant's database, at 127.0.0.1."""
PORT = "{port}"
"""Stands for the free port that the gate chooses for a server that it starts."""
_OWN_ADDRESS = re.compile(r"http://(?:127\.0\.0\.1|localhost|\[::1\]):\{port\}(?:/[^\s@?#{}]*)?")


class ServeBlock(StrictModel):
    """The server that url or http speaks to, started by the gate for each conversation."""

    command: Annotated[list[Name], Field(min_length=1)] = Field(
        description="starts it in the foreground; {port} stands for the port, which PORT holds too"
    )
    ready: Annotated[str, Field(pattern=r"^/([^\s@#{}/\\][^\s@#{}\\]*)?$", max_length=500)] | None = Field(
        default=None, description="path that answers with 2xx when it is ready; default: it listens"
    )
    seconds: Annotated[float, Field(gt=0, le=600, allow_inf_nan=False)] = Field(
        default=60.0, description="that it may take to get ready"
    )
    port: Literal["auto"] = "auto"


_IMAGE = r"^[a-z0-9][\w./:-]*@sha256:[0-9a-f]{64}$"


def _require_digest(value: Any) -> Any:
    if isinstance(value, str) and "@sha256:" not in value:
        raise ValueError(f"{value!r} has no digest, so it may be another image tomorrow; write name@sha256:…")
    return value


Image = Annotated[
    str, Field(pattern=_IMAGE, max_length=500), BeforeValidator(_require_digest, json_schema_input_type=str)
]
TcpPort = Annotated[int, Field(ge=1, le=65_535)]


class ServiceBlock(StrictModel):
    """A server that the system's own needs, such as Redis: a container of its own for each conversation."""

    image: Image = Field(description="an image by its digest, name@sha256:…")
    port: TcpPort = Field(description="that it listens on; the system finds it at 127.0.0.1")
    environment: dict[Annotated[str, Field(pattern=r"^[A-Za-z_]\w*$")], str] = Field(default_factory=dict)


class ContainerBlock(StrictModel):
    """The server that url or http speaks to, in a container that the gate starts for each conversation."""

    build: Name | None = Field(default=None, description="folder below root that the image is built from; default: .")
    dockerfile: Name = Field(default="Dockerfile", description="path below the folder that is built")
    image: Image | None = Field(
        default=None, description="an image by its digest, name@sha256:…, instead of one that is built"
    )
    port: TcpPort = Field(description="that the server listens on inside the container; PORT holds it too")
    ready: Annotated[str, Field(pattern=r"^/([^\s@#{}/\\][^\s@#{}\\]*)?$", max_length=500)] | None = Field(
        default=None, description="path that answers with 2xx when it is ready; default: it listens"
    )
    seconds: Annotated[float, Field(gt=0, le=600, allow_inf_nan=False)] = Field(
        default=60.0, description="that it may take to get ready"
    )
    build_seconds: Annotated[float, Field(gt=0, le=3_600, allow_inf_nan=False)] = Field(
        default=600.0, description="that the build of one image may take"
    )
    migrate: Annotated[list[Name], Field(min_length=1)] | None = Field(
        default=None, description="a command in the image that creates the tables in DATABASE_URL; for http"
    )
    services: Annotated[dict[VariantName, ServiceBlock], Field(max_length=8)] = Field(
        default_factory=dict, description="servers that are started beside it, by name; each conversation has its own"
    )

    @field_validator("build", "dockerfile")
    @classmethod
    def _stays_inside(cls, value: str | None) -> str | None:
        return None if value is None else parse_folder(value)

    @model_validator(mode="after")
    def _builds_or_names(self) -> Self:
        if self.image is not None and {"build", "dockerfile", "build_seconds"} & self.model_fields_set:
            raise ValueError("give image, or build with dockerfile: an image that is named is not built")
        ports = [self.port, DATABASE_PORT, *(service.port for service in self.services.values())]
        twice = next((port for port in ports if ports.count(port) > 1), None)
        if twice is not None:
            what = " (5432 is the tenant's database)" if twice == DATABASE_PORT else ""
            raise ValueError(f"the port {twice} stands for two servers{what}; let one of them listen on another")
        return self


def serve_problems(url: object, *, served: bool) -> list[str]:
    """What is wrong with a server's address, by whether the gate starts the server."""
    if served and isinstance(url, str) and not _OWN_ADDRESS.fullmatch(url):
        return [f"{url!r} is not the address of a server that the gate starts; write http://127.0.0.1:{PORT}/path"]
    if not served and PORT in str(url):
        return [
            f"{PORT} stands for the port of a server that the gate starts: add serve or container, or write the port"
        ]
    return []


class PromptBlock(StrictModel):
    """A system without code: a prompt file and a model, which gets the whole conversation."""

    file: Annotated[str, Field(pattern=r"^[\w./-]+$", max_length=500), AfterValidator(parse_folder)] = Field(
        description="path below root; counts as a prompt file"
    )
    provider: Annotated[str, OneOf(PROMPT_PROVIDERS)]
    model: Name
    max_output_tokens: TokenCount
    temperature: Annotated[float, Field(ge=0, le=2, allow_inf_nan=False)] | None = Field(
        default=None, description="default: the provider's"
    )
    template: Literal["jinja"] | None = Field(
        default=None, description="fill the file with the message, the history and the scenario's inputs"
    )
    role: Literal["system", "user"] | None = Field(
        default=None, description="who says the filled text; default: system. A .json or .yaml file lists messages"
    )
    request: Request = Field(
        default_factory=dict, description="further keys of each request, such as tools or response_format"
    )

    @model_validator(mode="after")
    def _role_is_of_a_template(self) -> Self:
        if self.role is not None and self.template is None:
            msg = "'role' is of a template; add `template: jinja`, or remove it: the file is the system prompt"
            raise ValueError(msg)
        if self.role is not None and self.file.endswith(CHAT_FILES):
            msg = f"'role' is not of {self.file!r}, whose messages have each a role; remove it"
            raise ValueError(msg)
        return self


class ReplayBlock(StrictModel):
    """No running system: captured replies are scored."""

    transcripts: PathInside | None = Field(
        default=None, description="folder below root with <scenario id>.jsonl; default: the replies in the scenarios"
    )
