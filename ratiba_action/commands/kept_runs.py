"""Where the commands that look at the history find its runs when there is no database: ``--from``."""

import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from ratiba_action.commands.history_branch import open_git
from ratiba_action.commands.options import checkout_of
from ratiba_action.errors import UsageError
from ratiba_action.github.clients import by_pygithub
from ratiba_action.github.github_api import GITHUB_API, GithubApi
from ratiba_action.history.github_runs import runs_on_github
from ratiba_action.history.run_files import RunFiles, find_runs
from ratiba_action.privacy.masking import Redactor
from ratiba_action.settings.settings import Settings

GITHUB = "github"
_SECONDS = 900.0
_REMOTE = re.compile(r"(?:https://github\.com/|git@github\.com:|ssh://git@github\.com/)([^/\s]+/[^/\s]+?)(?:\.git)?/?")


@contextmanager
def kept_runs(source: str, settings: Settings, environment: Mapping[str, str]) -> Iterator[RunFiles]:
    """The files of runs, to be read while the context is open.

    Args:
        source: a folder, a branch, or ``github``.
        settings: with the token for GitHub.

    Raises:
        ConfigurationError: there is neither a folder nor a branch of this name.
        GithubError: GitHub refused, or did not answer in time.
        UsageError: the repository on GitHub is not known.
    """
    root = checkout_of(environment.get("GITHUB_WORKSPACE") or ".")
    if source != GITHUB:
        yield find_runs(source, lambda: open_git(root, environment))
        return
    repository = environment.get("GITHUB_REPOSITORY") or _of_remote(root, environment)
    address = environment.get("GITHUB_API_URL") or GITHUB_API
    client = by_pygithub(GithubApi(repository, settings.github_token, address, environment, _SECONDS))
    with tempfile.TemporaryDirectory(prefix="ratiba-runs-") as folder:
        yield runs_on_github(client, repository, Path(folder), Redactor(settings.secrets))


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
