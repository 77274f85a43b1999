"""act, which runs a workflow in real Docker as GitHub would, with this project in the place of its release."""

import json
import os
import shutil
import subprocess
import sys
import tarfile
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ratiba_action.testing.consumer_repository import ConsumerRepository
from ratiba_action.testing.container_image import why_not as why_no_image
from ratiba_action.testing.workflow_for_act import SEEN, Adjustments, workflow_for_act

ACTION = "OWNER/ratiba-eval-gate@v1"
TOKEN = "token-of-this-run"  # noqa: S105 - opens nothing
_SECONDS = 300


def runner_image() -> str:
    """The image that stands for ``ubuntu-latest``: bash, git, Python and Docker's command."""
    return os.environ.get("RATIBA_TEST_RUNNER_IMAGE", "local/runner:latest")


def act_command() -> str | None:
    """Path of act, which the development requirements bring; None where there is none."""
    return shutil.which("act", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")


def why_not() -> str:
    """Why no workflow can be run here; empty when one can."""
    if reason := why_no_image():
        return reason
    if act_command() is None:
        return "needs act: install the development requirements"
    found = subprocess.run(["docker", "image", "inspect", runner_image()], capture_output=True, check=False)
    return "" if found.returncode == 0 else f"needs the runner's image {runner_image()} (RATIBA_TEST_RUNNER_IMAGE)"


def checkout_of(project: Path, target: Path) -> Path:
    """A copy of what a commit of the project would hold, as a release has it; returns the target."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=project, capture_output=True, check=True)
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (project / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(project / name, target / name)
    return target


@dataclass(frozen=True, slots=True)
class Annotation:
    """A workflow command that GitHub shows at a line or on the run's page."""

    level: str
    message: str
    properties: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ActRun:
    """What a run of a workflow left.

    Args:
        code: act's exit code.
        log: act's lines.
        seen: folder that the last step wrote to.
    """

    code: int
    log: Sequence[Mapping[str, Any]]
    seen: Path

    @property
    def printed(self) -> str:
        """All that the steps printed and act said of them."""
        return "".join(f"{str(line.get('msg', '')).rstrip()}\n" for line in self.log)

    @property
    def outputs(self) -> Mapping[str, str]:
        """The action's outputs as the next step gets them."""
        outputs: Mapping[str, str] = json.loads((self.seen / "outputs.json").read_text())
        return outputs

    @property
    def exit_codes(self) -> Mapping[str, int]:
        """Exit codes of the action's own steps that failed, by their id."""
        codes = {}
        for line in self.log:
            if str(line.get("msg")).startswith("exitcode '") and len(line.get("stepID", ())) > 1:
                codes[line["stepID"][-1]] = int(line["msg"].split("'")[1])
        return codes

    @property
    def jobs(self) -> Mapping[str, str]:
        """What each job that ran came to, by its id."""
        return {line["jobID"]: line["jobResult"] for line in self.log if "jobResult" in line}

    @property
    def annotations(self) -> list[Annotation]:
        """Every error, warning and notice."""
        return [
            Annotation(line["command"], line["arg"], line.get("kvPairs") or {})
            for line in self.log
            if line.get("command") in {"error", "warning", "notice"}
        ]

    @property
    def summary(self) -> str:
        """The page that the action's own steps wrote."""
        pages = (line for line in self.log if line.get("command") == "summary" and len(line.get("stepID", ())) > 1)
        return "".join(line["content"] for line in pages)

    def owners(self) -> set[tuple[int, int]]:
        """User and group of everything in the workspace."""
        return {(member.uid, member.gid) for member, _ in self._members()}

    def files(self) -> dict[str, bytes]:
        """Content of every file of the workspace but git's own."""
        found = {member.name.removeprefix("./"): content for member, content in self._members() if member.isfile()}
        return {name: content for name, content in found.items() if not name.startswith(".git/")}

    def _members(self) -> Iterator[tuple[tarfile.TarInfo, bytes]]:
        with tarfile.open(self.seen / "workspace.tar") as archive:
            for member in archive:
                file = archive.extractfile(member) if member.isfile() else None
                yield member, file.read() if file else b""


@dataclass(frozen=True, slots=True)
class Act:
    """Runs workflows that use this project's action.

    Args:
        action: a clean copy of this project.
        image: tag of the gate's image, given as the action's input ``image``.
        folder: for what the runs need and leave.
    """

    action: Path
    image: str
    folder: Path

    def run(
        self,
        repository: ConsumerRepository,
        event_name: str,
        event: Mapping[str, Any],
        api: str,
        *,
        workflow: str = ".github/workflows/eval-on-prompt-change.yml",
        adjustments: Adjustments | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> ActRun:
        """Run a workflow of the repository to its end; see ``start``."""
        started = self.start(
            repository,
            event_name,
            event,
            api,
            workflow=workflow,
            adjustments=adjustments or Adjustments(),
            variables=variables or {},
        )
        return started.ended()

    def start(
        self,
        repository: ConsumerRepository,
        event_name: str,
        event: Mapping[str, Any],
        api: str,
        *,
        workflow: str = ".github/workflows/eval-on-prompt-change.yml",
        adjustments: Adjustments,
        variables: Mapping[str, str],
    ) -> "StartedRun":
        """Start a workflow of the repository.

        Args:
            repository: its work tree is what a checkout gives.
            event_name: such as ``pull_request``.
            event: its payload.
            api: base address of GitHub's API.
            workflow: path of the workflow in the repository.
            adjustments: what is changed in it, next to the input ``image``.
            variables: further environment variables of the runner.
        """
        place = self.folder / f"run-{uuid.uuid4().hex[:8]}"
        seen = place / "seen"
        seen.mkdir(parents=True)
        inputs = {"image": self.image, **adjustments.inputs}
        adjusted = Adjustments(inputs, adjustments.services, adjustments.before)
        text = workflow_for_act(repository.text(workflow), place.name, ACTION, adjusted)
        (place / "workflow.yml").write_text(text)
        (place / "event.json").write_text(json.dumps(event))
        mounts, certificates = [f"--volume={seen}:{SEEN}"], {}
        if bundle := os.environ.get("SSL_CERT_FILE"):
            mounts.append(f"--volume={bundle}:/certificates.pem:ro")
            certificates = {"SSL_CERT_FILE": "/certificates.pem"}
        environment = {"GITHUB_API_URL": api, **certificates, **(variables or {})}
        command = [
            *(act_command() or "act", event_name, "--json", "--directory", str(repository.folder)),
            *("--workflows", str(place / "workflow.yml"), "--eventpath", str(place / "event.json")),
            *("--platform", f"ubuntu-latest={runner_image()}", "--pull=false", "--action-offline-mode", "--rm"),
            *("--no-cache-server", "--action-cache-path", str(place / "cache")),
            *("--local-repository", f"{ACTION}={self.action}", "--secret", f"GITHUB_TOKEN={TOKEN}"),
            *("--container-options", " ".join(mounts)),
            *(word for name, value in environment.items() for word in ("--env", f"{name}={value}")),
        ]
        return StartedRun(place, command)


@dataclass(slots=True)
class StartedRun:
    """A run of a workflow that goes on.

    Args:
        place: its folder.
        command: act's command line.
    """

    place: Path
    command: Sequence[str]
    process: "subprocess.Popen[bytes]" = field(init=False)

    def __post_init__(self) -> None:
        with (self.place / "log.jsonl").open("wb") as log:
            environment = os.environ | {"HOME": str(self.place)}
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, env=environment
            )

    def ended(self) -> ActRun:
        """Wait for its end.

        Raises:
            subprocess.TimeoutExpired: it does not end.
        """
        try:
            code = self.process.wait(timeout=_SECONDS)
        finally:
            self.process.kill()
            self.process.wait()
        lines = (self.place / "log.jsonl").read_text().splitlines()
        return ActRun(code, tuple(_line(line) for line in lines), self.place / "seen")


def _line(text: str) -> Mapping[str, Any]:
    """A line of act's log; its last words are plain text."""
    try:
        parsed = json.loads(text)
    except ValueError:
        return {"msg": text}
    return parsed if isinstance(parsed, dict) else {"msg": text}
