"""The order in which objects can be created: each after those that it depends on."""

from collections.abc import Hashable, Iterable, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import TypeVar

from ratiba_action.errors import DatabaseError

Key = TypeVar("Key", bound=Hashable)


def creation_order(names: Mapping[Key, str], depends: Iterable[tuple[Key, Key]]) -> tuple[Key, ...]:
    """Keys sorted so that each stands after all that it depends on; otherwise in the order given.

    Args:
        names: each object's name, for messages, by its key.
        depends: pairs of an object and one that it depends on; pairs with a key that is not in ``names`` are left out.

    Raises:
        DatabaseError: objects depend on each other in a circle; names them.
    """
    graph: dict[Key, set[Key]] = {key: set() for key in names}
    for key, needed in depends:
        if key in graph and needed in graph and key != needed:
            graph[key].add(needed)
    try:
        return tuple(TopologicalSorter(graph).static_order())
    except CycleError as error:
        circle = ", ".join(repr(names[key]) for key in error.args[1])
        raise DatabaseError(
            f"The schema cannot be cloned: these objects depend on each other in a circle: {circle}.",
            "Break the circle, for example by a column default that calls no function on its own table.",
        ) from None
