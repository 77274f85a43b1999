"""A bot in JavaScript with a Dockerfile and no line of Python: head and base each in containers of their own."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from ratiba_action.llm.scripted_answers import Step
from tests.support.container_image import why_not
from tests.support.eventually import eventually
from tests.support.gate_forks import GateForks
from tests.support.model_servers import ModelServer, Received
from tests.support.node_bot import TOTAL, Bot, left_over
from tests.support.served_models import served_models

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("alone_with_system_containers")]
KEY = "sk-test-0000000000000000000000000000"
COPY = "COPY prompts prompts"


@pytest.fixture
def bot(tmp_path_factory: pytest.TempPathFactory, forks: GateForks) -> Bot:
    if reason := why_not():
        pytest.skip(reason)
    return Bot(tmp_path_factory.mktemp("bot"), forks, "container.yml")


def models(received: Received) -> Step:
    """What understands both orders of the example."""
    message = received.body["messages"][-1]["content"]
    if "open" in message:
        return Step("openai", text=json.dumps({"say": "Yes!"}))
    item, quantity = ("bread", 3) if "bread" in message else ("cake", 1)
    return Step("openai", text=json.dumps({"order": {"item": item, "quantity": quantity}}))


def test_it_is_recorded_through_the_gateway_and_replays(bot: Bot) -> None:
    recordings = bot.small.folder / "scenarios" / "recordings"
    shutil.rmtree(recordings)
    with served_models(ModelServer(models, KEY)) as server:
        given = {"RATIBA_OPENAI_API_KEY": KEY, "RATIBA_OPENAI_BASE_URL": f"{server.url}/v1"}
        done = bot.small.run(["record", "--accept"], bot.small.folder, bot.small.environment | given)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(server.received) == 3
    assert KEY not in "".join(path.read_text() for path in recordings.iterdir())
    ended = bot.small.gate("--llm", "replay", "--mode", "blocking")
    assert (ended.code, ended.outputs["passed"]) == (0, 2), ended.printed
    assert left_over() == []


def test_a_regression_is_red_with_its_scenario_and_compared_with_the_base_in_its_own_container(bot: Bot) -> None:
    ended = bot.pull_request((TOTAL, "const total = PRICES[order.item];"))
    assert ended.code == 1, ended.printed
    assert "Newly failing: `order_bread` (critical)." in ended.comment
    assert "order_cake" not in ended.comment.partition("### Failing scenarios")[2].partition("###")[0]


def test_a_harmless_change_is_green(bot: Bot) -> None:
    ended = bot.pull_request((TOTAL, TOTAL.replace("total", "sum")), ("KES ${total}", "KES ${sum}"))
    assert (ended.code, ended.outputs["passed"]) == (0, 2), ended.printed
    assert "Nothing proves which code answered" not in ended.comment


def test_a_head_that_cannot_be_built_is_a_wrong_input_with_the_builds_last_lines(bot: Bot) -> None:
    ended = bot.pull_request((COPY, "COPY no-such-folder prompts"), file="Dockerfile")
    assert ended.code == 2, ended.printed
    assert "The build of 'Dockerfile' failed" in ended.printed
    assert "no-such-folder" in ended.printed


def test_a_base_that_cannot_be_built_is_incomplete(bot: Bot) -> None:
    bot.break_base("Dockerfile", COPY, "COPY no-such-folder prompts")
    ended = bot.pull_request(("COPY no-such-folder prompts", COPY), file="Dockerfile")
    assert ended.code == 3, ended.printed
    assert "no-such-folder" in ended.comment


def test_a_server_that_does_not_start_is_never_a_pass_and_says_why(bot: Bot) -> None:
    ended = bot.pull_request(('import { createServer } from "node:http";', 'import express from "express";'))
    assert ended.code != 0
    for report in (ended.comment, ended.printed):
        assert "Cannot find package 'express'" in report


def test_a_gate_that_is_ended_while_it_builds_leaves_no_image(bot: Bot) -> None:
    started = bot.small.start("--llm", "replay", "--mode", "blocking")
    eventually(building, 120)
    started.send_signal(signal.SIGTERM)
    started.wait()
    eventually(lambda: left_over() == [], 60)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_nothing_outlives_a_gate_that_is_ended(bot: Bot, number: signal.Signals) -> None:
    started = bot.small.start("--llm", "replay", "--mode", "blocking")
    eventually(lambda: "node" in running(), 120)
    started.send_signal(number)
    eventually(lambda: running() == "", 30)
    started.wait()
    if number is signal.SIGKILL:  # what it has built is removed by the next run
        ended = bot.small.gate("--llm", "replay", "--mode", "blocking")
        assert ended.code == 0, ended.printed
    eventually(lambda: left_over() == [], 60)


def building() -> bool:
    """Whether the command that builds an image of a system runs."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            words = path.read_bytes().split(b"\0")
            if words[:2] == [b"docker", b"build"] and b"ratiba.system=" in words:
                return True
    return False


def running() -> str:
    """The commands of the containers of systems that run."""
    words = ["ps", "--format", "{{.Command}}", "--filter", "label=ratiba.system"]
    return subprocess.run(["docker", *words], capture_output=True, text=True, check=True, env=os.environ).stdout.strip()
