"""Reads promptfoo's configurations and tests: YAML, JSON, JSON Lines or CSV. No template is executed.

Code runs only where a person asked for it (``promptfoo/project_code.py``).
"""

import contextlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ratiba_action.authoring.imports import (
    TEST,
    Import,
    ImportedCase,
    ImportedPair,
    ImportOutcome,
    Left,
    NotImportedError,
    SourceFolder,
    slug,
    unique,
)
from ratiba_action.authoring.promptfoo.assertion_types import (
    CHECKS,
    JUDGED,
    checked,
    entry_of,
    kind_of,
    measure_set,
    plain_text,
    rule_of,
)
from ratiba_action.authoring.promptfoo.attacks import attack_rubric, is_attack
from ratiba_action.authoring.promptfoo.conversations import join_conversations
from ratiba_action.authoring.promptfoo.keys import (
    ASSERTION_KEYS,
    CONFIGURATION_KEYS,
    OPTIONS,
    READ,
    SET_KEYS,
    TEST_KEYS,
)
from ratiba_action.authoring.promptfoo.project_code import CODE, OPTION, ProjectCode, is_code, split_code
from ratiba_action.authoring.promptfoo.providers import with_environment
from ratiba_action.authoring.promptfoo.rows import LEFT_OUT, UNNAMED, read_row, with_commas
from ratiba_action.authoring.promptfoo.system import CONVERSATION, PREFIX, SUFFIX, names_any, read_system
from ratiba_action.authoring.promptfoo.values import fill
from ratiba_action.authoring.promptfoo.variables import FilePart, Variables, combinations
from ratiba_action.errors import FileProblem, SuiteError
from ratiba_action.privacy.identifiers import find_identifiers
from ratiba_action.util.body_template import INPUT_NAME
from ratiba_action.util.strict_yaml import Path, YamlDocument
from ratiba_action.util.validation import shorten

_PLACE = re.compile(r"\{\{-?\s*([A-Za-z_]\w*)\s*-?\}\}")
_TEMPLATE = re.compile(r"\{\{|\{%|\{#")
_DATA = (".yaml", ".yml", ".json", ".jsonl", ".csv")
_MAX_FILES = 100
_SHEETS = (".xlsx", ".xls", "docs.google.com/spreadsheets")
_MESSAGES = ("input", "question", "query", "message", "prompt", "user_input", "text")
"""Variables that are the message if a test has several."""

_NEAR, _PERSON = ImportOutcome.APPROXIMATED, ImportOutcome.MANUAL
_ASSERTION_READ = ("type", "value", "threshold", "weight", "transform", "config", "alpha", "beta", "gamma")
_CHOSEN = ("prompts", "providers", "provider")
"""Keys of a test that say with which prompts and providers it is run."""
_OURS = frozenset({"message", "history"})
"""Names that no input of a scenario may have: they are the conversation's."""
_COMPARING = ("select-best", "max-score")
_PASSING = "PROMPTFOO_PASSING_THRESHOLD"


@dataclass(frozen=True, slots=True)
class _Assert:
    """An assertion, or a set of them.

    Args:
        inner: of a set; None for an assertion.
    """

    part: "FilePart"
    inner: "tuple[_Assert, ...] | None" = None

    @property
    def kind(self) -> Any:
        return self.part.data.get("type")


class _UnclearMessageError(Exception):
    """No variable is known to be the message.

    Args:
        texts: the test's variables.
    """

    def __init__(self, texts: Mapping[str, str]) -> None:
        super().__init__()
        self.texts = texts


@dataclass(slots=True)
class _Reader:
    """Reads one configuration.

    Args:
        found: cases, findings and the system.
        message: variable that is the user's message; empty to choose it.
        prefix: begins the names of new prompt files.
        code: runs what makes tests and variables; None if nobody asked for it.
    """

    folder: SourceFolder
    found: Import
    message: str
    prefix: str
    code: ProjectCode | None = None
    variables: Variables = field(init=False)
    templates: Mapping[str, Any] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    unclear: dict[tuple[str, int], Mapping[str, str]] = field(default_factory=dict)
    families: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.variables = Variables(self.folder, self.found, self.code)

    def suggest(self) -> None:
        """A finding for each test of which nobody knows the message, with the option that would help most of them."""
        values: dict[str, set[str]] = {}
        for texts in self.unclear.values():
            for name, text in texts.items():
                values.setdefault(name, set()).add(text)
        best = max(values, key=lambda name: (len(values[name]), sum(map(len, values[name]))), default="NAME")
        for place, texts in self.unclear.items():
            listed = ", ".join(map(shorten, texts)) or "none"
            result = f"not imported: which variable is the user's message? It has {listed}. Give --map input={best}"
            self.found.note(place, _PERSON, TEST, result)

    def read(self, name: str) -> None:
        document = self.document(name)
        if isinstance(document.data, list):
            self._run(None, self._of_document(document))
            return
        if not isinstance(document.data, Mapping):
            self.found.wrong((document.name, 1), f"{shorten(document.data)} is not a mapping with `tests`")
            return
        whole = FilePart(document, (), document.data)
        self._keys(whole, CONFIGURATION_KEYS, READ)
        self.variables.prompt = self._only_prompt(document.data.get("prompts"))
        self._pass_rate(whole)
        templates = document.data.get("assertionTemplates")
        self.templates = templates if isinstance(templates, Mapping) else {}
        given = document.data.get("env")
        self.environment = {str(key): str(text) for key, text in given.items()} if isinstance(given, Mapping) else {}
        default = self._default(whole)
        tests = self._tests(whole, "tests")
        for scenario in self._scenarios(whole):
            self._keys(scenario, {}, ("description", "config", "tests"))
            inner = self._tests(scenario, "tests")
            tests += [[config, *test] for config in self._parts(scenario, "config") for test in inner]
        if not any(document.data.get(key) for key in ("tests", "scenarios", "redteam")):
            # promptfoo runs each prompt once, with `defaultTest` if there is one.
            tests = [[FilePart(document, (), {})]]
        layers = [*([default] if default is not None else []), *(layer for test in tests for layer in test)]
        options = [layer.data.get("options") for layer in layers]
        affixes = any(isinstance(each, Mapping) and {"prefix", "suffix"} & each.keys() for each in options)
        if self.found.system is None:
            self.found.system = read_system(self.folder, document, self.found, self.prefix, affixes=affixes)
        self._run(default, tests)

    def _scenarios(self, whole: FilePart) -> list[FilePart]:
        """Promptfoo's scenarios, in this file or in others."""
        value = whole.data.get("scenarios")
        listed = value if isinstance(value, list) else [value]
        if not any(isinstance(each, str) for each in listed):
            return self._parts(whole, "scenarios")
        found: list[FilePart] = []
        for index, each in enumerate(listed):
            if isinstance(each, str):
                parts = self._files(whole.place("scenarios", index), each)
            else:
                part = self._part(whole.document, ("scenarios", index), each, f"scenarios.{index}")
                parts = [[part]] if part is not None else []
            found += [part for layers in parts for part in layers]
        return found

    def _keys(
        self, part: FilePart, table: Mapping[str, tuple[ImportOutcome, str]], read: Sequence[str], what: str = ""
    ) -> None:
        """A finding for each key that is not read."""
        for key in part.data:
            if key not in read:
                outcome, result = table.get(key, (_PERSON, "not imported: unknown here"))
                self.found.note(part.place(key), outcome, f"{what}{shorten(key)[1:-1]}", result)

    def _pass_rate(self, whole: FilePart) -> None:
        """The share of tests that must pass, in percent in the configuration's ``env``."""
        environment = whole.data.get("env")
        value = environment.get(_PASSING) if isinstance(environment, Mapping) else None
        try:
            share = float(value) / 100 if value is not None else 1.0
        except (TypeError, ValueError):
            share = -1.0
        if not 0 <= share <= 1:
            self.found.wrong(whole.place("env"), f"{_PASSING} is {shorten(value)}, not a percentage from 0 to 100")
        elif share < 1:
            self.found.pass_rate = share
            result = f"`pass_rate: {share:g}`, which covers judged scores: deterministic assertions must all pass"
            self.found.note(whole.place("env", _PASSING), _NEAR, _PASSING, result)

    def _only_prompt(self, prompts: Any) -> str | None:
        """The text of the only prompt; None if there are several or it is not plain text."""
        listed = prompts if isinstance(prompts, list) else [prompts]
        prompt = listed[0] if len(listed) == 1 else None
        if isinstance(prompt, Mapping):
            prompt = prompt.get("raw")
        if not isinstance(prompt, str):
            return None
        named = prompt.removeprefix("file://")
        if named.endswith((".txt", ".md")) and "\n" not in named and "*" not in named:
            with contextlib.suppress(SuiteError):  # it is not imported anyway
                prompt = self.folder.text(named)
                return None if "---" in prompt.splitlines() else prompt
        return prompt if "{{" in prompt or "\n" in prompt else None

    def _default(self, whole: FilePart) -> FilePart | None:
        value = whole.data.get("defaultTest")
        document = whole.document
        path: Path = ("defaultTest",)
        if isinstance(value, str):
            try:
                document, path = self.folder.document(value.removeprefix("file://")), ()
            except SuiteError as error:
                self.found.wrong(whole.place("defaultTest"), f"defaultTest: {error.problems[0]}")
                return None
            value = document.data
        return self._part(document, path, value, "defaultTest") if value is not None else None

    def _part(self, document: YamlDocument, path: Path, value: Any, what: str) -> FilePart | None:
        if isinstance(value, Mapping):
            return FilePart(document, path, value)
        self.found.wrong((document.name, document.line(path)), f"{what}: {shorten(value)} is not a mapping")
        return None

    def _parts(self, part: FilePart, key: str) -> list[FilePart]:
        """The mappings of a list."""
        value = part.data.get(key, [])
        if not isinstance(value, list):
            self.found.wrong(part.place(key), f"{key}: {shorten(value)} is not a list")
            return []
        found = (
            self._part(part.document, (*part.path, key, index), item, f"{key}.{index}")
            for index, item in enumerate(value)
        )
        return [item for item in found if item is not None]

    def _tests(self, part: FilePart, key: str) -> list[list[FilePart]]:
        """The tests of a key, in this file or in others."""
        value = part.data.get(key)
        if isinstance(value, str):
            return self._files(part.place(key), value)
        if value is None:
            return []
        if isinstance(value, Mapping):
            value = [value]
        if not isinstance(value, list):
            self.found.wrong(part.place(key), f"{key}: {shorten(value)} is not a list of tests or a file")
            return []
        return self._listed(part.document, (*part.path, key), value, files=True)

    def _listed(
        self, document: YamlDocument, path: Path, value: Sequence[Any], *, files: bool = False
    ) -> list[list[FilePart]]:
        tests: list[list[FilePart]] = []
        for index, item in enumerate(value):
            inner = (*path, index)
            place = (document.name, document.line(inner))
            if isinstance(item, Mapping) and isinstance(item.get("path"), str):
                self._keys(FilePart(document, inner, item), {}, ("path", "config"))
            if isinstance(item, str) and files:
                tests += self._files(place, item)
            elif isinstance(item, Mapping) and str(item.get("path")).removeprefix("file://").endswith(_DATA):
                tests += self._files(place, item["path"])
            elif isinstance(item, Mapping) and isinstance(item.get("path"), str) and is_code(item["path"]):
                tests += self._made(place, item["path"], *([item["config"]] if "config" in item else []))
            elif isinstance(item, Mapping) and isinstance(item.get("path"), str):
                tests += self._files(place, item["path"])
            else:
                part = self._part(document, inner, item, "a test")
                tests += [[part]] if part is not None else []
        return tests

    def _files(self, place: tuple[str, int], reference: str) -> list[list[FilePart]]:
        """The tests of other files, which must lie inside the folder."""
        name = reference.removeprefix("file://").removeprefix("./")
        if is_code(reference):
            return self._made(place, reference)
        if "://" in name or not name.endswith(_DATA):
            result = f"not imported: {shorten(reference)} is not a YAML, JSON, JSON Lines or CSV file"
            result += "; save it as CSV" if any(each in reference for each in _SHEETS) else ""
            self.found.note(place, _PERSON, "tests", result)
            return []
        names = self.folder.matching(name, _MAX_FILES) if "*" in name else [name]
        if not names or len(names) > _MAX_FILES:
            self.found.wrong(place, f"tests: {shorten(reference)} names {len(names)} files; allowed: 1 to {_MAX_FILES}")
            return []
        tests: list[list[FilePart]] = []
        for each in names:
            try:
                document = self.document(each)
            except SuiteError as error:
                self.found.wrong(place, f"tests: {shorten(reference)}: {error.problems[0]}")
                continue
            tests += self._of_document(document)
        return tests

    def _made(self, place: tuple[str, int], reference: str, *config: Any) -> list[list[FilePart]]:
        """The tests that code makes.

        Args:
            config: what it is given.
        """
        name = shorten(reference)
        if self.code is None:
            result = f"not imported: {name} makes them by code, which an import runs only with {OPTION}"
            self.found.note(place, _PERSON, "tests", result)
            return []
        try:
            made = self.code.call(self.folder, reference, "generate_tests", *config)
        except NotImportedError as error:
            self.found.note(place, _PERSON, "tests", f"not imported: {error}")
            return []
        except SuiteError as error:
            self.found.wrong(place, f"tests: {error.problems[0]}")
            return []
        if not isinstance(made, list):
            self.found.wrong(place, f"tests: {name} makes {shorten(made)}, which is not a list of tests")
            return []
        result = f"{name} makes {len(made)} today; import again when it makes others"
        self.found.note(place, ImportOutcome.MAPPED, "tests", result)
        return self._listed(YamlDocument(self.folder.name(split_code(reference)[0]), made, {}), (), made)

    def document(self, name: str) -> YamlDocument:
        """A file as data; of a CSV file with any separator, and columns without a name left out.

        Raises:
            SuiteError: it cannot be read or is malformed.
        """
        if self.code is not None and name.endswith(CODE):
            try:
                return YamlDocument(self.folder.name(name), self.code.call(self.folder, name, ""), {})
            except NotImportedError as error:
                raise SuiteError([FileProblem(self.folder.name(name), 1, str(error))]) from error
        if not name.endswith(".csv"):
            return self.folder.document(name)
        changed = with_commas(self.folder.text(name))
        document = self.folder.document(name, changed.encode())
        if UNNAMED in changed.partition("\n")[0]:
            self.found.note((document.name, 1), _NEAR, "column without a name", LEFT_OUT)
        return document

    def _of_document(self, document: YamlDocument) -> list[list[FilePart]]:
        """The tests of a file that holds nothing else."""
        data = document.data if isinstance(document.data, list) else [document.data]
        if document.name.endswith(".csv"):
            data = [
                read_row(self.found, (document.name, document.line((index,))), row) for index, row in enumerate(data)
            ]
            document = YamlDocument(document.name, data, document.lines)
        return self._listed(document, (), data)

    def _run(self, default: FilePart | None, tests: Sequence[Sequence[FilePart]]) -> None:
        for layers in tests:
            self._test([default, *layers] if default is not None else layers)

    def _test(self, layers: Sequence[FilePart]) -> None:
        """The cases of one test: one for each combination of listed variables."""
        test = layers[-1]
        place = test.place()
        options: dict[str, Any] = {}
        for layer in layers:
            metadata = layer.data.get("metadata")
            thread = ("metadata",) if isinstance(metadata, Mapping) and set(metadata) == {"conversationId"} else ()
            self._keys(layer, TEST_KEYS, ("description", "vars", "assert", "threshold", "options", *_CHOSEN, *thread))
            options |= self._options(layer)
        if options.get("disableDefaultAsserts") is True and len(layers) > 1:
            layers = [FilePart(layers[0].document, layers[0].path, {**layers[0].data, "assert": []}), *layers[1:]]
        try:
            variables = self.variables.of(layers, options.get("transformVars"))
            expanded = [variables] if options.get("disableVarExpansion") is True else combinations(variables)
            own = next((name for layer in layers[::-1] for name in self.variables.of([layer])), "")
            messages = [self._message(place, each, str(test.data.get("description") or ""), own) for each in expanded]
        except _UnclearMessageError as error:
            self.unclear[place] = error.texts
            return
        except NotImportedError as error:
            self.found.note(place, _PERSON, TEST, f"not imported: {error}")
            return
        except SuiteError as error:
            self.found.wrong(place, f"vars: {error.problems[0]}")
            return
        asserts = [each for layer in layers for each in self._asserts(layer)]
        description = next((str(each.data["description"]) for each in layers[::-1] if each.data.get("description")), "")
        more = self._around(layers, options)
        thresholds = [layer.data["threshold"] for layer in layers if _is_number(layer, "threshold")]
        pairs = self._pairs(layers)
        several = len(pairs) > 1
        for values, message in zip(expanded, messages, strict=True):
            case = ImportedCase(*place, description, (message,))
            case.variable = self._variable(values, own)
            case.inputs = self._inputs(place, values) | self._affixes(place, options, values)
            if not asserts:
                measure_set(case, {"kind": "set", "minimum": 0, "assertions": []})
                self.found.note(place, _NEAR, "assert", "the test has none: it passes unless the system fails")
            self._whole(case, asserts, thresholds[-1] if thresholds else None, values, more)
            _give_variables(case, values)
            if several:
                case.family = self._family(f"test {len(self.families)}", description or message)
            for pair in pairs:
                name = " ".join(filter(None, [description or message, pair.name]))
                paired = replace(case, variant=pair.variant, name=name if pair.name else description)
                paired.calls_nothing = pair.calls_nothing
                self._add(paired, layers, options)

    def _family(self, key: str, text: str) -> str:
        """The family of a test or a conversation that several pairs run: a change of one prompt shows in all of them.

        Args:
            key: no other test or conversation has it; the same one has the same family.
            text: for its name; one with a person's number gives none.
        """
        if key not in self.families:
            name = ("" if find_identifiers(text) else slug(text, 40)) or TEST
            self.families[key] = unique(name, set(self.families.values()))
        return self.families[key]

    def _pairs(self, layers: Sequence[FilePart]) -> Sequence[ImportedPair]:
        """The pairs of a prompt and a provider that a test is run with."""
        usual = ImportedPair("", frozenset(), frozenset(), "")
        known = self.found.system.pairs if self.found.system is not None else ()
        chosen = list(known or [usual])
        for key in _CHOSEN:
            part = next((layer for layer in layers[::-1] if layer.data.get(key) is not None), None)
            if part is None:
                continue
            given = part.data[key]
            references = given if isinstance(given, list) else [given]
            labels = [pair.prompt if key == "prompts" else pair.provider for pair in chosen]
            found = [pair for pair, each in zip(chosen, labels, strict=True) if names_any(references, each)]
            if found and key == "provider":
                found = list({pair.prompt: pair for pair in found}.values())
            if known and found:
                chosen = found
                self.found.note(part.place(key), ImportOutcome.MAPPED, key, "the test runs with these only")
            else:
                result = f"{shorten(given)} is none of those that were imported; the test runs with all of them"
                self.found.note(part.place(key), _PERSON, key, result)
        return chosen

    def _affixes(
        self, place: tuple[str, int], options: Mapping[str, Any], variables: Mapping[str, Any]
    ) -> dict[str, Any]:
        """What stands before and behind the prompt."""
        if self.found.system is None or PREFIX not in self.found.system.names:
            return {}
        texts = {name: _as_text(value) for name, value in variables.items()}
        given = {PREFIX: options.get("prefix", ""), SUFFIX: options.get("suffix", "")}
        return {name: self._filled(place, value, texts) for name, value in given.items()}

    def _add(self, case: ImportedCase, layers: Sequence[FilePart], options: Mapping[str, Any]) -> None:
        """Keep a case; where the prompts have a place for the conversation, as a further turn of it."""
        system = self.found.system
        if system is None or CONVERSATION not in system.names or options.get("disableConversationVar") is True:
            self.found.cases.append(case)
            return
        metadata: dict[str, Any] = {}
        for layer in layers:
            given = layer.data.get("metadata")
            metadata |= given if isinstance(given, Mapping) else {}
        thread = str(metadata.get("conversationId") or "")
        case.thread = f"conversation {thread}" if thread else "the conversation"
        case.family = self._family(case.thread, case.thread) if len(system.pairs) > 1 else ""
        case.thread += f" with {case.variant}" if case.variant else ""
        self.found.cases.append(case)

    def _named(self, variables: Mapping[str, Any]) -> str:
        """The variable whose name says that it is the user's message, or the only one; empty if there is none."""
        if self.message or len(variables) == 1:
            return self.message or next(iter(variables))
        # Prompts that the gate fills have this name for nothing else.
        first = ("message",) if self.found.system is not None else ()
        return next((each for each in (*first, *_MESSAGES) if each in variables), "")

    def _variable(self, variables: Mapping[str, Any], own: str) -> str:
        """The variable that is the user's message; empty if there is none."""
        name = self._named(variables)
        return name or (own or next(iter(variables), "") if self.found.system is not None else "")

    def _around(self, layers: Sequence[FilePart], options: Mapping[str, Any]) -> Mapping[str, Any]:
        """What assertions look at besides the reply: transforms, the test, tools and the format of the request."""
        prompt = self.found.system.block.get("prompt", {}) if self.found.system is not None else {}
        request = prompt.get("request", {})
        parsed = self.found.system is not None and self.found.system.parses
        test: dict[str, Any] = {}
        for layer in layers:
            test |= {key: layer.data[key] for key in ("description", "metadata", "threshold") if key in layer.data}
        code = options.get("transform", options.get("postprocess"))
        place = layers[-1].place()
        try:
            transform = [self._code_of(code, {})] if isinstance(code, str) else []
        except NotImportedError as error:
            transform = []
            self.found.note(place, _PERSON, "options.transform", f"not imported: {error}")
        tools = request.get("tools")
        tools = tools if isinstance(tools, list) else []
        return {"transform": transform, "test": test, "tools": tools, "as_json": parsed}

    def _whole(
        self,
        case: ImportedCase,
        asserts: Sequence[_Assert],
        threshold: float | None,
        values: Mapping[str, Any],
        more: Mapping[str, Any],
    ) -> None:
        """Add the assertions of a test: all must pass, or their mean must reach its threshold."""
        if threshold is not None:
            self._measure_set(case, asserts, threshold, values, more)
        else:
            self._each(case, asserts, values, more)

    def _each(
        self, case: ImportedCase, asserts: Sequence[_Assert], values: Mapping[str, Any], more: Mapping[str, Any]
    ) -> None:
        """Add assertions that must each pass."""
        for each in asserts:
            if each.inner is None:
                self._assert(case, each.part, values, more)
            elif _is_number(each.part, "threshold"):
                self._measure_set(case, each.inner, each.part.data["threshold"], values, more)
            else:
                self._each(case, each.inner, values, more)

    def _measure_set(
        self,
        case: ImportedCase,
        asserts: Sequence[_Assert],
        threshold: float,
        values: Mapping[str, Any],
        more: Mapping[str, Any],
    ) -> None:
        entries = self._entries(case, asserts, values, more)
        if entries:
            measure_set(case, {"kind": "set", "minimum": threshold, "assertions": entries})

    def _entries(
        self, case: ImportedCase, asserts: Sequence[_Assert], values: Mapping[str, Any], more: Mapping[str, Any]
    ) -> list[dict[str, Any]]:
        """Members of a set with a threshold; what cannot be a member must pass by itself."""
        entries: list[dict[str, Any]] = []
        for each in asserts:
            data, place = each.part.data, each.part.place()
            weight = data.get("weight", 1)
            weighted = {"weight": weight} if weight != 1 else {}
            if each.inner is not None:
                inner = self._entries(case, each.inner, values, more)
                limit = {"minimum": data["threshold"]} if _is_number(each.part, "threshold") else {}
                entries += [{"kind": "set", **limit, "assertions": inner, **weighted}] if inner else []
                continue
            kind, negate = kind_of(each.kind) if isinstance(each.kind, str) else ("", False)
            what = f"assert {shorten(each.kind)[1:-1]}"
            if not kind or each.kind in _COMPARING:
                self._assert(case, each.part, values, more)
                if kind not in _COMPARING and rule_of(str(each.kind)).apply is not None:
                    self.found.note(place, _NEAR, what, "must pass by itself: its score is no part of the mean here")
            elif not weight:
                self._unweighted(case, each.part, values, more)
            else:
                try:
                    entries.append({**entry_of(kind, self._given(each.part, values, more), negate=negate), **weighted})
                except NotImportedError as error:
                    self.found.note(place, _PERSON, what, f"not imported: {error}")
                else:
                    self._keys(each.part, ASSERTION_KEYS, _ASSERTION_READ, f"{what}: ")
                    rule = rule_of(each.kind)
                    self.found.note(place, rule.outcome, what, "a part of a set with a threshold")
        return entries

    def _options(self, layer: FilePart) -> Mapping[str, Any]:
        value = layer.data.get("options")
        part = self._part(layer.document, (*layer.path, "options"), value, "options") if value is not None else None
        if part is None:
            return {}
        read = ["transform", "postprocess", "prefix", "suffix"]
        if self.code is not None and "transformVars" in part.data:
            read.append("transformVars")
            result = "applied by the import, to the variables as they are today"
            self.found.note(part.place("transformVars"), ImportOutcome.MAPPED, "options.transformVars", result)
        self._keys(part, OPTIONS, read, "options.")
        return part.data

    def _message(self, place: tuple[str, int], variables: Mapping[str, Any], description: str, own: str) -> str:
        """The user's message.

        Args:
            own: the first variable of the test itself; empty if all are from elsewhere.

        Raises:
            _UnclearMessageError: no variable is the message, and the gate does not run the prompt.
            NotImportedError: it is a template.
        """
        texts = {name: _as_text(value) for name, value in variables.items()}
        name = self._named(texts)
        is_named = bool(self.message) or len(texts) == 1
        if not is_named and self.found.system is None and self.variables.prompt is not None:
            self.found.note(place, _NEAR, "vars", "the message is the whole prompt with its variables filled in")
            return render(self.variables.prompt, texts)
        if self.found.system is not None:
            text = _as_text(self._filled(place, variables.get(name or own or next(iter(texts), ""), ""), texts))
            return text if text.strip() else description or "-"
        if name not in texts:
            raise _UnclearMessageError(texts)
        if _TEMPLATE.search(texts[name]):
            raise NotImportedError(f"the variable {shorten(name)} is a template, and none is evaluated")
        return texts[name]

    def _inputs(self, place: tuple[str, int], variables: Mapping[str, Any]) -> dict[str, Any]:
        """The variables as inputs of a scenario; where the gate runs the prompts, all that they have places for."""
        texts = {name: _as_text(value) for name, value in variables.items()}
        inputs: dict[str, Any] = {}
        for name, value in variables.items():
            if name == "message" and self.found.system is not None and self.message in {"", name} and value:
                continue  # it is the user's message
            if not re.match(INPUT_NAME, name) or name in _OURS:
                result = f"{shorten(name)} cannot be the name of an input"
                self.found.note(place, _NEAR if name == "message" else _PERSON, "vars", result)
                continue
            inputs[name] = self._filled(place, value, texts)
        if self.found.system is None:
            if len(inputs) > 1:
                result = f"{', '.join(map(shorten, inputs))} are `inputs` of the scenario: let your system read them"
                self.found.note(place, _NEAR, "vars", result)
            return inputs if len(inputs) > 1 else {}
        whole = [name for name, value in inputs.items() if isinstance(value, list | Mapping)]
        if whole:
            result = f"{', '.join(whole)}: a list or mapping that the prompt writes whole is JSON here"
            self.found.note(place, _NEAR, "vars", f"{result}, and an empty one is false in a condition")
        missing = sorted(self.found.system.names - set(inputs) - {CONVERSATION, PREFIX, SUFFIX})
        if missing:
            self.found.note(place, _NEAR, "vars", f"{', '.join(missing)} is empty, as in promptfoo")
        return {**inputs, **dict.fromkeys(missing, "")}

    def _filled(self, place: tuple[str, int], value: Any, texts: Mapping[str, str]) -> Any:
        """A variable whose text names others, with them filled in."""
        if not isinstance(value, str):
            return value
        try:
            return render(value, texts) if _TEMPLATE.search(value) else value.rstrip("\n")
        except NotImportedError as error:
            self.found.note(place, _PERSON, "vars", f"kept as it is: {error}")
            return value

    def _asserts(self, layer: FilePart, key: Sequence[str | int] = ("assert",)) -> Iterator[_Assert]:
        """The assertions of a test, those of sets among them."""
        value: Any = layer.data
        for step in key:
            value = value.get(step) if isinstance(value, Mapping) else value[int(step)]
        if value is None:
            return
        if not isinstance(value, list):
            self.found.wrong(layer.place(*key), f"assert: {shorten(value)} is not a list")
            return
        for index, item in enumerate(value):
            path = (*layer.path, *key, index)
            reference = item.get("$ref") if isinstance(item, Mapping) else None
            if isinstance(reference, str):
                meant, own = self.templates.get(reference.rpartition("/")[2]), {**item}
                del own["$ref"]
                item = {**meant, **own} if isinstance(meant, Mapping) else meant  # noqa: PLW2901 - what is meant
            part = self._part(layer.document, path, item, "an assertion")
            if part is not None and part.data.get("type") == "assert-set":
                self._keys(part, SET_KEYS, ("type", "assert", "threshold", "weight"), "assert assert-set: ")
                yield _Assert(part, tuple(self._asserts(layer, (*key, index, "assert"))))
            elif part is not None:
                yield _Assert(part)

    def _assert(
        self, case: ImportedCase, part: FilePart, variables: Mapping[str, Any], more: Mapping[str, Any]
    ) -> None:
        """Add one assertion to a case, and say what became of it."""
        kind = part.data.get("type")
        if not isinstance(kind, str):
            self.found.wrong(part.place(), f"assert: {shorten(kind)} is not a type of assertion")
            return
        place, what, rule = part.place(), f"assert {shorten(kind)[1:-1]}", rule_of(kind)
        known, negate = kind_of(kind)
        if part.data.get("weight") == 0:
            self._unweighted(case, part, variables, more)
            return
        if rule.apply is None:
            self.found.note(place, rule.outcome, what, rule.becomes)
            if rule.outcome is _PERSON:
                self.found.left.append(Left(*place, kind, part.data.get("value"), part.data.get("threshold")))
            return
        becomes = rule.becomes
        try:
            given = self._given(part, variables, more)
            if known and (given["transform"] or (given["tools"] and not known.startswith("trajectory:"))):
                different = checked(case, given, kind=known, negate=negate)
                looks = "on the transformed reply" if given["transform"] else "which looks at calls of tools, too"
                becomes = f"a metric of `{CHECKS}.py`, {looks}"
            else:
                different = rule.apply(case, given)
                if given["transform"] and kind not in {"cost", "latency"}:
                    different = "the reply is not transformed for it"
        except NotImportedError as error:
            self.found.note(place, _PERSON, what, f"not imported: {error}")
            self.found.left.append(Left(*place, kind, part.data.get("value"), part.data.get("threshold")))
            return
        except SuiteError as error:
            self.found.wrong(place, f"{what}: {error.problems[0]}")
            return
        self._keys(part, ASSERTION_KEYS, _ASSERTION_READ, f"{what}: ")
        outcome = _NEAR if different else rule.outcome
        self.found.note(place, outcome, what, becomes + (f"; {different}" if different else ""))

    def _unweighted(
        self, case: ImportedCase, part: FilePart, variables: Mapping[str, Any], more: Mapping[str, Any]
    ) -> None:
        """An assertion that always passes: it is measured if that calls neither code nor a judge."""
        kind, negate = kind_of(part.data["type"])
        self._keys(part, ASSERTION_KEYS, _ASSERTION_READ, f"assert {shorten(part.data['type'])[1:-1]}: ")
        result = "left out: with weight 0 it always passes"
        if kind and kind not in JUDGED and not rule_of(kind).is_code:
            with contextlib.suppress(NotImportedError):
                entry = entry_of(kind, self._given(part, variables, more), negate=negate)
                measure_set(case, {"kind": "set", "minimum": 0, "assertions": [entry]})
                result = "measured, and always passes, since its weight is 0"
        self.found.note(part.place(), _NEAR, f"assert {shorten(part.data['type'])[1:-1]}", result)

    def _given(self, part: FilePart, variables: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
        """An assertion with its value filled in, and what is around it.

        Raises:
            NotImportedError: a file of it cannot be used.
        """
        value, own = part.data.get("value"), part.data.get("transform")
        runs = rule_of(str(part.data.get("type"))).is_code
        value = self._code_of(value, variables) if runs else self._rendered(value, variables)
        if is_attack(part.data.get("type")):
            value = attack_rubric(part.data["type"], value, more["test"].get("metadata"))
        transform = [*more["transform"], *([self._code_of(own, {})] if isinstance(own, str) else [])]
        return {**part.data, **more, "value": value, "transform": transform}

    def _code_of(self, value: Any, variables: Mapping[str, Any]) -> Any:
        """Code with its variables filled in, or the place of its file in the repository.

        Raises:
            NotImportedError: the file cannot be run where it is.
        """
        if not isinstance(value, str) or not value.startswith("file://"):
            return self._rendered(value, variables) if variables else value
        name, colon, function = value.removeprefix("file://").removeprefix("./").partition(":")
        try:
            self.folder.read(name)
        except SuiteError as error:
            raise NotImportedError(str(error.problems[0])) from None
        path = self.folder.below_top(name)
        if self.folder.top != self.folder.repository or path is None:
            raise NotImportedError(f"{shorten(name)} is not in the repository; copy it there")
        return f"file://{path}{colon}{function}"

    def _rendered(self, value: Any, variables: Mapping[str, Any]) -> Any:
        """A value with its variables filled in.

        Raises:
            NotImportedError: it is code, or a template that is more than names of variables.
        """
        if isinstance(value, str):
            return fill(with_environment(self.variables.loaded(value), self.environment), variables)
        if isinstance(value, list):
            return [self._rendered(item, variables) for item in value]
        if isinstance(value, Mapping):
            return {key: self._rendered(item, variables) for key, item in value.items()}
        return value


def read_promptfoo(
    folder: SourceFolder,
    name: str,
    found: Import,
    message: str = "",
    prefix: str = "imported",
    *,
    code: ProjectCode | None = None,
) -> None:
    """Read one configuration or file of tests.

    Args:
        message: variable that is the user's message; empty to choose it.
        prefix: begins the names of new prompt files.
        code: runs what makes tests and variables; None if nobody asked for it.

    Raises:
        SuiteError: a file cannot be read or is malformed.
    """
    reader = _Reader(folder, found, message, prefix, code)
    reader.read(name)
    reader.suggest()
    join_conversations(found)


def render(text: str, variables: Mapping[str, str]) -> str:
    """The text with ``{{ name }}`` replaced by the variable's value, once: the value itself is not looked at.

    Raises:
        NotImportedError: it has any other template expression, or a name that is no variable.
    """
    if _TEMPLATE.search(_PLACE.sub("", text)):
        raise NotImportedError("it is a template with more than names of variables, and none is evaluated")
    missing = [name for name in _PLACE.findall(text) if name not in variables]
    if missing:
        raise NotImportedError(f"there is no variable {shorten(missing[0])}")
    return _PLACE.sub(lambda match: variables[match[1]], text)


def _give_variables(case: ImportedCase, variables: Mapping[str, Any]) -> None:
    """Let code of assertions read ``context.vars``."""
    entries = [entry for entry in case.assertions if entry["metric"].startswith(f"{CHECKS}:")]
    if entries and not case.inputs:
        case.inputs = {name: value for name, value in variables.items() if re.match(INPUT_NAME, name)}
    hidden = {name: variables[name] for name in _OURS & variables.keys() - case.inputs.keys()}
    for entry in entries if hidden else ():
        entry["with"]["vars"] = hidden


def _is_number(part: FilePart, key: str) -> bool:
    value = part.data.get(key)
    return isinstance(value, int | float) and not isinstance(value, bool)


def _as_text(value: Any) -> str:
    if value is None:
        return ""
    return plain_text(value) if isinstance(value, str | int | float) else json.dumps(value, ensure_ascii=False)
