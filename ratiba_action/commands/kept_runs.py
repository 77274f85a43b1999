"""Where the commands that look at the history find its runs when there is no database: ``--from``."""

import re
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from ratiba_action.commands.history_branch import open_git
from ratiba_action.commands.options import checkout_of
from ratiba_action.config.configuration import optional_configuration
from ratiba_action.errors import ConfigurationError, UsageError
from ratiba_action.github.clients import by_pygithub
from ratiba_action.github.github_api import GITHUB_API, GithubApi
from ratiba_action.history.data_branch import branch_source
from ratiba_action.history.github_runs import runs_on_github
from ratiba_action.history.run_files import HISTORY_BRANCH, RunFiles, find_runs, runs_of_branch
from ratiba_action.history.run_history import KeptRunHistory, RunHistory
from ratiba_action.privacy.masking import Redactor
from ratiba_action.settings.settings import Settings
from ratiba_action.util.text import printable

GITHUB = "github"
_SECONDS = 900.0
_REMOTE = re.compile(r"(?:https://github\.com/|git@github\.com:|ssh://git@github\.com/)([^/\s]+/[^/\s]+?)(?:\.git)?/?")


@contextmanager
def kept_runs(source: str | None, settings: Settings, environment: Mapping[str, str]) -> Iterator[RunFiles]:
    """The files of runs, to be read while the context is open.

    Args:
        source: a folder, a branch, or ``github``; None for the branch that the configuration names or else the usual
            one, and never for a folder of that name, which a change may have brought.
        settings: with the token for GitHub.

    Raises:
        ConfigurationError: there is neither a folder nor a branch of this name, or the configuration is wrong.
        GithubError: GitHub refused, or did not answer in time.
        UsageError: the repository on GitHub is not known.
    """
    root = checkout_of(environment.get("GITHUB_WORKSPACE") or ".")
    if source is None:
        yield _of_own_branch(_configured(root, settings) or HISTORY_BRANCH, root, environment)
        return
    if source != GITHUB:
        yield find_runs(source, lambda: open_git(root, environment))
        return
    repository = environment.get("GITHUB_REPOSITORY") or _of_remote(root, environment)
    address = environment.get("GITHUB_API_URL") or GITHUB_API
    client = by_pygithub(GithubApi(repository, settings.github_token, address, environment, _SECONDS))
    with tempfile.TemporaryDirectory(prefix="ratiba-runs-") as folder:
        yield runs_on_github(client, repository, Path(folder), Redactor(settings.secrets))


def history_of(source: str | None, settings: Settings, environment: Mapping[str, str]) -> KeptRunHistory | None:
    """Kept runs to ask about; None where the ledger's database is meant.

    Without a source and without a ledger it is the branch that the checkout's configuration names.

    Raises:
        ConfigurationError: the source is neither a folder nor a branch, or the configuration is wrong.
    """
    root = checkout_of(environment.get("GITHUB_WORKSPACE") or ".")
    if source not in {None, GITHUB}:
        find_runs(source, lambda: open_git(root, environment))  # a mistyped name is no history that failed
    named = source
    if source is None and not settings.ledger_url:
        branch = _configured(root, settings)
        named = None if branch is None else branch_source(branch)
    if named is None:
        return None
    return KeptRunHistory(named, partial(kept_runs, source, settings, environment))


def _of_own_branch(branch: str, root: Path, environment: Mapping[str, str]) -> RunFiles:
    try:
        return runs_of_branch(branch, open_git(root, environment))
    except ConfigurationError as error:
        raise ConfigurationError(
            error.problem,
            f"Give a folder of results.json files with --from, or fetch the branch: git fetch origin {branch}:{branch}",
        ) from error


def _configured(root: Path, settings: Settings) -> str | None:
    """The branch of runs that the checkout's configuration names."""
    configuration = optional_configuration(root, settings.config, required=False)
    return None if configuration is None else configuration.history.branch


def say_source(history: RunHistory) -> None:
    """Print on standard error which history was used, and each of its files that could not be read."""
    sys.stderr.write(printable(f"ratiba: runs of {history.source}") + "\n")
    for file in history.broken if isinstance(history, KeptRunHistory) else ():
        sys.stderr.write(printable(f"ratiba: {file.name} could not be read: {file.problem}") + "\n")


def _of_remote(root: Path, environment: Mapping[str, str]) -> str:
    git = open_git(root, environment)
    found = _REMOTE.fullmatch(git.setting("remote.origin.url") if git is not None else "")
    if found is None:
        raise UsageError(
            "The repository on GitHub is not known: GITHUB_REPOSITORY is empty, and this checkout has no remote "
            "'origin' on github.com.",
            "Set GITHUB_REPOSITORY=owner/name.",
        )
    return found[1]
