"""The assertions of a promptfoo test, with their values filled in, as those of a case."""

import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ratiba_action.authoring.imports import Import, ImportedCase, ImportOutcome, Left, NotImportedError
from ratiba_action.authoring.promptfoo.assertion_types import kind_of, rule_of
from ratiba_action.authoring.promptfoo.attacks import attack_rubric, is_attack
from ratiba_action.authoring.promptfoo.case_inputs import OURS
from ratiba_action.authoring.promptfoo.keys import ASSERTION_KEYS, SET_KEYS
from ratiba_action.authoring.promptfoo.parts import FilePart, Parts
from ratiba_action.authoring.promptfoo.providers import with_environment
from ratiba_action.authoring.promptfoo.rules import Rule
from ratiba_action.authoring.promptfoo.values import fill
from ratiba_action.authoring.promptfoo.variables import Variables
from ratiba_action.authoring.promptfoo.written_checks import CHECKS, JUDGED, checked, entry_of, measure_set
from ratiba_action.authoring.source_folder import SourceFolder
from ratiba_action.errors import SuiteError
from ratiba_action.util.body_template import INPUT_NAME
from ratiba_action.util.validation import shorten

_ASSERTION_READ = ("type", "value", "threshold", "weight", "transform", "config", "alpha", "beta", "gamma")
_COMPARING = ("select-best", "max-score")


@dataclass(frozen=True, slots=True)
class PromptfooAssertion:
    """An assertion, or a set of them.

    Args:
        inner: of a set; None for an assertion.
    """

    part: FilePart
    inner: "tuple[PromptfooAssertion, ...] | None" = None

    @property
    def kind(self) -> Any:
        """Its type; whatever stands there."""
        return self.part.data.get("type")


@dataclass(frozen=True, slots=True)
class AssertionReader:
    """Reads assertions and the code of a configuration.

    Args:
        templates: the configuration's assertions by name.
        environment: the configuration's variables by name.
    """

    folder: SourceFolder
    found: Import
    variables: Variables
    templates: Mapping[str, Any] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)

    def of(self, layer: FilePart, key: Sequence[str | int] = ("assert",)) -> Iterator[PromptfooAssertion]:
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
            part = Parts(self.found).part(layer.document, path, item, "an assertion")
            if part is not None and part.data.get("type") == "assert-set":
                Parts(self.found).note_unread(
                    part, SET_KEYS, ("type", "assert", "threshold", "weight"), "assert assert-set: "
                )
                yield PromptfooAssertion(part, tuple(self.of(layer, (*key, index, "assert"))))
            elif part is not None:
                yield PromptfooAssertion(part)

    def around(self, layers: Sequence[FilePart], options: Mapping[str, Any]) -> Mapping[str, Any]:
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
            self.found.note(place, ImportOutcome.MANUAL, "options.transform", f"not imported: {error}")
        tools = request.get("tools")
        tools = tools if isinstance(tools, list) else []
        return {"transform": transform, "test": test, "tools": tools, "as_json": parsed}

    def given(self, part: FilePart, variables: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
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


@dataclass(frozen=True, slots=True)
class CaseAssertions:
    """Adds the assertions of a test to a case.

    Args:
        values: the test's variables.
        around: what assertions look at besides the reply.
    """

    reader: AssertionReader
    case: ImportedCase
    values: Mapping[str, Any]
    around: Mapping[str, Any]

    def add(self, asserts: Sequence[PromptfooAssertion], threshold: float | None) -> None:
        """All must pass, or their mean must reach a threshold; code of theirs may read the test's variables."""
        if not asserts:
            measure_set(self.case, {"kind": "set", "minimum": 0, "assertions": []})
            result = "the test has none: it passes unless the system fails"
            self.reader.found.note((self.case.file, self.case.line), ImportOutcome.APPROXIMATED, "assert", result)
        elif threshold is None:
            self._each(asserts)
        else:
            self._mean(asserts, threshold)
        self._give_variables()

    def _each(self, asserts: Sequence[PromptfooAssertion]) -> None:
        """Add assertions that must each pass."""
        for each in asserts:
            if each.inner is None:
                self._one(each.part)
            elif is_number(each.part, "threshold"):
                self._mean(each.inner, each.part.data["threshold"])
            else:
                self._each(each.inner)

    def _mean(self, asserts: Sequence[PromptfooAssertion], threshold: float) -> None:
        """Add assertions whose mean must reach a threshold."""
        if entries := self._entries(asserts):
            measure_set(self.case, {"kind": "set", "minimum": threshold, "assertions": entries})

    def _entries(self, asserts: Sequence[PromptfooAssertion]) -> list[dict[str, Any]]:
        """Members of a set with a threshold; what cannot be a member must pass by itself."""
        entries: list[dict[str, Any]] = []
        for each in asserts:
            weight = each.part.data.get("weight", 1)
            weighted = {"weight": weight} if weight != 1 else {}
            if each.inner is not None:
                inner = self._entries(each.inner)
                limit = {"minimum": each.part.data["threshold"]} if is_number(each.part, "threshold") else {}
                entries += [{"kind": "set", **limit, "assertions": inner, **weighted}] if inner else []
                continue
            kind, negate = kind_of(each.kind) if isinstance(each.kind, str) else ("", False)
            if not kind or each.kind in _COMPARING:
                self._one(each.part)
                if kind not in _COMPARING and rule_of(str(each.kind)).apply is not None:
                    result = "must pass by itself: its score is no part of the mean here"
                    self._note(each.part, ImportOutcome.APPROXIMATED, result)
            elif not weight:
                self._unweighted(each.part)
            else:
                try:
                    entries.append({**entry_of(kind, self._given(each.part), negate=negate), **weighted})
                except NotImportedError as error:
                    self._note(each.part, ImportOutcome.MANUAL, f"not imported: {error}")
                else:
                    self._note_unread(each.part)
                    self._note(each.part, rule_of(each.kind).outcome, "a part of a set with a threshold")
        return entries

    def _one(self, part: FilePart) -> None:
        """Add one assertion, and say what became of it."""
        kind = part.data.get("type")
        if not isinstance(kind, str):
            self.reader.found.wrong(part.place(), f"assert: {shorten(kind)} is not a type of assertion")
            return
        rule = rule_of(kind)
        if part.data.get("weight") == 0:
            self._unweighted(part)
        elif rule.apply is None:
            self._leave(part, rule.outcome, rule.becomes)
        else:
            try:
                different, becomes = self._applied(part, kind, rule)
            except NotImportedError as error:
                self._leave(part, ImportOutcome.MANUAL, f"not imported: {error}")
            except SuiteError as error:
                self.reader.found.wrong(part.place(), f"{_what(part)}: {error.problems[0]}")
            else:
                self._note_unread(part)
                outcome = ImportOutcome.APPROXIMATED if different else rule.outcome
                self._note(part, outcome, becomes + (f"; {different}" if different else ""))

    def _applied(self, part: FilePart, kind: str, rule: Rule) -> tuple[str | None, str]:
        """Add one assertion.

        Returns:
            What differs here, and what it becomes.
        """
        given, (known, negate) = self._given(part), kind_of(kind)
        if known and (given["transform"] or (given["tools"] and not known.startswith("trajectory:"))):
            looks = "on the transformed reply" if given["transform"] else "which looks at calls of tools, too"
            return checked(self.case, given, kind=known, negate=negate), f"a metric of `{CHECKS}.py`, {looks}"
        different = rule.apply(self.case, given) if rule.apply is not None else None
        if given["transform"] and kind not in {"cost", "latency"}:
            different = "the reply is not transformed for it"
        return different, rule.becomes

    def _unweighted(self, part: FilePart) -> None:
        """An assertion that always passes: it is measured if that calls neither code nor a judge."""
        kind, negate = kind_of(part.data["type"])
        self._note_unread(part)
        result = "left out: with weight 0 it always passes"
        if kind and kind not in JUDGED and not rule_of(kind).is_code:
            with contextlib.suppress(NotImportedError):
                entry = entry_of(kind, self._given(part), negate=negate)
                measure_set(self.case, {"kind": "set", "minimum": 0, "assertions": [entry]})
                result = "measured, and always passes, since its weight is 0"
        self._note(part, ImportOutcome.APPROXIMATED, result)

    def _given(self, part: FilePart) -> dict[str, Any]:
        return self.reader.given(part, self.values, self.around)

    def _leave(self, part: FilePart, outcome: ImportOutcome, result: str) -> None:
        """Note what is not imported; what a person must write gets a starting point."""
        self._note(part, outcome, result)
        if outcome is ImportOutcome.MANUAL:
            left = Left(*part.place(), part.data["type"], part.data.get("value"), part.data.get("threshold"))
            self.reader.found.left.append(left)

    def _note(self, part: FilePart, outcome: ImportOutcome, result: str) -> None:
        self.reader.found.note(part.place(), outcome, _what(part), result)

    def _note_unread(self, part: FilePart) -> None:
        Parts(self.reader.found).note_unread(part, ASSERTION_KEYS, _ASSERTION_READ, f"{_what(part)}: ")

    def _give_variables(self) -> None:
        """Let code of assertions read ``context.vars``."""
        case, values = self.case, self.values
        entries = [entry for entry in case.assertions if entry["metric"].startswith(f"{CHECKS}:")]
        if entries and not case.inputs:
            case.inputs = {name: value for name, value in values.items() if re.match(INPUT_NAME, name)}
        hidden = {name: values[name] for name in OURS & values.keys() - case.inputs.keys()}
        for entry in entries if hidden else ():
            entry["with"]["vars"] = hidden


def _what(part: FilePart) -> str:
    return f"assert {shorten(part.data.get('type'))[1:-1]}"


def is_number(part: FilePart, key: str) -> bool:
    """Whether a key of a mapping has a number."""
    value = part.data.get(key)
    return isinstance(value, int | float) and not isinstance(value, bool)
