"""Several tests at once."""

from collections.abc import Sequence


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Adjusted p-values by Holm's step-down method (Holm 1979), in the order given.

    Rejecting where they are at most a level keeps the chance of any false rejection at that level.

    Raises:
        ValueError: one is not between 0 and 1.
    """
    if not all(0 <= p <= 1 for p in p_values):
        raise ValueError(f"{list(p_values)!r} holds what is no p-value.")
    order = sorted(range(len(p_values)), key=lambda index: p_values[index])
    adjusted = [1.0] * len(p_values)
    highest = 0.0
    for rank, index in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = highest
    return tuple(adjusted)
