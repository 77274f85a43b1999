"""Which client asks GitHub where the gate's packages are installed. Nothing is imported before it is used."""

from ratiba_action.github.github_api import GithubApi
from ratiba_action.ports import GithubRepository


def by_pygithub(api: GithubApi) -> GithubRepository:
    """A repository that is asked by PyGithub."""
    from ratiba_action.github.pygithub_repository import PyGithubRepository  # 0.2 s, and seldom needed

    return PyGithubRepository(api)
