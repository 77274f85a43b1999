"""Read what a run evaluates: configuration, scenarios and recordings of the head, held to what the base says."""

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from ratiba_action.checks.failure_rules import validate_rule
from ratiba_action.config.configuration import Configuration, load_configuration
from ratiba_action.config.metrics_block import attach_metrics
from ratiba_action.config.ratchet import ratchet
from ratiba_action.config.replaced_system import replaced_system
from ratiba_action.config.suite_block import StrategyBlock, unmeasured_metrics
from ratiba_action.decide.contents import Contents
from ratiba_action.decide.read import Change
from ratiba_action.errors import FileProblem, SuiteError
from ratiba_action.llm.recordings.folder import read_folder, recorded_models
from ratiba_action.llm.recordings.lines import JudgeRecording
from ratiba_action.metrics.registry import is_judged, metric_names, metric_problems, readers_of
from ratiba_action.model.scenario import Suite
from ratiba_action.run.base_side import BaseInputs, BaseSide, read_base_inputs
from ratiba_action.run.configuration_checks import Setting, located, repaired, unusable_judges
from ratiba_action.settings.settings import Settings
from ratiba_action.suite.gates import with_configured_gates
from ratiba_action.suite.load import load_suite, read_scenario_files
from ratiba_action.suite.ratchet import hold_to_base, with_assertions
from ratiba_action.suite.scenario_selection import edited_code, with_defaults
from ratiba_action.util.locked_folder import read_plain_file
from ratiba_action.util.text import did_you_mean

_BLOCKS = ("judge", "simulator", "prices", "models")
_UNREADABLE_BASE = ("the base's configuration could not be read, so the system that it tests is not known",)


@dataclass(frozen=True, slots=True)
class EvaluationInputs:
    """What a run evaluates.

    Args:
        suite: every scenario of the repository, with the metrics of its language and its system type.
        base_grades: judge answers of the base, by key; they hold where the change says otherwise.
        edited_recordings: how many recordings the change itself edits.
        notes: what the change tried to relax.
        base: what the base's conversations would be held with, or why they cannot be.
        replaced: each setting by which the change tests another system than its base.
        from_base: names of the blocks that are the base branch's where the change says otherwise.
    """

    configuration: Configuration
    suite: Suite
    base_grades: Mapping[str, JudgeRecording]
    edited_recordings: int
    notes: tuple[str, ...]
    base: BaseInputs | str = "the base was not read"
    replaced: tuple[str, ...] = ()
    from_base: tuple[str, ...] = ()


def read_inputs(settings: Settings, repository: Path, change: Change) -> EvaluationInputs:
    """Read and hold to the base.

    Raises:
        SuiteError: files are wrong; every problem of configuration and scenarios.
        InfrastructureError: a pull request whose base cannot be read.
    """
    configuration, suite = _read_head(settings, repository)
    with Contents(change.git, change.files.base, change.files.head) as contents:
        base = BaseSide(settings, change, contents)
        base.require()
        notes: tuple[str, ...] = ()
        base_configuration, own = base.configuration(), configuration
        from_base: tuple[str, ...] = ()
        replaced: tuple[str, ...] = _UNREADABLE_BASE if base.has_configuration else ()
        if base_configuration is not None:
            replaced = replaced_system(configuration.system, base_configuration.system, contents.links().leads)
            asked = configuration
            base_configuration, fixed = repaired(
                asked, base_configuration, partial(_unusable_base, settings, base, suite)
            )
            configuration, notes = ratchet(asked, base_configuration)
            notes = (*fixed, *notes)
            from_base = tuple(name for name in _BLOCKS if getattr(asked, name) != getattr(configuration, name))
            own = base_configuration
        defaults = own.suite.strategy
        suite = _complete(suite, configuration)
        base_suite, broken = base.suite()
        # How the suite is run is the base's where it has a configuration, so both sides take the same defaults.
        base_suite = _with_strategies(_complete(base_suite, own), defaults)
        if base.known:
            suite, more = hold_to_base(_with_strategies(suite, defaults), base_suite)
            notes += more
        else:
            suite = _with_strategies(suite, defaults)
        if broken:
            notes += (f"The base could not be read in {', '.join(broken)}, so the ratchet did not apply there.",)
        notes += edited_code(suite, configuration.system.root, change.files.paths)
        other = read_base_inputs(base, configuration, base_configuration, suite, base_suite)
        edited = len(base.edited_recordings())
        return EvaluationInputs(configuration, suite, base.grades(), edited, notes, other, replaced, from_base)


def _unusable_base(settings: Settings, base: BaseSide, suite: Suite, configuration: Configuration) -> str:
    """Why no run that may call models could use a configuration of the base branch; empty where one could."""
    judged, simulated = _needs(_complete(suite, configuration))
    generators: list[str] = []
    with contextlib.suppress(SuiteError):  # told where the base's scenarios are compared with
        lines = {one.id: base.recordings(one.id) for one in suite.scenarios}
        generators = [model for model, _ in recorded_models(lines)]
    found = unusable_judges(configuration, generators, judged=judged, simulated=simulated)
    if found:
        return found[0].message
    provider = configuration.judge.provider
    if judged and settings.llm != "replay" and settings.keys and provider not in settings.keys:
        return f"There is no key for the judge's provider {provider!r}."
    return ""


def _needs(suite: Suite) -> tuple[bool, bool]:
    """Whether any scenario needs a judge, and whether any needs a model that plays the customer."""
    judged = any(is_judged(entry.metric) for one in suite.scenarios for entry in one.assertions)
    return judged, any(one.simulated_user is not None for one in suite.scenarios)


def configuration_problems(
    settings: Settings, repository: Path, configuration: Configuration, suite: Suite
) -> tuple[FileProblem, ...]:
    """What the configuration says of judges, prices, limits and thresholds that no run could use, each with its line.

    Args:
        settings: say where the files are.
        repository: the checkout.
        configuration: as it was read from there.
        suite: of the same checkout.
    """
    complete = _complete(suite, configuration)
    judged, simulated = _needs(complete)
    measured = {entry.label for one in complete.scenarios for entry in one.assertions}
    found = [
        Setting(
            ("suite", "metric_thresholds", name),
            f"no scenario is measured by it; {did_you_mean(name, measured | {*metric_names()}) or 'remove it'}",
        )
        for name in unmeasured_metrics(configuration.suite.metric_thresholds, complete)
    ]
    generators: list[str] = []
    with contextlib.suppress(SuiteError):  # told where the recordings are read
        lines = read_folder(repository / settings.scenarios / "recordings", [one.id for one in suite.scenarios])
        generators = [model for model, _ in recorded_models(lines)]
    found += unusable_judges(configuration, generators, judged=judged, simulated=simulated)
    return located(settings.config, read_plain_file(repository, settings.config), found) if found else ()


def _read_head(settings: Settings, repository: Path) -> tuple[Configuration, Suite]:
    """Both at once, so that the problems of both are told together."""
    problems: list[SuiteError] = []
    configuration = suite = None
    try:
        configuration = load_configuration(repository, settings.config)
    except SuiteError as error:
        problems.append(error)
    try:
        files = read_scenario_files(repository, settings.scenarios)
        # What a truth is for cannot be told where the configuration's own metrics are not known.
        readers, added = (readers_of, configuration.metrics.names) if configuration is not None else (None, {})
        suite = load_suite(files, metric_problems, validate_rule, readers, added)
    except SuiteError as error:
        problems.append(error)
    if configuration is not None and suite is not None:
        wrong = configuration_problems(settings, repository, configuration, suite)
        problems += [SuiteError(wrong)] if wrong else []
    if configuration is None or suite is None or problems:
        raise SuiteError([problem for error in problems for problem in error.problems])
    return configuration, suite


def _complete(suite: Suite, configuration: Configuration) -> Suite:
    """The suite with the metrics and gates that it does not list, on both sides, so that they are held too."""
    measured = with_assertions(suite, lambda scenario: attach_metrics(scenario, configuration.metrics))
    return with_configured_gates(measured, configuration.suite.gates)


def _with_strategies(suite: Suite, defaults: StrategyBlock) -> Suite:
    return replace(suite, scenarios=tuple(with_defaults(one, defaults.strategy) for one in suite.scenarios))
