"""``ratiba report --to-branch``: adds a finished run to the branch that keeps the history without a database."""

import argparse
import json
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from ratiba_action.commands.options import checkout_of, count_option
from ratiba_action.config.configuration import SiteBlock, optional_configuration
from ratiba_action.decide.event import load_event
from ratiba_action.decide.trusted_configuration import runs_in_ci
from ratiba_action.decide.workflow_run import WorkflowRun, read_workflow_run
from ratiba_action.errors import InfrastructureError, UsageError
from ratiba_action.history.data_branch import DataBranch, append_run, refuse_untrusted
from ratiba_action.model.published import Transcripts, publishable
from ratiba_action.privacy.masking import Redactor
from ratiba_action.reporting.results_json import read_results
from ratiba_action.settings.settings import Settings
from ratiba_action.util.git import Git
from ratiba_action.util.persisted_credentials import persisted_credentials

_MAX_DAYS, _MAX_MEGABYTES = 3_650, 1_000
TRANSCRIPTS_KEPT = {
    Transcripts.NONE: "without conversations",
    Transcripts.FAILING: "with the conversations of trials that failed, masked",
    Transcripts.ALL: "with all conversations, masked",
}


def write_to_branch(
    arguments: argparse.Namespace, settings: Settings, environment: Mapping[str, str], results: Path
) -> int:
    """Add a run to the branch, masked, and with the conversations that ``site.transcripts`` names.

    Raises:
        UsageError: the run is not one of a branch, or an option is invalid.
        ConfigurationError: the results or the configuration cannot be read.
        InfrastructureError: the branch could not be pushed.
    """
    days = count_option("--keep-days", arguments.keep_days, _MAX_DAYS)
    megabytes = count_option("--keep-mb", arguments.keep_mb, _MAX_MEGABYTES)
    root = checkout_of(environment.get("GITHUB_WORKSPACE") or ".")
    git = open_git(root, environment)
    report = read_results(results)
    event = environment.get("GITHUB_EVENT_NAME", "")
    refuse_untrusted(report, event, _followed(environment) if event == "workflow_run" else None)
    transcripts = site_block(root, settings).transcripts
    secrets = (*settings.secrets, *persisted_credentials(git, environment).secrets)
    masked = publishable(Redactor(secrets).report(report), transcripts)
    remote = arguments.remote or _remote(git, environment)
    token = settings.github_token if remote.startswith("https://") else ""
    target = DataBranch(remote, arguments.to_branch, token, days, megabytes)
    done = append_run(masked, target, environment)
    if arguments.json:
        sys.stdout.write(json.dumps({"branch": target.branch, **asdict(done)}) + "\n")
    elif done.new:
        more = f" {done.removed} older were removed." if done.removed else ""
        kept = TRANSCRIPTS_KEPT[transcripts]
        sys.stdout.write(f"The run was added to {target.branch} {kept}: {done.file}. Runs there: {done.runs}.{more}\n")
    else:
        sys.stdout.write(f"The run is in {target.branch} already: {done.file}.\n")
    return 0


def _followed(environment: Mapping[str, str]) -> WorkflowRun:
    """The run that this job follows.

    Raises:
        UsageError: the event does not say.
    """
    try:
        return read_workflow_run(load_event(Path(environment.get("GITHUB_EVENT_PATH", ""))))
    except InfrastructureError as error:
        raise UsageError(error.problem, "Trigger the workflow by 'workflow_run' of type 'completed'.") from error


def site_block(root: Path, settings: Settings) -> SiteBlock:
    """The ``site`` section of the checkout's configuration; its defaults where there is none.

    Raises:
        ConfigurationError: the configuration is wrong.
    """
    found = optional_configuration(root, settings.config, required=False)
    return SiteBlock() if found is None else found.site


def open_git(root: Path, environment: Mapping[str, str]) -> Git | None:
    """The repository of a checkout; None where there is none."""
    try:
        return Git(root, environment)
    except InfrastructureError:
        return None


def _remote(git: Git | None, environment: Mapping[str, str]) -> str:
    """The repository itself in a workflow: what the checkout's configuration names, a change may have written."""
    server, repository = environment.get("GITHUB_SERVER_URL"), environment.get("GITHUB_REPOSITORY")
    if server and repository:
        return f"{server.rstrip('/')}/{repository}"
    if runs_in_ci(environment):
        raise UsageError(
            "The job does not say which repository it runs for, and the checkout's own setting may be a change's.",
            "Give --remote URL.",
        )
    found = git.setting("remote.origin.url") if git is not None else ""
    if git is None or not found:
        raise UsageError("This repository has no remote 'origin' to push the history to.", "Give --remote URL.")
    # The history is pushed from another folder: a relative path is of this one. What Git reads as an address stays one:
    # a change may have a folder of that name, whose hooks would run.
    is_path = ":" not in found.partition("/")[0]
    return str(git.root / found) if is_path else found
