"""The action's steps as a hosted runner runs them: bash, on the machine whose Docker daemon they use."""

import json
import os
import re
import subprocess
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tests.support.consumer_repository import NAME, ConsumerRepository

_INPUT = re.compile(r"\$\{\{ inputs\.([a-z-]+) \}\}")


@dataclass(frozen=True, slots=True)
class HostedRunner:
    """A job of a workflow, after its checkout.

    Args:
        action: a clean copy of this project.
        repository: the checkout.
        folder: the runner's own, for event, step files and temporary files.
        event: payload of a ``pull_request`` event.
        inputs: of the action; the others have their defaults.
        variables: further environment variables of the runner.
        seal_key: output of the step that decides.
    """

    action: Path
    repository: ConsumerRepository
    folder: Path
    event: Mapping[str, Any]
    inputs: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    seal_key: str = "5ea1" * 16

    def start(self, step: str, **expressions: str) -> "subprocess.Popen[str]":
        """Start a step of the action; its output is one stream.

        Args:
            step: its id.
            expressions: values of its variables that come from no input; the others are empty.
        """
        described = yaml.safe_load((self.action / "action.yml").read_text(encoding="utf-8"))
        (found,) = [one for one in described["runs"]["steps"] if one["id"] == step]
        script = self.folder / f"{uuid.uuid4().hex}.sh"
        script.write_text(found["run"])
        values = {name: self._value(text, described["inputs"]) for name, text in found["env"].items()}
        return subprocess.Popen(
            ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", str(script)],
            cwd=self.repository.folder,
            env=self._environment() | values | expressions,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, step: str, **expressions: str) -> "subprocess.CompletedProcess[str]":
        """Run a step to its end; see ``start``."""
        with self.start(step, **expressions) as process:
            printed, _ = process.communicate(timeout=120)
        return subprocess.CompletedProcess(step, process.returncode, printed)

    def gate(self, **expressions: str) -> "subprocess.CompletedProcess[str]":
        """Run the steps that evaluate and conclude, as action.yml has them; the exit code is the job's.

        Args:
            expressions: see ``start``.
        """
        evaluated = self.run("evaluate", **expressions)
        concluded = self.conclude(evaluated.returncode, **expressions)
        printed = evaluated.stdout + concluded.stdout
        return subprocess.CompletedProcess("gate", evaluated.returncode or concluded.returncode, printed)

    def conclude(self, evaluated: int = 0, **expressions: str) -> "subprocess.CompletedProcess[str]":
        """Run the step that concludes.

        Args:
            evaluated: exit code of the step that evaluates.
            expressions: see ``start``.
        """
        reported = re.findall(r"^ended=(.*)$", self.outputs, re.MULTILINE)
        ended = reported[-1] if reported else "failure" if evaluated else "success"
        return self.run("conclude", **{"RATIBA_ENDED": ended, **expressions})

    @property
    def summary(self) -> str:
        """What the steps wrote to the run's page."""
        return (self.folder / "summary").read_text()

    @property
    def outputs(self) -> str:
        """What the steps wrote to ``GITHUB_OUTPUT``, as it stands there."""
        path = self.folder / "output"
        return path.read_text() if path.is_file() else ""

    def _value(self, text: str, inputs: Mapping[str, Any]) -> str:
        name = _INPUT.fullmatch(text)
        if name is None:
            return self.seal_key if "seal-key" in text else ""
        default = str(inputs[name[1]]["default"])
        return self.inputs.get(name[1], "" if "${{" in default else default)

    def _environment(self) -> dict[str, str]:
        event, temporary = self.folder / "event.json", self.folder / "temp"
        event.write_text(json.dumps(self.event))
        temporary.mkdir(exist_ok=True)
        kept = ("PATH", "DOCKER_HOST", "SSL_CERT_FILE")
        return {
            **{name: os.environ[name] for name in kept if name in os.environ},
            "HOME": str(self.folder),
            "DOCKER_CONFIG": os.environ.get("DOCKER_CONFIG", str(Path.home() / ".docker")),
            "RUNNER_TEMP": str(temporary),
            "GITHUB_ACTIONS": "true",
            "GITHUB_ACTION_PATH": str(self.action),
            "GITHUB_WORKSPACE": str(self.repository.folder),
            "GITHUB_REPOSITORY": NAME,
            "GITHUB_EVENT_NAME": "pull_request",
            "GITHUB_EVENT_PATH": str(event),
            "GITHUB_RUN_ID": "31",
            "GITHUB_RUN_ATTEMPT": "1",
            "GITHUB_OUTPUT": str(self.folder / "output"),
            "GITHUB_STEP_SUMMARY": str(self.folder / "summary"),
            **self.variables,
        }


def path_without(hidden: str, folder: Path) -> str:
    """A ``PATH`` on which programs are not found.

    Args:
        hidden: expression for the names of those programs.
        folder: missing folder for links to all others.
    """
    folder.mkdir()
    for place in os.environ["PATH"].split(os.pathsep):
        for program in sorted(Path(place).glob("*")):
            link = folder / program.name
            if not re.fullmatch(hidden, program.name) and not link.is_symlink():
                link.symlink_to(program)
    return str(folder)
