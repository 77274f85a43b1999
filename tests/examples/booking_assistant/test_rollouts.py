"""The share of a canary: from a real Redis or a file, and 0 whenever it cannot be known."""

import json
import logging
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import redis
from booking_assistant.llm_router import LLMRouter
from booking_assistant.prompts import PromptLibrary, canary_bucket
from booking_assistant.rollouts import KEY, Rollouts, open_rollouts, read_percentage

from tests.support.redis_server import redis_server

ROLE, NOW = "greeter", datetime(2026, 11, 22, 6, tzinfo=UTC)
CONVERSATIONS = [f"conversation-{number}" for number in range(2000)]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with redis_server(tmp_path_factory.mktemp("redis")) as url:
        yield url


def router(folder: Path, rollouts: Rollouts | None) -> LLMRouter:
    for name in ("calm.md", "bold.md"):
        (folder / name).write_text(name, encoding="utf-8")
    aliases = f'{ROLE}: {{"@stable": calm.md, "@canary": {{prompt: bold.md, percentage: 100}}}}'
    (folder / "aliases.yaml").write_text(aliases, encoding="utf-8")
    return LLMRouter({}, {}, PromptLibrary(folder, rollouts))


def canaries(asked: LLMRouter) -> set[str]:
    return {name for name in CONVERSATIONS if asked.resolve_prompt(ROLE, "tenant", name).name == "bold"}


def without_memory(rollouts: Rollouts | None) -> Rollouts:
    assert rollouts is not None
    rollouts.kept_seconds = 0
    return rollouts


def test_the_share_in_redis_decides_and_0_stops_the_canary(tmp_path: Path, address: str) -> None:
    asked = router(tmp_path, without_memory(open_rollouts({"CANARY_REDIS_URL": address})))
    assert canaries(asked) == set()
    with redis.Redis.from_url(address) as client:
        client.hset(KEY.format(role=ROLE), mapping={"percentage": "5"})
        few = canaries(asked)
        assert few == canaries(asked) == {name for name in CONVERSATIONS if canary_bucket("tenant", name) < 5}
        assert 60 < len(few) < 140
        client.hset(KEY.format(role=ROLE), "percentage", "50")
        assert few < canaries(asked)
        client.hset(KEY.format(role=ROLE), "percentage", "0")
    assert canaries(asked) == set()


def test_a_redis_that_cannot_be_reached_is_0_percent_and_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with redis_server(tmp_path, password="planted-0123456789") as url:
        wrong = url.replace("planted", "another")
        assert canaries(router(tmp_path, open_rollouts({"CANARY_REDIS_URL": wrong}))) == set()
    asked = router(tmp_path, open_rollouts({"CANARY_REDIS_URL": url}))
    with caplog.at_level(logging.WARNING):
        assert canaries(asked) == set()
    assert [record.getMessage() for record in caplog.records if "ConnectionError" in record.getMessage()] == [
        "The rollout of greeter cannot be used (ConnectionError): 0 percent."
    ], "one warning, since the answer is kept"
    assert "planted" not in caplog.text


def test_a_file_decides_and_a_broken_one_is_0_percent(tmp_path: Path) -> None:
    path = tmp_path / "rollouts.json"
    asked = router(tmp_path, without_memory(open_rollouts({"CANARY_ROLLOUTS": str(path)})))
    assert canaries(asked) == set()
    path.write_text(json.dumps({ROLE: {"percentage": 100}}), encoding="utf-8")
    assert len(canaries(asked)) == len(CONVERSATIONS)
    path.write_text("{", encoding="utf-8")
    assert canaries(asked) == set()


def test_without_rollouts_the_aliases_decide(tmp_path: Path) -> None:
    assert open_rollouts({}) is None
    assert len(canaries(router(tmp_path, None))) == len(CONVERSATIONS)


@pytest.mark.parametrize(
    ("rollout", "expected"),
    [
        ({}, 0),
        ({"percentage": "5"}, 5),
        ({"percentage": 5, "until": (NOW + timedelta(hours=1)).isoformat()}, 5),
        ({"percentage": 5, "until": NOW.isoformat()}, 0),
        ({"percentage": 5, "until": "2026-11-22T08:00:00+03:00"}, 0),
        ({"percentage": "101"}, None),
        ({"percentage": "-1"}, None),
        ({"percentage": "5.5"}, None),
        ({"percentage": "many"}, None),
        ({"percentage": 5, "until": "tomorrow"}, None),
        ({"percentage": 5, "until": "2026-11-29T08:00:00"}, None),
    ],
)
def test_a_rollout_ends_by_itself_and_nonsense_is_refused(rollout: Mapping[str, Any], expected: int | None) -> None:
    if expected is None:
        with pytest.raises(ValueError, match=r"."):
            read_percentage(rollout, NOW)
        assert Rollouts(lambda _: rollout, lambda: NOW).percentage(ROLE) == 0
    else:
        assert read_percentage(rollout, NOW) == expected
