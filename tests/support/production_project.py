"""A production system's project in a stand-in for Langfuse, filled as that system fills it."""

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.support.langfuse_clients import langfuse_client
from tests.support.langfuse_server import LangfuseState

if TYPE_CHECKING:
    from langfuse import Langfuse

SPA: Mapping[str, str] = {
    "tenant_id": "spa_westlands",
    "vertical": "spa",
    "customer_name": "Wanjiku Kamau",
    "language": "sw",
    "prompt_version": "booking@3f9c",
}
"""Metadata of a trace that may be promoted."""


@dataclass(frozen=True)
class ProductionProject:
    """Holds conversations with the real SDK, and disliked ones.

    Args:
        state: of the stand-in.
        url: of the stand-in.
        home: folder of the user who promotes.
    """

    state: LangfuseState
    url: str
    home: Path
    pressed: list[str] = field(default_factory=list)

    @property
    def environment(self) -> dict[str, str]:
        """Of ``ratiba promote``."""
        return {
            **self.state.environment(self.url),
            "HOME": str(self.home),
            "PATH": os.environ["PATH"],
        }

    def trace(self, hold: Callable[["Langfuse"], str]) -> str:
        """Let something be traced, and wait until it is there; returns what it gives back."""
        with langfuse_client(self.state, self.url) as client:
            made = hold(client)
            client.flush()
        return made

    def converse(self, *messages: str, facts: Mapping[str, Any] = SPA, session: str | None = None) -> str:
        """A conversation of one trace with a span for each turn; returns the trace's id."""

        def hold(client: "Langfuse") -> str:
            from langfuse import propagate_attributes

            trace_id: str = client.create_trace_id(seed="\n".join((str(len(self.state.spans)), *messages)))
            with (
                client.start_as_current_observation(
                    name="conversation", trace_context={"trace_id": trace_id}, metadata=dict(facts)
                ),
                propagate_attributes(session_id=session),
            ):
                for number, message in enumerate(messages):
                    with client.start_as_current_observation(name=f"turn {number}", input=message, output="Sawa."):
                        pass
            return trace_id

        return self.trace(hold)

    def dislike(
        self, subject_id: str, value: str = "thumbs_down", *, seconds_ago: int = 60, subject: str = "trace"
    ) -> None:
        """A press of a button, as a score of a trace or a session."""
        self.pressed.append(subject_id)
        score: dict[str, Any] = {
            "id": f"press-{len(self.pressed)}",
            f"{subject}Id": subject_id,
            "name": "user_feedback",
            "value": value,
            "dataType": "CATEGORICAL",
        }
        moment = time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime(time.time() - seconds_ago))
        kept = {**score, "timestamp": moment, "createdAt": moment, "updatedAt": moment}
        key = score["id"], score["name"], moment[:10]
        shape = {"source": "API", "environment": "default", "projectId": "project-of-the-gate"}
        self.state.scores[key] = {**shape, **kept}
