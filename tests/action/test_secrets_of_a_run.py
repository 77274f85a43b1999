"""While the action's container runs, no secret stands anywhere on the runner but in the step's own variables."""

import contextlib
import os
import secrets
import shutil
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.act import Act
from tests.support.consumer_repository import PROMPT, Repositories
from tests.support.eventually import eventually
from tests.support.hosted_runner import HostedRunner

pytestmark = pytest.mark.docker
OWNER = (4321, 4322) if os.geteuid() == 0 else (os.geteuid(), os.getegid())
INPUTS = (
    "anthropic-api-key",
    "openai-api-key",
    "langfuse-public-key",
    "langfuse-secret-key",
    "otlp-headers",
    "slack-webhook-url",
    "journal-key",
    "github-token",
)


@dataclass(frozen=True)
class Planted:
    """A job all of whose secrets begin with a word that nothing else on the machine holds."""

    runner: HostedRunner
    word: str

    def found(self, content: bytes | str) -> bool:
        return self.word.encode() in (content.encode() if isinstance(content, str) else content)

    def processes(self, place: str) -> dict[int, bytes]:
        """Processes of the machine, the container's among them, in whose file a secret stands; with their commands."""
        found = {}
        for path in Path("/proc").glob(f"[0-9]*/{place}"):
            with contextlib.suppress(OSError):
                if self.found(path.read_bytes()):
                    found[int(path.parts[2])] = path.with_name("cmdline").read_bytes()
        return found

    def containers(self) -> list[str]:
        command = ["docker", "ps", "--quiet", "--filter", f"ancestor={self.runner.inputs['image']}"]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()

    def conversation_begun(self) -> bool:
        shown = [subprocess.run(["docker", "top", one], capture_output=True, check=False) for one in self.containers()]
        return any(one.stdout.count(b"worker") > 1 for one in shown)


@pytest.fixture
def planted(act: Act, repositories: Repositories, tmp_path: Path) -> Iterator[Planted]:
    """For a pull request whose conversation hangs."""
    image, word = f"{act.image}-{tmp_path.name}".lower(), f"PLANTED{secrets.token_hex(8)}"
    subprocess.run(["docker", "tag", act.image, image], check=True)
    repository = repositories.small("hang 600")
    repository.propose({PROMPT: "Say Bonjour, warmly.\n"})
    for path in (repository.folder, *repository.folder.rglob("*")):
        shutil.chown(path, *OWNER)
    inputs = {name: f"{word}-{name}" for name in INPUTS} | {"image": image, "comment": "false", "llm": "replay"}
    inputs |= {"slack-webhook-url": f"http://127.0.0.1:9/services/{word}"}
    inputs |= {"otlp-headers": f"authorization={word}-otlp-headers", "otlp-endpoint": "http://127.0.0.1:9"}
    inputs |= {"langfuse-host": "http://127.0.0.1:9", "openai-base-url": f"https://user:{word}@127.0.0.1:9/v1"}
    proxy = f"http://user:{word}@127.0.0.1:9"
    variables = {"HTTPS_PROXY": proxy, "http_proxy": proxy, "NO_PROXY": "*"}
    event = repository.pull_request_event()
    seal_key = f"{word}-seal-key"
    yield Planted(HostedRunner(act.action, repository, tmp_path, event, inputs, variables, seal_key), word)
    subprocess.run(["docker", "image", "rm", "--force", image], capture_output=True, check=True)


def test_no_secret_stands_in_the_container_on_a_command_line_or_in_a_file(planted: Planted) -> None:
    runner = planted.runner
    with runner.start("evaluate") as process:
        eventually(planted.conversation_begun)
        (container,) = planted.containers()
        inspected = subprocess.run(["docker", "inspect", container], capture_output=True, check=True).stdout
        in_arguments, in_variables = planted.processes("cmdline"), planted.processes("environ")
        temporary = [path for path in (runner.folder / "temp").rglob("*") if path.is_file()]
        files = [path for path in temporary if planted.found(path.read_bytes())]
        logged = subprocess.run(["docker", "logs", container], capture_output=True, check=True)
        process.send_signal(signal.SIGINT)
        printed, _ = process.communicate(timeout=120)
    assert not planted.found(inspected)
    assert (in_arguments, files) == ({}, [])
    assert set(in_variables) == {process.pid}, in_variables  # the runner gives the step its inputs; no child has them
    assert not planted.found(logged.stdout + logged.stderr)
    plain = [line for line in printed.splitlines() if not line.startswith("::add-mask::")]
    assert not planted.found("\n".join(plain))
    masked = {line.removeprefix("::add-mask::") for line in printed.splitlines() if line.startswith("::add-mask::")}
    assert {runner.inputs[name] for name in INPUTS} | {runner.seal_key} <= masked
