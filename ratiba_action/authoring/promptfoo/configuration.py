"""Reads promptfoo's configurations and tests: YAML, JSON, JSON Lines or CSV. No template is executed.

Code runs only where a person asked for it (``promptfoo/project_code.py``).
"""

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ratiba_action.authoring.imports import (
    TEST,
    Import,
    ImportedCase,
    ImportedPair,
    ImportOutcome,
    NotImportedError,
    slug,
    unique,
)
from ratiba_action.authoring.promptfoo.case_assertions import AssertionReader, CaseAssertions, is_number
from ratiba_action.authoring.promptfoo.case_inputs import CaseInputs, UnclearMessageError
from ratiba_action.authoring.promptfoo.conversations import join_conversations
from ratiba_action.authoring.promptfoo.keys import CONFIGURATION_KEYS, OPTIONS, READ, TEST_KEYS
from ratiba_action.authoring.promptfoo.listed_tests import ListedTests
from ratiba_action.authoring.promptfoo.parts import FilePart
from ratiba_action.authoring.promptfoo.project_code import ProjectCode
from ratiba_action.authoring.promptfoo.prompts import CONVERSATION
from ratiba_action.authoring.promptfoo.system import names_any, read_system
from ratiba_action.authoring.promptfoo.variables import Variables, combinations
from ratiba_action.authoring.source_folder import SourceFolder
from ratiba_action.errors import SuiteError
from ratiba_action.privacy.identifiers import find_identifiers
from ratiba_action.util.validation import shorten

_NEAR, _PERSON = ImportOutcome.APPROXIMATED, ImportOutcome.MANUAL
_CHOSEN = ("prompts", "providers", "provider")
"""Keys of a test that say with which prompts and providers it is run."""
_PASSING = "PROMPTFOO_PASSING_THRESHOLD"


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
    tests: ListedTests = field(init=False)
    assertions: AssertionReader = field(init=False)
    unclear: dict[tuple[str, int], Mapping[str, str]] = field(default_factory=dict)
    families: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.variables = Variables(self.folder, self.found, self.code)
        self.tests = ListedTests(self.folder, self.found, self.code)
        self.assertions = AssertionReader(self.folder, self.found, self.variables)

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
        document = self.tests.document(name)
        if isinstance(document.data, list):
            self._run(None, self.tests.of_document(document))
            return
        if not isinstance(document.data, Mapping):
            self.found.wrong((document.name, 1), f"{shorten(document.data)} is not a mapping with `tests`")
            return
        whole = FilePart(document, (), document.data)
        self.tests.parts.note_unread(whole, CONFIGURATION_KEYS, READ)
        self.variables.prompt = self._only_prompt(document.data.get("prompts"))
        self._pass_rate(whole)
        templates = document.data.get("assertionTemplates")
        given = document.data.get("env")
        environment = {str(key): str(text) for key, text in given.items()} if isinstance(given, Mapping) else {}
        self.assertions = replace(
            self.assertions,
            templates=templates if isinstance(templates, Mapping) else {},
            environment=environment,
        )
        default = self.tests.default(whole)
        tests = self.tests.of(whole, "tests")
        for scenario in self.tests.scenarios(whole):
            self.tests.parts.note_unread(scenario, {}, ("description", "config", "tests"))
            inner = self.tests.of(scenario, "tests")
            tests += [[config, *test] for config in self.tests.parts.list(scenario, "config") for test in inner]
        if not any(document.data.get(key) for key in ("tests", "scenarios", "redteam")):
            # promptfoo runs each prompt once, with `defaultTest` if there is one.
            tests = [[FilePart(document, (), {})]]
        layers = [*([default] if default is not None else []), *(layer for test in tests for layer in test)]
        options = [layer.data.get("options") for layer in layers]
        affixes = any(isinstance(each, Mapping) and {"prefix", "suffix"} & each.keys() for each in options)
        if self.found.system is None:
            self.found.system = read_system(
                self.folder, document, self.found, self.prefix, environment, affixes=affixes
            )
        self._run(default, tests)

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
            self.tests.parts.note_unread(
                layer, TEST_KEYS, ("description", "vars", "assert", "threshold", "options", *_CHOSEN, *thread)
            )
            options |= self._options(layer)
        if options.get("disableDefaultAsserts") is True and len(layers) > 1:
            layers = [FilePart(layers[0].document, layers[0].path, {**layers[0].data, "assert": []}), *layers[1:]]
        try:
            variables = self.variables.of(layers, options.get("transformVars"))
            expanded = [variables] if options.get("disableVarExpansion") is True else combinations(variables)
            own = next((name for layer in layers[::-1] for name in self.variables.of([layer])), "")
            inputs = CaseInputs(self.found, self.message, self.variables.prompt)
            messages = [
                inputs.message_of(place, each, str(test.data.get("description") or ""), own) for each in expanded
            ]
        except UnclearMessageError as error:
            self.unclear[place] = error.texts
            return
        except NotImportedError as error:
            self.found.note(place, _PERSON, TEST, f"not imported: {error}")
            return
        except SuiteError as error:
            self.found.wrong(place, f"vars: {error.problems[0]}")
            return
        asserts = [each for layer in layers for each in self.assertions.of(layer)]
        description = next((str(each.data["description"]) for each in layers[::-1] if each.data.get("description")), "")
        around = self.assertions.around(layers, options)
        thresholds = [layer.data["threshold"] for layer in layers if is_number(layer, "threshold")]
        pairs = self._pairs(layers)
        several = len(pairs) > 1
        for values, message in zip(expanded, messages, strict=True):
            case = ImportedCase(*place, description, (message,))
            case.variable = inputs.variable(values, own)
            case.inputs = inputs.of(place, values) | inputs.affixes(place, options, values)
            CaseAssertions(self.assertions, case, values, around).add(asserts, thresholds[-1] if thresholds else None)
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

    def _options(self, layer: FilePart) -> Mapping[str, Any]:
        value = layer.data.get("options")
        part = (
            self.tests.parts.part(layer.document, (*layer.path, "options"), value, "options")
            if value is not None
            else None
        )
        if part is None:
            return {}
        read = ["transform", "postprocess", "prefix", "suffix"]
        if self.code is not None and "transformVars" in part.data:
            read.append("transformVars")
            result = "applied by the import, to the variables as they are today"
            self.found.note(part.place("transformVars"), ImportOutcome.MAPPED, "options.transformVars", result)
        self.tests.parts.note_unread(part, OPTIONS, read, "options.")
        return part.data


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
