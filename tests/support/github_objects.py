"""Objects of GitHub's REST API in full, as it answers them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from zlib import crc32

from tests.support.github_state import Artifact, Pull, Run

_WHEN = "2026-04-25T07:00:00Z"
_USER_URLS = (
    "followers", "following", "gists", "starred", "subscriptions", "organizations", "repos", "events",
    "received_events",
)  # fmt: skip
_REPOSITORY_URLS = (
    "archive", "assignees", "blobs", "branches", "collaborators", "comments", "commits", "compare", "contents",
    "contributors", "deployments", "downloads", "events", "forks", "git_commits", "git_refs", "git_tags",
    "issue_comment", "issue_events", "issues", "keys", "labels", "languages", "merges", "milestones", "notifications",
    "pulls", "releases", "stargazers", "statuses", "subscribers", "subscription", "tags", "teams", "trees", "hooks",
)  # fmt: skip
_COUNTS = ("forks", "forks_count", "stargazers_count", "watchers_count", "watchers", "size", "open_issues")
_FLAGS = ("private", "fork", "archived", "disabled", "has_pages")


@dataclass(frozen=True, slots=True)
class GithubObjects:
    """Builds the objects of one repository.

    Args:
        api: base address of the API.
        repository: ``owner/name``.
    """

    api: str
    repository: str

    @property
    def _here(self) -> str:
        return f"{self.api}/repos/{self.repository}"

    @property
    def _page(self) -> str:
        return f"https://github.com/{self.repository}"

    def comment(self, stored: Mapping[str, Any]) -> dict[str, Any]:
        """A comment from what the state holds of it."""
        number, issue = stored["id"], stored["number"]
        return {
            **_identity("IC", number),
            "url": f"{self._here}/issues/comments/{number}",
            "html_url": f"{self._page}/pull/{issue}#issuecomment-{number}",
            "issue_url": f"{self._here}/issues/{issue}",
            "body": stored["body"],
            "user": self.user(stored["login"]),
            "created_at": _WHEN,
            "updated_at": _WHEN,
            "author_association": "CONTRIBUTOR",
            "performed_via_github_app": None,
        }

    def user(self, login: str) -> dict[str, Any]:
        """An account; one whose login ends in ``[bot]`` is a bot."""
        address = f"{self.api}/users/{login}"
        return {
            "login": login,
            **_identity("U", crc32(login.encode())),
            "avatar_url": "https://avatars.githubusercontent.com/u/1",
            "gravatar_id": "",
            "url": address,
            "html_url": f"https://github.com/{login}",
            **{f"{name}_url": f"{address}/{name}" for name in _USER_URLS},
            "type": "Bot" if login.endswith("[bot]") else "User",
            "site_admin": False,
        }

    def repository_of(self, name: str) -> dict[str, Any]:
        """A repository, ``owner/name``."""
        address, page = f"{self.api}/repos/{name}", f"https://github.com/{name}"
        owner, _, short = name.partition("/")
        return {
            **_identity("R", crc32(name.encode())),
            "name": short,
            "full_name": name,
            "owner": self.user(owner),
            "html_url": page,
            "url": address,
            **{f"{part}_url": f"{address}/{part}" for part in _REPOSITORY_URLS},
            "git_url": f"git:github.com/{name}.git",
            "ssh_url": f"git@github.com:{name}.git",
            "clone_url": f"{page}.git",
            "svn_url": page,
            "mirror_url": None,
            "homepage": None,
            **dict.fromkeys((*_COUNTS, "open_issues_count"), 0),
            **dict.fromkeys(_FLAGS, False),
            "description": None,
            "language": "Python",
            "license": None,
            "default_branch": "main",
            "visibility": "public",
            "topics": [],
            **dict.fromkeys(("pushed_at", "created_at", "updated_at"), _WHEN),
        }

    def listed_pull(self, number: int, pull: Pull) -> dict[str, Any]:
        """A pull request as a list holds it."""
        head = self.repository if pull.head_repository is None else pull.head_repository
        return {
            **_identity("PR", number),
            **self._pull_addresses(number, pull),
            "number": number,
            "state": pull.state,
            "locked": False,
            "title": pull.title,
            "user": self.user(pull.author),
            "draft": False,
            **{name: [] for name in ("labels", "assignees", "requested_reviewers", "requested_teams")},
            **dict.fromkeys(("body", "milestone", "assignee", "merged_at", "merge_commit_sha", "auto_merge")),
            "created_at": _WHEN,
            "updated_at": _WHEN,
            "closed_at": None if pull.state == "open" else _WHEN,
            "head": self._side(head, pull.branch, pull.head),
            "base": self._side(self.repository, "main", pull.base),
            "author_association": "CONTRIBUTOR",
        }

    def _pull_addresses(self, number: int, pull: Pull) -> dict[str, Any]:
        where, issue = f"{self._here}/pulls/{number}", f"{self._here}/issues/{number}"
        page = f"{self._page}/pull/{number}"
        named = {
            "comments": f"{issue}/comments",
            "review_comments": f"{where}/comments",
            "review_comment": f"{self._here}/pulls/comments{{/number}}",
            "commits": f"{where}/commits",
            "statuses": f"{self._here}/statuses/{pull.head}",
        }
        links = {**named, "self": where, "html": page, "issue": issue}
        return {
            "url": where,
            "html_url": page,
            "issue_url": issue,
            "diff_url": f"{page}.diff",
            "patch_url": f"{page}.patch",
            **{f"{name}_url": address for name, address in named.items()},
            "_links": {name: {"href": address} for name, address in links.items()},
        }

    def pull(self, number: int, pull: Pull) -> dict[str, Any]:
        """A pull request that was asked for alone."""
        files = len(pull.files) if pull.changed_files is None else pull.changed_files
        return {
            **self.listed_pull(number, pull),
            "merged": False,
            "mergeable": True,
            "rebaseable": True,
            "mergeable_state": "clean",
            "merged_by": None,
            "comments": 0,
            "review_comments": 0,
            "maintainer_can_modify": False,
            "commits": 1,
            "additions": files,
            "deletions": 0,
            "changed_files": files,
        }

    def file(self, path: str | tuple[str, str], commit: str) -> dict[str, Any]:
        """A changed file of a pull request."""
        name, previous = (path, None) if isinstance(path, str) else path
        return {
            "sha": commit,
            "filename": name,
            "status": "modified" if previous is None else "renamed",
            "additions": 1,
            "deletions": 0,
            "changes": 1,
            "blob_url": f"{self._page}/blob/{commit}/file",
            "raw_url": f"{self._page}/raw/{commit}/file",
            "contents_url": f"{self._here}/contents/file?ref={commit}",
            "patch": "@@ -0,0 +1 @@\n+1",
            **({} if previous is None else {"previous_filename": previous}),
        }

    def status(self, stored: Mapping[str, Any], number: int, login: str) -> dict[str, Any]:
        """A commit status from what the state holds of it."""
        return {
            **_identity("SC", number),
            "url": f"{self._here}/statuses/{stored['sha']}",
            "avatar_url": None,
            "state": stored["state"],
            "description": stored.get("description"),
            "target_url": stored.get("target_url"),
            "context": stored.get("context", "default"),
            "created_at": _WHEN,
            "updated_at": _WHEN,
            "creator": self.user(login),
        }

    def artifact(self, name: str, number: int) -> dict[str, Any]:
        """An artifact of a workflow run."""
        where = f"{self._here}/actions/artifacts/{number}"
        return {
            **_identity("A", number),
            "name": name,
            "size_in_bytes": 1,
            "url": where,
            "archive_download_url": f"{where}/zip",
            "expired": False,
            "created_at": _WHEN,
            "expires_at": _WHEN,
            "updated_at": _WHEN,
        }

    def kept_artifact(self, kept: Artifact) -> dict[str, Any]:
        """An artifact that is known with its run."""
        run = kept.run
        return {
            **self.artifact(kept.name, kept.number),
            "size_in_bytes": len(kept.content),
            "expired": kept.expired,
            "created_at": kept.created_at,
            "workflow_run": {
                "id": run.number,
                "repository_id": crc32(self.repository.encode()),
                "head_repository_id": crc32((run.head_repository or self.repository).encode()),
                "head_branch": run.branch,
                "head_sha": run.commit,
            },
        }

    def run(self, run: Run) -> dict[str, Any]:
        """A run of a workflow."""
        where = f"{self._here}/actions/runs/{run.number}"
        parts = ("jobs", "logs", "check_suite", "artifacts", "cancel", "rerun", "workflow")
        return {
            **_identity("WFR", run.number),
            "name": "eval-on-prompt-change",
            "head_branch": run.branch,
            "head_sha": run.commit,
            "path": ".github/workflows/eval-on-prompt-change.yml",
            "run_number": run.number,
            "run_attempt": 1,
            "event": run.event,
            "status": "completed" if run.conclusion else "in_progress",
            "conclusion": run.conclusion,
            "workflow_id": 1,
            "url": where,
            "html_url": f"{self._page}/actions/runs/{run.number}",
            **{f"{part}_url": f"{where}/{part}" for part in parts},
            "pull_requests": [],
            **dict.fromkeys(("created_at", "updated_at"), _WHEN),
            "head_commit": None,
            "repository": self.repository_of(self.repository),
            "head_repository": self.repository_of(run.head_repository or self.repository),
            "display_title": "Warmer greeting",
        }

    def full_repository(self, default_branch: str) -> dict[str, Any]:
        """The repository itself."""
        counts = dict.fromkeys(("network_count", "subscribers_count"), 0)
        parts = dict.fromkeys(("has_issues", "has_projects", "has_wiki", "has_discussions"), True)
        return {**self.repository_of(self.repository), **counts, **parts, "default_branch": default_branch}

    def branch(self, name: str, tip: str) -> dict[str, Any]:
        """A branch that nobody protects."""
        where = f"{self._here}/branches/{name}"
        return {
            "name": name,
            "commit": self.commit(tip),
            "_links": {"self": where, "html": f"{self._page}/tree/{name}"},
            "protected": False,
            "protection": {"enabled": False},
            "protection_url": f"{where}/protection",
        }

    def comparison(self, older: str, newer: str, status: str, common: str) -> dict[str, Any]:
        """How two commits stand to each other; ``common`` is the newest that both descend from."""
        page = f"{self._page}/compare/{older}...{newer}"
        return {
            "url": f"{self._here}/compare/{older}...{newer}",
            "html_url": page,
            "permalink_url": page,
            "diff_url": f"{page}.diff",
            "patch_url": f"{page}.patch",
            "base_commit": self.commit(older),
            "merge_base_commit": self.commit(common),
            "status": status,
            "ahead_by": int(status == "ahead"),
            "behind_by": 0,
            "total_commits": 0,
            "commits": [],
            "files": [],
        }

    def commit(self, commit: str) -> dict[str, Any]:
        """A commit without author."""
        where = f"{self._here}/commits/{commit}"
        return {
            "url": where,
            "sha": commit,
            "node_id": f"C_{commit}",
            "html_url": f"{self._page}/commit/{commit}",
            "comments_url": f"{where}/comments",
            "commit": {
                "url": f"{self._here}/git/commits/{commit}",
                "author": None,
                "committer": None,
                "message": "Warmer greeting",
                "comment_count": 0,
                "tree": {"sha": commit, "url": f"{self._here}/git/trees/{commit}"},
            },
            "author": None,
            "committer": None,
            "parents": [],
        }

    def _side(self, repository: str, branch: str, commit: str) -> dict[str, Any]:
        owner = repository.partition("/")[0] or "unknown"
        return {
            "label": f"{owner}:{branch}",
            "ref": branch,
            "sha": commit,
            "user": self.user(owner),
            "repo": self.repository_of(repository) if repository else None,
        }


def _identity(kind: str, number: int) -> dict[str, Any]:
    return {"id": number, "node_id": f"{kind}_{number}"}
