"""Which of the phrases that a good answer mentions are in a reply."""

from collections.abc import Sequence

from ratiba_action.util.words import words


def missing_phrases(text: str, phrases: Sequence[str]) -> tuple[str, ...]:
    """The phrases that a text lacks, in their order.

    A phrase is there when its words stand in the text next to each other and in order; case, diacritics and
    punctuation do not count. A phrase without a word, such as ``✓``, is looked for as it is written.
    """
    said = words(text)
    return tuple(phrase for phrase in phrases if not _mentions(text, said, phrase))


def _mentions(text: str, said: Sequence[str], phrase: str) -> bool:
    wanted = words(phrase)
    if not wanted:
        return phrase.strip() in text
    return any(said[at : at + len(wanted)] == wanted for at in range(len(said) - len(wanted) + 1))
