"""A system without code whose prompt is a Jinja template: of the message, the history and the scenario's inputs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ..lookup import AdapterError
from ..prompt_system import Conversation, Message

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

    def open(self, context: Any) -> Conversation:
        """Read the template.

        Raises:
            AdapterError: it is no template.
        """
        fill = Template(self._options["file"])
        role = self._options["role"]

        def compose(history: list[Message], message: str) -> list[Message]:
            text = fill({**context.inputs, "message": message, "history": history})
            if self._options["file"].endswith(CHATS):
                return chat(text, self._options["file"])
            if role == "user":
                return [*history, {"role": "user", "content": text}]
            return [{"role": "system", "content": text}, *history, {"role": "user", "content": message}]

        return Conversation(self._options, compose)


class Template:
    """A file as a template.

    Args:
        name: of the file, in UTF-8.

    Raises:
        AdapterError: it is no template.
    """

    def __init__(self, name: str) -> None:
        import jinja2
        from jinja2.sandbox import ImmutableSandboxedEnvironment

        self._name = name
        environment = ImmutableSandboxedEnvironment(undefined=_missing(), keep_trailing_newline=True)
        environment.filters["dump"] = _dump  # Nunjucks' name for it
        try:
            self._template = environment.from_string(Path(name).read_text(encoding="utf-8"))
        except jinja2.TemplateSyntaxError as error:
            raise AdapterError(f"{name}:{error.lineno} is no Jinja template: {error.message}") from None

    def __call__(self, values: dict[str, Any]) -> str:
        """The file with its places filled.

        Raises:
            AdapterError: a value is missing, or does not fit.
        """
        import jinja2

        try:
            return self._template.render(values)
        except jinja2.UndefinedError as error:
            known = ", ".join(sorted(values))
            raise AdapterError(
                f"{self._name}: {error.message}. Known are {known}; add the value to `inputs` of the scenario"
            ) from None
        except (jinja2.TemplateError, ArithmeticError, LookupError, TypeError, ValueError) as error:
            raise AdapterError(f"{self._name} cannot be filled: {error}") from None


def chat(text: str, name: str) -> list[Message]:
    """The messages that a filled file lists.

    Raises:
        AdapterError: it is no list of messages.
    """
    try:
        found = json.loads(text) if name.endswith(".json") else _yaml(text)
    except ValueError as error:
        raise AdapterError(
            f"{name}, filled, is not readable: {error}. Write values as `{{{{ name | dump }}}}`"
        ) from None
    messages = found if isinstance(found, list) else [found]
    for message in messages:
        if not (isinstance(message, dict) and message.get("role") in _ROLES and "content" in message):
            raise AdapterError(
                f"{name}: {json.dumps(message):.200} is no message with role ({', '.join(_ROLES)}) and content"
            )
    return messages


def _yaml(text: str) -> Any:
    import yaml

    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from None


def _dump(value: Any, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)


def _missing() -> type:
    """What stands for a value that is not there: it can be asked for, and neither be written nor walked through."""
    from jinja2 import StrictUndefined

    class Missing(StrictUndefined):
        def __bool__(self) -> bool:  # type: ignore[override]  # jinja2 types it as a function that never returns
            return False

    return Missing
