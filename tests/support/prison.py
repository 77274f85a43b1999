"""A repository whose system under test is a probe, run in the project's container with planted secrets."""

import json
import os
import secrets
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.container_image import Confined
from tests.support.small_repository import SmallRepository

IMAGE_USER = 1001
_SECRETS = (
    "RATIBA_GITHUB_TOKEN",
    "RATIBA_ANTHROPIC_API_KEY",
    "RATIBA_OPENAI_API_KEY",
    "RATIBA_LANGFUSE_PUBLIC_KEY",
    "RATIBA_LANGFUSE_SECRET_KEY",
    "RATIBA_OTLP_HEADERS",
    "RATIBA_SLACK_WEBHOOK_URL",
    "RATIBA_SEAL_KEY",
)
_STEP_FILES = {
    "GITHUB_OUTPUT": "/report/step/output",
    "GITHUB_STEP_SUMMARY": "/report/step/summary",
    "RATIBA_SEAL": "/report/step/seal",
}
_SERVERS = {
    "RATIBA_LANGFUSE_HOST": "http://127.0.0.1:9",
    "RATIBA_LANGFUSE_SECONDS": "1",
    "RATIBA_OTLP_ENDPOINT": "http://127.0.0.1:9",
    "RATIBA_OTLP_SECONDS": "1",
}
_FORMS = {
    "RATIBA_OTLP_HEADERS": "authorization=Bearer {}",
    "RATIBA_SLACK_WEBHOOK_URL": "http://127.0.0.1:9/services/{}",
}
"""How an input holds its secret, where it is more than that."""


@dataclass(frozen=True)
class Run:
    """How a run of the gate ended, and what the probe said."""

    code: int
    printed: str
    report: Path
    planted: tuple[str, ...]

    @property
    def published(self) -> str:
        """Everything that left the container: the log and every file."""
        files = (path for path in self.report.rglob("*") if path.is_file())
        return "\n".join([self.printed, *(path.read_text(errors="replace") for path in files)])

    @property
    def outputs(self) -> dict[str, Any]:
        """The outputs in ``results.json``."""
        outputs: dict[str, Any] = json.loads((self.report / "ratiba-report/results.json").read_text())["outputs"]
        return outputs

    @property
    def findings(self) -> dict[str, Any]:
        """What the probe found, all turns together."""
        (result,) = json.loads((self.report / "ratiba-report/results.json").read_text())["report"]["results"]
        found: dict[str, Any] = {}
        for one in result["transcript"]["exchanges"]:
            found |= json.loads(one["reply"]["text"])
        return found


@dataclass(frozen=True)
class Prison:
    """A repository whose adapter is the probe, and the container that it runs in."""

    place: Confined

    @property
    def repository(self) -> SmallRepository:
        """What is run; give what is written there away afterwards."""
        return SmallRepository(self.place.workspace, self.place.report, {"PATH": os.environ["PATH"]})

    def run(
        self,
        *messages: str,
        init: bool = False,
        network: str = "none",
        variables: Mapping[str, str] | None = None,
        options: Sequence[str] = (),
    ) -> Run:
        """Send the probe these messages; each must find nothing.

        Args:
            messages: names of the probe's looks.
            init: start Docker's own first process before the gate.
            network: that the container is in.
            variables: for the gate, besides the planted secrets; all of them arrive on its standard input.
            options: of ``docker run``.
        """
        self.repository.scenario("greeting", *messages, expect="CLEAN")
        give(self.place.workspace)
        planted = {name: plant() for name in _SECRETS}
        planted["HTTPS_PROXY"] = f"http://user:{(password := plant())}@127.0.0.1:9"
        formed = {name: _FORMS.get(name, "{}").format(secret) for name, secret in planted.items()}
        given = formed | _STEP_FILES | _SERVERS | {"RATIBA_LLM": "replay"} | dict(variables or {})
        command = self.place.command("gate", "--report-dir", "/report/ratiba-report")
        command[command.index("none")] = network
        place = command.index(self.place.image)
        command[place:place] = ["--interactive", "--env", "RATIBA_SECRETS=stdin", *["--init"] * init, *options]
        written = "".join(f"{name}={value}\0" for name, value in given.items())
        done = subprocess.run(command, input=written, capture_output=True, text=True, check=False, timeout=180)
        secrets = (*planted.values(), password)
        return Run(done.returncode, done.stdout + done.stderr, self.place.report, secrets)


def plant() -> str:
    """A secret that the probe knows by its form."""
    return f"PLANTED_{secrets.token_hex(8)}"


def give(top: Path) -> None:
    """Make everything below a folder the image's user's, where that is possible."""
    if os.geteuid() == 0:
        for path in (top, *top.rglob("*")):
            os.chown(path, IMAGE_USER, IMAGE_USER, follow_symlinks=False)
