"""The project's container image, built and run as the documentation tells users to."""

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from ratiba_action.tenancy.server import docker_is_there

BASE = "python:3.13-slim"
REPORT = "/report/ratiba-report"
# What a run in the container may do: nothing that needs a privilege, and writing to memory only.
CONFINED = (
    "--read-only",
    *("--tmpfs", "/tmp:exec,nosuid,nodev,mode=1777"),  # noqa: S108 - inside the container
    *("--tmpfs", "/home/ratiba:nosuid,nodev,mode=1777"),
    *("--tmpfs", "/sandbox/head:exec,nosuid,nodev,mode=1777,size=40%,nr_inodes=1m"),
    *("--tmpfs", "/sandbox/base:exec,nosuid,nodev,mode=1777,size=40%,nr_inodes=1m"),
    *("--cap-drop", "ALL"),
    *("--security-opt", "no-new-privileges"),
    *("--pids-limit", "512"),
    *("--network", "none"),
)


def why_not() -> str:
    """Why the image cannot be built here; empty when it can."""
    if shutil.which("docker") is None or not docker_is_there():
        return "needs Docker: its command, its daemon and the 'docker' extra"
    found = subprocess.run(["docker", "image", "inspect", BASE], capture_output=True, check=False)
    return "" if found.returncode == 0 else f"needs the base image: docker pull {BASE}"


_EXAMPLE = """\
ARG BASE GATE
FROM ${BASE} AS packages
COPY requirements.txt /
RUN --mount=type=secret,id=ca \\
    if [ -s /run/secrets/ca ]; then export PIP_CERT=/run/secrets/ca; fi; \\
    python3 -m venv /opt/example && \\
    /opt/example/bin/pip install --quiet --no-cache-dir --require-hashes -r /requirements.txt
FROM ${GATE}
COPY --from=packages /opt/example /opt/example
"""


def build(project: Path, tag: str, packages: str = "gate") -> None:
    """Build the image by the project's Dockerfile; certificates of this machine go in as a secret.

    Args:
        project: a checkout of it.
        tag: of the image.
        packages: the Dockerfile's argument of that name.

    Raises:
        RuntimeError: it was not built; ends with the builder's own words.
    """
    # The label makes an image of its own of what the cache holds, so that its containers can be told from others.
    _build(project, "--tag", tag, "--label", f"ratiba.tag={tag}", "--build-arg", f"PACKAGES={packages}")


def build_with_packages(gate: str, requirements: Path, tag: str) -> None:
    """Build an image that also has the packages of a system, in the environment ``/opt/example``.

    Args:
        gate: tag of the gate's image.
        requirements: ``requirements.txt`` of the system, with hashes.
        tag: of the new image.

    Raises:
        RuntimeError: it was not built; ends with the builder's own words.
    """
    with TemporaryDirectory() as folder:
        shutil.copyfile(requirements, Path(folder) / "requirements.txt")
        (Path(folder) / "Dockerfile").write_text(_EXAMPLE)
        _build(Path(folder), "--tag", tag, "--build-arg", f"GATE={gate}")


def _build(folder: Path, *options: str) -> None:
    bundle = os.environ.get("SSL_CERT_FILE")
    secret = ["--secret", f"id=ca,src={bundle}"] if bundle else []
    command = ["docker", "build", "--progress", "plain", "--build-arg", f"BASE={BASE}", *options, *secret, "."]
    environment = os.environ | {"DOCKER_BUILDKIT": "1"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"the image was not built:\n{done.stderr[-3000:]}")


@dataclass(frozen=True, slots=True)
class Confined:
    """How a container runs on a checkout.

    Args:
        image: tag of the image.
        workspace: the checkout, mounted read-only; the container runs as its owner.
        report: folder that the container may write to.
        passwd: file that stands in for ``/etc/passwd``; None leaves the image's own.
    """

    image: str
    workspace: Path
    report: Path
    passwd: Path | None = None

    def command(self, *words: str, entrypoint: str | None = None) -> list[str]:
        """The whole command line for these words after the image's name."""
        owner = self.workspace.stat()
        mounts = [
            f"type=bind,source={self.workspace},target=/workspace,readonly",
            f"type=bind,source={self.report},target=/report",
        ]
        if self.passwd is not None:
            mounts.append(f"type=bind,source={self.passwd},target=/etc/passwd,readonly")
        return [
            *("docker", "run", "--rm", *CONFINED, "--user", f"{owner.st_uid}:{owner.st_gid}"),
            *(word for mount in mounts for word in ("--mount", mount)),
            *(("--entrypoint", entrypoint) if entrypoint else ()),
            *(self.image, *words),
        ]

    def run(self, *words: str, entrypoint: str | None = None) -> "subprocess.CompletedProcess[str]":
        """Run it to its end."""
        return finished(self.command(*words, entrypoint=entrypoint))


def finished(command: Sequence[str]) -> "subprocess.CompletedProcess[str]":
    """Run a command to its end, whatever its exit code."""
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=180)
