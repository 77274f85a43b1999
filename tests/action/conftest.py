"""Workflows under act, in repositories that use the action."""

from pathlib import Path

import pytest

from tests.support.act import Act, checkout_of, why_not
from tests.support.consumer_repository import Repositories

PROJECT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def act(image: str, tmp_path_factory: pytest.TempPathFactory) -> Act:
    """act with a clean copy of this project as the action, and the session's image."""
    reason = why_not()
    if reason:
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("act")
    return Act(checkout_of(PROJECT, folder / "action"), image, folder)


@pytest.fixture(scope="session")
def repositories(tmp_path_factory: pytest.TempPathFactory) -> Repositories:
    """Makes repositories for the runs."""
    return Repositories(PROJECT, tmp_path_factory.mktemp("repositories"))
