"""A decision as plain JSON values, harmless wherever a program prints them."""

import json
from typing import Any

from ratiba_action.model.change import ModeDecision, Reason
from ratiba_action.util.text import printable

MOST_REASONS = 200
"""Reasons in a step's output, which is bounded; the strictest come first."""


def decision_values(decision: ModeDecision) -> dict[str, Any]:
    """The decision in the shape that ``ratiba decide --json`` prints."""
    return {
        "mode": decision.mode.value,
        "reasons": [_reason(one) for one in decision.reasons],
        "dependencies": [
            {
                "package": printable(one.package),
                "from": _shown(one.before),
                "to": _shown(one.after),
                "change": one.change,
                "file": printable(one.file),
            }
            for one in decision.dependencies
        ],
    }


def reasons_output(decision: ModeDecision) -> str:
    """The step's output ``reasons``: the first of them, as one line of ASCII."""
    return json.dumps([_reason(one) for one in decision.reasons[:MOST_REASONS]])


def _shown(version: str | None) -> str | None:
    return None if version is None else printable(version)


def _reason(reason: Reason) -> dict[str, str]:
    return {
        "path": printable(reason.path),
        "rule": printable(reason.rule),
        "mode": reason.mode.value,
        "why": printable(reason.why),
    }
