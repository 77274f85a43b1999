"""What the gate asks GitHub about a repository, by PyGithub: wherever the gate's packages are installed."""

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from github import Auth, GithubException
from github.Artifact import Artifact
from github.GithubObject import CompletableGithubObject, GithubObject
from github.IssueComment import IssueComment
from github.PaginatedList import PaginatedList
from github.Repository import Repository
from github.Requester import Requester

from ratiba_action.errors import GithubError
from ratiba_action.github.github_api import API_VERSION, PAGE, USER_AGENT, GithubApi, decoded


class PyGithubRepository:
    """A ``GithubRepository`` made of PyGithub's objects; see the port for what each method does.

    Args:
        api: sends the requests; PyGithub neither waits nor tries again nor follows a redirect by itself.
    """

    def __init__(self, api: GithubApi) -> None:
        self._api = api
        self._requester = _Requester(api)
        self._repository = Repository(self._requester, url=f"/repos/{api.repository}")

    def pull_request(self, number: int) -> Any:
        """One pull request."""
        with _understood():
            return self._repository.get_pull(number).raw_data

    def repository(self) -> Any:
        """The repository itself."""
        with _understood():
            return self._repository.raw_data

    def branch(self, name: str) -> Any:
        """One branch, with the commit that it points at."""
        with _understood():
            return _as_it_came(self._repository.get_branch(name))

    def open_pull_requests(self, head: str) -> Iterator[Any]:
        """The open pull requests from ``owner:branch``."""
        return _rows(self._repository.get_pulls(state="open", head=head))

    def changed_files(self, number: int) -> Iterator[Any]:
        """The files of a pull request."""
        return _rows(self._repository.get_pull(number).get_files())

    def comments(self, number: int) -> Iterator[Any]:
        """The comments below a pull request, oldest first."""
        return _rows(self._repository.get_issue(number).get_comments())

    def create_comment(self, number: int, body: str) -> Any:
        """Write a comment below a pull request."""
        with _understood():
            return _as_it_came(self._repository.get_issue(number).create_comment(body))

    def edit_comment(self, comment: int, body: str) -> Any:
        """Replace a comment's text."""
        with _understood():
            edited = self._comment(comment)
            edited.edit(body)
            return {"id": comment, "body": edited.body, "html_url": edited.html_url}  # it keeps no JSON of an edit

    def delete_comment(self, comment: int) -> None:
        """Remove a comment."""
        with _understood():
            self._comment(comment).delete()

    def set_status(self, commit: str, *, state: str, context: str, description: str, url: str) -> None:
        """Set a status of a commit."""
        link = {"target_url": url} if url else {}
        with _understood():
            self._repository.get_commit(commit).create_status(state, context=context, description=description, **link)

    def artifacts(self, name: str) -> Iterator[Any]:
        """The repository's artifacts of a name, newest first."""
        return _rows(self._repository.get_artifacts(name=name))

    def artifacts_of_run(self, run: int, name: str) -> Iterator[Any]:
        """One workflow run's artifacts of a name."""
        # WorkflowRun.get_artifacts knows no name, and asks for the run first.
        address = f"{self._repository.url}/actions/runs/{run}/artifacts"
        return _rows(PaginatedList(Artifact, self._requester, address, {"name": name}, list_item="artifacts"))

    def successful_runs(self, commit: str, branch: str, event: str) -> Iterator[Any]:
        """The successful workflow runs of a commit."""
        return _rows(
            self._repository.get_workflow_runs(
                branch=branch,  # type: ignore[arg-type]  # a name will do, which its annotation forgets
                event=event,
                status="success",
                head_sha=commit,
            )
        )

    def workflow_run(self, run: int) -> Any:
        """One workflow run."""
        with _understood():
            return self._repository.get_workflow_run(run).raw_data

    def comparison(self, base: str, head: str) -> Any:
        """How two commits stand to each other."""
        with _understood():
            return self._repository.compare(base, head, comparison_commits_per_page=1).raw_data

    def last_commits(self, path: str, commit: str) -> Any:
        """The last commit up to a commit that touched a path, in a list."""
        # PyGithub's lists have a hundred entries a page, each with its author, files and signature.
        return self._api.get("commits", {"sha": commit, "path": path, "per_page": "1"})

    def download_artifact(self, artifact: int) -> bytes:
        """An artifact's archive."""
        # PyGithub follows a redirect to GitHub's own domains only, and artifacts lie elsewhere.
        return self._api.download(f"actions/artifacts/{artifact}/zip")

    def _comment(self, comment: int) -> IssueComment:
        return IssueComment(self._requester, url=f"{self._repository.url}/issues/comments/{comment}")


class _Requester(Requester):
    """PyGithub's, whose requests go out by the gate's own rules.

    Args:
        api: says where the token may go, what is tried again, for how long and how much is read.
    """

    def __init__(self, api: GithubApi) -> None:
        super().__init__(
            auth=Auth.Token(api.token),
            base_url=api.address.rstrip("/"),
            timeout=0,  # of a connection that is never made
            user_agent=USER_AGENT,
            per_page=PAGE,
            verify=True,
            retry=None,
            pool_size=None,
            lazy=True,
            api_version=API_VERSION,
        )
        self._api = api

    def requestJson(  # noqa: N802, PLR0917 - PyGithub's name and signature
        self,
        verb: str,
        url: str,
        parameters: dict[str, Any] | None = None,
        headers: dict[str, Any] | None = None,  # noqa: ARG002 - PyGithub's signature
        input: Any | None = None,  # noqa: A002 - PyGithub's name
        cnx: Any = None,
        follow_302_redirect: bool = False,  # noqa: ARG002, FBT001, FBT002 - PyGithub's signature
    ) -> tuple[int, dict[str, Any], str]:
        """One request and the answer to it."""
        if cnx is not None:
            raise GithubError(f"The next page is said to be at {url[:200]!r}, which is not GITHUB_API_URL's host.")
        address = url if not url.startswith("/") else f"{self.base_url}{url}"
        content = None if input is None else json.dumps(input).encode()
        answer = self._api.request(verb, self.add_parameters_to_url(address, parameters or {}), content)
        if answer.body and not isinstance(decoded(answer, writes=verb != "GET"), dict | list):
            raise TypeError("neither an object nor a list")  # PyGithub would take it for an empty list
        return answer.status, dict(answer.headers), answer.body.decode()


def _as_it_came(found: GithubObject) -> dict[str, Any]:
    """GitHub's JSON of an object; PyGithub's own property asks for each object of a list once more."""
    return (
        super(CompletableGithubObject, found).raw_data if isinstance(found, CompletableGithubObject) else found.raw_data
    )


def _rows(listed: Iterable[GithubObject]) -> Iterator[Any]:
    """GitHub's JSON of the objects of a list, page by page."""
    with _understood():
        for row in listed:
            yield _as_it_came(row)


@contextmanager
def _understood() -> Iterator[None]:
    """Says in the gate's words what PyGithub makes of an answer that it does not expect: it asserts and indexes."""
    try:
        yield
    except (GithubException, AssertionError, AttributeError, LookupError, TypeError, ValueError) as error:
        problem = f"GitHub's answer was not understood ({type(error).__name__}: {str(error)[:200]})."
        raise GithubError(problem, "Check GITHUB_API_URL.") from error
