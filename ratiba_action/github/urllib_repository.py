"""What the gate asks GitHub about a repository, by the standard library alone: for a runner's bare Python."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ratiba_action.github.github_api import GithubApi


@dataclass(frozen=True, slots=True)
class UrllibRepository:
    """A ``GithubRepository`` that needs no package; see the port for what each method does."""

    api: GithubApi

    def pull_request(self, number: int) -> Any:
        """One pull request."""
        return self.api.get(f"pulls/{number}")

    def repository(self) -> Any:
        """The repository itself."""
        return self.api.get("")

    def branch(self, name: str) -> Any:
        """One branch, with the commit that it points at."""
        return self.api.get(f"branches/{name}")

    def open_pull_requests(self, head: str) -> Iterator[Any]:
        """The open pull requests from ``owner:branch``."""
        return self._rows("pulls", {"head": head, "state": "open"})

    def changed_files(self, number: int) -> Iterator[Any]:
        """The files of a pull request."""
        return self._rows(f"pulls/{number}/files")

    def comments(self, number: int) -> Iterator[Any]:
        """The comments below a pull request, oldest first."""
        return self._rows(f"issues/{number}/comments")

    def create_comment(self, number: int, body: str) -> Any:
        """Write a comment below a pull request."""
        return self.api.send("POST", f"issues/{number}/comments", {"body": body})

    def edit_comment(self, comment: int, body: str) -> Any:
        """Replace a comment's text."""
        return self.api.send("PATCH", f"issues/comments/{comment}", {"body": body})

    def delete_comment(self, comment: int) -> None:
        """Remove a comment."""
        self.api.send("DELETE", f"issues/comments/{comment}")

    def set_status(self, commit: str, *, state: str, context: str, description: str, url: str) -> None:
        """Set a status of a commit."""
        body = {"state": state, "context": context, "description": description}
        self.api.send("POST", f"statuses/{commit}", body | ({"target_url": url} if url else {}))

    def artifacts(self, name: str) -> Iterator[Any]:
        """The repository's artifacts of a name, newest first."""
        return self._rows("actions/artifacts", {"name": name}, "artifacts")

    def artifacts_of_run(self, run: int, name: str) -> Iterator[Any]:
        """One workflow run's artifacts of a name."""
        return self._rows(f"actions/runs/{run}/artifacts", {"name": name}, "artifacts")

    def successful_runs(self, commit: str, branch: str, event: str) -> Iterator[Any]:
        """The successful workflow runs of a commit."""
        query = {"head_sha": commit, "branch": branch, "status": "success", "event": event}
        return self._rows("actions/runs", query, "workflow_runs")

    def workflow_run(self, run: int) -> Any:
        """One workflow run."""
        return self.api.get(f"actions/runs/{run}")

    def comparison(self, base: str, head: str) -> Any:
        """How two commits stand to each other."""
        return self.api.get(f"compare/{base}...{head}", {"per_page": "1"})

    def last_commits(self, path: str, commit: str) -> Any:
        """The last commit up to a commit that touched a path, in a list."""
        return self.api.get("commits", {"sha": commit, "path": path, "per_page": "1"})

    def download_artifact(self, artifact: int) -> bytes:
        """An artifact's archive."""
        return self.api.download(f"actions/artifacts/{artifact}/zip")

    def _rows(self, path: str, query: Mapping[str, str] | None = None, name: str = "") -> Iterator[Any]:
        for page in self.api.pages(path, query, name):
            yield from page
