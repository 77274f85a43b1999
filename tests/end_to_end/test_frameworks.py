"""The examples of the guide to frameworks, each in a repository of its own: the real framework, through the gate."""

import re
from pathlib import Path

import pytest
from redis import Redis

from tests.support.redis_server import redis_server
from tests.support.small_repository import SmallRepository

PAGE = Path(__file__).parents[2] / "docs" / "frameworks.md"


def files(section: str) -> dict[str, str]:
    """The files that a section shows, by the name in their first line."""
    (text,) = re.findall(
        rf"^## {section}\n(.*?)(?=^## |\Z)", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    return dict(re.findall(r"```\w+\n# ([\w./]+)\n(.*?)```", text, re.DOTALL))


@pytest.mark.parametrize("section", ["LangGraph", "LangChain", "LlamaIndex"])
def test_the_example_of_a_framework_passes(small: SmallRepository, section: str) -> None:
    shown = files(section)
    assert len(shown) == 3
    for name, content in shown.items():
        small.write(name, content)
    small.commit()
    ended = small.gate("--mode", "blocking")
    assert ended.code == 0, ended.printed
    assert ended.outputs["conclusion"] == "passed"


def test_a_framework_that_says_something_else_fails(small: SmallRepository) -> None:
    for name, content in files("LangChain").items():
        small.write(name, content.replace("nine to six", "nine to five") if name.endswith(".py") else content)
    small.commit()
    assert small.gate("--mode", "blocking").code == 1


def test_a_misspelt_key_of_the_state_is_named_with_those_that_there_are(small: SmallRepository) -> None:
    for name, content in files("LangGraph").items():
        small.write(name, content.replace("state: stage", "state: stagee"))
    small.commit()
    ended = small.gate("--mode", "blocking")
    assert ended.code == 3
    assert "the state has no key 'stagee'; there are messages, payment, stage" in ended.printed


def test_a_graph_keeps_its_checkpoints_in_redis_and_leaves_nothing_there(
    small: SmallRepository, tmp_path: Path
) -> None:
    """The example of the page, with another server; its own statistics say that checkpoints were written."""
    blocks = re.findall(r"```yaml\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    (configuration,) = [block for block in blocks if "REDIS_URL" in block]
    example = PAGE.parents[1] / "examples/intent_router"
    for path in example.glob("*.py"):
        small.write(path.name, path.read_text())
    small.write("scenarios/visitor.yaml", (example / "scenarios/visitor_books_demo.yaml").read_text())
    with redis_server(tmp_path) as url:
        small.write(".github/ratiba.yml", configuration.replace("redis://127.0.0.1:6379/0", url))
        small.commit()
        ended = small.gate("--mode", "blocking", "--scenario", "visitor_books_demo")
        assert ended.code == 0, ended.printed
        with Redis.from_url(url, decode_responses=True) as client:
            assert "cmdstat_json.set" in {name.lower() for name in client.info("commandstats")}
            assert list(client.scan_iter(match="ratiba-eval-gate:*")) == []
            assert not any(name.startswith("ratiba-eval-gate:") for name in client.execute_command("FT._LIST"))
