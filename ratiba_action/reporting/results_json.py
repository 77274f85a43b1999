"""``results.json``: everything about a run, for programs."""

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any, NoReturn

from ratiba_action.errors import ConfigurationError
from ratiba_action.model.codec import CodecError, decode, encode
from ratiba_action.model.verdict import Report
from ratiba_action.reporting.report_formats import ExactFormats
from ratiba_action.verdict.exit_code import exit_code
from ratiba_action.verdict.regression import confidence, regression_detected
from ratiba_action.verdict.tally import tally

SCHEMA = 1
"""Version of the file's format; it grows when a field changes its meaning or goes away."""

_MOST_DIGITS = 300


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


def load_report(text: str | bytes, *, exact: bool = False) -> Report:
    """The report that ``render_results`` wrote.

    Args:
        text: content of a ``results.json``.
        exact: refuse whatever this version of the gate cannot have written, down to the format of each field. For a
            file that a stranger may have written.

    Raises:
        ConfigurationError: the text is not JSON, of another version, or lacks a field; says which.
    """
    remedy = "Write the file again with this version of the gate."
    try:
        content = _STRICT.decode(_text(text)) if exact else json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"results.json could not be read as JSON: {error}.", remedy) from error
    if not isinstance(content, dict) or content.get("schema") != SCHEMA:
        version = content.get("schema") if isinstance(content, dict) else content
        raise ConfigurationError(f"results.json has schema {version!r:.80}, and {SCHEMA} is understood.", remedy)
    try:
        report: Report = decode(Report, content.get("report"), "$.report", ExactFormats() if exact else None)
        if exact:
            _require_own_outputs(content, report)
    except CodecError as error:
        raise ConfigurationError(f"results.json could not be read: {error}", remedy) from error
    return report


def _require_own_outputs(content: Mapping[str, Any], report: Report) -> None:
    unknown = sorted(content.keys() - {"schema", "outputs", "report"})
    if unknown:
        raise CodecError(f"$ has the field {unknown[0]!r:.80}, which is not known.")
    if content.get("outputs") != outputs_of(report):
        raise CodecError("$.outputs are not those of the report.")


def _text(content: str | bytes) -> str:
    return content if isinstance(content, str) else content.decode("utf-8")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object, none of whose keys stands twice: readers do not agree on which of them counts."""
    found = dict(pairs)
    if len(found) != len(pairs):
        twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise ValueError(f"the key {twice!r:.80} stands twice")
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")


def _short_int(digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        raise ValueError(f"a number has {len(digits):,} digits")
    return int(digits)


_STRICT = json.JSONDecoder(object_pairs_hook=_once, parse_constant=_refuse_constant, parse_int=_short_int)
