import os
from pathlib import Path

import pytest

from tests.support.git_repository import GitRepository


@pytest.fixture
def environment() -> dict[str, str]:
    return {"PATH": os.environ["PATH"]}


@pytest.fixture
def repository(tmp_path: Path) -> GitRepository:
    return GitRepository(tmp_path / "checkout")
