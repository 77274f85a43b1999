import os
from pathlib import Path

import pytest

from tests.support.command_run import CommandRun, start_unguarded
from tests.support.git_repository import GitRepository


@pytest.fixture
def environment() -> dict[str, str]:
    return {"PATH": os.environ["PATH"]}


@pytest.fixture
def repository(tmp_path: Path) -> GitRepository:
    return GitRepository(tmp_path / "checkout")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty checkout, the current folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def ratiba(capsys: pytest.CaptureFixture[str]) -> CommandRun:
    """Commands as a user runs them, without any variable of the environment."""
    return CommandRun(capsys)


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> CommandRun:
    """Commands whose errors reach the test."""
    return CommandRun(capsys, start=start_unguarded)
