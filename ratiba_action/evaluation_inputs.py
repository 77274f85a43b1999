"""Read what a run evaluates: configuration, scenarios and recordings of the head, held to what the base says."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from ratiba_action.changes.contents import Contents
from ratiba_action.changes.read import Change
from ratiba_action.configuration import Configuration, hold_configuration, read_configuration
from ratiba_action.core.checks import validate_rule
from ratiba_action.core.language_metrics import attach_language_metrics
from ratiba_action.core.model.scenario import Suite
from ratiba_action.core.strictness import hold_to_base, with_assertions
from ratiba_action.errors import ConfigurationError, InfrastructureError, SuiteError
from ratiba_action.metrics.registry import metric_names
from ratiba_action.settings import Settings
from ratiba_action.suite.load import is_scenario_file, load_suite, read_scenario_files


@dataclass(frozen=True, slots=True)
class EvaluationInputs:
    """What a run evaluates.

    Args:
        suite: every scenario of the repository, with its language's metric attached.
        notes: what the change tried to relax, and what a reader must know of the recordings.
    """

    configuration: Configuration
    suite: Suite
    notes: tuple[str, ...]


def read_inputs(settings: Settings, repository: Path, change: Change) -> EvaluationInputs:
    """Read and hold to the base.

    Raises:
        SuiteError: files are wrong; every problem of configuration and scenarios.
    """
    configuration, suite = _read_head(settings, repository)
    configuration, suite, notes = _hold(settings, change, configuration, suite)
    return EvaluationInputs(configuration, suite, notes + _recording_notes(settings, change))


def _hold(
    settings: Settings, change: Change, configuration: Configuration, suite: Suite
) -> tuple[Configuration, Suite, tuple[str, ...]]:
    """Both, held to the base where it has them; a base that cannot be read is said."""
    notes: tuple[str, ...] = ()
    with Contents(change.git, change.files.base, change.files.head) as contents:
        try:
            base_configuration = _base_configuration(settings, contents)
            if base_configuration is not None:
                configuration, notes = hold_configuration(configuration, base_configuration)
            base_suite = _base_suite(settings, change, contents)
            if base_suite is not None:
                suite, more = hold_to_base(suite, base_suite)
                notes += more
        except (InfrastructureError, SuiteError) as error:
            first = str(error).splitlines()[0]
            notes += (f"This change could not be held to what its base says: {first}",)
    return configuration, suite, notes


def _read_head(settings: Settings, repository: Path) -> tuple[Configuration, Suite]:
    """Both at once, so that the problems of both are told together."""
    problems: list[SuiteError] = []
    configuration = suite = None
    try:
        configuration = read_configuration(settings.config, _content(repository, settings.config))
    except SuiteError as error:
        problems.append(error)
    try:
        files = read_scenario_files(repository, settings.scenarios)
        suite = _load(files)
    except SuiteError as error:
        problems.append(error)
    if configuration is None or suite is None:
        raise SuiteError([problem for error in problems for problem in error.problems])
    return configuration, suite


def _content(repository: Path, name: str) -> bytes:
    try:
        return (repository / name).read_bytes()
    except OSError as error:
        raise ConfigurationError(
            f"The configuration {name!r} cannot be read: {error.strerror}.",
            "Write it, or name another with --config; docs/configuration.md shows one.",
        ) from error


def _base_configuration(settings: Settings, contents: Contents) -> Configuration | None:
    content = contents.read("base", settings.config)
    return read_configuration(settings.config, content) if content is not None else None


def _base_suite(settings: Settings, change: Change, contents: Contents) -> Suite | None:
    if change.git is None or change.files.base is None:
        return None
    listed = change.git.run("ls-tree", "-r", "-z", "--name-only", change.files.base, "--", f"{settings.scenarios}/")
    names = [name for name in listed.split("\0") if is_scenario_file(name, settings.scenarios)]
    files = {name: contents.read("base", name) or b"" for name in names}
    return _load(files) if files else None


def _load(files: Mapping[str, bytes]) -> Suite:
    """Scenarios with the metric of their language, on both sides, so that its threshold is held like any other."""
    return with_assertions(load_suite(files, metric_names(), validate_rule), attach_language_metrics)


def _recording_notes(settings: Settings, change: Change) -> tuple[str, ...]:
    folder = PurePosixPath(settings.scenarios) / "recordings"
    changed = [path for path in change.files.paths if PurePosixPath(path).is_relative_to(folder)]
    if not changed:
        return ()
    note = f"This change edits {len(changed)} of the recordings that it is judged by: the answers are its author's."
    return (note,)
