"""A bot in JavaScript, without a line of Python of its own: the gate starts its server for both sides of a change."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.gate_forks import GateForks
from tests.support.git_repository import GitRepository
from tests.support.node_bot import EXAMPLE, TOTAL, Bot

pytestmark = [
    pytest.mark.processes,
    pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not on PATH, and starts the example's server"),
]
PROJECT = Path(__file__).parents[2]


@pytest.fixture
def bot(tmp_path: Path, forks: GateForks) -> Bot:
    return Bot(tmp_path, forks)


def test_a_regression_is_red_with_its_scenario_and_compared_with_the_base_s_own_server(bot: Bot) -> None:
    ended = bot.pull_request((TOTAL, "const total = PRICES[order.item];"))
    assert ended.code == 1, ended.printed
    assert "Newly failing: `order_bread` (critical)." in ended.comment
    assert "order_cake" not in ended.comment.partition("### Failing scenarios")[2].partition("###")[0]


def test_a_harmless_change_is_green_on_the_change_s_own_server(bot: Bot) -> None:
    ended = bot.pull_request((TOTAL, TOTAL.replace("total", "sum")), ("KES ${total}", "KES ${sum}"))
    assert (ended.code, ended.outputs["passed"]) == (0, 2), ended.printed
    assert "Nothing proves which code answered" not in ended.comment


def test_a_server_that_does_not_start_is_never_a_pass_and_says_why(bot: Bot) -> None:
    ended = bot.pull_request(('import { createServer } from "node:http";', 'import express from "express";'))
    assert ended.code != 0
    for report in (ended.comment, ended.printed):
        assert "Cannot find package 'express'" in report
        assert re.search(r"'express' is not installed: \\?`setup: \\?\[npm, ci\\?\]\\?`", report), report


def test_the_commands_of_the_page_run(tmp_path: Path) -> None:
    """Each command of the tutorial, in order, in the example's folder as a repository."""
    page = (PROJECT / "docs" / "node.md").read_text(encoding="utf-8")
    files = dict(re.findall(r"```\w+\n(?://|#|<!--) ([\w./]+\.\w+)\n(.*?)```", page, re.DOTALL))
    assert set(files) == {".github/ratiba.yml", ".github/container.yml", "scenarios/order_bread.yaml"}
    for name, content in files.items():
        assert content.strip() in (EXAMPLE / name).read_text(encoding="utf-8"), name
    folder = tmp_path / "bot"
    shutil.copytree(EXAMPLE, folder)
    GitRepository(folder, os.environ["PATH"]).commit({})
    programs = f"{PROJECT / '.venv' / 'bin'}{os.pathsep}{os.environ['PATH']}"
    for command in re.findall(r"```sh\n(.*?)```", page, re.DOTALL):
        done = subprocess.run(
            ["sh", "-ec", command],
            cwd=folder,
            env={"PATH": programs, "HOME": str(tmp_path)},
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        assert done.returncode == 0, done.stdout + done.stderr
