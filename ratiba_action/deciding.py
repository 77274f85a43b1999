"""Decide the mode of a run: event, repository and rules in, mode and reasons out. Standard library only."""

import functools
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ratiba_action.changes.contents import Contents
from ratiba_action.changes.event import infer_name, load_event, subject_of
from ratiba_action.changes.read import UNKNOWN_REFUSED, Change, read_change
from ratiba_action.core.model.change import ChangedFiles, Mode, ModeDecision, Reason, Rule
from ratiba_action.core.protection import Protection
from ratiba_action.core.rules import default_rules, parse_rules
from ratiba_action.core.selection import decide_mode
from ratiba_action.core.system_paths import read_system_paths
from ratiba_action.core.touches import read_touches
from ratiba_action.errors import RatibaError

if TYPE_CHECKING:
    from ratiba_action.settings import Settings


@dataclass(frozen=True, slots=True)
class DecideRequest:
    """What is to be decided about.

    Args:
        repository: a folder inside the checkout.
        event_name: of the run; empty for the work tree, or to tell it from the payload.
        event_path: file of the payload, None when there is none.
        rules: text of the rules, or ``@FILE``; empty for the default rules.
        floor: the mode never falls below it.
        floor_why: what asked for it; empty for the mode input.
        config: the gate's configuration file, from the repository's root.
        scenarios: the folder of scenarios, from the repository's root.
        protected: more paths that only a blocking run may change.
        pull_request: number that a manual run is about; empty for none.
    """

    repository: Path
    event_name: str = ""
    event_path: Path | None = None
    rules: str = ""
    floor: Mode | None = None
    floor_why: str = ""
    config: str = ".github/ratiba.yml"
    scenarios: str = "scenarios"
    protected: Sequence[str] = ()
    pull_request: str = ""


def request_of(settings: "Settings", event: DecideRequest) -> DecideRequest:
    """The request of a run whose inputs have been read.

    Args:
        settings: the inputs.
        event: names repository and event.
    """
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
    """The decision and what it is about."""

    decision: ModeDecision
    change: Change


def decide(request: DecideRequest, environment: Mapping[str, str]) -> Decided:
    """Decide the mode. Nothing that can be wrong with the world raises: every doubt is a reason to be blocking."""
    doubts: list[str] = []
    event, event_name = _event(request, doubts)
    change = read_change(event_name, event, request.repository, environment, pull_request=request.pull_request)
    protection = Protection(
        request.config,
        request.scenarios,
        [
            real
            for path in (request.config, request.scenarios, *request.protected, *_rules_file(request))
            for real in _from_root(path, request, change)
        ],
    )
    rules = _rules(request, doubts)
    with Contents(change.git, change.files.base, change.files.head) as contents:
        decide_with = functools.partial(
            decide_mode,
            change.files,
            rules,
            reader=contents.read,
            protection=protection,
            floor=request.floor,
            floor_why=request.floor_why,
        )
        floors = _system_floors(request.config, contents, doubts)
        decision = decide_with(floors=floors, doubts=doubts)
        if decision.mode is Mode.SKIP and change.files.paths:
            # A document that a conversation is answered from is no documentation.
            decision = decide_with(floors=(*floors, *_touched_floors(request, change)), doubts=doubts)
    return Decided(decision, change)


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


def _touched_floors(request: DecideRequest, change: Change) -> tuple[Rule, ...]:
    """What the scenarios of the checkout say that they depend on."""
    floors: dict[Rule, None] = {}
    top = (change.git.root if change.git is not None else request.repository) / request.scenarios
    for path in sorted([*top.rglob("*.yaml"), *top.rglob("*.yml")]):
        if path.is_file() and not path.is_symlink():
            floors |= dict.fromkeys(read_touches(path.read_text("utf-8", "replace")))
    return tuple(floors)


def _event(request: DecideRequest, doubts: list[str]) -> tuple[Mapping[str, Any] | None, str]:
    """The payload and the event's name."""
    if request.event_path is None:
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


def _system_floors(config: str, contents: Contents, doubts: list[str]) -> tuple[Rule, ...]:
    """Prompts and adapter that the configuration names at either side."""
    floors: dict[Rule, None] = {}
    for side in ("base", "head"):
        try:
            content = contents.read(side, config)
        except RatibaError:
            continue  # without a side there is a doubt already, or no base to ask
        try:
            floors |= dict.fromkeys(read_system_paths(content.decode("utf-8")) if content is not None else ())
        except ValueError as error:
            doubts.append(f"the prompts that {config!r} names cannot be told: {error}")
    return tuple(floors)


def _rules_file(request: DecideRequest) -> Sequence[str]:
    return [request.rules[1:]] if request.rules.startswith("@") else []


def _rules(request: DecideRequest, doubts: list[str]) -> tuple[Rule, ...]:
    try:
        text = request.rules
        if text.startswith("@"):
            text = (request.repository / text[1:]).read_text("utf-8")
        return parse_rules(text) if text.strip() else default_rules()
    except RatibaError as error:
        doubts.append(str(error))
    except (OSError, ValueError) as error:
        doubts.append(f"The rules file {request.rules[1:]!r} cannot be read: {error}.")
    return default_rules()


def _from_root(path: str, request: DecideRequest, change: Change) -> list[str]:
    """A path as changed paths are written, from the repository's root; a linked one also as what it links to."""
    if change.git is None:
        return [path]
    root = os.path.realpath(change.git.root)
    written = os.path.normpath(Path(os.path.realpath(request.repository)) / path)
    found = [os.path.relpath(one, root) for one in (written, os.path.realpath(written))]
    return [one for one in found if one != ".." and not one.startswith("../")]
