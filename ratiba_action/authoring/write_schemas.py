"""``python -m ratiba_action.authoring.write_schemas`` writes all published JSON Schemas."""

from collections.abc import Mapping
from pathlib import Path

from ratiba_action.authoring.schemas import published_schemas
from ratiba_action.observability.event_lines import events_schema_text
from ratiba_action.reporting.results_json import schema_text


def every_schema() -> Mapping[str, str]:
    """Content of each schema file by its path in the package."""
    return {
        **{f"authoring/{name}": content for name, content in published_schemas().items()},
        "observability/events.schema.json": events_schema_text(),
        "reporting/results.schema.json": schema_text(),
    }


if __name__ == "__main__":
    for path, text in every_schema().items():
        (Path(__file__).parents[1] / path).write_text(text, encoding="utf-8")
