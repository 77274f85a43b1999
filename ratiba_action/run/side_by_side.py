"""A run of the system as it stands, and of each of its variants after it, out of one budget."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ratiba_action.errors import ConfigurationError, RatibaError
from ratiba_action.model.verdict import Conclusion, Report, VariantResult
from ratiba_action.money.budget import Ledger
from ratiba_action.run.gate import evaluate
from ratiba_action.run.preparing import GateRun, Prepared, prepare
from ratiba_action.verdict.tally import variant_result

OUT_OF_IT = "the run was ended, or its time or money was"


@dataclass(frozen=True, slots=True)
class Side:
    """One variant, prepared."""

    run: GateRun
    prepared: Prepared
    differences: tuple[str, ...]


def variants_of(run: GateRun, prepared: Prepared) -> tuple[Side, ...]:
    """Every variant of the system, prepared before anything is paid.

    Raises:
        ConfigurationError: there is none.
    """
    variants = prepared.inputs.configuration.system.variants
    if not variants:
        raise ConfigurationError(
            "The system has no variants.", "Name them in system.variants; docs/variants.md says how."
        )
    runs = [replace(run, variant=name, warnings=[]) for name in sorted(variants)]
    return tuple(Side(one, prepare(one), variants[one.variant].differences) for one in runs)


def evaluate_side_by_side(run: GateRun, prepared: Prepared, sides: Sequence[Side]) -> Report:
    """The report of the system as it stands, with a row for each variant.

    The verdict is of the system as it stands; a variant never changes it. Without that verdict no variant is run.

    Args:
        run: of the system as it stands.
        prepared: what it evaluates.
        sides: the variants.
    """
    began, ledger = time.monotonic(), Ledger(run.settings.budget_usd)
    report = evaluate(run, prepared, ledger).report
    rows = [variant_result("", (), report, ledger.snapshot().list_price)]
    ended = report.verdict.conclusion is Conclusion.INCOMPLETE
    for side in sides:
        left = None if run.seconds is None else run.seconds - (time.monotonic() - began)
        if ended or (left is not None and left <= 0):
            rows.append(VariantResult(side.run.variant, side.differences, problem=OUT_OF_IT))
            continue
        row = _row(replace(side, run=replace(side.run, seconds=left, events=run.events)), ledger)
        ended = row.not_run > 0
        rows.append(row)
    return replace(report, variants=tuple(rows), spending=ledger.snapshot(), seconds=time.monotonic() - began)


def _row(side: Side, ledger: Ledger) -> VariantResult:
    before = ledger.snapshot().list_price
    try:
        report = evaluate(side.run, side.prepared, ledger).report
    except RatibaError as error:
        # A variant that cannot run takes nothing away from the system's own verdict.
        return VariantResult(side.run.variant, side.differences, problem=str(error))
    return variant_result(side.run.variant, side.differences, report, ledger.snapshot().list_price - before)
