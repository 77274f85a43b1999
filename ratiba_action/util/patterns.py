"""Regular expressions that a scenario may use: readable, and quick on texts made to slow them down.

Whether a pattern can take exponential time cannot be read off it with certainty, so each is tried: on texts repeated
from what it itself names, with a time-out. What passes is still searched with a time-out at run time.
"""

import re
from collections.abc import Callable, Iterator

import regex

PROBE_SECONDS = 0.25
"""For each probe of a pattern; a plain one takes microseconds."""
_SLOW_SECONDS = 0.02
_MAX_SLOW = 4
SEARCH_SECONDS = 1.0
"""For each search of a reply."""
SCENARIO_SECONDS = 5.0
"""For all searches of one scenario."""
_LONGEST_PATTERN = 2_000
_MAX_EXPANDED = 100_000
_COUNT = re.compile(r"(?P<atom>[\w\].])?\{(?P<least>\d+)(?:,\d*)?\}", re.ASCII)
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
        compiled = compile_pattern(pattern)
    except ValueError as error:
        return str(error)
    slow = 0
    for probe in _probes(pattern):
        try:
            slow += _is_slow(compiled, probe)
        except TimeoutError:
            slow = _MAX_SLOW + 1
        except (RecursionError, MemoryError) as error:
            return f"{pattern!r} cannot be searched: {type(error).__name__}"
        if slow > _MAX_SLOW:
            return (
                f"{pattern!r} takes longer than {PROBE_SECONDS:g} s on {len(probe)} characters such as {probe[:8]!r}…; "
                "write it without a repetition inside a repetition"
            )
    return None


def _is_slow(compiled: "regex.Pattern[str]", probe: str) -> bool:
    """Whether a probe takes long, though not too long; a pattern that does so again and again is refused as well."""
    try:
        compiled.search(probe, timeout=_SLOW_SECONDS)
    except TimeoutError:
        compiled.search(probe, timeout=PROBE_SECONDS)
        return True
    return False


def compile_pattern(pattern: str) -> "regex.Pattern[str]":
    """The pattern, ready to be searched for with ``SearchTime``.

    Raises:
        ValueError: it is not a regular expression, or its counts would take more memory than a runner has; says which.
    """
    # Counted repetitions are written out when a pattern is compiled: a{1000000000} takes all memory there is.
    single, groups = len(pattern), 1
    for count in _COUNT.finditer(pattern):
        minimum = max(int(count["least"][:12]), 1)
        if count["atom"]:
            single += minimum
        else:
            groups *= minimum
    if single * groups > _MAX_EXPANDED:
        raise ValueError(
            f"{pattern[:200]!r} repeats more than {_MAX_EXPANDED:,} times what it looks for; write smaller counts"
        )
    try:
        return regex.compile(pattern)
    except (regex.error, OverflowError, RecursionError, MemoryError, TypeError, ValueError) as error:
        raise ValueError(f"{pattern!r} is not a regular expression: {error}") from error


class SearchTime:
    """Time for searching texts with patterns that somebody else wrote.

    Args:
        clock: gives seconds; None where only each search by itself has a limit.
    """

    def __init__(self, seconds: float = SCENARIO_SECONDS, clock: Callable[[], float] | None = None) -> None:
        self._left = seconds
        self._clock = clock or (lambda: 0.0)

    def search(self, compiled: "regex.Pattern[str]", text: str) -> bool:
        """Whether the text has the pattern.

        Raises:
            TimeoutError: the search took too long, or those before it have used up the time.
        """
        if self._left <= 0:
            raise TimeoutError
        began = self._clock()
        try:
            return compiled.search(text, timeout=min(SEARCH_SECONDS, self._left)) is not None
        finally:
            self._left -= self._clock() - began


def _probes(pattern: str) -> Iterator[str]:
    """Texts that repeat what the pattern names and then fail to match, also where all that it needs is there."""
    named = "".join(dict.fromkeys(character for character in pattern if character not in _SYNTAX))[:8]
    for unit in dict.fromkeys((*_USUAL, *named, *([named] if named else []))):
        for length in _LENGTHS:
            for end in (_STRANGER, _STRANGER + named):
                yield (unit * length)[:length] + end
