"""Pull requests from GitHub's REST API, by the standard library: the way out when git cannot tell what changed."""

import json
import re
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any

from ratiba_action.changes.event import PullRequest, read_pull_request
from ratiba_action.errors import InfrastructureError

_SECONDS = 20
_PAGE = 100
_CAP = 3000  # rows that the API gives at most
_REPOSITORY = re.compile(r"[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+")


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follows nothing: a redirect would carry the token to another host."""

    def redirect_request(self, *_arguments: Any) -> None:
        return None


class PullRequestApi:
    """Reads one repository's pull requests.

    Args:
        environment: its ``GITHUB_API_URL``, ``GITHUB_REPOSITORY`` and ``RATIBA_GITHUB_TOKEN`` or ``GITHUB_TOKEN``.
        repository: ``owner/name`` where the environment has none.
    """

    def __init__(self, environment: Mapping[str, str], repository: str = "") -> None:
        self._address = environment.get("GITHUB_API_URL", "").rstrip("/")
        self._repository = environment.get("GITHUB_REPOSITORY") or repository
        self._token = environment.get("RATIBA_GITHUB_TOKEN") or environment.get("GITHUB_TOKEN") or ""

    def pull_request(self, number: int) -> PullRequest:
        """One pull request.

        Raises:
            InfrastructureError: the API cannot be used or answers anything else.
        """
        return read_pull_request(self._get(f"pulls/{number}"))

    def files(self, pull_request: PullRequest) -> tuple[str, ...]:
        """All paths of a pull request, with both names of renamed files.

        Raises:
            InfrastructureError: the API cannot be used, or its list is not complete.
        """
        paths: dict[str, None] = {}
        rows = 0
        for page in range(1, _CAP // _PAGE + 1):
            answer = self._get(f"pulls/{pull_request.number}/files?per_page={_PAGE}&page={page}")
            if not isinstance(answer, list):
                raise InfrastructureError("The pull request's files came in an unknown shape.")
            for row in answer:
                names = [row.get("filename"), row.get("previous_filename")] if isinstance(row, dict) else [None]
                if not isinstance(names[0], str):
                    raise InfrastructureError("The pull request's files came in an unknown shape.")
                paths.update((name, None) for name in names if isinstance(name, str))
            rows += len(answer)
            if len(answer) < _PAGE:
                break
        if pull_request.changed_files != rows or rows >= _CAP:
            raise InfrastructureError(
                f"The API lists {rows} files of the pull request's {pull_request.changed_files}, so some are not known."
            )
        return tuple(paths)

    def _get(self, path: str) -> Any:
        if not self._token or not self._address or not _REPOSITORY.fullmatch(self._repository):
            raise InfrastructureError(
                "The API cannot be asked without GITHUB_TOKEN, GITHUB_API_URL and GITHUB_REPOSITORY.",
                "Give the step the workflow's token, or check out with fetch-depth: 2.",
            )
        if not self._address.startswith(("https://", "http://127.0.0.1:", "http://localhost:")):
            raise InfrastructureError(f"GITHUB_API_URL is {self._address!r}; a token is sent only over https.")
        headers = {
            "Authorization": f"Bearer {self._token}",
            "Accept": "application/vnd.github+json",
            "X-GitHub-Api-Version": "2022-11-28",
            "User-Agent": "ratiba-eval-gate",
        }
        request = urllib.request.Request(f"{self._address}/repos/{self._repository}/{path}", headers=headers)  # noqa: S310 - the scheme is checked above
        try:
            with urllib.request.build_opener(_NoRedirect).open(request, timeout=_SECONDS) as answer:
                return json.loads(answer.read())
        except (OSError, ValueError, RecursionError) as error:
            raise InfrastructureError(f"The API could not be asked for {path!r}: {error}.") from error
