"""What other commands measured, and no run's results hold: their ``--json``, which a site may show beside the runs."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ratiba_action.errors import UsageError
from ratiba_action.privacy.masking import Redactor
from ratiba_action.util.text import ranges

MAX_BYTES = 50_000_000
_HELP = "Give what one of these prints with --json: ratiba mutate, calibrate run, sample, drift, canary."


class _FoundElsewhere(BaseModel):
    """A part of a command's JSON: what the site does not show is not looked at."""

    model_config = ConfigDict(extra="ignore", strict=True, frozen=True)


class LabelAgreement(_FoundElsewhere):
    """How far a judge agrees with people on one criterion, as ``calibrate run`` measured it."""

    judge: str
    criterion: str
    n: int
    kappa: float | None
    low: float | None
    exact: float | None
    bias: float | None
    status: str


class SampledFeedback(_FoundElsewhere):
    """Thumbs of customers."""

    positive: int
    negative: int


class SampledProduction(_FoundElsewhere):
    """A sample of production."""

    since: str
    until: str
    conversations: int
    measured: int
    below_a_threshold: list[dict[str, Any]]
    feedback: SampledFeedback


class DriftedMetric(_FoundElsewhere):
    """A metric of production, and whether it drifts from its reference."""

    metric: str
    reference: str
    status: str


class DriftedProduction(_FoundElsewhere):
    """Production compared with the time before."""

    since: str
    until: str
    conversations: int
    drifted: bool
    metrics: list[DriftedMetric]


class ComparedVersion(_FoundElsewhere):
    """One of the two versions that a canary compares."""

    name: str
    conversations: int


class ShownCanary(_FoundElsewhere):
    """What a look at a canary came to."""

    answer: str
    since: str
    until: str
    stable: ComparedVersion
    canary: ComparedVersion
    reasons: list[str]


class _ProtectedLine(_FoundElsewhere):
    file: str
    line: int = Field(ge=1)
    scenarios: list[str]


class _MutationLines(_FoundElsewhere):
    lines: list[_ProtectedLine]


class CalibrationSchedule(_FoundElsewhere):
    """When people label conversations again, as ``calibrate run`` said; days are ISO 8601.

    Args:
        due: the first session that was missed or is today's; None where none is.
        following: the next session.
    """

    owner: str = ""
    due: str | None = None
    following: str | None = Field(default=None, alias="next")


class _LabelAgreements(_FoundElsewhere):
    agreements: list[LabelAgreement]
    schedule: CalibrationSchedule


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """What the site shows besides runs; each is empty or None where it was not given.

    Args:
        mutated: whether ``mutate`` was given.
        protects: files with the lines that a scenario protects, in words, by the scenario's id.
    """

    mutated: bool = False
    protects: Mapping[str, Sequence[tuple[str, str]]] = field(default_factory=dict)
    labels: tuple[LabelAgreement, ...] = ()
    schedule: CalibrationSchedule | None = None
    sample: SampledProduction | None = None
    drift: DriftedProduction | None = None
    canary: ShownCanary | None = None


def with_file(known: Elsewhere, name: str, content: bytes, redactor: Redactor) -> Elsewhere:
    """What is known with what a file holds; of two files of one command the last one counts.

    Args:
        name: of the file, for messages.
        redactor: masks it again.

    Raises:
        UsageError: it is not what one of the commands prints.
    """
    try:
        found = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{name!r} is no JSON: {error}.", _HELP) from error
    keys = found.keys() if isinstance(found, dict) else set()
    for needed, add in _KINDS:
        if needed <= keys:
            try:
                return add(known, redactor.value(found))
            except ValidationError as error:
                place = ".".join(map(str, error.errors()[0]["loc"]))
                raise UsageError(f"{name!r}: {place}: {error.errors()[0]['msg']}.", _HELP) from error
    raise UsageError(f"{name!r} is not what a command of the gate prints.", _HELP)


def _mutation(known: Elsewhere, found: Any) -> Elsewhere:
    lines: dict[str, dict[str, list[int]]] = {}
    for line in _MutationLines.model_validate(found).lines:
        for scenario in line.scenarios:
            lines.setdefault(scenario, {}).setdefault(line.file, []).append(line.line)
    protects = {
        scenario: [(file, ", ".join(ranges(numbers))) for file, numbers in sorted(files.items())]
        for scenario, files in lines.items()
    }
    return replace(known, mutated=True, protects=protects)


def _calibration(known: Elsewhere, found: Any) -> Elsewhere:
    read = _LabelAgreements.model_validate(found)
    return replace(known, labels=tuple(read.agreements), schedule=read.schedule)


_KINDS: Sequence[tuple[frozenset[str], Callable[[Elsewhere, Any], Elsewhere]]] = (
    (frozenset({"lines", "score", "chosen"}), _mutation),
    (frozenset({"agreements", "schedule"}), _calibration),
    (
        frozenset({"feedback", "below_a_threshold"}),
        lambda known, found: replace(known, sample=SampledProduction.model_validate(found)),
    ),
    (
        frozenset({"drifted", "metrics"}),
        lambda known, found: replace(known, drift=DriftedProduction.model_validate(found)),
    ),
    (
        frozenset({"answer", "canary", "stable"}),
        lambda known, found: replace(known, canary=ShownCanary.model_validate(found)),
    ),
)
