"""What came of sending a run's traces to a tracing server."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TraceLink:
    """Where one conversation can be looked at.

    Args:
        label: the scenario, with its arm, variant and trial where they tell it from others.
        passed: None where it was not scored to its end.
    """

    label: str
    url: str
    passed: bool | None = None


@dataclass(frozen=True, slots=True)
class TraceDelivery:
    """What a server has taken, of what there was.

    Args:
        host: address of the server.
        spans: that the run's traces have; ``spans_there`` of them are on the server, as far as it has said.
        scores: of the traces; ``scores_there`` of them are on the server.
        problem: why something is missing, in one sentence; empty when nothing is.
        links: to the conversations that are there.
        run_url: where they stand together, of one run; empty when none is there.
    """

    host: str
    traces: int = 0
    spans: int = 0
    spans_there: int = 0
    scores: int = 0
    scores_there: int = 0
    problem: str = ""
    links: tuple[TraceLink, ...] = ()
    run_url: str = ""

    @property
    def complete(self) -> bool:
        """Whether nothing is missing."""
        return self.spans_there >= self.spans and self.scores_there >= self.scores and not self.problem
