"""The blocks of systems that need no adapter of one's own: an HTTP call, a command, a prompt, captured replies."""

import re
from typing import Annotated, Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from ratiba_action.config.json_expression import Expression
from ratiba_action.config.model_limits import Name, TokenCount
from ratiba_action.privacy.credentials import find_credentials
from ratiba_action.settings.input_values import parse_folder
from ratiba_action.util.body_template import VALUES, places, template_problems
from ratiba_action.util.validation import StrictModel

_HEADER = re.compile(r"[A-Za-z0-9-]{1,100}")
_HEADER_VALUE = re.compile(r"[\x20-\x7e]{0,1000}")
_SECRET_NAME = re.compile(r"auth|cookie|key|token|secret|passw|credential|session", re.IGNORECASE)
_SET_BY_US = frozenset({"host", "content-length", "content-type", "connection", "transfer-encoding", "expect"})

JmesPath = Annotated[str, Field(min_length=1, description="a JMESPath")]


def _require_expressions(*texts: str | None) -> None:
    """Check that each is a JMESPath; raises ValueError that says what is wrong."""
    for text in texts:
        if text is not None:
            Expression(text)


class ReplyBlock(StrictModel):
    """Where each part of a reply stands in the answer, as JMESPath."""

    text: JmesPath | None = None
    state: JmesPath | None = None
    payment: JmesPath | None = None
    tool_calls: JmesPath | None = None
    events: JmesPath | None = None
    documents: JmesPath | None = None
    output: JmesPath | None = None
    usage: JmesPath | None = None

    @field_validator("*")
    @classmethod
    def _is_an_expression(cls, value: str | None) -> str | None:
        _require_expressions(value)
        return value


class StreamBlock(StrictModel):
    """An answer that comes as server-sent events, each with JSON as its data."""

    text: JmesPath = Field(description="the piece of text in one event; pieces are joined")
    end: Name | None = Field(default=None, description="data of the event that ends a whole answer, such as [DONE]")

    @field_validator("text")
    @classmethod
    def _is_an_expression(cls, value: str) -> str:
        _require_expressions(value)
        return value


class HttpBlock(StrictModel):
    """A system that runs elsewhere and has its own HTTP interface."""

    url: Annotated[str, Field(pattern=r"^https?://[^\s@?#]+$", max_length=2_000)]
    method: Literal["POST", "GET", "PUT"] = "POST"
    headers: dict[str, str] = Field(default_factory=dict, description="no secrets: the file is public to the change")
    query: dict[Name, str] = Field(default_factory=dict, description="a template of the address's query")
    body: Any = Field(default=None, description="a template of JSON; default: no body")
    reply: ReplyBlock = Field(default_factory=ReplyBlock)
    stream: StreamBlock | None = None

    @field_validator("headers")
    @classmethod
    def _headers_hold_no_secret(cls, value: dict[str, str]) -> dict[str, str]:
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
    def _query_holds_texts(cls, value: dict[str, str]) -> dict[str, str]:
        lists = sorted(places(value) & VALUES)
        if lists:
            msg = f"a query holds texts, and {', '.join(lists)} is none; use body"
            raise ValueError(msg)
        return value

    @model_validator(mode="after")
    def _text_is_found_somewhere(self) -> Self:
        if (self.reply.text is None) == (self.stream is None):
            msg = "give reply.text, or stream for an answer that comes as events"
            raise ValueError(msg)
        if self.method == "GET" and self.body is not None:
            msg = "a GET has no body; use query, or another method"
            raise ValueError(msg)
        return self


def _header_problems(name: str, value: str) -> list[str]:
    if not _HEADER.fullmatch(name) or not _HEADER_VALUE.fullmatch(value):
        return [f"the header {name!r} is not a plain line of ASCII"]
    if name.lower() in _SET_BY_US:
        return [f"the header {name!r} is set by the gate"]
    if _SECRET_NAME.search(name) or find_credentials(value):
        # The value is not repeated.
        return [f"the header {name!r} looks like a credential, which has no place here; let a proxy add it"]
    return []


class PromptBlock(StrictModel):
    """No code at all: a file is the system prompt of a model, which is given the whole conversation."""

    file: Annotated[str, Field(pattern=r"^[\w./-]+$", max_length=500)] = Field(
        description="below root; counts as one of prompts"
    )
    provider: Literal["anthropic", "openai"]
    model: Name
    max_output_tokens: TokenCount
    temperature: Annotated[float, Field(ge=0, le=2, allow_inf_nan=False)] | None = Field(
        default=None, description="default: the provider's"
    )

    @field_validator("file")
    @classmethod
    def _file_stays_inside(cls, value: str) -> str:
        return parse_folder(value)


class ReplayBlock(StrictModel):
    """No system at all: what was captured is judged once more."""

    transcripts: Name | None = Field(
        default=None, description="folder below root with <scenario id>.jsonl; default: the replies in the scenarios"
    )

    @field_validator("transcripts")
    @classmethod
    def _folder_stays_inside(cls, value: str | None) -> str | None:
        return None if value is None else parse_folder(value)
