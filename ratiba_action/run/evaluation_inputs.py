"""Read what a run evaluates: configuration, scenarios and recordings of the head, held to what the base says."""

import contextlib
import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import fields, replace
from functools import partial
from pathlib import Path

from ratiba_action.config.configuration import Configuration, load_configuration
from ratiba_action.config.metrics_block import attach_metrics
from ratiba_action.config.ratchet import ratchet
from ratiba_action.config.renamed_keys import notes_of_former_keys
from ratiba_action.config.suite_block import unmeasured_metrics
from ratiba_action.decide.contents import Contents
from ratiba_action.errors import ConfigurationError, FileProblem, SuiteError, UsageError
from ratiba_action.llm.recordings.folder import read_folder, recorded_models, recording_path
from ratiba_action.llm.recordings.lines import JudgeRecording, ModelRecording
from ratiba_action.llm.recordings.reader import read_recordings
from ratiba_action.metrics.registry import (
    is_judged,
    metric_names,
    metric_problems,
    readers_of,
    recorded_as,
    recorded_names,
)
from ratiba_action.model.answer_origin import Llm
from ratiba_action.model.plan import Selection
from ratiba_action.model.scenario import Scenario, Suite
from ratiba_action.run.authority import authorized, records_as_person
from ratiba_action.run.base_commit import BaseCommit, read_base_inputs
from ratiba_action.run.configuration_checks import (
    Setting,
    located,
    repaired,
    unknown_variants,
    unusable_judges,
)
from ratiba_action.run.earlier_history import history_of
from ratiba_action.run.edited_scenarios import edited_scenarios, run_alike
from ratiba_action.run.inputs import Choice, RunInputs, RunRequest, needs_judge
from ratiba_action.run.judging_base import judging_code
from ratiba_action.run.provider_keys import keys_of
from ratiba_action.run.replaced_system import replaced_system
from ratiba_action.run.self_reported import critical_problems
from ratiba_action.settings.input_values import parse_folder
from ratiba_action.settings.settings import SCENARIOS, Settings
from ratiba_action.suite.load import (
    files_digest,
    is_scenario_file,
    load_suite,
    read_scenario_files,
    require_scenario_folder,
)
from ratiba_action.suite.ratchet import ratchet_suite
from ratiba_action.suite.scenario_selection import select, with_defaults, with_min_trials
from ratiba_action.suite.team_tests import FoundTests, files_of_checkout, find_tests, has_tests, with_tests
from ratiba_action.suite.thresholds import with_configured_thresholds
from ratiba_action.util.locked_folder import is_folder, read_plain_file
from ratiba_action.util.text import did_you_mean
from ratiba_action.verdict.pairing import ContentDigests

_SHOWN = 20
"""Most names that a message lists."""
_BLOCKS = ("judge", "simulator", "providers", "prices", "models")
_UNREADABLE_BASE = ("the base's configuration could not be read, so the system that it tests is not known",)


def read_inputs(request: RunRequest) -> RunInputs:
    """Read what is evaluated, apply the ratchet to it, and select what runs.

    Raises:
        SuiteError: files are wrong; every problem of configuration and scenarios.
        ConfigurationError: what a person asked for does not exist.
        InfrastructureError: a pull request whose base cannot be read.
    """
    inputs = _of_variant(_with_ratchet(authorized(request)))
    _require_root(inputs.repository, inputs.configuration.system.root)
    if inputs.choice.affected:
        inputs = replace(inputs, choice=_affected(inputs))
    if inputs.choice:
        chosen = tuple(scenario for scenario in inputs.suite.scenarios if inputs.choice.admits(scenario))
        _refuse_unknown(inputs.choice, inputs.suite)
        ids = {scenario.id for scenario in chosen}
        left_out = tuple(scenario.id for scenario in inputs.suite.scenarios if scenario.id not in ids)
        selection = Selection(inputs.decided.decision, chosen, left_out)
    else:
        decided = inputs.decided
        selection = select(decided.decision, inputs.suite, decided.change.files, _is_free(inputs), decided.observed.of)
    scenarios = tuple(with_min_trials(scenario, inputs.trials) for scenario in selection.scenarios)
    return replace(inputs, selection=replace(selection, scenarios=scenarios))


def _affected(inputs: RunInputs) -> Choice:
    """Those of the scenarios that were asked for whose outcome the change may alter."""
    from ratiba_action.suite.affected import affected

    decided, change = inputs.decided, inputs.decided.change
    git, base = change.git, change.files.base
    known = git.tree(base) if git is not None and base is not None else {}
    found = affected(
        decided.decision,
        inputs.suite,
        change.files,
        inputs.settings.scenarios,
        seen=decided.observed.of,
        new=[path for path in change.files.paths if path not in known],
    )
    chosen = replace(inputs.choice, affected=False)
    names = tuple(scenario.id for scenario in found if chosen.admits(scenario))
    if not names:
        raise UsageError("No scenario depends on what changed.", "Run the gate without --affected.")
    return Choice(names)


def _with_ratchet(request: RunRequest) -> RunInputs:
    """What the checkout says, each part as strict as the base's."""
    settings, change = request.settings, request.decided.change
    configuration, suite, files = _read_head(settings, request.repository)
    head_tests, digests = frozenset(configuration.tests), ContentDigests()
    decided, files_of = request.decided, change.files
    with Contents(change.git, files_of.base, files_of.head, decided.links, decided.read) as contents:
        base = BaseCommit(settings, change, contents)
        base.require()
        notes: tuple[str, ...] = ()
        base_configuration, own = base.configuration(), configuration
        from_base: tuple[str, ...] = ()
        replaced: tuple[str, ...] = _UNREADABLE_BASE if base.has_configuration else ()
        if base_configuration is not None and records_as_person(settings, change):
            own_blocks = {name: getattr(configuration, name) for name in _BLOCKS}
            base_configuration = base_configuration.model_copy(update=own_blocks)
        if base_configuration is not None:
            replaced = replaced_system(configuration.system, base_configuration.system, contents.links().leads)
            own_configuration = configuration
            base_configuration, fixed = repaired(
                own_configuration, base_configuration, partial(_unusable_base, settings, base, suite)
            )
            configuration, notes = ratchet(own_configuration, base_configuration)
            notes = (*fixed, *notes)
            from_base = tuple(
                name for name in _BLOCKS if getattr(own_configuration, name) != getattr(configuration, name)
            )
            own = base_configuration
        defaults, measured = own.suite.defaults, _with_metrics(configuration)
        loaded, suite = suite, _with_tests(suite, configuration, head_tests, request)
        base_suite, unusable = base.suite(loaded, files, base_configuration)
        # How the suite is run is the base's where it has a configuration, so both sides take the same defaults.
        strategies = _EachOnce(lambda scenario: with_defaults(scenario, defaults))
        suite = strategies.of(_complete(suite, configuration, measured))
        # As they are written: Python takes true, 1 and 1.0 for equal, a metric need not.
        measured = measured if repr(own.metrics) == repr(configuration.metrics) else _with_metrics(own)
        base_suite = strategies.of(_complete(base_suite, own, measured))
        more: tuple[str, ...] = ()
        if base.known:
            suite, more = ratchet_suite(suite, base_suite)
        if unusable:
            more += (f"The base could not be read in {', '.join(unusable)}, so the ratchet did not apply there.",)
        more += (settings.why_withheld,) if settings.withheld else ()
        more += notes_of_former_keys({settings.config: read_plain_file(request.repository, settings.config), **files})
        theirs = base_configuration.system if base_configuration is not None else None
        judging = judging_code(base, theirs, configuration.system, suite, base_suite)
        alike = run_alike(suite, base_suite, digests)
        systems = (configuration.system, theirs or configuration.system)
        if problems := critical_problems(suite, judging):
            raise SuiteError(problems)
        return RunInputs(
            **{field.name: getattr(request, field.name) for field in fields(RunRequest)},
            configuration=configuration,
            suite=suite,
            selection=Selection(request.decided.decision, suite.scenarios),
            base_scores=base.grades(),
            edited_recordings=len(base.edited_recordings()),
            notes=(*notes, *more, *judging.notes),
            judging=judging,
            base=read_base_inputs(base, configuration, base_configuration, alike),
            edited=edited_scenarios(request.decided, settings, alike, base_suite, systems),
            digests=digests,
            replaced=replaced,
            unratcheted=unusable,
            from_base=from_base,
            history=history_of(request, configuration),
        )


def _is_free(inputs: RunInputs) -> Callable[[Scenario], bool]:
    """Whether a scenario can run without calling any model, by the files of this checkout."""
    system = inputs.configuration.system
    needs_live = inputs.llm not in {Llm.REPLAY, Llm.AUTO}

    def is_free(scenario: Scenario) -> bool:
        if needs_live or system.price_per_turn_usd:
            return False
        try:
            lines = read_recordings(recording_path(inputs.recordings, scenario.id))
        except SuiteError:
            return False
        if scenario.test is not None:
            return bool(lines)
        silent = system.replay is not None or system.price_per_turn_usd is not None or scenario.script is not None
        trials = {line.trial for line in lines if isinstance(line, ModelRecording)}
        scores = (line for line in lines if isinstance(line, JudgeRecording))
        scored = recorded_names(line.metric for line in scores if line.model == inputs.configuration.judge.model)
        judged = {
            recorded_as(entry.metric, entry.parameters)
            for entry in scenario.assertions
            if is_judged(entry.metric, entry.parameters)
        }
        return (silent or trials >= set(range(scenario.strategy.trials))) and judged <= scored

    return is_free


def _of_variant(inputs: RunInputs) -> RunInputs:
    """What is evaluated, with the system's variant instead of it."""
    name = inputs.variant
    if not name:
        return inputs
    _require_variant(inputs.configuration, name)
    system = inputs.configuration.system
    note = f"This run is of the variant {name}: {', '.join(system.variants[name].differences)}."
    own = [scenario.id for scenario in inputs.suite.scenarios if scenario.variant]
    if own:
        raise UsageError(
            f"The scenario {own[0]!r} runs with a variant of its own, so no run is of another one.",
            "Remove --variant or --variants; ratiba gate runs each scenario with its variant.",
        )
    configuration = inputs.configuration.model_copy(update={"system": system.as_variant(name)})
    return replace(inputs, configuration=configuration, notes=(*inputs.notes, note))


def _require_variant(configuration: Configuration, name: str) -> None:
    variants = configuration.system.variants
    if name not in variants:
        raise UsageError(f"There is no variant {name!r} of the system.", _proposal("variant", name, variants))


def require_asked(request: RunRequest) -> None:
    """Refuse what somebody asked for by name where nothing is read, since nothing has changed.

    Raises:
        ConfigurationError: there is no configuration, or it is invalid.
        UsageError: the system has no such variant.
        SuiteError: there is no such folder of scenarios.
    """
    configuration = load_configuration(request.repository, request.settings.config)
    if request.variant:
        _require_variant(configuration, request.variant)
    if request.settings.scenarios != SCENARIOS:  # else there may be none, as with tests of other tools
        require_scenario_folder(request.repository, request.settings.scenarios)


def _require_root(repository: Path, root: str) -> None:
    """The system lies in the repository, also when links are followed."""
    # Not Path.resolve: it raises RuntimeError where links lead in a circle.
    found, top = Path(os.path.realpath(repository / root)), repository.resolve()
    if not found.is_dir() or not found.is_relative_to(top) or ".git" in found.relative_to(top).parts:
        raise ConfigurationError(
            f"system.root is {root!r}, which is not a folder inside the repository.", "Name the system's folder."
        )


def _refuse_unknown(choice: Choice, suite: Suite) -> None:
    known = {name for scenario in suite.scenarios for name in _names_of(scenario)} - {""}
    tags = {tag for scenario in suite.scenarios for tag in scenario.tags}
    unknown = [("scenario", name, known) for name in choice.scenarios if name not in known]
    unknown += [("tag", name, tags) for name in choice.tags if name not in tags]
    if unknown:
        message = f"There is no {', no '.join(f'{kind} {name!r}' for kind, name, _ in unknown)}."
        raise UsageError(message, " ".join(_proposal(*problem) for problem in unknown))


def _names_of(scenario: Scenario) -> tuple[str, ...]:
    return scenario.id, scenario.data_set, scenario.test.node if scenario.test is not None else ""


def _proposal(kind: str, name: str, known: Collection[str]) -> str:
    """The names that may be meant, or the first of those that there are."""
    near = did_you_mean(name, known)
    if near:
        return f"{near[0].upper()}{near[1:]}"
    shown = ", ".join(sorted(known)[:_SHOWN]) or "none"
    return f"The {kind}s are: {shown}{', …' if len(known) > _SHOWN else ''}."


def _unusable_base(settings: Settings, base: BaseCommit, suite: Suite, configuration: Configuration) -> str:
    """Why no run that may call models could use a configuration of the base branch; empty where one could."""
    judged, simulated = _needs(_complete(suite, configuration))
    generators: list[str] = []
    with contextlib.suppress(SuiteError):  # reported where the base's scenarios are compared with
        lines = {scenario.id: base.recordings(scenario.id) for scenario in suite.scenarios}
        generators = [model for model, _ in recorded_models(lines)]
    found = unusable_judges(configuration, generators, judged=judged, simulated=simulated, base_urls=settings.base_urls)
    if found:
        return found[0].message
    provider = configuration.judge.provider
    keys = keys_of(settings, configuration)
    if judged and settings.llm != Llm.REPLAY and keys and provider not in keys:
        return f"There is no key for the judge's provider {provider!r}."
    return ""


def _needs(suite: Suite) -> tuple[bool, bool]:
    """Whether any scenario needs a judge, and whether any needs a model that plays the customer."""
    judged = any(map(needs_judge, suite.scenarios))
    return judged, any(scenario.simulated_user is not None for scenario in suite.scenarios)


def configuration_problems(
    settings: Settings, repository: Path, configuration: Configuration, suite: Suite
) -> tuple[FileProblem, ...]:
    """What no run could use of judges, prices, limits, thresholds and scenarios' variants, with their lines."""
    complete = _complete(suite, configuration)
    judged, simulated = _needs(complete)
    measured = {entry.label for scenario in complete.scenarios for entry in scenario.assertions}
    found = [
        Setting(
            ("suite", "metric_thresholds", name),
            f"no scenario is measured by it; {did_you_mean(name, measured | {*metric_names()}) or 'remove it'}",
        )
        for name in unmeasured_metrics(configuration.suite.metric_thresholds, complete)
    ]
    listed = (entry for scenario in complete.scenarios for entry in scenario.assertions)
    scored = {entry.label for entry in listed if is_judged(entry.metric, entry.parameters)}
    found += [
        Setting(("suite", "strategy", "metrics"), f"{name!r:.80} is no judged metric of any scenario; remove it")
        for name in configuration.suite.strategy.metrics
        if name not in scored
    ]
    generators: list[str] = []
    with contextlib.suppress(SuiteError):  # reported where the recordings are read
        lines = read_folder(
            repository / settings.scenarios / "recordings", [scenario.id for scenario in suite.scenarios]
        )
        generators = [model for model, _ in recorded_models(lines)]
    named = {scenario.variant for scenario in suite.scenarios if scenario.variant}
    generators += [model for model, _ in configuration.variant_models(named)]
    found += unusable_judges(
        configuration, generators, judged=judged, simulated=simulated, base_urls=settings.base_urls
    )
    unknown = unknown_variants(configuration, suite)
    return (*unknown, *(located(settings.config, read_plain_file(repository, settings.config), found) if found else ()))


def _read_head(settings: Settings, repository: Path) -> tuple[Configuration, Suite, Mapping[str, bytes]]:
    """Both at once, so that the problems of both are reported together."""
    problems: list[SuiteError] = []
    configuration = suite = None
    files: Mapping[str, bytes] = {}
    try:
        configuration = load_configuration(repository, settings.config)
    except SuiteError as error:
        problems.append(error)
    try:
        files, suite = read_suite(repository, settings, configuration)
    except SuiteError as error:
        problems.append(error)
    if configuration is not None:
        found = tests_of(configuration, repository, settings.config)
        problems += [SuiteError(found.problems)] if found.problems else []
    if configuration is not None and suite is not None:
        wrong = configuration_problems(settings, repository, configuration, suite)
        problems += [SuiteError(wrong)] if wrong else []
    if configuration is None or suite is None or problems:
        raise SuiteError([problem for error in problems for problem in error.problems])
    return configuration, suite, files


def read_suite(
    repository: Path, settings: Settings, configuration: Configuration | None
) -> tuple[Mapping[str, bytes], Suite]:
    """The scenario files of a checkout and their scenarios; none are needed where the configuration names tests.

    Raises:
        SuiteError: files are wrong; every problem.
    """
    from ratiba_action.checks.failure_rules import validate_rule

    tests = configuration is not None and bool(configuration.tests)
    there = not tests or is_folder(repository / settings.scenarios)
    files = read_scenario_files(repository, settings.scenarios) if there else {}
    if tests and not any(is_scenario_file(name, settings.scenarios) for name in files):
        return files, Suite((), files_digest({}))
    # What a truth is for cannot be known where the configuration's own metrics are not known.
    if configuration is None:
        # The zone of scenarios that name none stands in the configuration too.
        return files, load_suite(files, metric_problems, validate_rule, timezone=None)
    names, timezone = configuration.metrics.names, configuration.timezone or ""
    return files, load_suite(files, metric_problems, validate_rule, readers_of, names, timezone=timezone)


def tests_of(configuration: Configuration, repository: Path, config: str) -> FoundTests:
    """The tests of a checkout that its configuration names.

    Args:
        config: path of the configuration, for messages.
    """
    root = parse_folder(configuration.system.root)
    return find_tests(configuration.tests, root, files_of_checkout(repository), config)


def _with_tests(suite: Suite, configuration: Configuration, named: Collection[str], request: RunRequest) -> Suite:
    """The suite with the tests that the configuration names.

    Args:
        configuration: after the ratchet.
        named: paths that the change itself names. What only the base names may be gone; a note names its tests then.
    """
    files, root = files_of_checkout(request.repository), parse_folder(configuration.system.root)
    paths = [path for path in configuration.tests if path in named or has_tests(path, root, files)]
    found = find_tests(paths, root, files, request.settings.config)
    suite, twice = with_tests(suite, found)
    if found.problems or twice:
        raise SuiteError((*found.problems, *twice))
    return suite


class _EachOnce:
    """A change of scenarios that is made once of each: what head and base share stays one object, read once."""

    def __init__(self, change: Callable[[Scenario], Scenario]) -> None:
        self._change = change
        # The scenario is kept beside what became of it: its id is then nobody else's.
        self._known: dict[int, tuple[Scenario, Scenario]] = {}

    def of(self, suite: Suite) -> Suite:
        """The suite with each scenario changed."""
        return replace(suite, scenarios=tuple(map(self._changed, suite.scenarios)))

    def _changed(self, scenario: Scenario) -> Scenario:
        known = self._known.get(id(scenario))
        if known is None:
            known = self._known[id(scenario)] = scenario, self._change(scenario)
        return known[1]


def _with_metrics(configuration: Configuration) -> _EachOnce:
    def measured(scenario: Scenario) -> Scenario:
        attached = attach_metrics(scenario, configuration.metrics)
        return scenario if attached is scenario.assertions else replace(scenario, assertions=attached)

    return _EachOnce(measured)


def _complete(suite: Suite, configuration: Configuration, measured: _EachOnce | None = None) -> Suite:
    """The suite with the metrics and gates that it does not list; on both sides, so that the ratchet applies to them.

    Args:
        suite: as its files have it.
        measured: adds its metrics, where another suite has them too.
    """
    suite = (measured or _with_metrics(configuration)).of(suite)
    return with_configured_thresholds(suite, configuration.suite.gates)
