"""A publisher that keeps what it is given."""

from dataclasses import dataclass, field

from ratiba_action.model.verdict import Report


@dataclass(slots=True)
class RecordingPublisher:
    """Implements ``Publisher`` in memory."""

    reports: list[Report] = field(default_factory=list)

    def publish(self, report: Report) -> str | None:
        """Keep the report; its address is its number."""
        self.reports.append(report)
        return f"memory:{len(self.reports)}"
