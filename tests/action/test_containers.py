"""A bot with a Dockerfile and no Python goes through the action: each side in containers of its own, without a key."""

import json
import secrets
import subprocess
from pathlib import Path
from typing import Any

import pytest

from ratiba_action.llm.scripted_answers import Step
from tests.support.act import Act
from tests.support.act_run import ActRun
from tests.support.consumer_repository import WORKFLOW, ConsumerRepository, Repositories
from tests.support.github_server import GithubState, github_server
from tests.support.model_servers import ModelServer
from tests.support.node_bot import EXAMPLE, TOTAL
from tests.support.served_models import served_models
from tests.support.workflow_for_act import Adjustments

pytestmark = pytest.mark.docker
WORKFLOWS = Path(__file__).parents[2] / "examples" / "consumer"
SERVER = "server.js"


def node_bot(repositories: Repositories, **more: str) -> ConsumerRepository:
    """The example's repository with the workflow; the rest are files by their name without suffix."""
    files = {
        ".github/ratiba.yml": (EXAMPLE / ".github" / "container.yml").read_text(),
        WORKFLOW: (WORKFLOWS / WORKFLOW).read_text(),
    }
    return repositories.made_of(EXAMPLE, {**files, **more})


def evaluated(act: Act, repository: ConsumerRepository, adjustments: Adjustments | None = None) -> tuple[ActRun, str]:
    """A run for the proposed change, and the comment that it wrote."""
    github = GithubState(heads={7: repository.head})
    with github_server(github) as api:
        run = act.run(repository, "pull_request", repository.pull_request_event(), api, adjustments=adjustments)
    assert left_over() == []
    return run, "".join(str(comment["body"]) for comment in github.comments)


def left_over() -> list[str]:
    """Containers, images and volumes of systems and of the channel that are still there."""
    listing = (["ps", "--all", "--quiet"], ["image", "ls", "--quiet"])
    found = (
        subprocess.run(
            ["docker", *words, "--filter", "label=ratiba.system"], capture_output=True, text=True, check=True
        ).stdout
        for words in listing
    )
    return "".join(found).split()


def test_a_regression_is_red_with_its_scenario(act: Act, repositories: Repositories) -> None:
    repository = node_bot(repositories)
    repository.propose({SERVER: repository.text(SERVER).replace(TOTAL, "const total = PRICES[order.item];")})
    run, comment = evaluated(act, repository)
    assert run.outputs["conclusion"] == "failed", run.printed
    assert "Newly failing: `order_bread` (critical)." in comment, comment


def test_a_harmless_change_is_green(act: Act, repositories: Repositories) -> None:
    repository = node_bot(repositories)
    text = repository.text(SERVER).replace(TOTAL, TOTAL.replace("total", "sum")).replace("KES ${total}", "KES ${sum}")
    repository.propose({SERVER: text})
    run, comment = evaluated(act, repository)
    assert (run.outputs["conclusion"], run.outputs["passed"]) == ("passed", "2"), run.printed
    assert "Nothing proves which code answered" not in comment
