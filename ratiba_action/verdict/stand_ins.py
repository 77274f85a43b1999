"""What a run measured while recorded answers to other requests stood in, held against the base.

A recorded answer to another request says nothing about a model. But where the base passes a deterministic assertion
that the change fails with the same answers, the code is what differs.
"""

from collections.abc import Sequence
from dataclasses import replace

from ratiba_action.model.comparison import MeasuredRun
from ratiba_action.model.measurement import Check, Errored, NotRun, ScenarioResult
from ratiba_action.model.plan import BASE
from ratiba_action.verdict.pairing import content_digest


def confirm_suspected(
    results: Sequence[ScenarioResult], baseline: Sequence[MeasuredRun] = ()
) -> tuple[ScenarioResult, ...]:
    """The results, in which a suspected failure is a failure where the base is known to pass the same assertion."""
    if not any(isinstance(result, Errored) and result.suspected for result in results):
        return tuple(results)
    base = _base_checks(results, baseline)
    return tuple(
        _confirm(result, base) if isinstance(result, Errored) and result.suspected else result for result in results
    )


def _confirm(result: Errored, base: dict[tuple[str, str], list[Check]]) -> Errored:
    if result.trial.arm.name == BASE:
        return result
    scenario = result.trial.scenario
    known = base.get((scenario.id, content_digest(scenario)), [])
    confirmed = tuple(check for check in result.suspected if _passes(check, known))
    left = tuple(check for check in result.suspected if check not in confirmed)
    return replace(result, checks=(*result.checks, *confirmed), suspected=left)


def _passes(check: Check, known: Sequence[Check]) -> bool:
    same = [other for other in known if _place(other) == _place(check)]
    return bool(same) and all(other.passed and other.measured for other in same)


def _place(check: Check) -> tuple[str, int, str]:
    """Which assertion of a scenario it is, as far as masking leaves it: the content of both sides is the same."""
    return check.kind, 0 if check.kind == "rule" else check.turn, check.what if check.kind == "rule" else ""


def _base_checks(
    results: Sequence[ScenarioResult], baseline: Sequence[MeasuredRun]
) -> dict[tuple[str, str], list[Check]]:
    """The checks of the base by scenario and content."""
    found: dict[tuple[str, str], list[Check]] = {}
    known = [(result, "") for result in results if result.trial.arm.name == BASE]
    known += [
        (result, run.scenario_digests.get(result.trial.scenario.id, "")) for run in baseline for result in run.results
    ]
    for result, digest in known:
        if not isinstance(result, NotRun):
            place = result.trial.scenario.id, digest or content_digest(result.trial.scenario)
            found.setdefault(place, []).extend(result.checks)
    return found
