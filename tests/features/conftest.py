"""An empty repository of a user's own, and the gate in it: what each test of a feature starts from."""

import json
import os
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from ratiba_action.llm.scripted_answers import Step
from ratiba_action.model.conversation import Usage
from tests.support.gate_forks import GateForks
from tests.support.git_repository import GitRepository
from tests.support.judges import smallest_answer
from tests.support.model_servers import ModelServer, Received
from tests.support.small_repository import SmallRepository

KEY = "sk-planted-0123456789abcdef"


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Of a user without a key, whose home is empty."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    return kept | {"HOME": str(tmp_path / "home"), "NO_COLOR": "1"}


@pytest.fixture
def project(tmp_path: Path, environment: dict[str, str], forks: GateForks) -> SmallRepository:
    """A repository without a file, and a report folder beside it."""
    folder = tmp_path / "repository"
    GitRepository(folder)
    return SmallRepository(folder, tmp_path / "report", environment, run=forks.run, forks=forks)


Says = Callable[[frozenset[str], str], str | dict[str, Any] | None]


class Models:
    """Stands in for every model: a judge that finds everything good, and a system's model that says "Gern.".

    Args:
        says: what is answered instead, by the names of the fields that are asked for (none of a system's call) and the
            text of the request; None for the usual.
    """

    def __init__(self, says: Says = lambda _fields, _text: None) -> None:
        self.says = says
        self.asked: list[Received] = []

    def __call__(self, received: Received) -> Step:
        """The answer to one request."""
        self.asked.append(received)
        provider = "anthropic" if received.path.endswith("/messages") else "openai"
        schema = _schema(received.body)
        sent = self.says(frozenset(schema.get("properties", ())), json.dumps(received.body, ensure_ascii=False))
        if sent is None and schema:
            sent = smallest_answer(schema) | ({"score": 1} if "score" in schema["properties"] else {})
        usage = Usage(400, 60)
        if isinstance(sent, dict):
            return Step(provider, data=sent, usage=usage)
        return Step(provider, text=sent or "Gern.", usage=usage)


def _schema(body: Mapping[str, Any]) -> dict[str, Any]:
    if "output_config" in body:
        found: dict[str, Any] = body["output_config"]["format"]["schema"]
        return found
    asked: dict[str, Any] = body.get("response_format", {}).get("json_schema", {}).get("schema", {})
    return asked


@pytest.fixture
async def models(project: SmallRepository) -> AsyncIterator[Models]:
    """Stand-ins for the providers on loopback, with their keys in the project's environment."""
    talk = Models()
    async with ModelServer(talk, KEY) as server:
        project.environment.update(RATIBA_LLM="live", **server.environment)
        yield talk
