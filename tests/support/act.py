"""act, which runs a workflow in real Docker as GitHub would, with this project in the place of its release."""

import json
import os
import shutil
import subprocess
import sys
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tests.support.act_run import ActRun, read_log
from tests.support.consumer_repository import WORKFLOW, ConsumerRepository
from tests.support.container_image import why_not as why_no_image
from tests.support.workflow_for_act import SEEN, Adjustments, workflow_for_act

ACTION = "OWNER/ratiba-eval-gate@v1"
TOKEN = "token-of-this-run"
_SECONDS = 600


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
        workflow: str = WORKFLOW,
        adjustments: Adjustments | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> ActRun:
        """Run a workflow of the repository to its end.

        Args:
            repository: its work tree is what a checkout gives.
            event_name: such as ``pull_request``.
            event: its payload.
            api: base address of GitHub's API.
            workflow: path of the workflow in the repository.
            adjustments: what is changed in it, next to the input ``image``.
            variables: further environment variables of the runner.

        Raises:
            subprocess.TimeoutExpired: it does not end.
        """
        place = self.folder / f"run-{uuid.uuid4().hex[:8]}"
        (place / "seen").mkdir(parents=True)
        wanted = adjustments or Adjustments()
        wanted = replace(wanted, inputs={"image": self.image, **wanted.inputs})
        text = workflow_for_act(repository.text(workflow), place.name, ACTION, wanted)
        (place / "workflow.yml").write_text(text)
        (place / "event.json").write_text(json.dumps(event))
        command = self._command(place, repository, event_name, {"GITHUB_API_URL": api, **(variables or {})})
        environment = os.environ | {"HOME": str(place)}
        done = subprocess.run(
            command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=_SECONDS, check=False
        )
        return ActRun(done.returncode, read_log((done.stdout + done.stderr).decode()), place / "seen")

    def _command(
        self, place: Path, repository: ConsumerRepository, event_name: str, variables: Mapping[str, str]
    ) -> list[str]:
        mounts, environment = [f"--volume={place / 'seen'}:{SEEN}"], dict(variables)
        if bundle := os.environ.get("SSL_CERT_FILE"):
            mounts.append(f"--volume={bundle}:/certificates.pem:ro")
            environment["SSL_CERT_FILE"] = "/certificates.pem"
        return [
            *(act_command() or "act", event_name, "--json", "--directory", str(repository.folder)),
            *("--workflows", str(place / "workflow.yml"), "--eventpath", str(place / "event.json")),
            *("--platform", f"ubuntu-latest={runner_image()}", "--pull=false", "--action-offline-mode", "--rm"),
            *("--no-cache-server", "--action-cache-path", str(place / "cache")),
            *("--local-repository", f"{ACTION}={self.action}", "--secret", f"GITHUB_TOKEN={TOKEN}"),
            *("--container-options", " ".join(mounts)),
            *(word for name, value in environment.items() for word in ("--env", f"{name}={value}")),
        ]
