"""The user's message and the inputs of a case, by the variables of a test."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ratiba_action.authoring.imports import Import, ImportOutcome, NotImportedError
from ratiba_action.authoring.promptfoo.assertion_values import plain_text
from ratiba_action.authoring.promptfoo.prompts import CONVERSATION, PREFIX, SUFFIX
from ratiba_action.util.body_template import INPUT_NAME
from ratiba_action.util.validation import shorten

_PLACE = re.compile(r"\{\{-?\s*([A-Za-z_]\w*)\s*-?\}\}")
_TEMPLATE = re.compile(r"\{\{|\{%|\{#")
_MESSAGES = ("input", "question", "query", "message", "prompt", "user_input", "text")
"""Variables that are the message if a test has several."""
OURS = frozenset({"message", "history"})
"""Names that no input of a scenario may have: they are the conversation's."""


class UnclearMessageError(Exception):
    """No variable is known to be the message.

    Args:
        texts: the test's variables.
    """

    def __init__(self, texts: Mapping[str, str]) -> None:
        super().__init__()
        self.texts = texts


@dataclass(frozen=True, slots=True)
class CaseInputs:
    """Chooses what the customer says and what the scenario is given besides.

    Args:
        message: variable that is the user's message; empty to choose it.
        prompt: the text of the only prompt; None if there are several, or it is not plain text.
    """

    found: Import
    message: str
    prompt: str | None

    def message_of(self, place: tuple[str, int], variables: Mapping[str, Any], description: str, own: str) -> str:
        """The user's message.

        Args:
            own: the first variable of the test itself; empty if all are from elsewhere.

        Raises:
            UnclearMessageError: no variable is the message, and the gate does not run the prompt.
            NotImportedError: it is a template.
        """
        texts = {name: _as_text(value) for name, value in variables.items()}
        name = self._named(texts)
        is_named = bool(self.message) or len(texts) == 1
        if not is_named and self.found.system is None and self.prompt is not None:
            self.found.note(
                place,
                ImportOutcome.APPROXIMATED,
                "vars",
                "the message is the whole prompt with its variables filled in",
            )
            return render(self.prompt, texts)
        if self.found.system is not None:
            text = _as_text(self._filled(place, variables.get(name or own or next(iter(texts), ""), ""), texts))
            return text if text.strip() else description or "-"
        if name not in texts:
            raise UnclearMessageError(texts)
        if _TEMPLATE.search(texts[name]):
            raise NotImportedError(f"the variable {shorten(name)} is a template, and none is evaluated")
        return texts[name]

    def of(self, place: tuple[str, int], variables: Mapping[str, Any]) -> dict[str, Any]:
        """The variables as inputs of a scenario; where the gate runs the prompts, all that they have places for."""
        texts = {name: _as_text(value) for name, value in variables.items()}
        inputs: dict[str, Any] = {}
        for name, value in variables.items():
            if name == "message" and self.found.system is not None and self.message in {"", name} and value:
                continue  # it is the user's message
            if not re.match(INPUT_NAME, name) or name in OURS:
                result = f"{shorten(name)} cannot be the name of an input"
                self.found.note(
                    place, ImportOutcome.APPROXIMATED if name == "message" else ImportOutcome.MANUAL, "vars", result
                )
                continue
            inputs[name] = self._filled(place, value, texts)
        if self.found.system is None:
            if len(inputs) > 1:
                result = f"{', '.join(map(shorten, inputs))} are `inputs` of the scenario: let your system read them"
                self.found.note(place, ImportOutcome.APPROXIMATED, "vars", result)
            return inputs if len(inputs) > 1 else {}
        whole = [name for name, value in inputs.items() if isinstance(value, list | Mapping)]
        if whole:
            result = f"{', '.join(whole)}: a list or mapping that the prompt writes whole is JSON here"
            self.found.note(
                place, ImportOutcome.APPROXIMATED, "vars", f"{result}, and an empty one is false in a condition"
            )
        missing = sorted(self.found.system.names - set(inputs) - {CONVERSATION, PREFIX, SUFFIX})
        if missing:
            self.found.note(
                place, ImportOutcome.APPROXIMATED, "vars", f"{', '.join(missing)} is empty, as in promptfoo"
            )
        return {**inputs, **dict.fromkeys(missing, "")}

    def affixes(
        self, place: tuple[str, int], options: Mapping[str, Any], variables: Mapping[str, Any]
    ) -> dict[str, Any]:
        """What stands before and behind the prompt."""
        if self.found.system is None or PREFIX not in self.found.system.names:
            return {}
        texts = {name: _as_text(value) for name, value in variables.items()}
        given = {PREFIX: options.get("prefix", ""), SUFFIX: options.get("suffix", "")}
        return {name: self._filled(place, value, texts) for name, value in given.items()}

    def variable(self, variables: Mapping[str, Any], own: str) -> str:
        """The variable that is the user's message; empty if there is none."""
        name = self._named(variables)
        return name or (own or next(iter(variables), "") if self.found.system is not None else "")

    def _named(self, variables: Mapping[str, Any]) -> str:
        """The variable whose name says that it is the user's message, or the only one; empty if there is none."""
        if self.message or len(variables) == 1:
            return self.message or next(iter(variables))
        # Prompts that the gate fills have this name for nothing else.
        first = ("message",) if self.found.system is not None else ()
        return next((each for each in (*first, *_MESSAGES) if each in variables), "")

    def _filled(self, place: tuple[str, int], value: Any, texts: Mapping[str, str]) -> Any:
        """A variable whose text names others, with them filled in."""
        if not isinstance(value, str):
            return value
        try:
            return render(value, texts) if _TEMPLATE.search(value) else value.rstrip("\n")
        except NotImportedError as error:
            self.found.note(place, ImportOutcome.MANUAL, "vars", f"kept as it is: {error}")
            return value


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


def _as_text(value: Any) -> str:
    if value is None:
        return ""
    return plain_text(value) if isinstance(value, str | int | float) else json.dumps(value, ensure_ascii=False)
