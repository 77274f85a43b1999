"""Systems that are written as a function, or as a class for one conversation, made into adapters.

An adapter is what has an ``open``. Everything else is asked what it takes by the names of its parameters: the first is
the message, or the whole conversation if it is named ``history`` or ``messages``; ``history`` and ``context`` are given
where they are asked for.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from .lookup import AdapterError

if TYPE_CHECKING:
    from collections.abc import Callable

_WHOLE = ("history", "messages")
"""Names of a first parameter that is the whole conversation, with this message."""
_SPEAK = ("send", "run")
_BEGIN = ("setup",)
_END = ("close", "teardown")


def as_adapter(subject: Any, name: str) -> Any:
    """What ``module:attribute`` led to, as an adapter with ``open``.

    Args:
        subject: an object or a function.

    Raises:
        AdapterError: it is none of these.
    """
    if _method(subject, ("open", "migrate")) is not None:
        return subject  # what an adapter lacks is said when it is needed
    if _method(subject, _SPEAK) is not None or callable(subject):
        return PlainSystem(subject)
    kind = type(subject).__name__
    raise AdapterError(f"{name!r} ({kind}) is no adapter: it has no open(), no send() and no run(), and is no function")


class PlainSystem:
    """One conversation of a function or an object; each conversation has a process of its own."""

    def __init__(self, subject: Any) -> None:
        self._subject = subject
        self._speak: Callable[..., Any] = _method(subject, _SPEAK) or subject
        self._context: Any = None
        self._history: list[dict[str, str]] = []

    def open(self, context: Any) -> Any:
        """Let the object set itself up."""
        self._context = context
        begin = _method(self._subject, _BEGIN)
        begun = None if begin is None else begin(**self._given(begin, first=False))
        return self._after(begun) if inspect.isawaitable(begun) else self

    async def _after(self, begun: Any) -> PlainSystem:
        await begun
        return self

    def send(self, message: str) -> Any:
        """Ask for the reply to a message: a text, or a mapping as any adapter gives."""
        asked = {"role": "user", "content": message}
        first = [*self._history, asked] if _first_name(self._speak) in _WHOLE else message
        answer = self._speak(first, **self._given(self._speak, first=True))
        return self._awaited(message, answer) if inspect.isawaitable(answer) else self._kept(message, answer)

    async def _awaited(self, message: str, answer: Any) -> Any:
        return self._kept(message, await answer)

    def _kept(self, message: str, answer: Any) -> Any:
        reply = {"text": answer} if isinstance(answer, str) else answer
        if isinstance(reply, dict) and isinstance(reply.get("text"), str):
            self._history += [{"role": "user", "content": message}, {"role": "assistant", "content": reply["text"]}]
        return reply

    def deliver(self, event: dict[str, Any]) -> Any:
        """Tell the object of an event.

        Raises:
            AdapterError: it takes none.
        """
        deliver = _method(self._subject, ("deliver",))
        if deliver is None:
            raise AdapterError(f"the system takes messages only, not the event {event.get('type')!r}: no deliver()")
        return deliver(event)

    def close(self) -> Any:
        """Let the object end."""
        end = _method(self._subject, _END)
        return None if end is None else end()

    def _given(self, method: Callable[..., Any], *, first: bool) -> dict[str, Any]:
        """What a method asks for by name, of what there is."""
        there = {"history": [dict(entry) for entry in self._history], "context": self._context}
        try:
            parameters = list(inspect.signature(method).parameters.values())[1 if first else 0 :]
        except ValueError:  # a builtin does not tell
            return {}
        named = [
            parameter
            for parameter in parameters
            if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        ]
        unknown = [
            parameter.name
            for parameter in named
            if parameter.name not in there and parameter.default is parameter.empty
        ]
        if unknown:
            what = getattr(method, "__name__", type(method).__name__)
            raise AdapterError(f"{what}() needs {unknown[0]!r}; it can be given the message, history and context")
        return {parameter.name: there[parameter.name] for parameter in named if parameter.name in there}


def _first_name(method: Callable[..., Any]) -> str:
    try:
        return next(iter(inspect.signature(method).parameters), "")
    except ValueError:  # a builtin does not tell
        return ""


def _method(subject: Any, names: tuple[str, ...]) -> Callable[..., Any] | None:
    for name in names:
        method = getattr(subject, name, None)
        if callable(method):
            found: Callable[..., Any] = method
            return found
    return None
