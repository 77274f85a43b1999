from pathlib import Path

import pytest

from tests.support.git_repository import GitRepository


@pytest.fixture
def repository(tmp_path: Path) -> GitRepository:
    return GitRepository(tmp_path / "checkout")
