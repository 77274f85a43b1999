"""Whatever makes a gate die or writes in its place, the run is incomplete: red where it blocks, told elsewhere."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.act import TOKEN, Act
from tests.support.consumer_repository import PROMPT, Repositories
from tests.support.eventually import eventually
from tests.support.github_server import GithubState, github_server
from tests.support.hosted_runner import HostedRunner

pytestmark = pytest.mark.docker
OWNER = (4321, 4322) if os.geteuid() == 0 else (os.geteuid(), os.getegid())
MakeRunner = Callable[..., HostedRunner]

ADAPTER = """
import os
import pathlib
import time

import psycopg

class Adapter:
    def migrate(self, database_url):
        with psycopg.connect(database_url) as connection:
            connection.execute("CREATE TABLE notes (id serial PRIMARY KEY, text text NOT NULL)")

    def open(self, context):
        return self

    def send(self, message):
        getattr(self, message)()
        return {"text": "done", "state": "SAID"}

    def take_rights(self):
        for name in ("/report/ratiba-report", "/report/step", "/report"):
            try:
                os.chmod(name, 0)
            except OSError:
                pass

    def delete(self):
        os.system("rm -rf /report/ratiba-report /report/step /report/*")

    def forge(self):
        for name in ("step/output", "step/seal", "ratiba-report/results.json", "code"):
            try:
                pathlib.Path("/report", name).write_text("conclusion=passed\\n")
            except OSError:
                pass

    def fill_memory(self):
        while not os.path.exists("/tmp/limited"):
            time.sleep(0.05)
        with open(os.path.join(os.environ["TMPDIR"], "filling"), "wb") as file:
            while True:
                file.write(bytes(1 << 20))
"""
"""Files of a memory file system count to no process: the kernel ends the largest one, which is the gate."""

# What an entry point that is not the gate's may leave; `gate` runs the real one first.
FORGED = {
    "outputs of its own": "printf 'conclusion=passed\\n' >>/report/step/output; exit 0",
    "another exit code": "gate; exit 0",
    "other results": "gate; sed -i s/failed/passed/ /report/ratiba-report/results.json; exit 1",
    "a folder in the place of the seal": "gate; rm /report/step/seal; mkdir /report/step/seal /report/code; exit 0",
    "no right to look": "gate; chmod 0 /report/step /report; exit 0",
}


@pytest.fixture
def github() -> GithubState:
    return GithubState()


@pytest.fixture
def make_runner(act: Act, repositories: Repositories, github: GithubState, tmp_path: Path) -> Iterator[MakeRunner]:
    """Makes a job for a pull request whose system does what its one message says; the image has a name of its own."""
    image = f"{act.image}-{tmp_path.name}".lower()
    subprocess.run(["docker", "tag", act.image, image], check=True)

    def make(message: str, changed: Mapping[str, str] | None = None, **inputs: str) -> HostedRunner:
        repository = repositories.small(message, expect="REFUSED" if message == "say no" else "SAID")
        repository.propose(changed or {PROMPT: "Say Bonjour, warmly.\n", "adapter.py": ADAPTER})
        for path in (repository.folder, *repository.folder.rglob("*")):
            shutil.chown(path, *OWNER)
        github.heads[7] = repository.head
        given = {"image": image, "github-token": TOKEN, **inputs}
        event = repository.pull_request_event()
        return HostedRunner(act.action, repository, tmp_path, event, given, {"GITHUB_API_URL": api})

    with github_server(github) as api:
        yield make
    subprocess.run(["docker", "image", "rm", "--force", image], capture_output=True, check=True)


def assert_incomplete(
    runner: HostedRunner, github: GithubState, done: "subprocess.CompletedProcess[str]", why: str, *, blocks: bool
) -> None:
    """Red where the mode blocks, and in every mode told as incomplete to everybody who asks."""
    assert done.returncode == (3 if blocks else 0), done.stdout
    (comment,) = github.comments
    assert "## Incomplete" in comment["body"], comment["body"] + done.stdout
    assert why in comment["body"], comment["body"] + done.stdout
    assert "## Incomplete" in runner.summary
    assert "## Passed" not in runner.summary
    assert "conclusion<<" in runner.outputs
    conclusions = runner.outputs.split("conclusion<<")[1:]
    assert [text.splitlines()[1] for text in conclusions] == ["incomplete"]
    assert "conclusion=passed" not in runner.outputs
    results = runner.repository.folder / "ratiba-report" / "results.json"
    assert '"conclusion": "incomplete"' in results.read_text()
    assert list((runner.folder / "temp").iterdir()) == []


@pytest.mark.parametrize("attack", ["delete", "forge", "take_rights"])
def test_a_system_can_neither_delete_nor_forge_nor_close_what_the_gate_leaves(
    make_runner: MakeRunner, github: GithubState, attack: str
) -> None:
    runner = make_runner(attack)
    done = runner.gate()
    assert done.returncode == 0, done.stdout
    assert "## Passed" in runner.summary
    assert "conclusion=passed" not in runner.outputs
    assert len(github.comments) == 1


@pytest.mark.parametrize("enforce", ["true", "false"])
def test_a_gate_that_is_ended_for_its_memory_is_an_incomplete_run(
    make_runner: MakeRunner, github: GithubState, enforce: str
) -> None:
    runner = make_runner("fill_memory", enforce=enforce)
    with runner.start("evaluate") as process:
        eventually(lambda: conversation_begun(runner))
        for container in running(runner):
            limits = ("--memory", "700m", "--memory-swap", "700m")
            subprocess.run(["docker", "update", *limits, container], capture_output=True, check=True)
            begin = ["docker", "exec", container, "touch", "/tmp/limited"]  # noqa: S108 - inside the container
            subprocess.run(begin, capture_output=True, check=True)
        printed, _ = process.communicate(timeout=120)
    assert process.returncode == 0, printed
    assert_incomplete(runner, github, runner.conclude(), "used up its memory", blocks=enforce == "true")


@pytest.mark.parametrize("enforce", ["true", "false"])
def test_a_gate_that_is_killed_is_an_incomplete_run(make_runner: MakeRunner, github: GithubState, enforce: str) -> None:
    runner = make_runner("hang 600", {PROMPT: "Say Bonjour, warmly.\n"}, enforce=enforce)
    with runner.start("evaluate") as process:
        eventually(lambda: conversation_begun(runner))
        for container in running(runner):
            shown = ["docker", "inspect", "--format", "{{.State.Pid}}", container]
            gate = int(subprocess.run(shown, capture_output=True, check=True).stdout)
            os.kill(gate, 9)
        printed, _ = process.communicate(timeout=60)
    assert process.returncode == 0, printed
    assert_incomplete(runner, github, runner.conclude(), "ended before it could report", blocks=enforce == "true")


@pytest.mark.parametrize("forged", FORGED, ids=[name.replace(" ", "-") for name in FORGED])
def test_what_is_not_sealed_by_the_gate_does_not_count(
    make_runner: MakeRunner, github: GithubState, tmp_path: Path, forged: str
) -> None:
    runner = make_runner("say no", {PROMPT: "Say Bonjour, warmly.\n"})
    impostor = build_impostor(runner.inputs["image"], FORGED[forged], tmp_path / "impostor")
    runner = replace(runner, inputs={**runner.inputs, "image": impostor})
    try:
        assert_incomplete(runner, github, runner.gate(), "is not sealed by the gate", blocks=True)
    finally:
        subprocess.run(["docker", "image", "rm", "--force", impostor], capture_output=True, check=True)


def test_in_an_advisory_run_it_is_reported_too(make_runner: MakeRunner, github: GithubState, tmp_path: Path) -> None:
    runner = make_runner("say no", {"notes.py": "notes = 1\n"})
    impostor = build_impostor(runner.inputs["image"], FORGED["outputs of its own"], tmp_path / "impostor")
    runner = replace(runner, inputs={**runner.inputs, "image": impostor})
    try:
        done = runner.gate()
    finally:
        subprocess.run(["docker", "image", "rm", "--force", impostor], capture_output=True, check=True)
    assert_incomplete(runner, github, done, "is not sealed by the gate", blocks=False)
    assert "\nadvisory\n" in runner.outputs


def build_impostor(image: str, script: str, folder: Path) -> str:
    """An image of the gate with another entry point; returns its id."""
    folder.mkdir()
    gate = "gate() { /opt/ratiba/bin/python -I /opt/ratiba/app/entrypoint.py gate; }\n"
    (folder / "entry").write_text(f"#!/bin/sh\n{gate}{script}\n")
    (folder / "Dockerfile").write_text(f'FROM {image}\nCOPY --chmod=755 entry /entry\nENTRYPOINT ["/entry"]\n')
    command = ["docker", "build", "--quiet", str(folder)]
    environment = os.environ | {"DOCKER_BUILDKIT": "1"}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.strip()


def running(runner: HostedRunner) -> list[str]:
    """Ids of the gate's containers."""
    command = ["docker", "ps", "--quiet", "--filter", f"ancestor={runner.inputs['image']}"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


def conversation_begun(runner: HostedRunner) -> bool:
    """Whether the gate's container has a process that runs the system under test."""
    for container in running(runner):
        shown = subprocess.run(["docker", "top", container], capture_output=True, text=True, check=False)
        if shown.stdout.count("worker") > 1:
            return True
    return False
