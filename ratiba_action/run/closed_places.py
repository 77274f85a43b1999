"""Places of the machine that no code but the gate's own opens."""

import os
from pathlib import Path

from ratiba_action.config.configuration import Configuration
from ratiba_action.run.cache_place import cache_folder, mutants_folder, site_runs_folder, user_cache_folder
from ratiba_action.run.inputs import RunRequest
from ratiba_action.run.paid_run import EARLIER_JOURNALS, SEALED_JOURNALS, journal_folder
from ratiba_action.systems.workplace import places_of_job, private_places
from ratiba_action.util.persisted_credentials import Persisted, in_job


def closed_places(
    request: RunRequest,
    configuration: Configuration,
    persisted: Persisted,
    root: str,
    of_calls: tuple[str, ...] | None = None,
) -> tuple[str, ...]:
    """Absolute paths; see ``launch``.

    Args:
        of_calls: ``places_of_calls``, where they are known; None to find them.
        persisted: credentials that the job has left.
        root: of the checkout that the configuration's paths are relative to.
    """
    environment = request.environment
    return (
        *private_places(environment, request.settings.report_dir),
        *(places_of_calls(request) if of_calls is None else of_calls),
        *_event_places(configuration, root),
        *(places_of_job(request.decided.change.git, environment) if in_job(environment) else ()),
        *persisted.files,
    )


def places_of_calls(inputs: RunRequest) -> tuple[str, ...]:
    """Folders of write-ahead journals, judge cache, mutants and the site's runs: a system may not change them.

    Also in a run that uses none of them: what its system plants there would be another run's.
    """
    folders = [
        place(inputs.environment) for place in (journal_folder, user_cache_folder, mutants_folder, site_runs_folder)
    ]
    folders += [cache_folder(inputs.environment, inputs.repository, inputs.decided.change.git)]
    folders += [Path(path) for name in (SEALED_JOURNALS, EARLIER_JOURNALS) if (path := inputs.environment.get(name))]
    return tuple(str(folder.resolve()) for folder in folders)


def _event_places(configuration: Configuration, repository: str) -> tuple[str, ...]:
    """Folder of the events of all runs: the system knows of it, and adds nothing to it itself."""
    directory = configuration.events.directory
    return () if directory is None else (os.path.realpath(Path(repository) / directory),)
