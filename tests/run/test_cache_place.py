"""Where the judges' scores lie: at the project's root on a laptop, and where no change can write in CI."""

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from ratiba_action.errors import ConfigurationError
from ratiba_action.run.cache_place import cache_folder
from tests.support.git_repository import GitRepository

HOME = {"HOME": "/home/me", "PATH": os.environ["PATH"]}
OF_THE_USER = Path("/home/me/.cache/ratiba/deepeval-cache")


@pytest.fixture
def checkout(tmp_path: Path) -> GitRepository:
    repository = GitRepository(tmp_path / "checkout")
    repository.commit({"sub/system.py": ""})
    return repository


def test_on_a_laptop_it_lies_at_the_projects_root_also_for_a_folder_below(checkout: GitRepository) -> None:
    place = checkout.folder.resolve() / ".deepeval-cache"
    assert cache_folder(HOME, checkout.folder) == cache_folder(HOME, checkout.folder / "sub") == place
    page = (Path(__file__).parents[2] / "docs" / "judging.md").read_text(encoding="utf-8")
    assert "| your machine | `.deepeval-cache/` at the root of the project" in page


def test_a_folder_without_git_has_it_too(tmp_path: Path) -> None:
    assert cache_folder(HOME, tmp_path) == tmp_path.resolve() / ".deepeval-cache"


@pytest.mark.parametrize(
    "job",
    [
        {"GITHUB_ACTIONS": "true"},
        {"GITLAB_CI": "true"},
        {"CI": "true"},
        {"CI": "1"},
        {"RATIBA_CONTAINER": "1"},
    ],
)
def test_in_ci_it_lies_in_the_users_cache(checkout: GitRepository, job: Mapping[str, str]) -> None:
    assert cache_folder({**HOME, **job}, checkout.folder) == OF_THE_USER
    assert cache_folder({**HOME, **job, "XDG_CACHE_HOME": "/c"}, checkout.folder) == Path("/c/ratiba/deepeval-cache")


@pytest.mark.parametrize("name", [".deepeval-cache/forged.json", ".deepeval-cache", ".DeepEval-Cache/.gitignore"])
def test_scores_that_a_branch_brings_along_are_not_read(checkout: GitRepository, name: str) -> None:
    checkout.commit({name: "{}"})
    assert cache_folder(HOME, checkout.folder) == OF_THE_USER


def test_a_variable_names_another_folder(checkout: GitRepository, tmp_path: Path) -> None:
    place = str(tmp_path / "scores")
    assert cache_folder({**HOME, "RATIBA_CACHE_DIR": place}, checkout.folder) == Path(place)
    assert cache_folder({**HOME, "RATIBA_CACHE_DIR": place, "CI": "true"}, checkout.folder) == Path(place)
    with pytest.raises(ConfigurationError, match="relative path"):
        cache_folder({"RATIBA_CACHE_DIR": "scores"}, checkout.folder)
    inside = str(checkout.folder / "scores")
    assert cache_folder({"RATIBA_CACHE_DIR": inside}, checkout.folder) == Path(inside)
    with pytest.raises(ConfigurationError, match="inside the checkout, where a change could write"):
        cache_folder({"RATIBA_CACHE_DIR": inside, "GITHUB_ACTIONS": "true"}, checkout.folder)
