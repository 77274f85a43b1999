"""What an import of other tools' tests found, and the files that it becomes. Nothing imported is executed.

``promptfoo/configuration.py`` and ``goldens.py`` read files into an ``Import``; ``scenario_files`` makes scenarios and
rows of cases.
"""

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from importlib import resources
from itertools import count, islice
from pathlib import Path, PurePosixPath
from typing import Any

from ratiba_action.checks.failure_rules import validate_rule
from ratiba_action.errors import FileProblem, SuiteError
from ratiba_action.metrics.registry import metric_problems, readers_of
from ratiba_action.privacy.credentials import find_credentials
from ratiba_action.privacy.identifiers import find_identifiers
from ratiba_action.suite.case_ids import HISTORY
from ratiba_action.suite.data_file import read_json, read_rows
from ratiba_action.suite.load import load_suite
from ratiba_action.suite.scenario_schema import title_of
from ratiba_action.util.locked_folder import read_plain_file
from ratiba_action.util.strict_yaml import Path as DataPath
from ratiba_action.util.strict_yaml import YamlDocument, read_yaml
from ratiba_action.util.text import printable

MAX_BYTES = 4 << 20
"""Size of a file of rows; a YAML or Python file may have 1 MiB."""
_MAX_CASES = 2_000
_MIN_ROWS = 3
"""So many tests with the same kinds of assertions become one scenario with a file of cases."""
ITEM = "_item"
"""Column with the id of the dataset item that a row was made of: a note, which no scenario uses."""
_FIXED = frozenset({"threshold", "criterion"})
"""Values that an import chooses; they are the same in all rows."""
INSPECT_MODEL = "INSPECT_EVAL_MODEL"
"""The variable in which Inspect finds the model of tasks that name none."""
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


@dataclass(frozen=True, slots=True)
class SourceFolder:
    """The folder of an imported file. No file outside the repository, and none behind a symbolic link, is read.

    Args:
        shown: its name in messages; empty for the current folder.
        repository: that its files may name files of; None, or one that the folder is not in, for the folder alone.
    """

    root: Path
    shown: str
    repository: Path | None = None

    @property
    def top(self) -> Path:
        """The folder whose files may be read."""
        inside = self.repository is not None and self.root.is_relative_to(self.repository)
        return self.repository if self.repository is not None and inside else self.root

    def below_top(self, reference: str) -> str | None:
        """The path of a file below ``top``; None if it leaves it."""
        parts = list(self.root.relative_to(self.top).parts)
        for part in PurePosixPath(reference).parts:
            if part == ".." and not parts:
                return None
            parts = parts[:-1] if part == ".." else [*parts, part]
        return "/".join(parts)

    def name(self, reference: str) -> str:
        """The path of a file in messages."""
        return str(PurePosixPath(self.shown) / reference)

    def matching(self, pattern: str, maximum: int) -> list[str]:
        """The files below the folder that a glob pattern matches, sorted; one more than ``maximum`` where more do."""
        if ".." in PurePosixPath(pattern).parts:
            return []
        try:
            found = list(islice(self.root.glob(pattern), maximum + 1))
        except (ValueError, NotImplementedError, OSError):  # pathlib implements no absolute pattern
            return []
        return sorted(path.relative_to(self.root).as_posix() for path in found)

    def read(self, reference: str, maximum: int = MAX_BYTES) -> bytes:
        """The content of a file.

        Raises:
            SuiteError: it lies outside the folder, is missing, too large, or no regular file.
        """
        path, problem = self.below_top(reference), ""
        if path is None or PurePosixPath(reference).is_absolute() or "\0" in reference:
            top = "the repository" if self.top == self.repository else "the folder of the imported file"
            problem = f"it lies outside {top}"
        else:
            try:
                return read_plain_file(self.top, path, maximum)
            except (OSError, ValueError) as error:
                problem = getattr(error, "strerror", None) or str(error)
        raise SuiteError([FileProblem(self.name(reference), 1, f"it cannot be read: {problem}")])

    def text(self, reference: str) -> str:
        """The text of a file, without white space at its ends.

        Raises:
            SuiteError: it cannot be read or is not UTF-8.
        """
        try:
            return self.read(reference).decode("utf-8-sig").strip()
        except UnicodeDecodeError as error:
            raise SuiteError([FileProblem(self.name(reference), 1, "it is not UTF-8; save it as UTF-8")]) from error

    def document(self, reference: str, given: bytes | None = None) -> YamlDocument:
        """A YAML, JSON, JSON Lines or CSV file as data with lines; rows are a list.

        Args:
            given: content instead of the file's.

        Raises:
            SuiteError: it cannot be read or is malformed.
        """
        name, content = self.name(reference), self.read(reference) if given is None else given
        if reference.endswith((".csv", ".jsonl")):
            rows, problems = read_rows(name, content)
            lines: dict[DataPath, int] = {(index,): row.line for index, row in enumerate(rows)}
            document: YamlDocument | None = YamlDocument(name, [dict(row.values) for row in rows], lines)
        else:
            yaml = partial(read_yaml, aliases=True)
            document, problems = (read_json if reference.endswith(".json") else yaml)(name, content)
        if document is None or problems:
            raise SuiteError([FileProblem(each.path, max(each.line, 1), each.message) for each in problems])
        return document


@dataclass(frozen=True, slots=True)
class Target:
    """What is the same in all scenarios of an import.

    Args:
        prefix: of the ids; also the name of the folder below.
        language: ISO 639 code.
        as_cases: however few tests have the same kinds of assertions, they become a file of cases, whose scenario
            depends on the kinds only.
    """

    folder: str
    prefix: str
    language: str
    system_type: str
    origin: str
    as_cases: bool = False


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


def scenario_files(found: Import, target: Target) -> dict[str, bytes]:
    """Content of each new file by its path; a case that cannot be a scenario becomes a finding.

    Raises:
        SuiteError: the imported files have problems, or too many tests; nothing may be written.
    """
    if len(found.cases) > _MAX_CASES:
        first = found.cases[_MAX_CASES]
        found.wrong(
            (first.file, first.line), f"{len(found.cases):,} tests; at most {_MAX_CASES:,} are imported at once"
        )
    if found.problems:
        raise SuiteError(list(dict.fromkeys(found.problems)))
    groups: dict[str, list[ImportedCase]] = {}
    for case in found.cases:
        if _is_scenario(case, found, target):
            groups.setdefault(_shape(case), []).append(case)
    taken: set[str] = set()
    files: dict[str, bytes] = {}
    for group in groups.values():
        if target.as_cases or len(group) >= _MIN_ROWS:
            files |= _case_files(group, found, target, taken)
            continue
        for case in group:
            name = unique(f"{target.prefix}_{slug(_name(case), 40) or 'test'}", taken)
            path = f"{target.folder}/{target.prefix}/{name}.yaml"
            files[path] = _yaml(_scenario(case, name, target), target)
            found.note((case.file, case.line), ImportOutcome.MAPPED, TEST, path)
    if files:
        load_suite(files, metric_problems, validate_rule, readers_of)
    return dict(sorted(files.items()))


def _name(case: ImportedCase) -> str:
    """What the id of a case is made of; a message with a person's number names no file."""
    return case.name or ("" if find_identifiers(case.messages[-1]) else case.messages[-1])


def _is_scenario(case: ImportedCase, found: Import, target: Target) -> bool:
    """Whether a case is a valid scenario; if not, why is a finding."""
    place = (case.file, case.line)
    if not case.asserts:
        found.note(place, ImportOutcome.MANUAL, TEST, "not written: no assertion is left, so it would measure nothing")
        return False
    content = _yaml(_scenario(case, f"{target.prefix}_test", target), target)
    kinds = sorted(set(find_credentials(content.decode())))
    if kinds:
        found.note(place, ImportOutcome.MANUAL, TEST, f"not written: it contains {', '.join(kinds)}; remove it")
        return False
    try:
        load_suite({"test.yaml": content}, metric_problems, validate_rule, readers_of)
        read, _ = read_yaml("test.yaml", content)
        same = read is not None and read.data == _scenario(case, f"{target.prefix}_test", target)
        problem = "" if same else "a value cannot be written as YAML without a change"
    except SuiteError as error:
        problem = "; ".join(each.message for each in error.problems)
    if problem:
        found.note(place, ImportOutcome.MANUAL, TEST, f"not written: {problem}")
        return False
    texts = (*case.messages, json.dumps(case.inputs, ensure_ascii=False))
    people = sorted({each.kind for text in texts for each in find_identifiers(text)})
    if people:
        result = f"written, and contains {', '.join(people)}; replace it unless it is fictional"
        found.note(place, ImportOutcome.MANUAL, TEST, result)
    return True


def _yaml(data: Mapping[str, Any], target: Target) -> bytes:
    import yaml  # only what writes scenarios needs it

    class WithoutAliases(yaml.SafeDumper):
        """Scenarios and configurations hold none."""

        def ignore_aliases(self, _data: Any) -> bool:
            return True

    text = yaml.dump(dict(data), Dumper=WithoutAliases, allow_unicode=True, sort_keys=False, width=110)
    return f"# Imported by `ratiba {printable(target.origin)}`.\n{text}".encode("utf-8", "replace")


def _scenario(case: ImportedCase, name: str, target: Target, **more: Any) -> dict[str, Any]:
    *earlier, last = case.messages
    last_turn = {"user": last, **({"expect": case.expect} if case.expect else {})}
    values = {
        "id": name,
        **({} if case.messages == ("${input}",) else title_of(case.name or last)),
        "language": target.language,
        "system_type": target.system_type,
        "tags": ["imported"],
        "family": f"{target.prefix}_{case.family}" if case.family else "",
        **more,
        "inputs": case.inputs,
        "variant": case.variant,
        "turns": [*_turns(earlier, case.earlier), last_turn],
        "rules": case.rules,
        "assertions": case.assertions,
        "limits": case.limits,
        "metrics": {"fluency": False},
    }
    silent = {"layer": "fsm", "script": []} if case.calls_nothing else {}
    return {key: value for key, value in values.items() if value} | silent


def _turns(messages: Sequence[str], expected: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The turns before the last."""
    each = zip(messages, expected or [{}] * len(messages), strict=True)
    return [{"user": message, **({"expect": expect} if expect else {})} for message, expect in each]


def _shape(case: ImportedCase) -> str:
    """The same for cases that one scenario with columns can describe."""
    if case.earlier:
        return json.dumps([case.file, case.line, case.name, case.variant, bool(case.family)])
    metrics = [(entry["metric"], entry.get("name"), sorted(entry.get("with", ()))) for entry in case.assertions]
    rules = [rule["type"] for rule in case.rules]
    pair = [case.variant, bool(case.family)]
    return json.dumps([sorted(case.expect), rules, metrics, sorted(case.limits), sorted(case.inputs), *pair])


def _case_files(group: Sequence[ImportedCase], found: Import, target: Target, taken: set[str]) -> Mapping[str, bytes]:
    """A scenario with columns and its rows."""
    first = group[0]
    kinds = [
        *first.expect,
        *(rule["type"] for rule in first.rules),
        *(entry["metric"].rpartition(":")[2] for entry in first.assertions),
    ]
    stem = [slug("_".join([*kinds, *first.limits]), 22), slug(first.variant, 20)]
    name = unique("_".join(filter(None, [target.prefix, *stem])), taken)
    folder = f"{target.folder}/{target.prefix}"
    ids: set[str] = set()
    rows: list[dict[str, Any]] = [
        {"id": unique(slug(_name(case), 44) or TEST, ids), "input": case.messages[-1]} for case in group
    ]
    for row, case in zip(rows, group, strict=True):
        if case.item:
            row[ITEM] = case.item
        if len(case.messages) > 1:
            row[HISTORY] = [{"role": "user", "content": message} for message in case.messages[:-1]]
        found.note((case.file, case.line), ImportOutcome.MAPPED, TEST, f"{folder}/{name}.jsonl: {row['id']}")
    columns = _Columns(rows, target.as_cases)
    template = ImportedCase(
        first.file,
        first.line,
        messages=("${input}",),
        variant=first.variant,
        calls_nothing=first.calls_nothing,
        expect={key: columns.of(key, [case.expect[key] for case in group]) for key in first.expect},
        rules=[
            {"type": rule["type"], "value": columns.of(rule["type"], [case.rules[index]["value"] for case in group])}
            for index, rule in enumerate(first.rules)
        ],
        assertions=[_assertion(entry, index, group, columns) for index, entry in enumerate(first.assertions)],
        limits={key: columns.of(key, [case.limits[key] for case in group]) for key in first.limits},
        inputs={
            key: "${input}"
            if all(case.inputs[key] == case.messages[-1] for case in group)
            else columns.of(key, [case.inputs[key] for case in group])
            for key in first.inputs
        },
    )
    families = [f"{target.prefix}_{case.family}" for case in group]
    more = {"family": columns.of("family", families)} if first.family else {}
    content = _yaml(_scenario(template, name, target, cases=f"{name}.jsonl", **more), target)
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    return {f"{folder}/{name}.yaml": content, f"{folder}/{name}.jsonl": lines.encode()}


def _assertion(
    entry: Mapping[str, Any], index: int, group: Sequence[ImportedCase], columns: "_Columns"
) -> dict[str, Any]:
    entries = [case.assertions[index] for case in group]
    values = {**entry, "threshold": columns.of("threshold", [each["threshold"] for each in entries])}
    if "with" in entry:
        values["with"] = {key: columns.of(key, [each["with"][key] for each in entries]) for key in entry["with"]}
    return values


@dataclass(frozen=True, slots=True)
class _Columns:
    """Adds a column for each value that differs between rows."""

    rows: Sequence[dict[str, Any]]
    always: bool
    names: set[str] = field(default_factory=lambda: {"id", "input", HISTORY})

    def of(self, name: str, values: Sequence[Any]) -> Any:
        """The value if it is the same for all rows, else a reference to a new column."""
        fixed = not self.always or name in _FIXED
        if fixed and all(json.dumps(value) == json.dumps(values[0]) for value in values):
            return _escaped(values[0])
        column = unique(slug(name, 40), self.names)
        for row, value in zip(self.rows, values, strict=True):
            row[column] = value
        return f"${{{column}}}"


def _escaped(value: Any) -> Any:
    """The value for a scenario with cases, where ``${`` begins a column."""
    if isinstance(value, str):
        return value.replace("${", "$${")
    if isinstance(value, Mapping):
        return {_escaped(key): _escaped(item) for key, item in value.items()}
    return [_escaped(item) for item in value] if isinstance(value, list) else value


def configuration_file(system: ImportedSystem, target: Target, pass_rate: float) -> bytes:
    """A configuration that runs an imported system, by the rule of its tool.

    Args:
        pass_rate: share of scores that must pass.
    """
    written = _yaml({"system": system.block, **system.more, "pass_rate": pass_rate}, target)
    assumed = system.block.get("price_per_turn_usd")
    line = f"  price_per_turn_usd: {assumed}\n".encode()
    advice = b"  # Assumed by the import: write what a turn costs, or 0 if it calls no model.\n"
    return written.replace(line, advice + line, 1) if assumed else written


def starter(name: str) -> bytes:
    """A file that an import writes as it is."""
    return (resources.files("ratiba_action.authoring") / "starter" / name).read_bytes()


def checks_file() -> bytes:
    """The module that runs the code of promptfoo's assertions."""
    return starter("promptfoo_checks.py.j2")


def scorers_file() -> bytes:
    """The module that scores replies as Inspect and OpenAI evals do."""
    return starter("scorer_checks.py.j2")


def task_tests(name: str, root: str, found: Import, *, models: bool) -> bytes:
    """A file of pytest with a test for each task of Inspect; empty if there is none that it can run.

    Args:
        name: the file's path.
        root: the folder of the system, which must hold the tasks: empty, or with a slash at its end.
        models: whether the configuration names the model of tasks that name none.
    """
    taken: set[str] = set()
    tests = ""
    for task in found.tasks:
        if not task.file or not task.file.startswith(root):
            seen = root or "the repository"
            result = f"'{task.name}' is not imported: its file is not in {seen}, which is all that tests see"
            found.note(task.place, ImportOutcome.MANUAL, "task", result)
            continue
        given = f"({task.file.removeprefix(root)!r}, {task.name!r}"
        test = unique(f"test_{task.name}", taken)
        tests += f"\n\n@samples{given})\ndef {test}(sample):\n    check{given}, sample)\n"
        result = f"run by Inspect itself, as '{name}::{test}'; Inspect fails nothing, here each sample must be correct"
        found.note(task.place, ImportOutcome.APPROXIMATED, "task", result)
        if not (models or task.has_model):
            result = f"name it in `system.environment`, such as `{{{INSPECT_MODEL}: openai/gpt-5}}`"
            found.note(task.place, ImportOutcome.MANUAL, "model of a task", result)
    return starter("inspect_tasks.py.j2") + tests.encode() if tests else b""


def common_metrics(cases: Sequence[ImportedCase]) -> list[dict[str, Any]]:
    """Assertions that every case has: what the configuration's ``metrics`` could list for new scenarios too."""
    first, *others = [[entry for entry in case.assertions if "name" not in entry] for case in cases] or [[]]
    return [entry for entry in first if all(entry in entries for entries in others)]
