"""How the scenarios of a run ended: a history of 10,000 runs has millions of these, so they lie in columns."""

from array import array
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from functools import lru_cache
from math import isnan, nan
from typing import Any, NamedTuple

from ratiba_action.model.values import Usd

PASSED, FAILED, INCOMPLETE = "passed", "failed", "incomplete"
LETTERS: Mapping[str, str] = {PASSED: "p", FAILED: "f", INCOMPLETE: "i"}
_WORDS = {letter: status for status, letter in LETTERS.items()}


class Outcome(NamedTuple):
    """How one scenario ended in one run.

    Args:
        status: ``passed``, ``failed`` or ``incomplete``.
        passes: trials that passed, of ``trials``.
        usd: estimated cost of the system's model calls in all trials; None where it is not known.
        seconds: of the deciding trial; None where it was not run.
        digest: of the scenario's content; empty where it is not known.
    """

    status: str
    passes: int
    trials: int
    usd: Usd | None = None
    seconds: float | None = None
    digest: str = ""


class Outcomes(Mapping[str, Outcome]):
    """The outcomes of a run, by the scenario's id. A cost has 15 significant digits.

    Args:
        columns: what ``columns`` gives: a list of each field's values, in the order of the names.

    Raises:
        ValueError: they are no such columns.
    """

    __slots__ = ("_digests", "_letters", "_names", "_passes", "_places", "_seconds", "_trials", "_usd")

    def __init__(self, columns: Mapping[str, Any]) -> None:
        try:
            # What a run has in common with the one before is in memory once.
            self._names, self._digests = _same(tuple(columns["names"])), _same(tuple(columns["digests"]))
            self._places, self._letters = _places(self._names), str(columns["letters"])
            self._passes, self._trials = array("I", columns["passes"]), array("I", columns["trials"])
            self._usd, self._seconds = _numbers(columns["usd"]), _numbers(columns["seconds"])
        except (KeyError, TypeError, OverflowError) as error:
            raise ValueError("no columns of outcomes") from error
        sizes = {len(getattr(self, name)) for name in self.__slots__}
        if len(sizes) > 1 or not set(self._letters) <= set(_WORDS):
            raise ValueError("columns that do not fit together")

    @classmethod
    def of(cls, found: Mapping[str, Outcome]) -> "Outcomes":
        """The same as a mapping has."""
        ends = found.values()
        return cls(
            {
                "names": tuple(found),
                "letters": "".join(LETTERS[end.status] for end in ends),
                "passes": [end.passes for end in ends],
                "trials": [end.trials for end in ends],
                "usd": [None if end.usd is None else float(end.usd) for end in ends],
                "seconds": [end.seconds for end in ends],
                "digests": tuple(end.digest for end in ends),
            }
        )

    def columns(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "names": self._names,
            "letters": self._letters,
            "passes": list(self._passes),
            "trials": list(self._trials),
            "usd": [_number(value) for value in self._usd],
            "seconds": [_number(value) for value in self._seconds],
            "digests": self._digests,
        }

    def __getitem__(self, name: str) -> Outcome:
        at = self._places[name]
        usd = _number(self._usd[at])
        return Outcome(
            _WORDS[self._letters[at]],
            self._passes[at],
            self._trials[at],
            None if usd is None else Decimal(repr(usd)),
            _number(self._seconds[at]),
            self._digests[at],
        )

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def count(self, status: str) -> int:
        """Scenarios that ended in a way."""
        return self._letters.count(LETTERS[status])

    def end(self, name: str) -> tuple[str, str] | None:
        """Status and digest of a scenario, which take less than all of it; None where the run did not have it."""
        at = self._places.get(name)
        return None if at is None else (_WORDS[self._letters[at]], self._digests[at])


def _numbers(values: Iterable[float | None]) -> "array[float]":
    return array("d", [nan if value is None else value for value in values])


def _number(value: float) -> float | None:
    return None if isnan(value) else value


@lru_cache(maxsize=256)
def _same(texts: tuple[str, ...]) -> tuple[str, ...]:
    return texts


@lru_cache(maxsize=256)
def _places(names: tuple[str, ...]) -> Mapping[str, int]:
    return {name: at for at, name in enumerate(names)}
