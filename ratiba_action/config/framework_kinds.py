"""The blocks of systems that a framework runs: a LangGraph graph, a LangChain runnable, a LlamaIndex engine."""

from collections.abc import Callable
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from ratiba_action.config.model_limits import Name
from ratiba_action.util.validation import StrictModel

Address = Annotated[str, Field(pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$", max_length=500)]
Path = Annotated[str, Field(pattern=r"^[^.\s]+(\.[^.\s]+)*$", max_length=500, description="keys, with dots between")]


class FieldsBlock(StrictModel):
    """Where each part of a reply stands in a state or an answer."""

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
        default=None, description="where checkpoints are kept; default: the graph's own saver, or memory"
    )
    messages: Path = Field(default="messages", description="the state's key of the messages")
    input: Name | None = Field(default=None, description="the key that takes what the customer says, as text")
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
            msg = "a runnable that takes a mapping needs input, the key of what the customer says"
            raise ValueError(msg)
        if self.takes != "mapping" and (self.input or self.history):
            msg = f"input and history are keys of a mapping; this runnable takes {self.takes}"
            raise ValueError(msg)
        return self


class LlamaIndexBlock(StrictModel):
    """A chat engine, a query engine or a retriever, or a factory of one."""

    engine: Address = Field(description="module:attribute of an engine, or of a factory that takes the context")
    sync: bool = Field(default=False, description="ask by the synchronous methods")
    document_id: Name | None = Field(
        default=None, description="key of a node's metadata that names its document; default: the source's id"
    )
    migrate: Address | None = Field(default=None, description="function that creates the system's own tables")

    @property
    def needs_database(self) -> bool:
        """Whether it keeps anything in the tenant."""
        return self.migrate is not None


def _or_address(key: str) -> Callable[[Any], Any]:
    """A block may be given by its address alone."""
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
