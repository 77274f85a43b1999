"""A conversation of production is read from a trace in a stand-in for Langfuse."""

from datetime import UTC, datetime

import pytest

from ratiba_action.authoring.chat_trace import read_trace
from ratiba_action.errors import ConfigurationError, UsageError
from ratiba_action.observability.langfuse_asking import LangfuseAccess
from ratiba_action.production.tenants import TenantFacts
from ratiba_action.run.event_logging import required_access
from ratiba_action.settings.settings import read_settings
from tests.support.langfuse_server import LangfuseState, langfuse_server
from tests.support.production_traces import add_conversation

pytest.importorskip("langfuse", reason="needs the extra 'langfuse'")

BEGAN = datetime(2026, 4, 25, 7, tzinfo=UTC)
TURNS = [("Mimi ni Wanjiku Kamau", "Karibu Wanjiku"), ("Kesho saa nane", "Sawa")]
TENANTS = {"amani": TenantFacts(vertical="spa", names=("Wanjiku Kamau",))}


def access_to(state: LangfuseState, host: str) -> LangfuseAccess:
    environment = state.environment(host)
    return required_access(read_settings(environment, {}), environment, "nothing is read")


def test_turns_language_time_and_names_are_those_of_the_trace() -> None:
    state = LangfuseState()
    trace = add_conversation(state, "one", TURNS, BEGAN, metadata={"tenant_id": "amani", "language": "sw-KE"})
    with langfuse_server(state) as host:
        found = read_trace(access_to(state, host), trace, TENANTS)
    assert [(turn.user, reply) for turn, reply in found.turns] == TURNS
    assert (found.language, found.source) == ("sw", "langfuse")
    assert datetime.fromisoformat(found.started) == BEGAN
    assert "Wanjiku Kamau" in found.names


def test_what_must_not_leave_production_and_what_is_not_there_is_refused() -> None:
    state = LangfuseState()
    unknown = add_conversation(state, "two", TURNS, BEGAN, metadata={"tenant_id": "nobody"})
    key = [("My key is sk-ant-api03-" + "a1B2" * 24, "Thank you")]
    secret = add_conversation(state, "three", key, BEGAN, metadata={"tenant_id": "amani"})
    with langfuse_server(state) as host:
        access = access_to(state, host)
        with pytest.raises(ConfigurationError, match="--tenants FILE"):
            read_trace(access, unknown, TENANTS)
        with pytest.raises(ConfigurationError, match=r"contains .* Remove it in Langfuse"):
            read_trace(access, secret, TENANTS)
        with pytest.raises(UsageError, match="no observation of the trace"):
            read_trace(access, "0" * 32, TENANTS)
