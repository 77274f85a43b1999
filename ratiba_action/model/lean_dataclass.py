"""``dataclasses.dataclass`` at half of its cost when a module is imported.

The standard library's compiles six functions for each frozen class, which was 45 % of importing the gate.
Here a frozen class has closures instead, and its ``__init__`` is compiled when the first object is made. Objects behave
as the standard library's do. They are made as fast; comparing two takes 0.1 µs more, and a hash 0.05 µs.
"""

import dataclasses
from collections.abc import Callable
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

__all__ = ["dataclass"]

if TYPE_CHECKING:
    from dataclasses import dataclass  # type checkers know what it does
else:

    def dataclass(cls: type | None = None, /, *, frozen: bool = False, **options: bool) -> Any:
        """See ``dataclasses.dataclass``, which makes classes that are not frozen or inherit from a dataclass."""
        if cls is None:
            return lambda decorated: dataclass(decorated, frozen=frozen, **options)
        if not frozen or not options.keys() <= {"slots", "kw_only"} or dataclasses.is_dataclass(cls):
            return dataclasses.dataclass(cls, frozen=frozen, **options)
        made = dataclasses.dataclass(cls, init=False, repr=False, eq=False, **options)
        known = made.__dataclass_params__
        known.init = known.repr = known.eq = known.frozen = True  # a class that inherits from it must be frozen, too
        for name, method in {**_methods(made), **(_STATE if options.get("slots") else {})}.items():
            if made.__dict__.get(name) is None:  # a class with an __eq__ of its own has None as its __hash__
                setattr(made, name, method)
        return made


def _methods(made: type[Any]) -> dict[str, Callable[..., Any]]:
    """What the standard library would compile; functions are named as in it, since error messages show the names."""
    fields = dataclasses.fields(made)
    names = frozenset(field.name for field in fields)
    compared = _values([field.name for field in fields if field.compare])
    hashed = _values([field.name for field in fields if (field.compare if field.hash is None else field.hash)])

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807 - the name of what it stands in for
        made.__init__ = compiled = _compiled(made)
        compiled(self, *args, **kwargs)

    @recursive_repr()
    def __repr__(self: Any) -> str:  # noqa: N807 - the same
        shown = (f"{field.name}={getattr(self, field.name)!r}" for field in fields if field.repr)
        return f"{type(self).__qualname__}({', '.join(shown)})"

    def __eq__(self: Any, other: object) -> bool:  # noqa: N807 - the same
        return compared(self) == compared(other) if other.__class__ is self.__class__ else NotImplemented

    def __hash__(self: Any) -> int:  # noqa: N807 - the same
        return hash(hashed(self))

    def __setattr__(self: Any, name: str, value: object) -> None:  # noqa: N807 - the same
        if type(self) is made or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        super(made, self).__setattr__(name, value)

    def __delattr__(self: Any, name: str) -> None:  # noqa: N807 - the same
        if type(self) is made or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
        super(made, self).__delattr__(name)

    every = (__init__, __repr__, __eq__, __hash__, __setattr__, __delattr__)
    return {method.__name__: method for method in every}


def _values(names: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    """What reads these attributes as a tuple."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda self: tuple([getattr(self, name) for name in names])


def _compiled(made: type[Any]) -> Callable[..., None]:
    """The ``__init__`` of a class, taken from one with the same fields."""
    given = {"__post_init__": None} if hasattr(made, "__post_init__") else {}
    fields = [(field.name, field.type, field) for field in dataclasses.fields(made)]
    slots = "__slots__" in made.__dict__  # then a default is no attribute of the class, so that each object gets it
    twin = dataclasses.make_dataclass(
        made.__name__, fields, namespace=given, frozen=True, repr=False, eq=False, slots=slots
    )
    compiled: Callable[..., None] = twin.__init__  # type: ignore[misc] # of a class, on purpose
    compiled.__qualname__ = f"{made.__qualname__}.__init__"
    return compiled


def _get_state(self: Any) -> list[Any]:
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)


_STATE = {"__getstate__": _get_state, "__setstate__": _set_state}
"""For ``pickle`` and ``copy`` of a class with slots, whose attributes cannot be set."""
