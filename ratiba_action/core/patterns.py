"""Regular expressions that a scenario may use: readable, and quick on texts made to slow them down.

Whether a pattern can take exponential time cannot be read off it with certainty, so each is tried: on texts repeated
from what it itself names, with a time-out. What passes is still searched with a time-out at run time.
"""

from collections.abc import Iterator

import regex

PROBE_SECONDS = 0.25
"""For each probe of a pattern; a plain one takes microseconds."""
_LONGEST_PATTERN = 2_000
_LENGTHS = (28, 2_000)
_SYNTAX = frozenset("\\^$*+?{}[]()|")
_STRANGER = "\N{REPLACEMENT CHARACTER}"
_USUAL = ("a", "0", " ", "ab", "a ", "_", "/", ".")


def pattern_problem(pattern: str) -> str | None:
    """What is wrong with a regular expression, or None.

    Args:
        pattern: in the syntax of the package ``regex``.
    """
    if len(pattern) > _LONGEST_PATTERN:
        return f"{pattern[:60]!r}… is longer than {_LONGEST_PATTERN} characters; write several rules"
    try:
        compiled = regex.compile(pattern)
    except (regex.error, OverflowError, RecursionError, MemoryError) as error:
        return f"{pattern!r} is not a regular expression: {error}"
    for probe in _probes(pattern):
        try:
            compiled.search(probe, timeout=PROBE_SECONDS)
        except TimeoutError:
            return (
                f"{pattern!r} takes longer than {PROBE_SECONDS:g} s on {len(probe)} characters such as {probe[:8]!r}…; "
                "write it without a repetition inside a repetition"
            )
        except (RecursionError, MemoryError) as error:
            return f"{pattern!r} cannot be searched: {type(error).__name__}"
    return None


def _probes(pattern: str) -> Iterator[str]:
    """Texts that repeat what the pattern names and then fail to match, also where all that it needs is there."""
    named = "".join(dict.fromkeys(character for character in pattern if character not in _SYNTAX))[:8]
    for unit in dict.fromkeys((*_USUAL, *named, *([named] if named else []))):
        for length in _LENGTHS:
            for end in (_STRANGER, _STRANGER + named):
                yield (unit * length)[:length] + end
