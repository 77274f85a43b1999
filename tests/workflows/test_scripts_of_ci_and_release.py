"""Scripts of the project's own workflows, run as the runner would."""

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.workflow_files import run_block

PROJECT = Path(__file__).parents[2]
CHECK_VERSION = "Check the version, look up the base image's digest"


def script(workflow: str, step: str) -> str:
    return run_block((PROJECT / ".github" / "workflows" / workflow).read_text("utf-8"), step)


def shell(text: str, folder: Path, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", text]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def git(repository: Path, *words: str) -> str:
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@example.invalid", *words]
    return subprocess.run(command, cwd=repository, capture_output=True, text=True, check=True).stdout


def test_the_planted_regression_is_one_commit_with_the_change_and_its_recordings(tmp_path: Path) -> None:
    for name in ("examples/booking_assistant", "examples/pull_requests", "scenarios"):
        shutil.copytree(PROJECT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", "--all", "--force")
    git(tmp_path, "commit", "--quiet", "-m", "As it is")
    done = shell(
        script("ci.yml", "Plant the bundled regression"), tmp_path, os.environ | {"GIT_CONFIG_GLOBAL": os.devnull}
    )
    assert done.returncode == 0, done.stderr
    changed = git(tmp_path, "diff", "--name-only", "HEAD~1", "HEAD").splitlines()
    assert any(path.startswith("examples/booking_assistant/") for path in changed)
    assert any(path.startswith("scenarios/recordings/") for path in changed)
    assert git(tmp_path, "status", "--porcelain") == ""


@pytest.mark.parametrize(
    "version", ["", "1.2", "v1.2.0", "1.2.0-rc1", "01.2.0", "1.2.0\n1", "1.2.0; touch made", "$(touch made)"]
)
def test_a_release_refuses_what_is_no_version(tmp_path: Path, version: str) -> None:
    environment = {
        "VERSION": version,
        "GITHUB_REF": "refs/heads/main",
        "DEFAULT_BRANCH": "main",
        "PATH": os.environ["PATH"],
    }
    done = shell(script("release.yml", CHECK_VERSION), tmp_path, environment)
    assert (done.returncode, "three numbers" in done.stdout, list(tmp_path.iterdir())) == (2, True, [])


@pytest.mark.parametrize("ref", ["refs/heads/change", "refs/tags/main", "main"])
def test_a_release_is_made_from_the_default_branch_alone(tmp_path: Path, ref: str) -> None:
    environment = {"VERSION": "1.2.0", "GITHUB_REF": ref, "DEFAULT_BRANCH": "main", "PATH": os.environ["PATH"]}
    done = shell(script("release.yml", CHECK_VERSION), tmp_path, environment)
    assert (done.returncode, "default branch" in done.stdout) == (2, True)


DIGEST = "sha256:" + "a" * 64
OUTPUT = f"base=python:3.13-slim@{DIGEST}\nimage=ghcr.io/owner/gate\n"


@pytest.mark.parametrize(("answer", "expected"), [(DIGEST, OUTPUT), ("", ""), ("sha256:a\nimage=other", "")])
def test_a_release_goes_on_with_a_whole_digest_of_the_base_alone(tmp_path: Path, answer: str, expected: str) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "docker").write_text(f"#!/bin/sh\ncat <<'END'\n{answer}\nEND\n")
    (programs / "docker").chmod(0o755)
    output = tmp_path / "output"
    environment = {
        "VERSION": "1.2.0",
        "GITHUB_REF": "refs/heads/main",
        "DEFAULT_BRANCH": "main",
        "BASE": "python:3.13-slim",
        "GITHUB_REPOSITORY": "Owner/Gate",
        "GITHUB_OUTPUT": str(output),
        "PATH": f"{programs}:{os.environ['PATH']}",
    }
    done = shell(script("release.yml", CHECK_VERSION), tmp_path, environment)
    assert (done.returncode == 0) is bool(expected)
    assert (output.read_text() if output.exists() else "") == expected
