"""``python -m tests.support.published_schemas`` writes all published JSON Schemas."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ratiba_action.authoring.schema_files import CONFIGURATION_SCHEMA, SCENARIO_SCHEMA
from ratiba_action.checks.failure_rules import RULE_TYPES
from ratiba_action.config.configuration import Configuration
from ratiba_action.config.suite_block import SHORT_CONFIDENCE, STRATEGIES
from ratiba_action.metrics.metric_table import METRICS
from ratiba_action.metrics.registry import metric_names, parameters_of
from ratiba_action.suite.cases import FIXED
from ratiba_action.suite.scenario_schema import ScenarioBlock
from tests.support.report_schemas import events_schema_text, schema_text

_DRAFT = "https://json-schema.org/draft/2020-12/schema"
_ADDRESS = r"^[A-Za-z_][\w.]*:[A-Za-z_][\w.]*$"
_COLUMN = {"type": "string", "pattern": r"\$\{[^{}]+\}", "description": "filled from a column of the cases"}


def published_schemas() -> Mapping[str, str]:
    """Content of each schema file by its name."""
    return {
        name: json.dumps({"$schema": _DRAFT, **schema}, indent=1, ensure_ascii=False) + "\n"
        for name, schema in (
            (SCENARIO_SCHEMA, scenario_schema()),
            (CONFIGURATION_SCHEMA, configuration_schema()),
        )
    }


def configuration_schema() -> dict[str, Any]:
    """The schema of the configuration."""
    schema = Configuration.model_json_schema()
    schema["$defs"]["StrategyBlock"] = strategy_schema(schema["$defs"]["StrategyBlock"])
    return schema


def scenario_schema() -> dict[str, Any]:
    """The schema of a scenario file; each metric allows only its own parameters."""
    schema = ScenarioBlock.model_json_schema()
    schema["$defs"]["AssertionBlock"] = _assertions(schema["$defs"])
    schema["$defs"]["RuleBlock"]["properties"]["type"]["enum"] = list(RULE_TYPES)
    schema["$defs"]["GateBlock"]["properties"]["metric"].pop("maxLength", None)
    _admit_columns(schema)
    for definition in schema["$defs"].values():
        _admit_columns(definition)
    schema["$defs"]["StrategyBlock"] = strategy_schema(schema["$defs"]["StrategyBlock"])
    schema["$defs"]["Column"] = _COLUMN
    return schema


def strategy_schema(described: Mapping[str, Any]) -> dict[str, Any]:
    """The published schema of a strategy: a name, or a mapping that may start from one.

    Args:
        described: the schema of ``StrategyBlock``.
    """
    like = {"enum": list(STRATEGIES), "description": "strategy to start from"}
    properties = {"like": like, **described["properties"]}
    properties[SHORT_CONFIDENCE] = properties["confidence_level"]
    return {"title": "StrategyBlock", "anyOf": [like, {**described, "properties": properties}]}


def _assertions(definitions: dict[str, Any]) -> dict[str, Any]:
    """One alternative per metric, so that editors complete its name and parameters."""
    threshold = definitions["AssertionBlock"]["properties"]["threshold"]
    named, *_ = definitions["AssertionBlock"]["properties"]["name"]["anyOf"]
    own = {
        "title": "a metric of the repository itself",
        "type": "object",
        "properties": {
            "metric": {"type": "string", "pattern": _ADDRESS, "description": "module:attribute"},
            "name": dict(named),
            "threshold": dict(threshold),
            "with": {"type": "object"},
        },
        "required": ["metric", "threshold"],
        "additionalProperties": False,
    }
    built_in = [_assertion(name, threshold, named, definitions) for name in metric_names()]
    return {"title": "AssertionBlock", "oneOf": [*built_in, own]}


def _assertion(
    name: str, threshold: Mapping[str, Any], named: Mapping[str, Any], definitions: dict[str, Any]
) -> dict[str, Any]:
    properties: dict[str, Any] = {
        "metric": {"const": name, "description": METRICS[name].measures},
        "name": dict(named),
        "threshold": dict(threshold),
    }
    required = ["metric", "threshold"]
    model = parameters_of(name)
    if model is not None:
        described = model.model_json_schema(ref_template=f"#/$defs/{name}.{{model}}")
        definitions.update({f"{name}.{inner}": value for inner, value in described.pop("$defs", {}).items()})
        properties["with"] = described
        required += ["with"] if described.get("required") else []
    return {
        "title": name,
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def _admit_columns(definition: dict[str, Any]) -> None:
    """In a scenario with ``cases`` any value may come from a row, whatever its type."""
    for name, value in definition.get("properties", {}).items():
        free = not (value.keys() - {"title", "description", "default"}) or value == {"$ref": "#/$defs/Column"}
        plain = value.get("type") == "string" and "pattern" not in value and "format" not in value
        fixed = name in FIXED or "const" in value or "enum" in value
        if not (free or plain or fixed):
            about = {key: value.pop(key) for key in ("title", "description", "default") if key in value}
            definition["properties"][name] = {**about, "anyOf": [value, {"$ref": "#/$defs/Column"}]}


def every_schema() -> Mapping[str, str]:
    """Content of each schema file by its path in the package."""
    return {
        **{f"authoring/{name}": content for name, content in published_schemas().items()},
        "observability/events.schema.json": events_schema_text(),
        "reporting/results.schema.json": schema_text(),
    }


if __name__ == "__main__":
    for path, text in every_schema().items():
        (Path(__file__).parents[2] / "ratiba_action" / path).write_text(text, encoding="utf-8")
