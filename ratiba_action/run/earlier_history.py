"""Which history of earlier runs a run may believe: the ledger's, else the branch that the base's configuration names.

A change chooses neither. In CI the branch is fetched from the repository itself: a branch, a folder or a setting of the
checkout may have been written by code of the change.
"""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from ratiba_action.config.configuration import Configuration
from ratiba_action.decide.trusted_configuration import runs_in_ci
from ratiba_action.errors import InfrastructureError
from ratiba_action.run.earlier_runs import workflow_started
from ratiba_action.run.inputs import RunRequest
from ratiba_action.util.git import Git
from ratiba_action.util.text import plural

if TYPE_CHECKING:
    from ratiba_action.history.run_files import RunFiles
    from ratiba_action.history.run_history import RunHistory

_SECONDS = 10.0
MAX_RUNS = 500
"""Files that are read from a branch, the latest ones."""


def history_of(run: RunRequest, configuration: Configuration) -> "RunHistory | None":
    """The history that a run looks at; None where there is none. Nothing is read before it is asked.

    Where nobody has merged the configuration there is none: the branch that it names is the change's choice.

    Args:
        configuration: after the ratchet, so that its history is the base's.
    """
    settings, branch = run.settings, configuration.history.branch
    if settings.ledger_url:
        from ratiba_action.history.store import MetricsHistory

        return MetricsHistory(settings.ledger_url, _SECONDS)
    if branch is None or settings.why_withheld:
        return None
    from ratiba_action.history.data_branch import branch_source  # the configuration names a branch
    from ratiba_action.history.run_history import KeptRunHistory

    until = workflow_started(run) if settings.shard is not None or run.shard_reports else None
    files = partial(_files, branch, run.decided.change.git, settings.github_token, run.environment, until)
    return KeptRunHistory(branch_source(branch), files, maximum=MAX_RUNS, of_branches=True)


def _files(
    branch: str, git: Git | None, token: str, environment: Mapping[str, str], until: datetime | None
) -> "AbstractContextManager[RunFiles]":
    from ratiba_action.history.data_branch import DataBranch, fetched_runs

    server, repository = environment.get("GITHUB_SERVER_URL"), environment.get("GITHUB_REPOSITORY")
    if server and repository:
        remote = f"{server.rstrip('/')}/{repository}"
        return fetched_runs(
            DataBranch(remote, branch, token if remote.startswith("https://") else ""), environment, until
        )
    if runs_in_ci(environment):
        raise InfrastructureError(
            f"The job does not say which repository has the branch {branch!r}; the checkout's may be a change's.",
            "Set GITHUB_SERVER_URL and GITHUB_REPOSITORY.",
        )
    return _of_checkout(branch, git)


@contextmanager
def _of_checkout(branch: str, git: Git | None) -> "Iterator[RunFiles]":
    """On a laptop, where whoever runs the gate has fetched what it reads."""
    from ratiba_action.history.run_files import runs_of_branch

    yield runs_of_branch(branch, git)


def begin_history(history: "RunHistory | None") -> None:
    """Read the files of a history without a database while the run goes on; a database has nothing to be read."""
    if history is None:
        return
    from ratiba_action.history.run_history import KeptRunHistory

    if isinstance(history, KeptRunHistory):
        history.begin()


def notes_of_history(history: "RunHistory | None") -> tuple[str, ...]:
    """What is said of a history without a database that the run has looked at."""
    if history is None:
        return ()
    from ratiba_action.history.run_history import KeptRunHistory

    if not isinstance(history, KeptRunHistory) or not history.was_read:
        return ()
    broken = f" {plural(len(history.broken), 'file')} there could not be read." if history.broken else ""
    read = plural(history.count, "run")
    since = (
        "" if history.since is None else f" Only the latest {MAX_RUNS} files were read, back to {history.since.date()}."
    )
    others = ""
    if history.uncounted:
        do, they = ("does", "it is") if history.uncounted == 1 else ("do", "they are")
        others = (
            f" {plural(history.uncounted, 'other run')} there {do} not count: {they} of a pull request, or no workflow "
            "of the repository's own branches made the run."
        )
    return (
        f"Earlier runs were read from {history.source} ({read}), without a ledger's database.{since}{others}{broken}",
    )
