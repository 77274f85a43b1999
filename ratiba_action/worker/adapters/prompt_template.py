"""A system without code whose prompt is a Jinja template: of the message, the history and the scenario's inputs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..lookup import AdapterError
from ..prompt_system import Message, PromptConversation

CHATS = (".json", ".yaml", ".yml")
_ROLES = ("system", "user", "assistant")


class Adapter:
    """Opens conversations with the model.

    Args:
        options: as of ``prompt_system.Adapter``, and ``role``: who says the filled text, ``system`` or ``user``. A file
            with a suffix of ``CHATS`` becomes a list of messages, each with its own role.
    """

    def __init__(self, options: dict[str, Any]) -> None:
        self._options = options

    def open(self, context: Any) -> PromptConversation:
        """Read the template.

        Raises:
            AdapterError: it is no template.
        """
        name, role = self._options["file"], self._options["role"]
        text = Path(name).read_text(encoding="utf-8")
        templates = Templates(name)
        prompt = templates.compiled(_structure(text, name) if name.endswith(CHATS) else text)

        inputs: list[str] = []

        def compose(history: list[Message], message: str) -> list[Message]:
            values = {"message": message, "history": history, "_conversation": _exchanges(history, inputs)}
            filled = prompt({**context.inputs, **values})
            if name.endswith(CHATS):
                messages = chat(filled, name)
                inputs.append(messages[-1]["content"] if messages else "")
                return messages
            inputs.append(filled)
            if role == "user":
                return [*history, {"role": "user", "content": filled}]
            return [{"role": "system", "content": filled}, *history, {"role": "user", "content": message}]

        return PromptConversation(self._options, compose)


def _exchanges(history: list[Message], inputs: list[str]) -> list[dict[str, str]]:
    """The conversation as promptfoo lists it.

    Args:
        inputs: of each turn the last message that the model was sent; of a prompt that is no chat, the prompt.
    """
    found: list[dict[str, str]] = []
    for each in history:
        if each["role"] == "user":
            text = inputs[len(found)]
            found.append({"prompt": text, "input": text, "output": ""})
        else:
            found[-1]["output"] = each["content"]
    return found


Filled = Callable[[dict[str, Any]], Any]
"""A template, given values by name."""


class Templates:
    """Makes templates of a file's texts.

    Args:
        name: of the file, for messages.
    """

    def __init__(self, name: str) -> None:
        from jinja2.sandbox import ImmutableSandboxedEnvironment

        self._name = name
        self._environment = ImmutableSandboxedEnvironment(
            undefined=_missing(), finalize=_written, keep_trailing_newline=True
        )
        self._environment.filters["dump"] = _dump  # Nunjucks' name for it

    def compiled(self, value: Any) -> Filled:
        """JSON whose texts are templates.

        Raises:
            AdapterError: one is no template.
        """
        if isinstance(value, str):
            return self._of_text(value)
        if isinstance(value, dict):
            entries = {key: self.compiled(item) for key, item in value.items()}
            return lambda values: {key: item(values) for key, item in entries.items()}
        if isinstance(value, list):
            items = [self.compiled(item) for item in value]
            return lambda values: [item(values) for item in items]
        return lambda _: value

    def _of_text(self, text: str) -> Filled:
        import jinja2

        name = self._name
        try:
            template = self._environment.from_string(text)
        except jinja2.TemplateSyntaxError as error:
            raise AdapterError(f"{name}:{error.lineno} is no Jinja template: {error.message}") from None

        def fill(values: dict[str, Any]) -> str:
            try:
                return template.render(values)
            except jinja2.UndefinedError as error:
                known = ", ".join(sorted(name for name in values if not name.startswith("_")))
                advice = "add the value to `inputs` of the scenario"
                raise AdapterError(f"{name}: {error.message}. Known are {known}; {advice}") from None
            except (jinja2.TemplateError, ArithmeticError, LookupError, TypeError, ValueError) as error:
                raise AdapterError(f"{name} cannot be filled: {error}") from None

        return fill


def chat(filled: Any, name: str) -> list[Message]:
    """The messages that a filled file lists.

    Args:
        filled: its messages; or its text, where it lists messages only once it is filled.

    Raises:
        AdapterError: it is no list of messages.
    """
    try:
        found = _read(filled, name) if isinstance(filled, str) else filled
    except ValueError as error:
        advice = "Write values as `{{ name | dump }}`"
        raise AdapterError(f"{name}, filled, is not readable: {error}. {advice}") from None
    messages = found if isinstance(found, list) else [found]
    for message in messages:
        if not (isinstance(message, dict) and message.get("role") in _ROLES and "content" in message):
            wanted = f"no message with role ({', '.join(_ROLES)}) and content"
            raise AdapterError(f"{name}: {json.dumps(message):.200} is {wanted}")
    return messages


def _structure(text: str, name: str) -> Any:
    """The file's data, so that no value can change what is around it; its text where places are not inside texts."""
    try:
        return _read(text, name)
    except ValueError:
        return text


def _read(text: str, name: str) -> Any:
    if name.endswith(".json"):
        return json.loads(text)
    import yaml

    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, TypeError) as error:  # an unquoted {{ name }} is a mapping as a key
        raise ValueError(" ".join(str(error).split())) from None


def _written(value: Any) -> Any:
    """How a value stands in a prompt: as in JSON and not as Python spells it; nothing for null."""
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return _dump(value) if isinstance(value, bool | list | dict) else value


def _dump(value: Any, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)


def _missing() -> type:
    """What stands for a value that is not there: it can be asked for, and neither be written nor walked through."""
    from jinja2 import StrictUndefined

    class Missing(StrictUndefined):
        def __bool__(self) -> bool:  # type: ignore[override]  # jinja2 types it as a function that never returns
            return False

    return Missing
