"""The JSON Schemas of scenarios and of the configuration, as they are shipped: ``make schemas`` writes them."""

from importlib.resources import files

SCENARIO_SCHEMA = "scenario.schema.json"
CONFIGURATION_SCHEMA = "configuration.schema.json"


def schema_file(name: str) -> bytes:
    """A published JSON Schema, as it is shipped in the package.

    Args:
        name: ``SCENARIO_SCHEMA`` or ``CONFIGURATION_SCHEMA``.
    """
    return (files("ratiba_action.authoring") / name).read_bytes()
