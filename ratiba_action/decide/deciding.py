"""Decide the mode of a run: event, repository and rules in, mode and reasons out. Standard library only."""

import contextlib
import functools
import os
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ratiba_action.decide.base_recordings import observed_at_base
from ratiba_action.decide.contents import Contents
from ratiba_action.decide.event import infer_name, load_event, subject_of
from ratiba_action.decide.judging_code import Modules, read_addresses
from ratiba_action.decide.observed_files import ObservedFiles
from ratiba_action.decide.plain_yaml import Node, YamlDoubt, read_yaml_or_doubt
from ratiba_action.decide.protection import Protection
from ratiba_action.decide.read import Change, Connect, read_change
from ratiba_action.decide.refusals import UNKNOWN_REFUSED
from ratiba_action.decide.rules import default_rules, parse_rules
from ratiba_action.decide.selection import decide_mode
from ratiba_action.decide.system_paths import read_root, read_system_paths, read_test_folders, read_touches
from ratiba_action.decide.trusted_configuration import runs_in_ci
from ratiba_action.errors import InfrastructureError, RatibaError
from ratiba_action.model.change import ChangedFiles, Mode, ModeDecision, Reason, Rule
from ratiba_action.settings.gitlab import gitlab_job
from ratiba_action.util.folder_tree import paths_below
from ratiba_action.util.git import find_checkout
from ratiba_action.util.links import Links
from ratiba_action.util.locked_folder import is_file, is_folder, read_plain_file

if TYPE_CHECKING:
    from ratiba_action.settings.settings import Settings


_INCLUDE = re.compile(r"^\s*(?:-r|-c|--requirement|--constraint)(?:\s*=\s*|\s*)([^\s:]+)\s*(?:#.*)?$", re.MULTILINE)
_REQUIREMENTS = re.compile(
    r"(?:.*/)?[^/]*(?:requirements|constraints)[^/]*(?:/[^/]*)?\.(?:txt|in)", re.IGNORECASE | re.DOTALL
)
_WHY = "a dependency file includes it"

Read = Callable[[str], Iterable[bytes]]
"""The contents of a path at base and head, as far as it is there."""


def included_floors(paths: Iterable[str], read: Read) -> tuple[Rule, ...]:
    """A blocking floor for each file that a requirements file or the dynamic part of a ``pyproject.toml`` names.

    Args:
        paths: of both sides.
        read: contents of a path.
    """
    every = frozenset(paths)
    waiting = [path for path in every if _REQUIREMENTS.fullmatch(path)]
    waiting += [path for path in every if path.rpartition("/")[2] == "pyproject.toml"]
    found: dict[str, None] = {}
    while waiting:
        path = waiting.pop()
        for content in read(path):
            names = (
                _dynamic(content) if path.endswith(".toml") else _INCLUDE.findall(content.decode("utf-8", "replace"))
            )
            included = {posixpath.normpath(posixpath.join(posixpath.dirname(path), name)) for name in names}
            fresh = sorted((included & every) - found.keys())
            found |= dict.fromkeys(fresh)
            waiting += fresh
    return tuple(Rule(Mode.BLOCKING, "/" + re.sub(r"([\\*?\[\]! #])", r"\\\1", path), why=_WHY) for path in found)


def _dynamic(content: bytes) -> Iterator[str]:
    """Files of ``[tool.setuptools.dynamic]`` that hold requirements."""
    import tomllib  # few changes have such a file

    try:
        dynamic: Any = tomllib.loads(content.decode("utf-8"))["tool"]["setuptools"]["dynamic"]
        tables = [dynamic.get("dependencies", {}), *dynamic.get("optional-dependencies", {}).values()]
        for files in (table.get("file", []) for table in tables):
            yield from [files] if isinstance(files, str) else map(str, files)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return  # none, or a file that is judged by what it is


@dataclass(frozen=True, slots=True)
class DecideRequest:
    """What is to be decided about.

    Args:
        event_name: of the run; empty for the work tree, or to tell it from the payload.
        event_path: file of the payload, None when there is none.
        payload: of the event where it is in no file, as on GitLab.
        rules: text of the rules, or ``@FILE``; empty for the default rules.
        floor: the mode never falls below it.
        floor_why: what asked for it; empty for the mode input.
        config: the gate's configuration file, from the repository's root.
        scenarios: the folder of scenarios, from the repository's root.
        protected: more paths that only a blocking run may change.
        pull_request: number that a manual run is about; empty for none.
        connect: makes the client that asks for pull requests; None for that of ``urllib``.
    """

    repository: Path
    event_name: str = ""
    event_path: Path | None = None
    payload: Mapping[str, Any] | None = None
    rules: str = ""
    floor: Mode | None = None
    floor_why: str = ""
    config: str = ".github/ratiba.yml"
    scenarios: str = "scenarios"
    protected: Sequence[str] = ()
    pull_request: str = ""
    connect: Connect | None = None


def event_of(
    environment: Mapping[str, str], repository: Path, event: str | None = None, name: str | None = None
) -> DecideRequest:
    """The request of a run by the event that started it: an option's, GitHub's, or that of GitLab's job.

    Args:
        event: file of the payload, from the command line.
        name: of the event, from the command line.
    """
    path = event or environment.get("GITHUB_EVENT_PATH")
    name = name or ("" if event else environment.get("GITHUB_EVENT_NAME", ""))
    job = None if path or name else gitlab_job(environment)
    if job is not None:
        return DecideRequest(repository, job.event, payload=job.payload)
    return DecideRequest(repository, name, Path(path) if path else None)


def request_of(settings: "Settings", event: DecideRequest) -> DecideRequest:
    """The request of a run whose inputs have been read."""
    return replace(
        event,
        rules=settings.rules,
        floor=settings.mode if settings.mode is not Mode.SKIP else None,
        config=settings.config,
        scenarios=settings.scenarios,
        pull_request=settings.pull_request,
    )


@dataclass(frozen=True, slots=True)
class Decided:
    """The decision and what it is about.

    Args:
        links: of both sides; None where they could not be read, or nobody looked.
        observed: what the base's scenarios were seen to read.
        wrong_event: why the file of the event cannot be used; each is a doubt of the decision too.
        wrong_rules: the same of the rules.
        read: what was read of files of commits, by the commit and the path.
    """

    decision: ModeDecision
    change: Change
    links: Links | None = None
    observed: ObservedFiles = field(default_factory=ObservedFiles)
    wrong_event: Sequence[str] = ()
    wrong_rules: Sequence[str] = ()
    read: Mapping[tuple[str, str], bytes | None] = field(default_factory=dict, repr=False, compare=False)


DecideChange = Callable[[DecideRequest, Mapping[str, str]], Decided]
"""Decides about a change: ``decide``, or a function that needs neither an event nor a git repository."""


def decide(request: DecideRequest, environment: Mapping[str, str]) -> Decided:
    """Decide the mode. Nothing that can be wrong with the world raises: every doubt is a reason to be blocking."""
    wrong_event: list[str] = []
    wrong_rules: list[str] = []
    event, event_name = _event(request, wrong_event, environment)
    change = read_change(
        event_name,
        event,
        request.repository,
        environment,
        pull_request=request.pull_request,
        connect=request.connect,
    )
    scenario_folders = dict.fromkeys([request.scenarios, *_from_root(request.scenarios, request, change)])
    named = (request.config, *request.protected, *_rules_file(request))
    protection = Protection(
        request.config,
        request.scenarios,
        [*scenario_folders, *(real for path in named for real in _from_root(path, request, change))],
    )
    rules = _rules(request, wrong_rules)
    doubts = [*wrong_event, *wrong_rules]
    with Contents(change.git, change.files.base, change.files.head) as contents:
        read_links = _links(contents, doubts)
        links = read_links or Links()
        observed = _observed(contents, scenario_folders, doubts if change.files.paths else [])
        decide_with = functools.partial(
            decide_mode,
            change.files,
            rules,
            reader=contents.read,
            links=links,
            protection=protection,
            floor=request.floor,
            floor_why=request.floor_why,
            observed=observed,
        )
        scenarios = _scenarios(request, change, doubts)
        configurations = _configurations(request.config, contents, doubts)
        floors = _floors(configurations, read_system_paths, "the prompts that the configuration names", doubts)
        floors = (*floors, *_judging_floors(configurations, contents, scenarios, doubts, change.files.paths))
        decision = decide_with(floors=floors, doubts=doubts)
        if decision.mode is Mode.SKIP and change.files.paths:
            # A document that a conversation is answered from, or that names packages, is no documentation.
            touched = (
                *_floors(scenarios, read_touches, "the files that a scenario depends on", doubts),
                *included_floors(links.paths, contents.both),
            )
            decision = decide_with(floors=(*floors, *touched), doubts=doubts)
    return Decided(decision, change, read_links, observed, wrong_event, wrong_rules, contents.of_commits)


def decide_or_doubt(request: DecideRequest, environment: Mapping[str, str]) -> Decided:
    """The same for the steps of a run, which must end in a mode or a report even if deciding itself has a defect."""
    try:
        return decide(request, environment)
    except Exception as error:  # noqa: BLE001 - every way out leaves a report, a defect of our own too
        why = f"the mode could not be decided ({type(error).__name__})"
        decision = ModeDecision(Mode.BLOCKING, (Reason("", "doubt", Mode.BLOCKING, why),))
        # Whose code a manual run would start is not known then.
        refused = UNKNOWN_REFUSED if request.event_name == "workflow_dispatch" else None
        subject = subject_of({}, None, environment)
        return Decided(decision, Change(ChangedFiles((), doubt=why), subject, refused=refused))


def _links(contents: Contents, doubts: list[str]) -> Links | None:
    try:
        return contents.links()
    except InfrastructureError as error:
        doubts.append(f"the symbolic links of this change cannot be read: {error}")
        return None


def _observed(contents: Contents, folders: Iterable[str], doubts: list[str]) -> ObservedFiles:
    """What the base's scenarios were seen to read."""
    return observed_at_base(contents, dict.fromkeys(posixpath.normpath(folder) for folder in folders), doubts)


_SCENARIO_FILES = (".yaml", ".yml")


def _scenarios(request: DecideRequest, change: Change, doubts: list[str]) -> list[Node]:
    """The scenario files of the checkout."""
    top = (change.git.root if change.git is not None else request.repository) / request.scenarios
    below = paths_below(top) if change.files.paths and is_folder(top) else ()
    files = sorted(path for path in below if path.suffix in _SCENARIO_FILES)
    read = [_read(path.relative_to(top.parent).as_posix(), path.read_bytes(), doubts) for path in files if _plain(path)]
    return [document for document in read if document is not None]


def _plain(path: Path) -> bool:
    return is_file(path) and not path.is_symlink()


def _read(file: str, content: bytes, doubts: list[str]) -> Node | None:
    try:
        return read_yaml_or_doubt(file, content)
    except YamlDoubt as doubt:
        doubts.append(f"what this change affects cannot be determined: {doubt}")
        return None


def _floors(
    documents: Iterable[Node], read: Callable[[Node], tuple[Rule, ...]], what: str, doubts: list[str]
) -> tuple[Rule, ...]:
    """What is read of every document, each rule once; a document that cannot be read is a doubt about it."""
    floors: dict[Rule, None] = {}
    for document in documents:
        try:
            floors |= dict.fromkeys(read(document))
        except YamlDoubt as doubt:
            doubts.append(f"{what} cannot be determined: {doubt}")
    return tuple(floors)


def _judging_floors(
    configurations: Sequence[Node],
    contents: Contents,
    scenarios: Iterable[Node],
    doubts: list[str],
    changed: Iterable[str],
) -> tuple[Rule, ...]:
    """The code of the repository's own metrics and rules, at either side, and what has the name of other code."""
    addresses = {module for scenario in scenarios for module in read_addresses(scenario)}
    roots: dict[str, None] = {}
    tests: dict[str, None] = {}
    for configuration in configurations:
        addresses |= read_addresses(configuration, without="system")
        with contextlib.suppress(YamlDoubt):  # a doubt of the floors of the system already
            roots[read_root(configuration)] = None
            tests |= dict.fromkeys(read_test_folders(configuration))
    if not addresses and not tests:
        return ()
    from ratiba_action.decide.shadowing import Shadowing  # for a repository with code of its own that judges

    floors: dict[Rule, None] = {}
    try:
        paths = contents.links().paths
        for root in roots or {"": None}:
            floors |= dict.fromkeys(Modules(root, paths, contents.both).floors(addresses))
        folders = {*tests, *(roots or {"": None})}
        folders |= {f"{folder}/src".lstrip("/") for folder in roots or {"": None}}
        floors |= dict.fromkeys(Shadowing(paths, changed, contents.both).floors(sorted(folders)))
    except (ValueError, InfrastructureError) as error:
        doubts.append(f"the code of the metrics and rules cannot be determined: {error}")
    return tuple(floors)


def _event(
    request: DecideRequest, doubts: list[str], environment: Mapping[str, str]
) -> tuple[Mapping[str, Any] | None, str]:
    """The payload and the event's name."""
    if request.event_path is None:
        return request.payload, request.event_name
    checkout = find_checkout(request.repository) or request.repository
    if runs_in_ci(environment) and request.event_path.resolve().is_relative_to(checkout.resolve()):
        doubts.append("the event file is one of the checkout's, so the change could have written it")
        return None, request.event_name
    try:
        event = load_event(request.event_path)
    except RatibaError as error:
        doubts.append(str(error))
        return None, request.event_name
    if request.event_name:
        return event, request.event_name
    name = infer_name(event)
    if not name:
        doubts.append("the event has no name, and its payload does not tell it")
    return event, name


def _configurations(config: str, contents: Contents, doubts: list[str]) -> list[Node]:
    """The configuration at base and head, as far as it is there; without a side there is a doubt already."""
    read = [_read(config, content, doubts) for content in dict.fromkeys(contents.both(config))]
    return [document for document in read if document is not None]


def _rules_file(request: DecideRequest) -> Sequence[str]:
    return [request.rules[1:]] if request.rules.startswith("@") else []


def _rules(request: DecideRequest, doubts: list[str]) -> tuple[Rule, ...]:
    try:
        text = request.rules
        if text.startswith("@"):
            text = _rules_content(request.repository, text[1:]).decode("utf-8")
        return parse_rules(text) if text.strip() else default_rules()
    except RatibaError as error:
        doubts.append(str(error))
    except (OSError, ValueError) as error:
        doubts.append(f"The rules file {request.rules[1:]!r} cannot be read: {error}.")
    return default_rules()


def _rules_content(repository: Path, name: str) -> bytes:
    """The file of the rules; below the checkout never what a link of it leads to, since a message quotes its words."""
    for root in (os.path.realpath(repository), os.path.abspath(repository)):  # noqa: PTH100 - `resolve` follows links
        path = Path(os.path.normpath(Path(root) / name))
        if path.is_relative_to(root):
            return read_plain_file(Path(root), str(path.relative_to(root)))
    return (repository / name).read_bytes()


def _from_root(path: str, request: DecideRequest, change: Change) -> list[str]:
    """A path as changed paths are written, from the repository's root; a linked one also as what it links to."""
    if change.git is None:
        return [path]
    root = os.path.realpath(change.git.root)
    written = os.path.normpath(Path(os.path.realpath(request.repository)) / path)
    found = [os.path.relpath(path, root) for path in (written, os.path.realpath(written))]
    return [path for path in found if path != ".." and not path.startswith("../")]
