"""The variants of a system side by side: a run of the system as it is, and one of each variant."""

import time
from collections.abc import Sequence
from dataclasses import replace

from ratiba_action.errors import ConfigurationError, RatibaError
from ratiba_action.model.verdict import Conclusion, Report, VariantResult
from ratiba_action.money.budget import Ledger
from ratiba_action.run.evaluation_inputs import read_inputs
from ratiba_action.run.gate import evaluate
from ratiba_action.run.inputs import RunInputs, RunLog
from ratiba_action.run.planned_run import plan_run
from ratiba_action.run.session import OpenSession
from ratiba_action.util.installation import page
from ratiba_action.verdict.tally import variant_result

OUT_OF_IT = "the run was cancelled, or its time or budget was used up"


def variants_of(inputs: RunInputs) -> tuple[RunInputs, ...]:
    """Every variant of the system, read before anything is paid.

    Raises:
        ConfigurationError: there is none.
    """
    names = sorted(inputs.configuration.system.variants)
    if not names:
        raise ConfigurationError("The system has no variants.", f"Name them in system.variants: {page('variants')}")
    return tuple(read_inputs(replace(inputs, variant=name)) for name in names)


def evaluate_side_by_side(
    inputs: RunInputs, log: RunLog, open_session: OpenSession, variants: Sequence[RunInputs]
) -> Report:
    """The report of the system as it is, with a row for each variant.

    The verdict is of the system as it is; a variant never changes it. Without that verdict no variant is run.

    Args:
        log: of its run; the warnings of a variant's are not kept.
        open_session: makes what the scenarios of each run in.
    """
    began, ledger = time.monotonic(), Ledger(inputs.settings.budget_usd)
    report = evaluate(plan_run(inputs), log, open_session, ledger).report
    rows = [variant_result("", (), report, ledger.snapshot().list_price)]
    ended = report.verdict.conclusion is Conclusion.INCOMPLETE
    for variant in variants:
        left = None if inputs.seconds is None else inputs.seconds - (time.monotonic() - began)
        differences = inputs.configuration.system.variants[variant.variant].differences
        if ended or (left is not None and left <= 0):
            rows.append(VariantResult(variant.variant, differences, problem=OUT_OF_IT))
            continue
        row = _row(replace(variant, seconds=left), differences, RunLog(log.progress, log.events), open_session, ledger)
        ended = row.not_run > 0
        rows.append(row)
    return replace(report, variants=tuple(rows), spending=ledger.snapshot(), seconds=time.monotonic() - began)


def _row(
    inputs: RunInputs, differences: tuple[str, ...], log: RunLog, open_session: OpenSession, ledger: Ledger
) -> VariantResult:
    before = ledger.snapshot().list_price
    try:
        report = evaluate(plan_run(inputs), log, open_session, ledger).report
    except RatibaError as error:
        # A variant that cannot run takes nothing away from the system's own verdict.
        return VariantResult(inputs.variant, differences, problem=str(error))
    return variant_result(inputs.variant, differences, report, ledger.snapshot().list_price - before)
