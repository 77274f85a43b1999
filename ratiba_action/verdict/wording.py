"""Differences of scores as people say them."""


def points(difference: float) -> str:
    """The size of a difference of scores from 0 to 1 in points of a hundred, such as ``6.5 points``."""
    size = round(abs(difference) * 100, 1)
    return f"{size:g} point" if size == 1 else f"{size:g} points"
