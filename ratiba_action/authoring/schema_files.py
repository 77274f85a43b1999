"""The published JSON Schemas, shipped in the package."""

from importlib.resources import files

SCENARIO_SCHEMA = "scenario.schema.json"
CONFIGURATION_SCHEMA = "configuration.schema.json"


def schema_file(name: str) -> bytes:
    """A published JSON Schema.

    Args:
        name: ``SCENARIO_SCHEMA`` or ``CONFIGURATION_SCHEMA``.
    """
    return (files("ratiba_action.authoring") / name).read_bytes()
