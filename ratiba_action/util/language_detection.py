"""Which language a text is in, offline, by lingua (the extra ``semantic``)."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from ratiba_action.errors import ConfigurationError
from ratiba_action.util.installation import install_command

if TYPE_CHECKING:
    import lingua


def how_to_install(extra: str) -> str:
    """What to do where a package of an extra is missing, as the end of a sentence.

    Args:
        extra: its name in ``pyproject.toml``.
    """
    return (
        f"run {install_command(extra)}, or in a container use the image with all packages: "
        "docker build --build-arg PACKAGES=full"
    )


_LETTERS = re.compile(r"[^\W\d_]{2,}")
_MIN_WORDS, _MIN_LEAD = 3, 0.2
"""Of two letters or more; by which a language's confidence is ahead of the next, 0 to 1: else a text is undecided."""


@dataclass(frozen=True)
class LanguageDetection:
    """Detects languages; its models are loaded when the first text is read.

    A text in none of the languages is taken for the nearest of them: list all that a reply may be in.

    Args:
        languages: ISO 639-1 codes, at least two.
    """

    languages: Sequence[str] = ("sw", "en")

    def language_of(self, text: str) -> str | None:
        """ISO 639-1 code of the language that most of a text is in; None when it is too short or in between.

        Raises:
            ConfigurationError: lingua is not installed, or does not know a language.
        """
        if len(_LETTERS.findall(text)) < _MIN_WORDS:
            return None
        first, second, *_ = self._detector.compute_language_confidence_values(text)
        return _code(first.language) if first.value - second.value >= _MIN_LEAD else None

    def shares(self, text: str) -> Mapping[str, float]:
        """Share of a text's words by language, over the stretches that it changes language in; sums to 1.

        Returns:
            Empty when the text is too short.

        Raises:
            ConfigurationError: see ``language_of``.
        """
        if len(_LETTERS.findall(text)) < _MIN_WORDS:
            return {}
        counts: dict[str, int] = {}
        for part in self._detector.detect_multiple_languages_of(text):
            code = _code(part.language)
            # lingua counts offsets in characters; numbers and marks are in no language.
            counts[code] = counts.get(code, 0) + len(_LETTERS.findall(text[part.start_index : part.end_index]))
        total = sum(counts.values())
        return {code: count / total for code, count in counts.items()} if total else {}

    @cached_property
    def _detector(self) -> "lingua.LanguageDetector":
        try:
            import lingua  # an extra, and its models are large
        except ImportError as error:
            raise ConfigurationError(
                "Languages cannot be detected: the package lingua-language-detector is not installed.",
                f"To detect them, {how_to_install('semantic')}.",
            ) from error
        known = {_code(language): language for language in lingua.Language.all()}
        unknown = sorted(set(self.languages) - known.keys())
        if unknown or len(set(self.languages)) < 2:  # noqa: PLR2004 - it takes two to tell apart
            raise ConfigurationError(
                f"Languages cannot be detected among {list(self.languages)!r}.",
                f"Give two or more of {', '.join(sorted(known))}.",
            )
        return lingua.LanguageDetectorBuilder.from_languages(*(known[code] for code in self.languages)).build()


def _code(language: "lingua.Language") -> str:
    return str(language.iso_code_639_1.name).lower()
