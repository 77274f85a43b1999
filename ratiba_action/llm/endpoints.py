"""The wire formats that the gateway speaks: the one table, and what is found in it."""

from collections.abc import Mapping

from ratiba_action.llm.providers.anthropic import Anthropic
from ratiba_action.llm.providers.converse import BedrockConverse
from ratiba_action.llm.providers.gemini import Gemini
from ratiba_action.llm.providers.openai import OpenAI
from ratiba_action.llm.wire_format import Endpoint, WireFormat
from ratiba_action.model.values import JsonObject

_DEFAULT = OpenAI()
"""What whoever names no format is taken to speak."""

FORMATS: Mapping[str, WireFormat] = {wire.name: wire for wire in (Anthropic(), _DEFAULT, Gemini(), BedrockConverse())}
"""Each format by its name."""

ENDPOINTS: tuple[Endpoint, ...] = tuple(endpoint for wire in FORMATS.values() for endpoint in wire.endpoints)
"""Every endpoint."""


def endpoint_named(name: str) -> Endpoint:
    """The endpoint of a name, which no other format has.

    Raises:
        KeyError: there is none.
    """
    return {endpoint.name: endpoint for endpoint in ENDPOINTS}[name]


def endpoint_of_answer(provider: str, answer: JsonObject) -> Endpoint:
    """The endpoint that gave a recorded answer, by its shape; by its provider where the shape says nothing."""
    given = (endpoint for endpoint in ENDPOINTS if endpoint.has_given(answer))
    return next(given, FORMATS.get(provider, _DEFAULT).endpoints[0])


def format_of_request(headers: Mapping[str, str]) -> WireFormat:
    """The format in which a request to an unknown path is refused, by its headers."""
    return next((wire for wire in FORMATS.values() if any(mark in headers for mark in wire.marks)), _DEFAULT)
