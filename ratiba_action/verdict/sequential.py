"""Several looks at growing data: a level for each look, such that all together keep to one level."""

from functools import lru_cache

SHAPE = 0.125
"""Between O'Brien and Fleming (0), who hardly ever stop early, and Pocock (0.5), who pay for it at the end."""

_GRID = 801
_REACH = 8.0
"""Standard deviations that the integration covers."""


@lru_cache(maxsize=32)
def look_levels(level: float, looks: int, shape: float = SHAPE) -> tuple[float, ...]:
    """Nominal one-sided p-values of a group-sequential test with equal steps (Wang and Tsiatis 1987).

    Look ``k`` of ``K`` rejects at ``z >= c * (k / K) ** (shape - 0.5)``, where ``c`` makes the chance of any rejection
    under no difference equal to ``level``. The chance is worked out by numerical integration over the looks
    (Armitage, McPherson and Rowe 1969).

    Args:
        level: of all looks together, one-sided.
        looks: how many there are at most.
        shape: 0 for O'Brien and Fleming's boundary, 0.5 for Pocock's.

    Raises:
        ValueError: no look, or a level that is not between 0 and 0.5.
    """
    from scipy import optimize, stats  # noqa: PLC0415 - half a second, only when a run is compared

    if looks < 1 or not 0 < level < 0.5:  # noqa: PLR2004 - one-sided
        raise ValueError(f"{looks!r} looks at the level {level!r} have no boundary.")
    smallest, largest = float(stats.norm.isf(level)), float(stats.norm.isf(level / looks)) + 1.0
    constant = optimize.brentq(
        lambda c: _chance_of_any(_bounds(c, looks, shape)) - level, smallest - 1e-6, largest, xtol=1e-10
    )
    return tuple(float(stats.norm.sf(bound)) for bound in _bounds(float(constant), looks, shape))


def _bounds(constant: float, looks: int, shape: float) -> list[float]:
    return [constant * (look / looks) ** (shape - 0.5) for look in range(1, looks + 1)]


def _chance_of_any(bounds: list[float]) -> float:
    """The chance that the standardised sum of steps reaches its bound at one of the looks, without any difference."""
    import numpy as np  # noqa: PLC0415 - the runner's bare Python has none
    from scipy import stats  # noqa: PLC0415 - half a second, only when a run is compared

    scale = (2 * np.pi) ** -0.5
    least = -_REACH * len(bounds) ** 0.5
    limits = [bound * (look + 1) ** 0.5 for look, bound in enumerate(bounds)]
    sums = np.linspace(least, limits[0], _GRID)
    density = np.exp(-(sums**2) / 2) * scale
    chance = float(stats.norm.sf(limits[0]))
    for limit in limits[1:]:
        weights = np.full(_GRID, sums[1] - sums[0])
        weights[[0, -1]] /= 2
        chance += float((density * weights) @ stats.norm.sf(limit - sums))
        following = np.linspace(least, limit, _GRID)
        density = np.exp(-((following[:, None] - sums[None, :]) ** 2) / 2) @ (density * weights * scale)
        sums = following
    return chance
