"""Langfuse's own clients against a stand-in, with every socket closed behind them; they need the extra ``langfuse``."""

from contextlib import contextmanager
from typing import TYPE_CHECKING

from tests.support.langfuse_state import LangfuseState

if TYPE_CHECKING:
    from collections.abc import Iterator

    from langfuse import Langfuse
    from langfuse.api import LangfuseAPI

_SECONDS = 5


@contextmanager
def langfuse_api(state: LangfuseState, url: str) -> "Iterator[LangfuseAPI]":
    """The client of the REST API."""
    import httpx
    from langfuse.api import LangfuseAPI

    with httpx.Client(timeout=_SECONDS) as http:
        yield LangfuseAPI(base_url=url, username=state.public_key, password=state.secret_key, httpx_client=http)


@contextmanager
def langfuse_client(state: LangfuseState, url: str) -> "Iterator[Langfuse]":
    """The whole client, which traces; forgotten afterwards, since it is remembered by its key otherwise."""
    import httpx
    from langfuse import Langfuse
    from langfuse._client.resource_manager import LangfuseResourceManager
    from opentelemetry.sdk.trace import TracerProvider

    provider = TracerProvider(shutdown_on_exit=False)
    with httpx.Client(timeout=_SECONDS) as http:
        made = Langfuse(
            public_key=state.public_key,
            secret_key=state.secret_key,
            base_url=url,
            tracer_provider=provider,
            timeout=_SECONDS,
            httpx_client=http,
        )
        try:
            yield made
        finally:
            made.shutdown()
            provider.shutdown()
            LangfuseResourceManager._instances.pop(state.public_key)
