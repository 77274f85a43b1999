"""A mode decision as plain JSON values that are safe to print."""

import json
from typing import Any

from ratiba_action.model.change import ModeDecision, Reason
from ratiba_action.util.text import printable

MAX_REASONS = 200
"""Most reasons in a step output, whose size is bounded; the strictest come first."""


def decision_values(decision: ModeDecision) -> dict[str, Any]:
    """The decision in the shape that ``ratiba decide --json`` prints."""
    return {
        "mode": decision.mode.value,
        "reasons": [_reason(entry) for entry in decision.reasons],
        "dependencies": [
            {
                "package": printable(entry.package),
                "from": entry.before and printable(entry.before),
                "to": entry.after and printable(entry.after),
                "change": entry.change,
                "file": printable(entry.file),
            }
            for entry in decision.dependencies
        ],
    }


def reasons_output(decision: ModeDecision) -> str:
    """The step output ``reasons``: the first reasons, as one line of ASCII."""
    return json.dumps([_reason(reason) for reason in decision.reasons[:MAX_REASONS]])


def _reason(reason: Reason) -> dict[str, str]:
    return {
        "path": printable(reason.path),
        "rule": printable(reason.rule),
        "mode": reason.mode.value,
        "why": printable(reason.why),
    }
