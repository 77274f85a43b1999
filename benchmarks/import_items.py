"""No item of a configuration of promptfoo is lost: it is written, or the report of the import names it.

Into each mapping of a configuration, one after the other, goes a key that no tool knows, and to each text a word: the
key or the word must stand in a file that the import writes, or in a row of its report.
"""

import json
import tempfile
from collections.abc import Collection, Iterator, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

from benchmarks.promptfoo_examples import EXAMPLES, SERVER, Files
from benchmarks.promptfoo_repositories import REPOSITORIES
from ratiba_action.authoring.imported_suite import Target, configuration_file, scenario_files
from ratiba_action.authoring.imports import Import, ImportOutcome
from ratiba_action.authoring.promptfoo.configuration import read_promptfoo
from ratiba_action.authoring.promptfoo.left_assertions import left_file
from ratiba_action.authoring.source_folder import SourceFolder
from ratiba_action.errors import SuiteError
from ratiba_action.util.strict_yaml import read_yaml

CANARY = "zzcanary"
"""Stands in no configuration."""
Path_ = tuple[str | int, ...]
ALL: Mapping[str, Files] = {**EXAMPLES, **REPOSITORIES}
_NAMES = frozenset({"type", "$ref", "path", "file", "id", "raw", "method", "url", "conversationId"})
"""Keys whose texts name something: with another word they name nothing, which is an error of its own."""

_OPTIONS = frozenset({"min", "max", "requiredElements"})
"""Keys of a value whose other keys promptfoo itself does not read."""
_LABELS = frozenset({"label", "description", "prompts"})
"""Keys of what has a row of its own: they name it."""
COMMENTS: frozenset[Path_] = frozenset({("description",), *(("scenarios", each, "description") for each in range(9))})
"""Texts for people, of a file or of a part of it that is no test."""

EVERYTHING = {
    "description": "All that a configuration has",
    "env": {"PLACE": "Nairobi"},
    "prompts": [
        "In {{place}}: {{question}}",
        {"id": "two", "label": "second", "raw": "Second {{question}}", "config": {"temperature": 0.4}},
    ],
    "providers": [
        {
            "id": "openai:gpt-4.1-mini",
            "label": "small",
            "prompts": ["second"],
            "delay": 10,
            "config": {
                "temperature": 0.3,
                "max_tokens": 77,
                "response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": {"type": "object"}}},
                "tools": [{"type": "function", "function": {"name": "clock", "parameters": {"type": "object"}}}],
            },
        }
    ],
    "assertionTemplates": {"greets": {"type": "icontains", "value": "hello"}},
    "defaultTest": {
        "description": "the usual",
        "vars": {"place": "Kisumu"},
        "options": {"transform": "output.trim()", "prefix": "Now. ", "suffix": " Thanks.", "provider": "openai:gpt-5"},
        "metadata": {"kind": "usual"},
        "assert": [{"type": "not-icontains", "value": "sorry", "metric": "Polite"}],
    },
    "scenarios": [
        {
            "description": "towns",
            "config": [{"vars": {"place": "Mombasa"}, "metadata": {"side": "coast"}}],
            "tests": [{"vars": {"question": "Where?"}, "assert": [{"type": "contains", "value": "coast"}]}],
        }
    ],
    "tests": [
        {
            "description": "sums",
            "vars": {"question": "How much?", "extra": {"deep": ["a", {"deeper": "b"}]}},
            "threshold": 0.61,
            "metadata": {"conversationId": "x"},
            "assert": [
                {
                    "type": "assert-set",
                    "threshold": 0.52,
                    "weight": 2.5,
                    "metric": "Sums",
                    "config": {"share": "all"},
                    "assert": [
                        {"type": "contains", "value": "ten", "weight": 0},
                        {"type": "javascript", "value": "output.length > 1", "config": {"least": 3}},
                    ],
                },
                {"type": "similar", "value": "ten", "threshold": 0.8, "provider": {"id": "openai:embedding:a"}},
                {"type": "cost", "threshold": 0.01, "weight": 3},
                {"type": "skill-used", "value": {"name": "adding"}},
            ],
        },
        {
            "description": "every kind",
            "vars": {"question": ["one", "two"]},
            "options": {"transformVars": "({...vars})", "rubricPrompt": "Judge {{output}}", "storeOutputAs": "kept"},
            "assert": [
                {"$ref": "#/assertionTemplates/greets"},
                {"type": "is-json", "value": {"type": "object", "required": ["a"]}},
                {"type": "llm-rubric", "value": "is kind", "threshold": 0.7, "rubricPrompt": "Judge", "provider": "a"},
                {"type": "g-eval", "value": ["is short", "is true"]},
                {"type": "context-recall", "value": "ten", "contextTransform": "output.context"},
                {"type": "contains-xml", "value": {"requiredElements": ["a.b"]}},
                {"type": "python", "value": "len(output) > 2", "transform": "output.slice(1)", "weight": 0},
                {"type": "assert-set", "assert": [{"type": "equals", "value": "ten"}]},
                {"type": "perplexity", "threshold": 2},
                {"type": "trajectory:tool-args-match", "value": {"name": "clock", "args": {"zone": "EAT"}}},
            ],
        },
    ],
}
"""A configuration with an item of each kind."""


def places(value: Any, path: Path_ = ()) -> Iterator[Path_]:
    """Each mapping and each text, by its path."""
    if isinstance(value, Mapping):
        if not (path and path[-1] == "value" and value.keys() & _OPTIONS):
            yield path
        for key, item in value.items():
            yield from places(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from places(item, (*path, index))
    elif isinstance(value, str) and not (path and path[-1] in _NAMES) and ":" not in value:
        yield path


def with_canary(data: Any, path: Path_) -> Any:
    """A copy with a further key in the mapping, or a further word in the text, at a path."""
    copy = deepcopy(data)
    if not path:
        return {**copy, CANARY: "x"}
    around = copy
    for step in path[:-1]:
        around = around[step]
    value = around[path[-1]]
    around[path[-1]] = {**value, CANARY: "x"} if isinstance(value, Mapping) else f"{value} {CANARY}"
    return copy


def is_lost(folder: Path, data: Any, path: Path_) -> bool:
    """Whether an item is neither written nor named by a row, its own or that of what is left out with it."""
    changed = with_canary(data, path)
    text, found = surfaced(folder, changed)
    if CANARY in text:
        return False
    if path in COMMENTS or path[:1] == ("assertionTemplates",):
        return False
    document = SourceFolder(folder, "", folder).document("promptfooconfig.json")
    for length in range(1, len(path) + 1):
        around = path[:length]
        line = document.line(around)
        for each in found.findings:
            is_named = each.what.rpartition(": ")[2].rpartition(".")[2] == around[-1]
            is_whole = each.outcome is ImportOutcome.MANUAL or "left out" in each.result or path[-1] in _LABELS
            if each.line == line and (
                is_named or (is_whole and each.what.startswith(("assert ", "providers", "prompts", "test")))
            ):
                return False
    return True


def surfaced(folder: Path, data: Any) -> tuple[str, Import]:
    """All that the import of a configuration writes and reports."""
    (folder / "promptfooconfig.json").write_text(json.dumps(data, indent=1))
    found, target = Import(), Target("scenarios", "a", "en", "chatbot", "import")
    try:
        read_promptfoo(SourceFolder(folder, "", folder), "promptfooconfig.json", found)
        files = scenario_files(found, target)
    except SuiteError as error:
        return str(error), found
    written = [content.decode() for content in files.values()]
    if found.system is not None:
        written += [content.decode() for content in found.system.files.values()]
        written.append(configuration_file(found.system, target, found.pass_rate).decode())
    written += [left_file(found.left).decode(), *(f"{each.what}: {each.result}" for each in found.findings)]
    return "\n".join(written), found


def lost(folder: Path, data: Any) -> list[str]:
    """Paths of items that are neither written nor reported."""
    return [".".join(map(str, path)) or "the configuration" for path in places(data) if is_lost(folder, data, path)]


def configurations() -> Iterator[tuple[str, Any, Files]]:
    """A name, a configuration as data, and the files that it needs."""
    yield "everything", EVERYTHING, {}
    for name, files in ALL.items():
        if "promptfooconfig.yaml" not in files:
            continue
        content = files["promptfooconfig.yaml"].replace(SERVER, "http://127.0.0.1:9").encode()
        document, problems = read_yaml("promptfooconfig.yaml", content, aliases=True)
        assert document is not None, problems
        yield name, document.data, files


def count_lost(names: Collection[str] = ("everything", *ALL)) -> tuple[int, list[str]]:
    """How many items the configurations of these names have, and those that are lost."""
    items, found = 0, list[str]()
    for name, data, files in configurations():
        if name not in names:
            continue
        with tempfile.TemporaryDirectory() as place:
            for path, content in files.items():
                if not path.startswith("promptfooconfig."):
                    (Path(place) / path).parent.mkdir(parents=True, exist_ok=True)
                    (Path(place) / path).write_text(content)
            items += len(list(places(data)))
            found += [f"{name}: {each}" for each in lost(Path(place), data)]
    return items, found
