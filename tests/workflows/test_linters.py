"""The linters of workflows, scripts and Dockerfile find nothing, and would find something."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.workflow_files import action_files, workflow_files

PROJECT = Path(__file__).parents[2]
COMMIT = "0123456789abcdef0123456789abcdef01234567"
INJECTED = """
name: injected
on: pull_request
permissions: {}
jobs:
  a:
    name: a
    runs-on: ubuntu-latest
    steps:
      - run: echo ${{ github.event.pull_request.title }} $UNQUOTED
"""


def lint(name: str, *arguments: str, folder: Path = PROJECT) -> subprocess.CompletedProcess[str]:
    """Run a linter that the development requirements bring."""
    tools = Path(sys.executable).parent
    if not (tools / name).exists():
        pytest.skip(f"{name} is not among the development requirements of this platform")
    environment = os.environ | {"PATH": f"{tools}:{os.environ['PATH']}"}
    return subprocess.run(
        [tools / name, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def audit(folder: Path) -> subprocess.CompletedProcess[str]:
    configuration = str(PROJECT / ".github" / "zizmor.yml")
    options = (
        "--offline",
        "--no-progress",
        "--quiet",
        "--strict-collection",
        "--persona",
        "auditor",
        "--collect",
        "all",
    )
    return lint("zizmor", *options, "--config", configuration, ".", folder=folder)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A user's repository with every workflow, and the actions that they call."""
    folder = tmp_path / ".github" / "workflows"
    folder.mkdir(parents=True)
    (tmp_path / ".git").mkdir()
    for path in workflow_files(PROJECT):
        text = path.read_text("utf-8").replace("OWNER/", "example/").replace("@COMMIT", f"@{COMMIT}  # v1.0.0")
        (folder / path.name).write_text(text)
    for path in action_files(PROJECT):
        target = tmp_path / path.relative_to(PROJECT)
        target.parent.mkdir(exist_ok=True)
        target.write_text(path.read_text("utf-8"))
    return tmp_path


def test_actionlint_finds_nothing(repository: Path) -> None:
    done = lint("actionlint", "-shellcheck", "shellcheck", folder=repository)
    assert (done.returncode, done.stdout) == (0, "")


def test_actionlint_with_shellcheck_finds_what_is_wrong(repository: Path) -> None:
    (repository / ".github" / "workflows" / "injected.yml").write_text(INJECTED)
    done = lint("actionlint", "-shellcheck", "shellcheck", folder=repository)
    assert done.returncode == 1
    assert "potentially untrusted" in done.stdout
    assert "SC2086" in done.stdout


def test_zizmor_finds_nothing(repository: Path) -> None:
    done = audit(repository)
    assert (done.returncode, "No findings" in done.stdout + done.stderr) == (0, True), done.stdout


def test_zizmor_finds_what_is_wrong(repository: Path) -> None:
    (repository / ".github" / "workflows" / "injected.yml").write_text(INJECTED)
    done = audit(repository)
    assert done.returncode != 0
    assert "template-injection" in done.stdout


def test_shellcheck_finds_nothing_in_the_scripts() -> None:
    scripts = sorted([*PROJECT.glob("action/*.sh"), PROJECT / ".ci" / "run"])
    assert len(scripts) > 1
    done = lint("shellcheck", "--external-sources", *map(str, scripts))
    assert (done.returncode, done.stdout) == (0, "")


def test_hadolint_finds_nothing_in_the_dockerfile() -> None:
    done = lint("hadolint", "Dockerfile")
    assert (done.returncode, done.stdout) == (0, "")


def test_hadolint_finds_what_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text("FROM python\nRUN cd /tmp && apt-get install git\n")
    done = lint("hadolint", "Dockerfile", folder=tmp_path)
    assert done.returncode == 1
    assert "DL3006" in done.stdout
