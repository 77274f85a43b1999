"""A change that tries to give commands to the runner by the log of the action: none is obeyed, no output is set."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.act import TOKEN, Act
from tests.support.consumer_repository import PROMPT, ConsumerRepository, Repositories
from tests.support.github_server import GithubState, github_server
from tests.support.hosted_runner import HostedRunner
from tests.support.hostile_log import COMMANDS, hostile_adapter, planted

pytestmark = pytest.mark.docker

AS_A_STEP = """\
name: gate
on: pull_request
jobs:
  eval:
    runs-on: ubuntu-latest
    container: {{image: "{image}", options: "--user root"}}
    steps:
      - uses: actions/checkout@v7
      - id: bare
        run: /opt/ratiba/bin/python -I /opt/ratiba/app/entrypoint.py gate || echo "ended with $?"
"""


def hostile(repositories: Repositories, message: str) -> ConsumerRepository:
    """A repository whose system attacks the log."""
    repository = repositories.small(message)
    adapter = hostile_adapter(repository.text("adapter.py"))
    repository.propose({PROMPT: "Say Bonjour, warmly.\n", "adapter.py": adapter})
    return repository


@pytest.fixture
def github() -> GithubState:
    return GithubState()


@pytest.fixture
def api(github: GithubState) -> Iterator[str]:
    with github_server(github) as address:
        yield address


@pytest.mark.parametrize("message", ["gateway", "streams", "error 0"])
def test_under_act_nothing_that_a_change_does_sets_an_output(
    act: Act, repositories: Repositories, github: GithubState, api: str, message: str
) -> None:
    repository = hostile(repositories, message)
    github.heads[7] = repository.head
    run = act.run(repository, "pull_request", repository.pull_request_event(), api)
    assert planted(run.printed) == []
    assert run.outputs["conclusion"] == ("failed" if message == "error 0" else "passed"), run.printed
    assert not [note for note in run.annotations if note.message.startswith("planted")]


def test_under_act_the_gate_as_a_step_of_its_own_sets_no_output(act: Act, repositories: Repositories, api: str) -> None:
    repository = hostile(repositories, "gateway")
    workflow = ".github/workflows/bare.yml"
    repository.write(workflow, AS_A_STEP.format(image=act.image))
    run = act.run(repository, "pull_request", repository.pull_request_event(), api, workflow=workflow)
    assert planted(run.printed) == []
    outputs = [line for line in run.printed.splitlines() if "::set-output:: " in line]
    assert any("conclusion=passed" in line for line in outputs), run.printed
    assert not [line for line in outputs if "planted" in line]
    assert not [note for note in run.annotations if note.message.startswith("planted")]


@pytest.fixture
def runner(act: Act, repositories: Repositories, github: GithubState, api: str, tmp_path: Path) -> HostedRunner:
    repository = hostile(repositories, "gateway")
    github.heads[7] = repository.head
    for path in (repository.folder, *repository.folder.rglob("*")):
        shutil.chown(path, *((4321, 4322) if os.geteuid() == 0 else (os.geteuid(), os.getegid())))
    inputs = {"image": act.image, "github-token": TOKEN}
    event = repository.pull_request_event()
    return HostedRunner(act.action, repository, tmp_path, event, inputs, {"GITHUB_API_URL": api})


def test_the_log_of_the_action_holds_no_command_but_its_own(runner: HostedRunner, github: GithubState) -> None:
    done = runner.gate()
    assert done.returncode == 0, done.stdout
    assert planted(done.stdout) == []
    assert "planted" not in runner.outputs
    (comment,) = github.comments
    assert "## Passed" in comment["body"]


def test_commands_that_the_container_itself_prints_are_stopped(runner: HostedRunner, tmp_path: Path) -> None:
    """As a crash would, or a first process of somebody else's image: nothing in it filters what is printed."""
    lines = "\\n".join(command.replace("\r", "\\r").replace("\t", "\\t") for command in COMMANDS)
    image = f"{runner.inputs['image']}-prints-{tmp_path.name}".lower()
    prints = f"printf %b '{lines}' >&2; printf %b '{lines}'"
    dockerfile = f'FROM {runner.inputs["image"]}\nENTRYPOINT ["/bin/sh", "-c", "{prints}"]\n'
    build = ["docker", "build", "--quiet", "--tag", image, "-"]
    subprocess.run(build, input=dockerfile, text=True, capture_output=True, check=True)
    try:
        done = replace(runner, inputs={**runner.inputs, "image": image}).gate()
    finally:
        subprocess.run(["docker", "image", "rm", "--force", image], capture_output=True, check=True)
    assert "planted" in done.stdout
    assert planted(done.stdout) == []
    assert "planted" not in runner.outputs
    assert done.returncode == 3, done.stdout


def test_commands_that_a_build_prints_are_stopped(runner: HostedRunner, tmp_path: Path) -> None:
    action = tmp_path / "action"
    shutil.copytree(runner.action, action)
    lines = "\n".join(
        f"RUN printf '%b\\n' '{command!s}'".replace("\r", "\\r").replace("\t", "\\t") for command in COMMANDS
    )
    (action / "Dockerfile").write_text(f"FROM {runner.inputs['image']}\n{lines}\nRUN false\n")
    done = replace(runner, action=action, inputs={"github-token": TOKEN}).gate()
    assert "planted" in done.stdout
    assert planted(done.stdout) == []
    assert "could not be built" in done.stdout
    assert done.returncode == 3, done.stdout


def test_annotations_of_the_gate_arrive(act: Act, repositories: Repositories, github: GithubState, api: str) -> None:
    repository = hostile(repositories, "answer 0")
    github.heads[7] = repository.head
    run = act.run(repository, "pull_request", repository.pull_request_event(), api)
    assert run.exit_codes["conclude"] == 1, run.printed
    (error,) = [note for note in run.annotations if note.level == "error"]
    assert error.properties["file"] == "scenarios/greeting.yaml"
    assert "##[" not in error.message
