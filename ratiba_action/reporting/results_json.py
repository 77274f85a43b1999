"""``results.json``: everything about a run, for programs."""

import json
from typing import Any

from ratiba_action.core.codec import CodecError, decode, encode
from ratiba_action.core.exit_code import exit_code
from ratiba_action.core.model.verdict import Report
from ratiba_action.core.regression import confidence, regression_detected
from ratiba_action.core.tally import tally
from ratiba_action.errors import ConfigurationError

SCHEMA = 1
"""Version of the file's format; it grows when a field changes its meaning or goes away."""


def outputs_of(report: Report) -> dict[str, Any]:
    """The values that a workflow reads, by their names in ``results.json``."""
    counts = tally(report)
    return {
        "mode": report.decision.mode.value,
        "reasons": encode(report.decision.reasons),
        "conclusion": report.verdict.conclusion.value,
        "passed": counts.passed,
        "failed": counts.failed,
        "errored": counts.errored,
        "not_run": counts.not_run,
        "duration_seconds": round(report.seconds, 3),
        "regression_detected": regression_detected(report),
        "confidence": confidence(report),
        "spent_usd": encode(report.spending.spent),
        "budget_usd": encode(report.spending.cap),
        "exit_code": exit_code(report.verdict, report.decision.mode, enforce=report.enforce),
    }


def render_results(report: Report) -> str:
    """The text of ``results.json``; ASCII, so that no byte of a reply can break it."""
    content = {"schema": SCHEMA, "outputs": outputs_of(report), "report": encode(report)}
    return json.dumps(content, indent=1, ensure_ascii=True, allow_nan=False) + "\n"


def load_report(text: str | bytes) -> Report:
    """The report that ``render_results`` wrote.

    Args:
        text: content of a ``results.json``.

    Raises:
        ConfigurationError: the text is not JSON, of another version, or lacks a field; says which.
    """
    remedy = "Write the file again with this version of the gate."
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"results.json could not be read as JSON: {error}.", remedy) from error
    if not isinstance(content, dict) or content.get("schema") != SCHEMA:
        version = content.get("schema") if isinstance(content, dict) else content
        raise ConfigurationError(f"results.json has schema {version!r:.80}, and {SCHEMA} is understood.", remedy)
    try:
        report: Report = decode(Report, content.get("report"), "$.report")
    except CodecError as error:
        raise ConfigurationError(f"results.json could not be read: {error}", remedy) from error
    return report
