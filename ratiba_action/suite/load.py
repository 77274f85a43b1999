"""Loads a ``Suite`` from scenario files; reports every mistake of every file at once."""

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path, PurePosixPath

from ratiba_action.config.renamed_keys import read_current
from ratiba_action.errors import FileProblem, SuiteError
from ratiba_action.model.scenario import Scenario, Suite
from ratiba_action.suite.building import build_scenario
from ratiba_action.suite.data_file import SUFFIXES
from ratiba_action.suite.loaded import Checks, Loaded
from ratiba_action.suite.references import CATALOGUE_SUFFIX, MetricCheck, RuleCheck, TruthReaders, with_catalogues
from ratiba_action.suite.scenario_schema import ScenarioBlock
from ratiba_action.util.locked_folder import PlainFiles, is_folder
from ratiba_action.util.strict_yaml import YamlDocument
from ratiba_action.util.text import did_you_mean
from ratiba_action.util.validation import validate

NOT_SCENARIOS = ("recordings", "calibration")
"""Folders in the scenarios folder with other data."""

YAML_SUFFIXES = (".yaml", ".yml")


def read_scenario_files(repository: Path, folder: str) -> Mapping[str, bytes]:
    """Every scenario file and data file of a checkout by its path relative to it.

    Raises:
        SuiteError: the folder is missing, or a file cannot be read.
    """
    require_scenario_folder(repository, folder)
    files: dict[str, bytes] = {}
    problems: list[FileProblem] = []
    plain = PlainFiles(repository)
    for name in sorted(_names_below(repository, folder, problems)):
        if not is_scenario_file(name, folder) and not is_data_file(name, folder):
            continue
        try:
            files[name] = plain.read(name)
        except OSError as error:
            problems.append(FileProblem(name, 0, f"cannot be read: {error.strerror}"))
    if problems:
        raise SuiteError(problems)
    return files


def require_scenario_folder(repository: Path, folder: str) -> None:
    """Check that a checkout has the folder of its scenarios.

    Raises:
        SuiteError: it has not; names one that is spelled nearly so.
    """
    if is_folder(repository / folder):
        return
    above, _, name = folder.rpartition("/")
    beside: list[str] = []
    with suppress(OSError):
        beside += (entry.name for entry in (repository / above).iterdir() if is_folder(entry))
    remedy = did_you_mean(name, beside) or "Run: ratiba init. Or give it with --scenarios"
    raise SuiteError([FileProblem(folder, 0, f"there is no such folder. {remedy}")])


def scenario_files_below(repository: Path, folder: str) -> Iterator[str]:
    """The scenario files of a checkout by their paths relative to it; what cannot be listed is left out."""
    return (name for name in _names_below(repository, folder, []) if is_scenario_file(name, folder))


def _names_below(repository: Path, folder: str, problems: list[FileProblem]) -> Iterator[str]:
    """Every file below a folder, relative to the repository; a link to a folder is one, too.

    Args:
        folder: of the scenarios; what is in folders of other data is left out.
        problems: folders that cannot be listed are added to it: what is in them would not be run.
    """

    def note(error: OSError) -> None:
        name = Path(error.filename).relative_to(repository).as_posix()
        problems.append(FileProblem(name, 0, f"cannot be read: {error.strerror}"))

    top = repository / folder
    try:
        for place, folders, names in os.walk(top, onerror=note):
            links = [name for name in folders if os.path.islink(os.path.join(place, name))]  # noqa: PTH114, PTH118 - quicker
            if Path(place) == top:
                folders[:] = [name for name in folders if name not in NOT_SCENARIOS]
            below = Path(place).relative_to(repository).as_posix()
            yield from (name if below == "." else f"{below}/{name}" for name in (*names, *links))
    except RecursionError:
        problems.append(FileProblem(folder, 0, "folders are nested too deep"))


def is_scenario_file(name: str, folder: str) -> bool:
    """Whether a repository path is a scenario: YAML below the folder, outside recordings and calibration."""
    return _is_suite_file(name, folder, YAML_SUFFIXES) and not name.endswith(CATALOGUE_SUFFIX)


def is_data_file(name: str, folder: str) -> bool:
    """Whether a repository path may be a file of cases or a catalogue, outside recordings and calibration."""
    return _is_suite_file(name, folder, SUFFIXES) or (
        name.endswith(CATALOGUE_SUFFIX) and _is_suite_file(name, folder, YAML_SUFFIXES)
    )


def _is_suite_file(name: str, folder: str, suffixes: Sequence[str]) -> bool:
    if not name.endswith(tuple(suffixes)):
        return False
    path, top = PurePosixPath(name), PurePosixPath(folder).parts
    below = path.parts[len(top) :]
    inside = path.suffix in suffixes and path.parts[: len(top)] == top
    return inside and bool(below) and below[0] not in NOT_SCENARIOS


def load_suite(
    files: Mapping[str, bytes],
    metric_problems: MetricCheck,
    rule_problem: RuleCheck,
    readers: TruthReaders | None = None,
    added: Mapping[str, Sequence[str]] | None = None,
    *,
    timezone: str | None = "",
) -> Suite:
    """Read and check scenarios.

    Args:
        files: content by repository path.
        readers: metrics that read each expected value; None to allow values that no metric reads.
        added: metrics by type of system that apply without being listed.
        timezone: IANA name of the zone of scenarios that name none; empty without one, None where it is not known: then
            they are read in UTC, which is enough to check or count them.

    Raises:
        SuiteError: a file is invalid, or there is no scenario; every problem.
    """
    from ratiba_action.model.case_file import CaseFile

    checks = Checks(metric_problems, rule_problem, readers, added or {}, timezone)
    scenarios, case_files = list[Scenario](), list[CaseFile]()
    problems: list[FileProblem] = []
    read: set[str] = set()
    for name in sorted(file for file in files if file.endswith(YAML_SUFFIXES) and not file.endswith(CATALOGUE_SUFFIX)):
        loaded = _load_file(name, files, checks)
        read |= {name, *loaded.read}
        scenarios += loaded.scenarios
        case_files += loaded.data_sets
        problems += loaded.problems
    problems.extend(_duplicates(scenarios))
    if not scenarios and not problems:
        problems.append(
            FileProblem("scenarios", 0, "no scenario was found. Write one, or run: ratiba generate --templates")
        )
    if problems:
        raise SuiteError(sorted(problems, key=lambda problem: (problem.path, problem.line, problem.message)))
    digest = files_digest({name: files[name] for name in read})
    return Suite(tuple(sorted(scenarios, key=lambda scenario: scenario.id)), digest, tuple(case_files))


def _load_file(name: str, files: Mapping[str, bytes], checks: Checks) -> Loaded:
    document, problems = read_current(name, files[name])
    loaded = Loaded() if document is None else _load_document(document, files, checks)
    return replace(loaded, problems=(*problems, *loaded.problems)) if problems else loaded


def _load_document(document: YamlDocument, files: Mapping[str, bytes], checks: Checks) -> Loaded:
    document, read, problems = with_catalogues(document, files)
    if problems:
        return Loaded(problems=problems, read=read)
    if isinstance(document.data, dict) and "cases" in document.data:
        from ratiba_action.suite.cases import load_cases

        loaded = load_cases(document, files, checks)
        return replace(loaded, read=(*loaded.read, *read))
    block, problems = validate(ScenarioBlock, document, checks.context)
    problems = (*problems, *checks.problems(document), *checks.unread(document))
    return Loaded(() if block is None else (build_scenario(block, document),), problems=problems, read=read)


def files_digest(files: Mapping[str, bytes]) -> str:
    """SHA-256 over names and contents: the version of a set of files."""
    total = hashlib.sha256()
    for name in sorted(files):
        total.update(hashlib.sha256(name.encode("utf-8", "surrogateescape")).digest())
        total.update(hashlib.sha256(files[name]).digest())
    return total.hexdigest()


def _duplicates(scenarios: Iterable[Scenario]) -> Iterable[FileProblem]:
    first: dict[str, Scenario] = {}
    for scenario in scenarios:
        earlier = first.setdefault(scenario.id, scenario)
        if earlier is not scenario:
            message = f"the id {scenario.id!r} is already used in {earlier.path}; ids are unique"
            yield FileProblem(scenario.path, scenario.line, message)
