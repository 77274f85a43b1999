"""Finds a text in another one, however it is spaced, hyphenated or written in capitals."""

from ratiba_action.util.words import words


def squashed(text: str) -> str:
    """The letters and digits of a text, case-folded, without diacritics, with nothing between them."""
    return "".join(words(text))


def reveals(text: str, secret: str) -> bool:
    """Whether a text holds the letters and digits of a secret, in order and next to each other.

    Args:
        text: what was said.
        secret: with at least one letter or digit.
    """
    wanted = squashed(secret)
    return bool(wanted) and wanted in squashed(text)
