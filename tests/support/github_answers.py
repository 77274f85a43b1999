"""What the stand-in for GitHub answers to each request."""

import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from tests.support.github_description import Call, GithubDescription
from tests.support.github_objects import GithubObjects
from tests.support.github_state import GithubState, Pull, Received

_LONGEST_BODY = 65_536
_LONGEST_DESCRIPTION = 140
_MAX_FILES = 3_000
_NOT_FOUND = "Not Found"
_READ_ONLY = "Resource not accessible by integration"


@dataclass(frozen=True, slots=True)
class Answer:
    """Status, decoded content and headers of an answer."""

    status: int
    content: Any
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Request:
    """A request to an operation that is known."""

    state: GithubState
    api: str
    call: Call

    @property
    def route(self) -> Mapping[str, str]:
        return self.call.route

    @property
    def body(self) -> Mapping[str, Any]:
        return self.call.body or {}

    @property
    def query(self) -> dict[str, str]:
        return dict(parse_qsl(urlsplit(self.call.target).query))

    @property
    def objects(self) -> GithubObjects:
        return GithubObjects(self.api, f"{self.route['owner']}/{self.route['repo']}")

    def pull(self) -> Pull | None:
        return self.state.pull(int(self.route["pull_number"]))

    def page(self, rows: Sequence[Any], inside: str = "") -> Answer:
        """A page of rows with its Link header.

        Args:
            rows: all of them.
            inside: key of an object that holds the page beside ``total_count``; empty for a plain list.
        """
        query = self.query
        current, size = int(query.get("page", 1)), min(int(query.get("per_page", 30)), 100)
        last = max(-(-len(rows) // size), 1)
        shown = list(rows[(current - 1) * size : current * size])
        base = f"{self.api}{urlsplit(self.call.target).path}"
        links = [
            f'<{base}?{urlencode({**query, "page": number})}>; rel="{name}"'
            for name, number, there in (
                ("prev", current - 1, current > 1),
                ("next", current + 1, current < last),
                ("last", last, current < last),
            )
            if there
        ]
        headers = {"Link": ", ".join(links)} if links else {}
        return Answer(200, {"total_count": len(rows), inside: shown} if inside else shown, headers)


def _refuse(status: int, message: str) -> Answer:
    about = {"message": message, "documentation_url": "https://docs.github.com/rest", "status": str(status)}
    return Answer(status, about)


def _list_pulls(request: _Request) -> Answer:
    query, found = request.query, []
    wanted = query.get("state", "open")
    for number in request.state.numbers():
        pull = request.state.pull(number)
        if pull is None or wanted not in {"all", pull.state}:
            continue
        shown = request.objects.listed_pull(number, pull)
        # A head without an owner is ignored, as GitHub does.
        if ":" not in query.get("head", "") or shown["head"]["label"] == query["head"]:
            found.append(shown)
    return request.page(found)


def _get_pull(request: _Request) -> Answer:
    pull = request.pull()
    number = int(request.route["pull_number"])
    return _refuse(404, _NOT_FOUND) if pull is None else Answer(200, request.objects.pull(number, pull))


def _list_files(request: _Request) -> Answer:
    pull = request.pull()
    if pull is None:
        return _refuse(404, _NOT_FOUND)
    return request.page([request.objects.file(path, pull.head) for path in pull.files[:_MAX_FILES]])


def _list_comments(request: _Request) -> Answer:
    number = int(request.route["issue_number"])
    return request.page([request.objects.comment(one) for one in request.state.comments if one["number"] == number])


def _create_comment(request: _Request) -> Answer:
    body = request.body.get("body")
    if not body or _units(body) > _LONGEST_BODY:
        return _refuse(422, "Validation Failed")
    stored = request.state.add_comment(body, request.state.login, int(request.route["issue_number"]))
    return Answer(201, request.objects.comment(stored))


def _update_comment(request: _Request) -> Answer:
    body = request.body.get("body")
    if not body or _units(body) > _LONGEST_BODY:
        return _refuse(422, "Validation Failed")
    for stored in request.state.comments:
        if stored["id"] == int(request.route["comment_id"]):
            stored["body"] = body
            return Answer(200, request.objects.comment(stored))
    return _refuse(404, _NOT_FOUND)


def _create_status(request: _Request) -> Answer:
    if len(request.body.get("description") or "") > _LONGEST_DESCRIPTION:
        return _refuse(422, "Validation Failed")
    statuses = request.state.statuses
    statuses.append({"sha": request.route["sha"], **request.body})
    return Answer(201, request.objects.status(statuses[-1], len(statuses), request.state.login))


def _delete_comment(request: _Request) -> Answer:
    number = int(request.route["comment_id"])
    found = [stored for stored in request.state.comments if stored["id"] == number]
    for stored in found:
        request.state.comments.remove(stored)
    return Answer(204, b"") if found else _refuse(404, _NOT_FOUND)


def _list_artifacts(request: _Request) -> Answer:
    run, wanted = int(request.route["run_id"]), request.query.get("name")
    names = request.state.artifacts.get(run)
    kept = [one for one in request.state.kept if one.run.number == run and wanted in {None, one.name}]
    if names is None and not kept:
        return _refuse(404, _NOT_FOUND)
    rows = [request.objects.artifact(name, number) for number, name in enumerate(names or (), start=1)]
    return request.page([*rows, *map(request.objects.kept_artifact, kept)], inside="artifacts")


def _list_all_artifacts(request: _Request) -> Answer:
    wanted = request.query.get("name")
    kept = sorted(request.state.kept, key=lambda one: one.created_at, reverse=True)
    rows = [request.objects.kept_artifact(one) for one in kept if wanted in {None, one.name}]
    return request.page(rows, inside="artifacts")


def _list_runs(request: _Request) -> Answer:
    query, found = request.query, []
    for run in {one.run.number: one.run for one in request.state.kept}.values():
        status = "completed" if run.conclusion else "in_progress"
        reported = {"branch": run.branch, "event": run.event, "head_sha": run.commit}
        matches = all(query.get(name) in {None, value} for name, value in reported.items())
        if matches and query.get("status") in {None, run.conclusion, status}:
            found.append(request.objects.run(run))
    return request.page(found, inside="workflow_runs")


def _get_run(request: _Request) -> Answer:
    number = int(request.route["run_id"])
    found = next((one.run for one in request.state.kept if one.run.number == number), None)
    return _refuse(404, _NOT_FOUND) if found is None else Answer(200, request.objects.run(found))


def _download(request: _Request) -> Answer:
    number = int(request.route["artifact_id"])
    found = next((one for one in request.state.kept if one.number == number), None)
    if found is None:
        return _refuse(404, _NOT_FOUND)
    if found.expired:
        return _refuse(410, "Artifact has expired")
    # Another host, as GitHub's storage is.
    elsewhere = urlsplit(request.api)._replace(netloc=f"localhost:{urlsplit(request.api).port}")
    return Answer(
        302, None, {"Location": f"{elsewhere.scheme}://{elsewhere.netloc}{_STORAGE}{number}?sig={_SIGNATURE}"}
    )


def _compare(request: _Request) -> Answer:
    older, _, newer = request.route["basehead"].partition("...")
    common = _of_clone(request, "merge-base", older, newer)
    if not common and (older, newer) in {*request.state.ancestors, (older, older)}:
        common = older
    status = {older: "ahead", newer: "behind"}.get(common, "diverged")
    status = "identical" if older == newer else status
    return Answer(200, request.objects.comparison(older, newer, status, common or "d" * 40))


def _get_repository(request: _Request) -> Answer:
    return Answer(200, request.objects.full_repository(request.state.default_branch))


def _get_branch(request: _Request) -> Answer:
    name = request.route["branch"]
    tip = request.state.branches.get(name) or _of_clone(request, "rev-parse", "--verify", f"refs/heads/{name}")
    return Answer(200, request.objects.branch(name, tip)) if tip else _refuse(404, "Branch not found")


def _of_clone(request: _Request, *command: str) -> str:
    """What git says in the clone; empty where there is none, or it says nothing."""
    if request.state.clone is None:
        return ""
    asked = ["git", "-C", str(request.state.clone), *command]
    return subprocess.run(asked, capture_output=True, check=False, text=True).stdout.strip()


def _list_commits(request: _Request) -> Answer:
    query, clone = request.query, request.state.clone
    asked = ("--end-of-options", query["sha"], "--", *([query["path"]] if "path" in query else []))
    done = subprocess.run(
        ["git", "-C", str(clone or "/nonexistent"), "log", "--format=%H", *asked],
        capture_output=True,
        check=False,
        text=True,
    )
    if done.returncode:
        return _refuse(404, _NOT_FOUND)
    return request.page([request.objects.commit(commit) for commit in done.stdout.split()])


def kept_file(state: GithubState, request: Received) -> Answer | None:
    """A file that the API redirects to; None for a request to the API itself.

    What keeps files is no part of the API, and a token that reaches it has leaked.
    """
    path = urlsplit(request.path)
    if not path.path.startswith(_STORAGE):
        return None
    if "authorization" in request.headers:
        state.violations.append(f"{path.path}: a token was sent to the storage")
    found = [one for one in state.kept if f"{_STORAGE}{one.number}" == path.path]
    return Answer(200, found[0].content) if found and path.query == f"sig={_SIGNATURE}" else Answer(403, b"")


_STORAGE = "/storage/"
_SIGNATURE = "planted-signature"
_REPOSITORY = r"/repos/(?P<owner>[^/]+)/(?P<repo>[^/]+)"
_OPERATIONS: tuple[tuple[str, str, str, Callable[[_Request], Answer]], ...] = (
    ("GET", r"/pulls", "pulls.list", _list_pulls),
    ("GET", r"/pulls/(?P<pull_number>\d+)", "pulls.get", _get_pull),
    ("GET", r"/pulls/(?P<pull_number>\d+)/files", "pulls.list_files", _list_files),
    ("GET", r"/issues/(?P<issue_number>\d+)/comments", "issues.list_comments", _list_comments),
    ("POST", r"/issues/(?P<issue_number>\d+)/comments", "issues.create_comment", _create_comment),
    ("PATCH", r"/issues/comments/(?P<comment_id>\d+)", "issues.update_comment", _update_comment),
    ("DELETE", r"/issues/comments/(?P<comment_id>\d+)", "issues.delete_comment", _delete_comment),
    ("POST", r"/statuses/(?P<sha>[^/]+)", "repos.create_commit_status", _create_status),
    ("GET", r"/actions/runs/(?P<run_id>\d+)/artifacts", "actions.list_workflow_run_artifacts", _list_artifacts),
    ("GET", r"/actions/runs/(?P<run_id>\d+)", "actions.get_workflow_run", _get_run),
    ("GET", r"/actions/artifacts", "actions.list_artifacts_for_repo", _list_all_artifacts),
    ("GET", r"/actions/runs", "actions.list_workflow_runs_for_repo", _list_runs),
    (
        "GET",
        r"/actions/artifacts/(?P<artifact_id>\d+)/(?P<archive_format>zip)",
        "actions.download_artifact",
        _download,
    ),
    ("GET", r"/commits", "repos.list_commits", _list_commits),
    ("GET", r"", "repos.get", _get_repository),
    ("GET", r"/branches/(?P<branch>.+)", "repos.get_branch", _get_branch),
    ("GET", r"/compare/(?P<basehead>[^/]+)", "repos.compare_commits", _compare),
)


def answer(state: GithubState, description: GithubDescription, api: str, request: Received) -> Answer:
    """Answer a request, and note in the state what of it GitHub does not describe.

    Args:
        state: what is known.
        description: GitHub's own.
        api: base address of the API, as the request's sender knows it.
        request: its path is below that address.
    """
    state.violations += description.violations_of_headers(request.headers)
    for method, pattern, operation, serve in _OPERATIONS:
        found = re.fullmatch(_REPOSITORY + pattern, urlsplit(request.path).path)
        if method != request.method or found is None:
            continue
        call = Call(operation, method, request.path, found.groupdict(), request.body)
        wrong = description.violations_of_request(call)
        state.violations += wrong
        given = _given(state, request)
        if given is None:
            given = _refuse(422, "Validation Failed") if wrong else serve(_Request(state, api, call))
        if not _is_planted(state, request):
            state.violations += description.violations_of_answer(call, given.status, given.content)
        return given
    state.violations.append(f"{request.method} {request.path}: the stand-in does not know this operation")
    return _refuse(404, _NOT_FOUND)


def _is_planted(state: GithubState, request: Received) -> bool:
    """Whether the test says what is answered."""
    return request.path in state.answers or (state.failure is not None and request.method in state.failing_methods)


def _given(state: GithubState, request: Received) -> Answer | None:
    """What the test says, or the refusal of a token that only reads; None to serve the request."""
    if state.failure is not None and request.method in state.failing_methods:
        status, message = state.failure
        return Answer(status, {"message": message}, state.failure_headers)
    if request.path in state.answers:
        return Answer(200, state.answers[request.path])
    return None if state.writable or request.method == "GET" else _refuse(403, _READ_ONLY)


def _units(text: str) -> int:
    """Characters as GitHub counts them."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
