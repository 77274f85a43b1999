"""Where the scores of judges lie between runs."""

import tempfile
from collections.abc import Mapping
from pathlib import Path

from ratiba_action.errors import ConfigurationError, InfrastructureError
from ratiba_action.settings.gitlab import gitlab_job
from ratiba_action.settings.settings import CACHE_FOLDER
from ratiba_action.util.git import Git, find_checkout
from ratiba_action.util.persisted_credentials import in_job

_NAME = ".deepeval-cache"


def cache_folder(environment: Mapping[str, str], repository: Path, git: Git | None = None) -> Path:
    """The folder of the judges' scores.

    It is the one of ``RATIBA_CACHE_DIR``; in CI the user's, where no change can write; else ``.deepeval-cache`` at the
    project's root, unless git tracks something of that name: a branch could bring scores along.

    Args:
        repository: the checkout.
        git: its repository, where it is open; None to open it where that is needed.

    Raises:
        ConfigurationError: ``RATIBA_CACHE_DIR`` is relative, or in CI inside the checkout.
    """
    root = find_checkout(repository) or repository.resolve()
    automatic = in_job(environment) or gitlab_job(environment) is not None or _is_true(environment.get("CI", ""))
    given = environment.get(CACHE_FOLDER, "")
    if given:
        return _given(given, root, automatic=automatic)
    return user_cache_folder(environment) if automatic or _is_tracked(root, environment, git) else root / _NAME


def user_cache_folder(environment: Mapping[str, str]) -> Path:
    """Scores of judges outside the checkout (XDG Base Directory Specification)."""
    home = environment.get("HOME") or tempfile.gettempdir()
    return Path(environment.get("XDG_CACHE_HOME") or Path(home) / ".cache") / "ratiba" / "deepeval-cache"


def mutants_folder(environment: Mapping[str, str]) -> Path:
    """Results of mutants between runs, beside the user's scores of judges."""
    return user_cache_folder(environment).with_name("mutants")


def site_runs_folder(environment: Mapping[str, str]) -> Path:
    """What runs became when a site was made of them, beside the user's scores of judges."""
    return user_cache_folder(environment).with_name("site-runs")


def _given(text: str, root: Path, *, automatic: bool) -> Path:
    folder = Path(text)
    if not folder.is_absolute():
        raise ConfigurationError(f"{CACHE_FOLDER} is {text!r:.200}, a relative path.", "Give an absolute path.")
    if automatic and folder.resolve().is_relative_to(root):
        raise ConfigurationError(
            f"{CACHE_FOLDER} is {text!r:.200}, inside the checkout, where a change could write scores.",
            "In CI, give a folder outside the checkout, or unset the variable.",
        )
    return folder


def _is_true(text: str) -> bool:
    return text.strip().lower() not in ("", "0", "false")


def _is_tracked(root: Path, environment: Mapping[str, str], git: Git | None) -> bool:
    """Whether git tracks the folder, or might: some file systems take its name in any case."""
    if find_checkout(root) is None:
        return False
    try:
        opened = git if git is not None and git.root == root else Git(root, environment)
        return any(path.partition("/")[0].lower() == _NAME for path in opened.index())
    except InfrastructureError:
        return True
