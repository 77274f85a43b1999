"""Names that Langfuse reads on a span, and how it wants values spelled.

They are those of ``langfuse.LangfuseOtelSpanAttributes`` (SDK 5), written down here so that nothing of Langfuse is
imported where traces are only put together; a test holds the two together.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

TRACE_NAME = "langfuse.trace.name"
SESSION = "session.id"
TAGS = "langfuse.trace.tags"
TRACE_METADATA = "langfuse.trace.metadata"
TYPE = "langfuse.observation.type"
METADATA = "langfuse.observation.metadata"
LEVEL = "langfuse.observation.level"
STATUS_MESSAGE = "langfuse.observation.status_message"
INPUT = "langfuse.observation.input"
OUTPUT = "langfuse.observation.output"
MODEL = "langfuse.observation.model.name"
USAGE = "langfuse.observation.usage_details"
COST = "langfuse.observation.cost_details"
ENVIRONMENT = "langfuse.environment"
VERSION = "langfuse.version"
EXPERIMENT_ID = "langfuse.experiment.id"
EXPERIMENT_NAME = "langfuse.experiment.name"
EXPERIMENT_DATASET = "langfuse.experiment.dataset.id"
EXPERIMENT_ITEM = "langfuse.experiment.item.id"
EXPERIMENT_ROOT = "langfuse.experiment.item.root_observation_id"

LONGEST_TEXT = 100_000
"""Characters of an input or output; a conversation whose reply is longer shows its beginning."""

LONGEST = 200
"""Characters of a value that is carried to every span of a trace; Langfuse drops a longer one."""

_DIGEST = 16


def well_formed(text: str) -> str:
    """The text as UTF-8 can carry it: a model's half of a surrogate pair becomes a question mark."""
    return text.encode("utf-8", "replace").decode("utf-8")


def shortened(text: str) -> str:
    """A text that Langfuse does not drop: a long one ends in a digest of the whole, so that two stay different."""
    if len(text) <= LONGEST:
        return text
    ending = f"…{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:_DIGEST]}"
    return text[: LONGEST - len(ending)] + ending


def carried(metadata: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Attributes of what is known of a whole trace; empty values are left out."""
    for name, value in metadata.items():
        if value:
            yield f"{TRACE_METADATA}.{name}", shortened(value)


def own(metadata: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Attributes of what is known of one span: JSON, strings included, which is how version 5 of the SDK sends it."""
    for name, value in metadata.items():
        if value not in (None, "", ()):
            yield f"{METADATA}.{name}", json.dumps(value, ensure_ascii=False, separators=(",", ":"))
