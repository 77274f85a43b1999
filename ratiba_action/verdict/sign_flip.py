"""The paired sign-flip test, a permutation test: is the mean difference this low by chance alone?"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray


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
    from scipy import optimize, special  # a third of a second, only when a run is compared

    if looks < 1 or not 0 < level < 0.5:  # noqa: PLR2004 - one-sided
        raise ValueError(f"{looks!r} looks at the level {level!r} have no boundary.")
    smallest, largest = -float(special.ndtri(level)), 1.0 - float(special.ndtri(level / looks))
    constant = optimize.brentq(
        lambda c: _chance_of_any(_bounds(c, looks, shape)) - level, smallest - 1e-6, largest, xtol=1e-10
    )
    return tuple(float(special.ndtr(-bound)) for bound in _bounds(float(constant), looks, shape))


def _bounds(constant: float, looks: int, shape: float) -> list[float]:
    return [constant * (look / looks) ** (shape - 0.5) for look in range(1, looks + 1)]


def _chance_of_any(bounds: list[float]) -> float:
    """The chance that the standardised sum of steps reaches its bound at one of the looks, without any difference."""
    import numpy as np  # the runner's bare Python has none
    from scipy import special  # a quarter of a second, only when a run is compared

    scale = (2 * np.pi) ** -0.5
    minimum = -_REACH * len(bounds) ** 0.5
    limits = [bound * (look + 1) ** 0.5 for look, bound in enumerate(bounds)]
    sums = np.linspace(minimum, limits[0], _GRID)
    density = np.exp(-(sums**2) / 2) * scale
    chance = float(special.ndtr(-limits[0]))
    for limit in limits[1:]:
        weights = np.full(_GRID, sums[1] - sums[0])
        weights[[0, -1]] /= 2
        chance += float((density * weights) @ special.ndtr(sums - limit))
        following = np.linspace(minimum, limit, _GRID)
        density = np.exp(-((following[:, None] - sums[None, :]) ** 2) / 2) @ (density * weights * scale)
        sums = following
    return chance


EXACT_UP_TO = 20
"""Pairs up to which every assignment of signs is looked at: a million of them."""

_DRAWS = 20_000
_KEPT_UP_TO = 200
"""Pairs whose assignments are kept for the next look: 32 MB."""

_ROUNDING = 1e-9


def sign_flip_p(differences: Sequence[float], *, drop: bool = True) -> float:
    """One-sided p-value of the hypothesis that the differences are symmetric around 0.

    Exact for at most ``EXACT_UP_TO`` differences that are not 0 (Fisher 1935, section 21); beyond that estimated from
    20,000 seeded assignments with the observed one counted in, so that it is never 0 (Phipson and Smyth 2010). A
    difference of 0 says nothing about either direction and changes no p-value.

    Args:
        differences: new minus old, one a scenario.
        drop: True asks whether they are low, False whether they are high.

    Returns:
        Above 0 and at most 1; 1 where there is no difference at all.

    Raises:
        ValueError: a difference is not finite.
    """
    import numpy as np  # the runner's bare Python has none

    if not all(math.isfinite(value) for value in differences):
        raise ValueError(f"The differences {list(differences)!r} hold a number that is not finite.")
    sizes = np.abs(np.array([value for value in differences if value], dtype=float))
    if not sizes.size:
        return 1.0
    observed = math.fsum(differences) * (1.0 if drop else -1.0)
    limit = observed + _ROUNDING * float(sizes.sum())
    if sizes.size <= EXACT_UP_TO:
        return float(np.mean(_all_sums(sizes) <= limit))
    sums = _drawn_sums(sizes)
    return float((1 + np.count_nonzero(sums <= limit)) / (1 + sums.size))


def _all_sums(sizes: NDArray[np.float64]) -> NDArray[np.float64]:
    import numpy as np  # the runner's bare Python has none

    sums = np.zeros(1)
    for size in sizes:
        sums = np.concatenate((sums - size, sums + size))
    return sums


def _drawn_sums(sizes: NDArray[np.float64]) -> NDArray[np.float64]:
    draw = _signs if sizes.size <= _KEPT_UP_TO else _signs.__wrapped__
    drawn: NDArray[np.float64] = 2.0 * (draw(sizes.size) @ sizes) - sizes.sum()
    return drawn


@lru_cache(maxsize=1)
def _signs(pairs: int) -> NDArray[np.float64]:
    """Assignments of signs, 1 for plus and 0 for minus; a run looks several times at the same number of pairs."""
    import numpy as np  # the runner's bare Python has none

    return np.random.default_rng(0).integers(0, 2, size=(_DRAWS, pairs), dtype=np.int8).astype(float)
