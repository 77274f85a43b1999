"""``python -m ratiba_action.authoring.write_schemas``: write the published JSON Schemas again."""

from pathlib import Path

from ratiba_action.authoring.schemas import published_schemas

if __name__ == "__main__":
    for name, content in published_schemas().items():
        (Path(__file__).parent / name).write_text(content, encoding="utf-8")
