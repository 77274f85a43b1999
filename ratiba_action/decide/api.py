"""Pull requests from GitHub's REST API: the way out when git cannot tell what changed."""

from collections.abc import Mapping
from typing import Any

from ratiba_action.decide.event import PullRequest, read_pull_request
from ratiba_action.errors import InfrastructureError
from ratiba_action.github.github_api import GithubApi
from ratiba_action.github.github_retry import RetryPolicy

_SECONDS = 60.0
_RETRY = RetryPolicy(most_tries=4)  # a few seconds: without an answer the mode is blocking
_CAP = 3000  # rows that the API gives at most


class PullRequestApi:
    """Reads one repository's pull requests.

    Args:
        environment: its ``GITHUB_API_URL``, ``GITHUB_REPOSITORY`` and ``RATIBA_GITHUB_TOKEN`` or ``GITHUB_TOKEN``, and
            what names proxies and certificates.
        repository: ``owner/name`` where the environment has none.
    """

    def __init__(self, environment: Mapping[str, str], repository: str = "") -> None:
        self._environment = environment
        self._repository = environment.get("GITHUB_REPOSITORY") or repository

    def pull_request(self, number: int) -> PullRequest:
        """One pull request.

        Raises:
            InfrastructureError: the API cannot be used or answers anything else.
        """
        return read_pull_request(self._api().get(f"pulls/{number}"))

    def files(self, pull_request: PullRequest) -> tuple[str, ...]:
        """All paths of a pull request, with both names of renamed files.

        Raises:
            InfrastructureError: the API cannot be used, or its list is not complete.
        """
        paths: dict[str, None] = {}
        rows = 0
        for page in self._api().pages(f"pulls/{pull_request.number}/files"):
            for row in page:
                paths.update(dict.fromkeys(_names(row)))
            rows += len(page)
            if rows >= _CAP:
                break
        if pull_request.changed_files != rows or rows >= _CAP:
            raise InfrastructureError(
                f"The API lists {rows} files of the pull request's {pull_request.changed_files}, so some are not known."
            )
        return tuple(paths)

    def _api(self) -> GithubApi:
        environment = self._environment
        token = environment.get("RATIBA_GITHUB_TOKEN") or environment.get("GITHUB_TOKEN") or ""
        address = environment.get("GITHUB_API_URL", "")
        if not token or not address or not self._repository:
            raise InfrastructureError(
                "The API cannot be asked without GITHUB_TOKEN, GITHUB_API_URL and GITHUB_REPOSITORY.",
                "Give the step the workflow's token, or check out with fetch-depth: 2.",
            )
        return GithubApi(self._repository, token, address, environment, _SECONDS, _RETRY)


def _names(row: Any) -> list[str]:
    names = [row.get("filename"), row.get("previous_filename")] if isinstance(row, dict) else [None]
    if not isinstance(names[0], str):
        raise InfrastructureError("The pull request's files came in an unknown shape.")
    return [name for name in names if isinstance(name, str)]
