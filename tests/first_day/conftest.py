"""A team with one provider's key, in a repository that has never seen the gate."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.support.gate_forks import GateForks
from tests.support.model_servers import ModelServer
from tests.support.served_models import served_models
from tests.support.support_team import KEY, SupportModel, SupportTeam


@pytest.fixture(params=["openai", "anthropic"])
def team(
    request: pytest.FixtureRequest, tmp_path: Path, forks: GateForks, embedded_server_dsn: str
) -> Iterator[SupportTeam]:
    """The team before its first command; it has the key of one provider."""
    (tmp_path / "home").mkdir()
    model = SupportModel()
    with served_models(ModelServer(model, KEY)) as models:
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path / "home"),
            "NO_COLOR": "1",
            "RATIBA_DATABASE_URL": embedded_server_dsn,
            "RATIBA_ANTHROPIC_BASE_URL": models.url,
            "RATIBA_OPENAI_BASE_URL": f"{models.url}/v1",
        }
        begun = SupportTeam(request.param, tmp_path / "shop", models, model, forks, environment)
        begun.begin()
        yield begun


@pytest.fixture(scope="module")
def first_teams() -> Iterator[Path]:
    """Where the files of the first team of each provider that has recorded are kept for the others."""
    with TemporaryDirectory() as name:
        yield Path(name)


@pytest.fixture
def recorded(team: SupportTeam, first_teams: Path) -> None:
    """Takes the team to where it has set the gate up, recorded and committed, on a branch for its first change."""
    first, place = first_teams / team.provider, team.folder.parent
    if first.exists():
        shutil.rmtree(place)
        shutil.copytree(first, place, symlinks=True)
    else:
        team.record()
        shutil.copytree(place, first, symlinks=True)
