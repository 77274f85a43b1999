"""Scenarios, rows of cases and a configuration of what an import found."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

from ratiba_action.authoring.imports import TEST, Import, ImportedCase, ImportedSystem, ImportOutcome, slug, unique
from ratiba_action.checks.failure_rules import validate_rule
from ratiba_action.errors import SuiteError
from ratiba_action.metrics.registry import metric_problems, readers_of
from ratiba_action.privacy.credentials import find_credentials
from ratiba_action.privacy.identifiers import find_identifiers
from ratiba_action.suite.case_ids import HISTORY
from ratiba_action.suite.load import load_suite
from ratiba_action.suite.scenario_schema import title_of
from ratiba_action.util.strict_yaml import read_yaml
from ratiba_action.util.text import printable

_MAX_CASES = 2_000
_MIN_ROWS = 3
"""So many tests with the same kinds of assertions become one scenario with a file of cases."""
ITEM = "_item"
"""Column with the id of the dataset item that a row was made of: a note, which no scenario uses."""
_FIXED = frozenset({"threshold", "criterion"})
"""Values that an import chooses; they are the same in all rows."""
INSPECT_MODEL = "INSPECT_EVAL_MODEL"
"""The variable in which Inspect finds the model of tasks that name none."""


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
