"""The endpoints that the gateway speaks."""

from ratiba_action.llm.anthropic_wire import AnthropicMessages
from ratiba_action.llm.endpoint import Endpoint
from ratiba_action.llm.openai_chat import OpenAIChat
from ratiba_action.llm.openai_embeddings import OpenAIEmbeddings
from ratiba_action.llm.openai_responses import OpenAIResponses

ENDPOINTS: tuple[Endpoint, ...] = (AnthropicMessages(), OpenAIChat(), OpenAIResponses(), OpenAIEmbeddings())
"""Each endpoint; its path is its name, with or without ``/v1`` before it."""


def endpoint_named(provider: str, name: str) -> Endpoint:
    """The endpoint of a provider.

    Raises:
        KeyError: there is none.
    """
    return {(endpoint.provider, endpoint.name): endpoint for endpoint in ENDPOINTS}[provider, name]
