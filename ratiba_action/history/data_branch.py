"""Keeps runs on a branch of their own: an orphan that holds data alone, one commit a run, pruned by age and size.

It works in a repository of its own in a scratch folder, so that neither the configuration nor a hook of a checkout has
a part in it: code of a change has run there. Nothing of the branch is checked out.
"""

import base64
import os
import random
import re
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from hashlib import sha256
from pathlib import Path

from ratiba_action.decide.workflow_run import WorkflowRun
from ratiba_action.errors import ConfigurationError, InfrastructureError, RatibaError, UsageError
from ratiba_action.history.artifacts import TRUSTED_EVENTS
from ratiba_action.history.run_files import RunFiles, StoredRun
from ratiba_action.model.verdict import Report
from ratiba_action.reporting.results_file import MAX_BYTES
from ratiba_action.reporting.results_json import packed, results_parts
from ratiba_action.reporting.summary import summarise
from ratiba_action.util.git import bare_blobs, is_branch_name, run_bare

_SECONDS = 300
_READ_SECONDS = 60
"""Of one command of git while a run waits."""
_ATTEMPTS = 20
_LONGEST_WAIT = 2.0  # seconds
_PRUNED_TO = 0.8
"""Of the limit: each pruning makes the branch anew, which should not happen at every run."""
_FOLDER = "runs"
_RUN = re.compile(r"runs/\d{4}/(\d{8}T\d{6})Z-[0-9a-f]{16}\.json\.gz", re.ASCII)
_README = (
    b"Runs of the evaluation gate, one file each: results.json, compressed. Written by `ratiba report --to-branch`.\n"
)
_AUTHOR = "ratiba"
_OWN = "Use --to-branch after runs of the default branch."
_CONNECTION = (
    *("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "NO_PROXY", "no_proxy"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO", "SSH_AUTH_SOCK"),
)
_ADVICE = ("Please make sure you have the correct access rights", "and the repository exists.")
"""The last lines of git where it reaches no repository; the cause stands before them."""
_AGAIN = "The run is whole in results.json: run the same command again."


@dataclass(frozen=True, slots=True)
class DataBranch:
    """Where runs are kept, and how long.

    Args:
        remote: URL or path of the repository.
        branch: its name there.
        token: that may push to it over HTTPS; empty where the remote needs none.
        days: a run that is older is removed.
        megabytes: that all files may have together; the oldest are removed first.
    """

    remote: str
    branch: str
    token: str = ""
    days: int = 400
    megabytes: int = 50


@dataclass(frozen=True, slots=True)
class Appended:
    """What was done.

    Args:
        new: False where the run was there already.
        removed: how many old runs were removed.
        runs: that are there now.
    """

    file: str
    new: bool
    removed: int = 0
    runs: int = 0


def refuse_untrusted(report: Report, event: str, of: WorkflowRun | None = None) -> None:
    """Only runs of the repository's own branches are kept: anybody can open a pull request.

    Args:
        event: that started this job; empty outside a workflow.
        of: the run that this job follows, as GitHub states it; None for a job of the run itself.

    Raises:
        UsageError: the run, or this job, is one of a pull request, of a fork, or of another event that a stranger can
            cause, or the results are not those of the run that is followed.
    """
    subject = report.subject
    if subject.pull_request is not None:
        raise UsageError(
            f"The run is of pull request {subject.pull_request}, and the history has runs of branches alone.", _OWN
        )
    if of is not None and of.repository.casefold() != of.head_repository.casefold():
        raise UsageError(f"The run is of the repository {of.head_repository!r:.120}, a fork.", _OWN)
    for name in filter(None, (subject.event, event if of is None else of.event)):
        if name not in TRUSTED_EVENTS:
            raise UsageError(f"The event is {name!r:.80}, and only runs of {', '.join(TRUSTED_EVENTS)} are kept.", _OWN)
    measured = report.commit or subject.head
    if of is not None and (measured, subject.run_id) != (of.head, of.run_id):
        raise UsageError(
            f"The results are of the commit {measured!r:.80} and the workflow run {subject.run_id}, but this job "
            f"follows run {of.run_id} of {of.head!r}.",
            "Download the artifact of that run.",
        )
    if report.shard is not None:
        raise UsageError("The results are of one shard, not of a whole run.", "Give the results of: ratiba merge")


def file_of(report: Report) -> str:
    """The name of a run's file: the same run has one, and names sort by the time at which runs began."""
    subject, began = report.subject, report.started_at.astimezone(UTC)
    commit = report.commit or subject.head
    parts = (subject.repository, report.name, commit, subject.run_id, subject.run_attempt, began.isoformat())
    digest = sha256("\0".join(map(str, parts)).encode()).hexdigest()[:16]
    return f"{_FOLDER}/{began:%Y}/{began:%Y%m%dT%H%M%S}Z-{digest}.json.gz"


def append_run(
    report: Report,
    target: DataBranch,
    environment: Mapping[str, str],
    wait: Callable[[float], None] = time.sleep,
) -> Appended:
    """Add a run to the branch, which is made where it is not there; a push that meets another one is tried again.

    Args:
        report: with its secrets and identifiers masked already, and only with what may be published.
        environment: of which git is given the folders of programs, and what a connection needs: proxies and the like.
        wait: called with the seconds before another attempt.

    Raises:
        UsageError: the branch's name is none.
        InfrastructureError: git is missing, the remote cannot be reached or refuses the push; nothing was changed.
    """
    require_branch_name(target.branch)
    content, name = packed(b"".join(results_parts(summarise(report)))), file_of(report)
    with tempfile.TemporaryDirectory(prefix="ratiba-history-") as folder:
        scratch = _Scratch(Path(folder), target, environment)
        for attempt in range(_ATTEMPTS):
            done = _attempt(scratch, name, content, report)
            if done is not None:
                return done
            wait(random.uniform(0, min(_LONGEST_WAIT, 0.1 * 2**attempt)))  # noqa: S311 - spreads jobs that began together
    raise InfrastructureError(
        f"The branch {target.branch!r} could not be written: other pushes came first {_ATTEMPTS} times.", _AGAIN
    )


def _attempt(scratch: "_Scratch", name: str, content: bytes, report: Report) -> Appended | None:
    """One attempt; None where somebody else pushed in between."""
    tip = scratch.fetch()
    there = scratch.files(tip) if tip else {}
    foreign = sorted(each for each in there if each != "README" and not _RUN.fullmatch(each))
    if foreign:
        raise UsageError(
            f"The branch {scratch.target.branch!r} holds {foreign[0]!r:.120}, which is no run: it is no history.",
            "Give the name of a branch that has nothing else, or that is not there yet.",
        )
    runs = {each: found for each, found in there.items() if each != "README"}
    if name in runs:
        return Appended(name, new=False, runs=len(runs))
    blob = scratch.git("hash-object", "-w", "--stdin", given=content).strip()
    runs[name] = (blob, len(content))
    kept = prune({each: size for each, (_, size) in runs.items()}, scratch.target, newest=name)
    readme = scratch.git("hash-object", "-w", "--stdin", given=_README).strip()
    listed = "".join(f"100644 {runs[each][0]}\t{each}\n" for each in kept) + f"100644 {readme}\tREADME\n"
    removed = len(runs) - len(kept)
    # Without what was removed only as a new beginning: files of earlier commits stay in a branch.
    commit = scratch.commit(listed, "" if removed else tip, _message(report))
    return Appended(name, new=True, removed=removed, runs=len(kept)) if scratch.push(commit, tip) else None


@contextmanager
def fetched_runs(
    target: DataBranch, environment: Mapping[str, str], until: datetime | None = None
) -> Iterator[RunFiles]:
    """The runs of the branch as its repository has it, whatever a checkout says; none where there is no branch.

    Args:
        until: as it was at this moment, so that all jobs of a workflow run find the same; None for now.

    Raises:
        InfrastructureError: git is missing, or the remote cannot be reached.
    """
    with tempfile.TemporaryDirectory(prefix="ratiba-history-") as folder:
        scratch = _Scratch(Path(folder), target, environment, "read")
        tip = scratch.fetch() if until is None else scratch.fetch_until(until)
        found = scratch.files(tip) if tip else {}
        files = {
            name: StoredRun(partial(scratch.content, blob, size), f"git:{blob}")
            for name, (blob, size) in found.items()
            if _RUN.fullmatch(name)
        }
        with scratch.blobs:
            yield RunFiles(branch_source(target.branch), files, scratch.blobs.stop)


def branch_source(branch: str) -> str:
    """A branch as the source of runs, in words."""
    return f"the branch {branch!r}"


def require_branch_name(name: str) -> None:
    """Refuse what git does not take as a branch.

    Raises:
        UsageError: it is no name of a branch.
    """
    if not is_branch_name(name):
        raise UsageError(f"{name!r:.120} is no name of a branch.", "Give one such as ratiba-history.")


def prune(sizes: Mapping[str, int], target: DataBranch, newest: str) -> tuple[str, ...]:
    """The files that stay, in order of name: all of them, or fewer than the limits allow once one is passed.

    Args:
        sizes: in bytes, by name.
        newest: file of the run that is added; it always stays.
    """
    names, bound = sorted(sizes), target.megabytes * 1_000_000
    now = min(max(map(_began, names)), datetime.now(UTC))  # a wrong clock of one run makes no other one old
    oldest = now - timedelta(days=target.days)
    if sum(sizes.values()) <= bound and all(_began(name) >= oldest for name in names):
        return tuple(names)
    since = now - timedelta(days=target.days * (0.5 + _PRUNED_TO / 2))
    kept, used = {newest}, sizes[newest]
    for name in reversed(names):
        if name == newest:
            continue
        used += sizes[name]
        if used > bound * _PRUNED_TO or _began(name) < since:
            break
        kept.add(name)
    return tuple(sorted(kept))


def _began(name: str) -> datetime:
    found = _RUN.fullmatch(name)
    if found is None:
        raise ValueError(f"{name!r} is no name of a run's file")
    return datetime.strptime(found[1], "%Y%m%dT%H%M%S").replace(tzinfo=UTC)


def _message(report: Report) -> str:
    """Names nothing that a change can choose."""
    commit = re.sub(r"[^0-9a-f]", "", report.commit or report.subject.head)[:12]
    return f"Run of {report.started_at.astimezone(UTC):%Y-%m-%d %H:%M}Z{f' at {commit}' if commit else ''}"


class _Scratch:
    """A bare repository in a scratch folder, with a configuration of its own."""

    def __init__(self, folder: Path, target: DataBranch, environment: Mapping[str, str], use: str = "written") -> None:
        self.target = target
        self._use = use
        self._seconds = _READ_SECONDS if use == "read" else _SECONDS
        self._folder = folder
        self._ref = f"refs/heads/{target.branch}"
        self._environment = {
            "PATH": environment.get("PATH", os.defpath),
            "HOME": str(folder),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_ALLOW_PROTOCOL": "https:file:ssh",
            "LC_ALL": "C",
            **{f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER") for what, value in _IDENTITY.items()},
            **{name: value for name in _CONNECTION if (value := environment.get(name))},
            **_header(target.token),
        }
        self.blobs = bare_blobs(folder, self._environment)
        self.git("init", "--quiet", "--bare", str(folder))

    def git(self, *arguments: str, given: bytes = b"") -> str:
        done = run_bare(arguments, self._folder, self._environment, given, self._seconds)
        if done.returncode != 0:
            raise self._failed(arguments[0], done.stderr, done.returncode)
        return done.stdout.decode("utf-8", "surrogateescape")

    def _failed(self, what: str, complaints: bytes, code: int) -> RatibaError:
        lines = [line for line in complaints.decode("utf-8", "replace").splitlines() if line.strip()]
        telling = [line for line in lines if line not in _ADVICE]
        named = [line for line in telling if line.startswith(("remote: ", " ! "))]
        reason = " ".join(dict.fromkeys([*named, *telling[-2:]]))[:600].rstrip(".") if telling else str(code)
        remedy = "Give the job the permission 'contents: write', and the step RATIBA_GITHUB_TOKEN. " + _AGAIN
        if self._use == "read":
            remedy = "Give the job the permission 'contents: read', and the step github-token."
        return InfrastructureError(
            f"The branch {self.target.branch!r} could not be {self._use} ('git {what}'): {reason}.", remedy
        )

    def fetch_until(self, moment: datetime) -> str:
        """The commit that the branch was at; its first one where all are later, and empty where there is no branch."""
        if not self.fetch(whole=True):
            return ""
        of_branch = ("rev-list", "--first-parent", self._ref)
        then = self.git(*of_branch, "-1", f"--before={moment.isoformat()}").strip()
        # The branch was made since, or began anew: it has no runs of before but those of its first commit.
        return then or self.git(*of_branch).split()[-1]

    def fetch(self, *, whole: bool = False) -> str:
        """The commit of the branch; empty where the remote has none of that name.

        Args:
            whole: with its earlier commits.
        """
        listed = self.git("ls-remote", "--", self.target.remote, self._ref).split()
        if not listed:
            return ""
        self.git(
            "fetch",
            "--quiet",
            *([] if whole else ["--depth=1"]),
            "--no-tags",
            "--no-write-fetch-head",
            "--",
            self.target.remote,
            f"+{self._ref}:{self._ref}",
        )
        return self.git("rev-parse", "--verify", self._ref).strip()

    def files(self, commit: str) -> dict[str, tuple[str, int]]:
        """Id and size in bytes of each file, by name."""
        found = {}
        for line in filter(None, self.git("ls-tree", "-r", "-l", "-z", commit).split("\0")):
            facts, _, name = line.partition("\t")
            _, _, identifier, size = facts.split()
            found[name] = (identifier, int(size) if size.isdigit() else 0)
        return found

    def content(self, blob: str, size: int) -> bytes:
        """What a file holds.

        Raises:
            ConfigurationError: it is too large.
            InfrastructureError: git cannot read it.
        """
        if size > MAX_BYTES:
            raise ConfigurationError(f"It has {size:,} bytes; at most {MAX_BYTES:,} are read.")
        content = self.blobs.read(blob, MAX_BYTES)
        if content is None:
            raise ConfigurationError("Its content was not fetched.")
        return content

    def commit(self, listed: str, parent: str, message: str) -> str:
        """A commit of these files, in the form of ``git update-index --index-info``; no parent begins the branch."""
        (self._folder / "index").unlink(missing_ok=True)
        self.git("update-index", "--index-info", given=listed.encode())
        tree = self.git("write-tree").strip()
        return self.git("commit-tree", *(["-p", parent] if parent else []), "-m", message, tree).strip()

    def push(self, commit: str, tip: str) -> bool:
        """Whether the branch is now at the commit; False where it was no longer at ``tip``."""
        lease = f"--force-with-lease={self._ref}:{tip}"
        pushed = ("push", "--quiet", "--porcelain", lease, "--", self.target.remote, f"{commit}:{self._ref}")
        done = run_bare(pushed, self._folder, self._environment, b"", _SECONDS)
        output = (done.stdout + done.stderr).decode("utf-8", "replace")
        if done.returncode == 0:
            return True
        if any(word in output for word in _OVERTAKEN):
            return False
        raise self._failed("push", done.stderr, done.returncode)


_OVERTAKEN = ("stale info", "fetch first", "cannot lock ref", "failed to update ref", "non-fast-forward")
_IDENTITY = {"NAME": _AUTHOR, "EMAIL": f"{_AUTHOR}@localhost"}


def _header(token: str) -> dict[str, str]:
    """The token as a header of each request, in the environment: a command line can be read by others."""
    if not token:
        return {}
    basic = base64.b64encode(f"x-access-token:{token}".encode()).decode()
    return {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "http.extraHeader",
        "GIT_CONFIG_VALUE_0": f"Authorization: Basic {basic}",
    }
