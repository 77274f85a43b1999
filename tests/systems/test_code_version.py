"""A server that the gate did not start, and the commit that it names itself."""

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ratiba_action.config.system_block import SystemBlock
from ratiba_action.errors import WorkerError
from ratiba_action.model.plan import Tenant
from ratiba_action.model.scenario import Customer, Scenario, Turn
from ratiba_action.systems.choose import choose_system
from ratiba_action.systems.workplace import Surroundings
from tests.support.http_stand_in import HttpAnswer, HttpRequest, HttpStandIn, http_answer

HEAD, OTHER = "ab" * 20, "cd" * 20


class RunningServer:
    """Answers, and names a commit."""

    def __init__(self, path: str, header: str | None) -> None:
        self._path, self._header = path, header

    async def handle(self, request: HttpRequest) -> HttpAnswer:
        if request.path == "/version":
            return HttpAnswer(http_answer(200, self._path.encode(), {}))
        body = {"id": "1"} if request.path.endswith("/conversations") else {"text": "Karibu"}
        headers = {} if self._header is None else {"X-Commit": self._header}
        return HttpAnswer(http_answer(200, json.dumps(body).encode(), headers))


async def said_by(folder: Path, kind: str, server: RunningServer, commits: tuple[str, ...], **proof: str) -> str:
    async with HttpStandIn(server.handle) as stand_in:
        block: dict[str, Any] = {"http": {"url": f"{stand_in.url}/chat", "reply": {"text": "text"}}}
        block = {"url": stand_in.url, "database": False} if kind == "url" else block
        system = choose_system(
            SystemBlock.model_validate({**block, **proof}), Surroundings(folder, os.environ, commits=commits)
        )
        try:
            await system.start()
            scenario = Scenario("spa", "sw", (), datetime(2026, 4, 25, 7, tzinfo=UTC), Customer("W", "+2547"))
            session = await system.open(scenario, Tenant("id", "", ""), {})
            return (await session.send(Turn(user="Habari"))).text
        finally:
            await system.close()


@pytest.mark.parametrize("kind", ["url", "http"])
@pytest.mark.parametrize("message", [HEAD, HEAD[:7], json.dumps({"commit": HEAD[:12].upper(), "built": "20261129"})])
async def test_a_server_that_names_the_commit_answers(tmp_path: Path, kind: str, message: str) -> None:
    assert await said_by(tmp_path, kind, RunningServer(message, None), (HEAD,), version_path="/version") == "Karibu"


@pytest.mark.parametrize("kind", ["url", "http"])
@pytest.mark.parametrize("message", [HEAD[:6], OTHER, HEAD + "0", "unknown", ""])
async def test_a_server_of_other_code_is_an_error_with_both_commits(tmp_path: Path, kind: str, message: str) -> None:
    with pytest.raises(WorkerError, match="the server runs other code than what is evaluated") as caught:
        await said_by(tmp_path, kind, RunningServer(message, None), (HEAD,), version_path="/version")
    assert message in caught.value.problem
    assert HEAD in caught.value.problem


@pytest.mark.parametrize("reported", [OTHER, None])
async def test_the_same_of_a_header_of_each_reply(tmp_path: Path, reported: str | None) -> None:
    proof = {"version_header": "X-Commit"}
    assert await said_by(tmp_path, "http", RunningServer("", HEAD), (OTHER, HEAD), **proof) == "Karibu"
    with pytest.raises(WorkerError, match=f"X-Commit says {repr(reported) if reported else 'nothing'}"):
        await said_by(tmp_path, "http", RunningServer("", reported), (HEAD,), **proof)
