from collections.abc import Iterator

import pytest

from tests.support.github_server import GithubState, github_server
from tests.support.sample_report import sample_report


@pytest.fixture
def state() -> GithubState:
    """GitHub with a pull request whose head is that of the sample report."""
    return GithubState(heads={7: sample_report().subject.head})


@pytest.fixture
def address(state: GithubState) -> Iterator[str]:
    with github_server(state) as base:
        yield base
