"""The action's steps beside the Docker daemon, as on a hosted runner: files are mounted, and signals arrive."""

import asyncio
import json
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from ratiba_action.llm.scripted_answers import Step
from ratiba_action.model.conversation import Usage
from tests.support.act import TOKEN, Act
from tests.support.consumer_repository import PROMPT, Repositories
from tests.support.eventually import eventually
from tests.support.github_server import GithubState, github_server
from tests.support.hosted_runner import HostedRunner
from tests.support.live_repository import KEY, RATES
from tests.support.model_servers import ModelServer
from tests.support.small_repository import SCENARIO

pytestmark = pytest.mark.docker
OWNER = (4321, 4322) if os.geteuid() == 0 else (os.geteuid(), os.getegid())
MakeRunner = Callable[..., HostedRunner]


@pytest.fixture
def github() -> GithubState:
    return GithubState()


@pytest.fixture
def make_runner(act: Act, repositories: Repositories, github: GithubState, tmp_path: Path) -> Iterator[MakeRunner]:
    """Makes a job for a pull request that edits a prompt; the image has a name of this test's own."""
    image = f"{act.image}-{tmp_path.name}".lower()
    subprocess.run(["docker", "tag", act.image, image], check=True)

    def make(message: str, more: Mapping[str, str | bytes | None] | None = None) -> HostedRunner:
        repository = repositories.small(message, more=more)
        repository.propose({PROMPT: "Say Bonjour, warmly.\n"})
        for path in (repository.folder, *repository.folder.rglob("*")):
            shutil.chown(path, *OWNER)
        github.heads[7] = repository.head
        inputs = {"image": image, "github-token": TOKEN}
        event = repository.pull_request_event()
        return HostedRunner(act.action, repository, tmp_path, event, inputs, {"GITHUB_API_URL": api})

    with github_server(github) as api:
        yield make
    subprocess.run(["docker", "image", "rm", image], capture_output=True, check=True)


def running(runner: HostedRunner) -> list[str]:
    """Ids of the gate's containers, whatever state they are in."""
    command = ["docker", "ps", "--all", "--quiet", "--filter", f"ancestor={runner.inputs['image']}"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


def conversation_begun(runner: HostedRunner) -> bool:
    """Whether the gate's container has a process that runs the system under test."""
    for container in running(runner):
        shown = subprocess.run(["docker", "top", container], capture_output=True, text=True, check=False)
        if shown.stdout.count("worker") > 1:
            return True
    return False


def test_the_checkout_is_mounted_and_the_report_belongs_to_its_owner(make_runner: MakeRunner) -> None:
    runner = make_runner("say Bonjour")
    before = runner.repository.files()
    done = runner.gate()
    assert done.returncode == 0, done.stdout
    assert "conclusion<<" in runner.outputs
    assert "## Passed" in runner.summary
    found = [runner.repository.folder, *runner.repository.folder.rglob("*")]
    assert {(path.stat().st_uid, path.stat().st_gid) for path in found} == {OWNER}
    assert runner.repository.files() == before
    assert running(runner) == []
    assert list((runner.folder / "temp").iterdir()) == []


def test_without_an_image_one_is_built_from_the_folder_of_the_action(make_runner: MakeRunner) -> None:
    runner = replace(make_runner("say Bonjour"), inputs={"github-token": TOKEN})
    done = runner.gate()
    assert done.returncode == 0, done.stdout
    assert "conclusion<<" in runner.outputs, done.stdout
    assert "## Passed" in runner.summary
    (built,) = set(re.findall(r"writing image (sha256:[0-9a-f]{64})", done.stdout))
    tags = subprocess.run(
        ["docker", "image", "inspect", "--format", "{{len .RepoTags}}", built],
        capture_output=True,
        text=True,
        check=True,
    )
    if tags.stdout.strip() == "0":  # else it is the session's image
        subprocess.run(["docker", "image", "rm", built], capture_output=True, check=True)


def test_the_container_is_confined_and_holds_no_variable_but_the_listed_ones(make_runner: MakeRunner) -> None:
    runner = make_runner("hang 600")
    planted = {"RATIBA_DATABASE_URL": "", "ACTIONS_RUNTIME_TOKEN": "planted", "AWS_SECRET_ACCESS_KEY": "planted"}
    with runner.start("evaluate", **planted) as process:
        eventually(lambda: conversation_begun(runner))
        (container,) = running(runner)
        (found,) = json.loads(subprocess.run(["docker", "inspect", container], capture_output=True, check=True).stdout)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    script = (runner.action / "action" / "container.sh").read_text()
    (listed,) = re.findall(r"readonly ENTERING=\((.*?)\)", script, re.DOTALL)
    given = set(re.findall(r"--env ([A-Z_]+)=", script)) | set(listed.split())
    image = {"PATH", "LANG", "GPG_KEY", "PYTHON_VERSION", "PYTHON_SHA256", "RATIBA_CONTAINER"}
    assert {line.partition("=")[0] for line in found["Config"]["Env"]} - image <= given
    host = found["HostConfig"]
    assert host["ReadonlyRootfs"]
    assert host["CapDrop"] == ["ALL"]
    assert not host["CapAdd"]
    assert "no-new-privileges" in host["SecurityOpt"]
    assert host["PidsLimit"] == 512
    assert host["Memory"] > 0
    assert not host["Privileged"]
    assert found["Config"]["User"] == f"{OWNER[0]}:{OWNER[1]}"
    writable = {mount["Destination"] for mount in found["Mounts"] if mount["RW"]}
    assert writable == {"/report"}
    assert not any("docker.sock" in mount["Source"] for mount in found["Mounts"])


def test_a_proxy_of_the_runner_is_the_proxy_of_the_build(make_runner: MakeRunner, tmp_path: Path) -> None:
    runner = make_runner("say Bonjour")
    action = tmp_path / "action"
    shutil.copytree(runner.action / "action", action / "action")
    shutil.copy(runner.action / "action.yml", action)
    (action / "Dockerfile").write_text(f'FROM {runner.inputs["image"]}\nRUN echo "by way of $https_proxy" && false\n')
    variables = {**runner.variables, "https_proxy": "http://proxy.example:3128"}
    done = replace(runner, action=action, inputs={}, variables=variables).run("evaluate")
    assert "by way of http://proxy.example:3128" in done.stdout
    assert "ended=image" in runner.outputs


def test_a_cancelled_run_reports_before_it_ends(make_runner: MakeRunner, github: GithubState) -> None:
    runner = make_runner("hang 600")
    with runner.start("evaluate") as process:
        eventually(lambda: conversation_begun(runner))
        process.send_signal(signal.SIGINT)
        printed, _ = process.communicate(timeout=60)
    assert process.returncode == 0, printed
    (comment,) = github.comments
    assert "## Incomplete" in comment["body"]
    assert "cancelled" in comment["body"], comment["body"] + printed
    concluded = runner.conclude()
    assert concluded.returncode == 3, concluded.stdout
    assert len(github.comments) == 1
    assert running(runner) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: only its checkout is copied beside the daemon")
def test_a_run_that_is_cancelled_while_the_checkout_is_copied_leaves_neither_container_nor_volume(
    make_runner: MakeRunner,
) -> None:
    runner = make_runner("hang 600")
    shutil.chown(runner.repository.folder, 0, 0)
    with (runner.repository.folder / "weights.bin").open("wb") as large:
        large.truncate(400_000_000)
    temporary = runner.folder / "temp"
    with runner.start("evaluate") as process:
        eventually(lambda: any(path.stat().st_size for path in temporary.glob("*/carrier")))
        (volumes,) = [path.read_text().split() for path in temporary.glob("*/volumes")]
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    runner.run("conclude", RATIBA_ENDED="cancelled")
    assert len(volumes) == 3
    assert running(runner) == []
    left = subprocess.run(["docker", "volume", "ls", "--quiet"], capture_output=True, text=True, check=True)
    assert not set(volumes) & set(left.stdout.split())


def test_a_step_that_is_killed_leaves_a_comment_and_no_container(make_runner: MakeRunner, github: GithubState) -> None:
    runner = make_runner("hang 600")
    with runner.start("evaluate") as process:
        eventually(lambda: conversation_begun(runner))
        process.kill()
    assert running(runner) != []
    done = runner.run("conclude", RATIBA_ENDED="cancelled")
    assert done.returncode == 3, done.stdout
    assert running(runner) == []
    (comment,) = github.comments
    assert "## Incomplete" in comment["body"]
    assert "cancelled" in comment["body"]


def test_a_container_that_is_killed_is_reported_by_the_concluding_step(
    make_runner: MakeRunner, github: GithubState
) -> None:
    runner = make_runner("hang 600")
    with runner.start("evaluate") as process:
        eventually(lambda: conversation_begun(runner))
        for container in running(runner):
            subprocess.run(["docker", "kill", container], capture_output=True, check=True)
        printed, _ = process.communicate(timeout=60)
    assert process.returncode == 0, printed
    assert "ended=killed" in runner.outputs
    done = runner.run("conclude", RATIBA_ENDED="killed")
    assert done.returncode == 3, done.stdout
    (comment,) = github.comments
    assert "container ended before it could report" in comment["body"]


ASKING = """\
import json, os, time, urllib.request


class Adapter:
    def migrate(self, database_url):
        pass

    def open(self, context):
        return Conversation()


class Conversation:
    def send(self, message):
        if message == "hang":
            time.sleep(600)
        found = ", ".join(map(reach, ("/report/journals", "/run/ratiba/journals")))
        said = [{"role": "user", "content": f"{message} {found}"}]
        request = urllib.request.Request(
            os.environ["OPENAI_BASE_URL"] + "/chat/completions",
            json.dumps({"model": "gpt-5", "messages": said, "max_completion_tokens": 400}).encode(),
            {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request) as answer:
            text = json.loads(answer.read())["choices"][0]["message"]["content"]
        return {"text": text, "state": "SAID"}


def reach(place):
    found = []
    for does, act in {
        "reads": lambda: open(place + "/" + os.listdir(place)[0]).close(),
        "writes": lambda: open(place + "/0123456789abcdef-1.journal", "w"),
        "moves": lambda: os.rename(place, place + "-moved"),
    }.items():
        try:
            act()
            found.append(does)
        except OSError:
            pass
    return " and ".join(found) or "closed"
"""
ASKED = """\
system:
  adapter: adapter:Adapter
  turn_timeout_seconds: 600
prices:
  gpt-5: {input_per_million: 2, output_per_million: 10}
"""
JOURNAL_KEY = "5ea1ed0123456789" * 4


def journals(runner: HostedRunner, attempt: int, place: str) -> list[Path]:
    """The sealed journals of an attempt that have the call of the first turn with its answer."""
    found = (runner.folder / "temp").glob(f"{place}/*-{attempt}.journal")
    return [path for path in found if path.read_bytes().count(b"\n") >= 5]


async def test_what_an_interrupted_container_has_paid_for_is_kept_sealed_and_gone_on_with(
    make_runner: MakeRunner, github: GithubState
) -> None:
    turns = "".join(f"  - user: {text}\n    expect: {{state: SAID}}\n" for text in ("Hello", "hang"))
    files = {
        "adapter.py": ASKING,
        ".github/ratiba.yml": ASKED,
        "scenarios/greeting.yaml": SCENARIO.format(name="greeting", turns=turns),
    }
    answer = Step("openai", text="My number is 0712 345 678", usage=Usage(100, 10))
    async with ModelServer(lambda _: answer, KEY, RATES) as models:
        made = await asyncio.to_thread(make_runner, "unused", files)
        given = {"llm": "live", "openai-api-key": KEY, "openai-base-url": f"{models.url}/v1"}
        first = replace(made, inputs={**made.inputs, **given, "journal-key": JOURNAL_KEY})
        with first.start("evaluate") as process:
            await asyncio.to_thread(eventually, lambda: journals(first, 1, "*/outbox/journals"))
            process.kill()
        concluded = await asyncio.to_thread(lambda: first.run("conclude", RATIBA_ENDED="cancelled"))
        assert concluded.returncode == 3, concluded.stdout
        assert running(first) == []
        (kept,) = journals(first, 1, "ratiba-journal")
        assert not any(word in kept.read_bytes() for word in (b"0712", b"gpt-5", b"greeting", JOURNAL_KEY.encode()))

        kept.parent.rename(kept.parent.with_name("ratiba-earlier-journals"))  # as the workflow's steps do by artifacts
        second = replace(first, variables={**first.variables, "GITHUB_RUN_ATTEMPT": "2"})
        with second.start("evaluate") as process:
            await asyncio.to_thread(eventually, lambda: journals(second, 2, "*/outbox/journals"))
            process.send_signal(signal.SIGINT)
            printed, _ = await asyncio.to_thread(lambda: process.communicate(timeout=60))
        concluded = await asyncio.to_thread(second.conclude)
    assert concluded.returncode == 3, printed + concluded.stdout
    assert "goes on with attempt 1, which was interrupted" in str(github.comments[-1]["body"]), printed
    assert [received.body["messages"][-1]["content"] for received in models.received] == ["Hello closed, closed"]
    folders = {path.name for path in (second.folder / "temp").iterdir()}
    assert folders == {"ratiba-journal", "ratiba-earlier-journals"}
    (left,) = (second.folder / "temp" / "ratiba-journal").iterdir()
    assert left.name.endswith("-2.journal")
    assert f"::add-mask::{JOURNAL_KEY}" in printed.splitlines()
