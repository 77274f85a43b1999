"""Which commands the action gives Docker to get its image, by a stand-in that writes them down."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[2] / "action"
DIGEST = "registry.example/gate@sha256:" + "a" * 64
IDENTIFIER = "sha256:" + "b" * 64
TAG = "registry.example/gate:1.2"
STAND_IN = """#!/bin/bash
printf '%s\\n' "$*" >>"$COMMANDS"
case "$1 $2" in
  "image inspect") [ -n "$HERE" ] ;;
  "pull --quiet") [ -n "$REACHABLE" ] ;;
  "buildx version") [ -n "$BUILDX" ] ;;
  "build --progress") while [ "$1" != --iidfile ]; do shift; done; printf sha256:built >"$2" ;;
esac
"""
GET = """set -euo pipefail
ENDED=""
. "$1/container.sh"
if get_image /the/action "$2"; then echo "image: $IMAGE"; else echo "ended: $ENDED"; fi
"""


@dataclass(frozen=True, slots=True)
class Docker:
    """Docker's command on a runner, and what the action has asked of it."""

    folder: Path

    def get(self, image: str, *traits: str) -> tuple[str, list[str]]:
        """Get an image; the last lines that were printed, and the commands.

        Args:
            image: the input ``image``.
            traits: of ``HERE``, the daemon has it; ``REACHABLE``, its registry answers; ``BUILDX``.
        """
        program = self.folder / "bin" / "docker"
        program.parent.mkdir(exist_ok=True)
        program.write_text(STAND_IN)
        program.chmod(0o755)
        commands = self.folder / "commands"
        commands.write_text("")
        environment = {
            "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}",
            "COMMANDS": str(commands),
            "RATIBA_IMAGE": image,
            **{name: "yes" if name in traits else "" for name in ("HERE", "REACHABLE", "BUILDX")},
        }
        done = subprocess.run(
            ["bash", "-c", GET, "get", str(SCRIPTS), str(self.folder)],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout, commands.read_text().splitlines()


@pytest.fixture
def docker(tmp_path: Path) -> Docker:
    return Docker(tmp_path)


@pytest.mark.parametrize("traits", [(), ("HERE",)], ids=["not here yet", "here from an earlier job"])
def test_a_tag_is_pulled_every_time(docker: Docker, traits: tuple[str, ...]) -> None:
    printed, commands = docker.get(TAG, "REACHABLE", *traits)
    assert f"pull --quiet {TAG}" in commands
    assert printed.endswith(f"image: {TAG}\n")
    assert "::warning" not in printed


@pytest.mark.parametrize("image", [DIGEST, IDENTIFIER], ids=["a digest", "an identifier"])
def test_what_can_never_change_is_not_pulled_again(docker: Docker, image: str) -> None:
    assert docker.get(image, "HERE", "REACHABLE") == (f"image: {image}\n", [f"image inspect {image}"])


def test_a_digest_that_is_not_here_is_pulled(docker: Docker) -> None:
    printed, commands = docker.get(DIGEST, "REACHABLE")
    assert f"pull --quiet {DIGEST}" in commands
    assert printed.endswith(f"image: {DIGEST}\n")


def test_a_tag_that_is_here_is_used_with_a_warning_when_its_registry_does_not_answer(docker: Docker) -> None:
    printed, _ = docker.get(TAG, "HERE")
    (warning,) = [line for line in printed.splitlines() if line.startswith("::warning")]
    assert "may be an old one" in warning
    assert printed.endswith(f"image: {TAG}\n")


def test_a_tag_that_can_nowhere_be_had_ends_the_run(docker: Docker) -> None:
    printed, _ = docker.get(TAG)
    assert "could not be pulled. Check its name" in printed
    assert printed.endswith("ended: image\n")


def test_a_built_image_is_handed_over_to_the_daemon_whatever_builder_the_job_has_chosen(docker: Docker) -> None:
    printed, commands = docker.get("", "BUILDX")
    (build,) = [line.split() for line in commands if line.startswith("build ")]
    assert "--load" in build
    assert build[-1] == "/the/action"
    assert printed.endswith("image: sha256:built\n")


def test_without_buildx_the_build_has_no_option_that_only_buildx_knows(docker: Docker) -> None:
    _, commands = docker.get("")
    (build,) = [line.split() for line in commands if line.startswith("build ")]
    assert "--load" not in build
