"""What an import of other tools' tests found. Nothing imported is executed.

``promptfoo/configuration.py`` and ``goldens.py`` read files into an ``Import``, of which ``imported_suite.py`` makes
scenarios and rows of cases.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import count
from typing import Any

from ratiba_action.errors import FileProblem

SCORERS = "scorer_checks"
"""The module, written by an import, that scores replies as Inspect and OpenAI evals do."""
TEST = "test"
"""What a finding about a whole test names."""


class ImportOutcome(StrEnum):
    """What became of a part of a file."""

    MAPPED = "mapped"
    APPROXIMATED = "approximated"
    MANUAL = "manual"


@dataclass(frozen=True, slots=True)
class ImportFinding:
    """A part of an imported file, and what became of it.

    Args:
        file: as it was given, or relative to the same folder.
        line: from 1.
        outcome: whether it means the same here.
        result: what it became, or what a person must do.
    """

    file: str
    line: int
    outcome: ImportOutcome
    what: str
    result: str


class NotImportedError(Exception):
    """A part cannot be imported; the text says what a person can do."""


@dataclass(slots=True)
class ImportedCase:
    """One test.

    Args:
        name: for its id; empty for that of its last message.
        messages: of the user, in order.
        expect: of the last turn, by key of a scenario's ``expect``.
        item: id of the dataset item that it is; empty for a row of a file.
        inputs: as in a scenario.
        earlier: ``expect`` of each turn before the last; empty if they expect nothing.
        thread: names the conversation that it is a turn of; empty for a test of its own.
        variable: the name of the input that is its message; empty if there is none.
        variant: as in a scenario; empty for the system as it is.
        family: what it shares with the same test of other pairs; empty for a test that runs once.
        calls_nothing: its variant calls no model, though others do.
    """

    file: str
    line: int
    name: str = ""
    messages: tuple[str, ...] = ()
    expect: dict[str, Any] = field(default_factory=dict)
    rules: list[dict[str, Any]] = field(default_factory=list)
    assertions: list[dict[str, Any]] = field(default_factory=list)
    limits: dict[str, float] = field(default_factory=dict)
    item: str = ""
    inputs: dict[str, Any] = field(default_factory=dict)
    earlier: tuple[Mapping[str, Any], ...] = ()
    thread: str = ""
    variable: str = ""
    variant: str = ""
    family: str = ""
    calls_nothing: bool = False

    @property
    def whole(self) -> tuple[str, int]:
        """The place of what is true of all rows, such as a column."""
        return ("the dataset", 0) if self.item else (self.file, 1)

    def extend(self, key: str, values: Iterable[Any]) -> None:
        """Add to a list of ``expect``."""
        self.expect[key] = list(dict.fromkeys([*self.expect.get(key, ()), *values]))

    def expect_once(self, key: str, value: Any) -> None:
        """Set a key of ``expect``.

        Raises:
            NotImportedError: it has another value already.
        """
        if key in self.expect and self.expect[key] != value:
            raise NotImportedError(
                f"a turn has one `{key}`, and another assertion of this test needs it; split the test"
            )
        self.expect[key] = value

    def limit(self, key: str, value: float) -> None:
        """Set a limit; the lower of two applies."""
        self.limits[key] = min(value, self.limits.get(key, value))

    def measure(self, metric: str, threshold: float, **parameters: Any) -> None:
        """Add an assertion; a second one of the same metric gets a name."""
        others = sum(entry["metric"] == metric for entry in self.assertions)
        entry: dict[str, Any] = {"metric": metric, **({"name": f"imported-{others + 1}"} if others else {})}
        entry["threshold"] = threshold
        self.assertions.append({**entry, **({"with": parameters} if parameters else {})})

    @property
    def asserts(self) -> bool:
        """Whether anything is asserted."""
        return bool(self.expect or self.rules or self.assertions or self.limits or any(self.earlier))


@dataclass(frozen=True, slots=True)
class ImportedPair:
    """A prompt and a provider that every test is run with, unless it names others.

    Args:
        variant: of the system; empty for the system as it is.
        provider: its label, and its id.
        prompt: its labels and ids.
        name: for people; no other pair has it.
        calls_nothing: it calls no model, though others do.
    """

    variant: str
    provider: frozenset[str]
    prompt: frozenset[str]
    name: str
    calls_nothing: bool = False


@dataclass(frozen=True, slots=True)
class ImportedSystem:
    """What the gate can run.

    Args:
        block: the section ``system``.
        files: prompts that stood in the configuration, and a program that runs them, by path.
        names: that the prompts have places for, without those of the conversation.
        more: further sections of the configuration.
        pairs: with which tests are run; empty for the system alone.
        parses: code of assertions gets its replies as data.
    """

    block: Mapping[str, Any]
    files: Mapping[str, bytes]
    names: frozenset[str]
    more: Mapping[str, Any] = field(default_factory=dict)
    pairs: tuple[ImportedPair, ...] = ()
    parses: bool = False


@dataclass(frozen=True, slots=True)
class Left:
    """An assertion that a person must write.

    Args:
        kind: its name in the tool that it comes from.
    """

    file: str
    line: int
    kind: str
    value: Any
    threshold: Any


@dataclass(frozen=True, slots=True)
class InspectTask:
    """A function that makes a task of Inspect, which runs through Inspect itself.

    Args:
        file: its path in the repository; empty if it lies outside.
        place: file and line for the report.
        has_model: whether the task names its model.
    """

    file: str
    name: str
    place: tuple[str, int]
    has_model: bool


@dataclass(slots=True)
class Import:
    """What was found in the files; problems forbid to write anything.

    Args:
        system: what the first configuration runs; None for a system that is described elsewhere.
        pass_rate: of a new configuration.
        left: assertions that a person must write.
        tasks: of Inspect, which a file of pytest runs.
    """

    cases: list[ImportedCase] = field(default_factory=list)
    findings: dict[ImportFinding, None] = field(default_factory=dict)
    problems: list[FileProblem] = field(default_factory=list)
    system: ImportedSystem | None = None
    pass_rate: float = 1.0
    left: list[Left] = field(default_factory=list)
    tasks: list[InspectTask] = field(default_factory=list)

    def note(self, place: tuple[str, int], outcome: ImportOutcome, what: str, result: str) -> None:
        """Add a finding; the same one is listed once."""
        self.findings[ImportFinding(*place, outcome, what, result)] = None

    def wrong(self, place: tuple[str, int], message: str) -> None:
        """Add a problem."""
        self.problems.append(FileProblem(place[0], max(place[1], 1), message))


def slug(text: str, longest: int) -> str:
    """Lower-case ASCII letters, digits and ``_``; may be empty."""
    plain = unicodedata.normalize("NFKD", text[:500]).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "_", plain).strip("_")[:longest].strip("_")


def unique(name: str, taken: set[str]) -> str:
    """The name, with a number if another has it."""
    names = (name if number == 1 else f"{name}_{number}" for number in count(1))
    found = next(candidate for candidate in names if candidate not in taken)
    taken.add(found)
    return found
