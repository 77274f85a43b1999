"""Writes the JSON Schema of ``results.json`` from the types that are published in it."""

import json
from typing import Any

from ratiba_action.model.change import Mode, Reason
from ratiba_action.model.json_schema import USD, schema_of
from ratiba_action.model.verdict import Conclusion, Report


def results_schema() -> dict[str, Any]:
    """The schema of version 1 of ``results.json``; ``results.schema.json`` holds the same."""
    definitions: dict[str, Any] = {}
    outputs = {
        "mode": schema_of(Mode, definitions),
        "reasons": schema_of(tuple[Reason, ...], definitions),
        "conclusion": schema_of(Conclusion, definitions),
        **{name: {"type": "integer", "minimum": 0} for name in ("passed", "failed", "errored", "not_run")},
        "duration_seconds": {"type": "number", "minimum": 0},
        "regression_detected": {"type": "boolean"},
        "confidence": {"type": ["number", "null"], "minimum": 0, "maximum": 1},
        "spent_usd": dict(USD),
        "budget_usd": dict(USD),
        "exit_code": {"enum": [0, 1, 2, 3]},
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Results of a Ratiba Eval Gate run",
        "type": "object",
        "required": ["schema", "outputs", "report"],
        "properties": {
            "schema": {"const": 1},
            "outputs": {"type": "object", "required": list(outputs), "properties": outputs},
            "report": schema_of(Report, definitions),
        },
        "$defs": definitions,
    }


def schema_text() -> str:
    """The schema as the published file writes it."""
    return json.dumps(results_schema(), indent=2) + "\n"
