import os
from pathlib import Path

import pytest

from tests.support.git_repository import GitRepository


@pytest.fixture
def environment() -> dict[str, str]:
    return {"PATH": os.environ["PATH"]}


@pytest.fixture
def repository(tmp_path: Path, environment: dict[str, str]) -> GitRepository:
    return GitRepository(tmp_path / "checkout", environment["PATH"])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty checkout, the current folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path
