"""What `ratiba sample` prints, and the file that says where the next run starts."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from ratiba_action.errors import UsageError
from ratiba_action.privacy.masking import Redactor
from ratiba_action.production.feedback import FeedbackCounts
from ratiba_action.production.sample_reading import Sample
from ratiba_action.production.sampling import read_cursor, sample_json, sample_lines, write_cursor
from tests.support.sample_report import sample_results

UNTIL = datetime(2026, 11, 22, 12, tzinfo=UTC)
SAMPLE = Sample(
    UNTIL - timedelta(hours=6),
    UNTIL,
    traces=40,
    chosen={"negative feedback": 3, "at random": 5},
    known=2,
    results=sample_results(),
    empty=("empty-1",),
    unread={"unread-1": "Langfuse: it answered with status 500"},
    blocked={"blocked-1": "the customer +254 712 345 432 has no name in the trace"},
    unmeasured=("other-1", "other-2"),
    begun={"unread-1": UNTIL - timedelta(hours=5)},
    feedback=FeedbackCounts(positive=6, negative=2, other=1),
    spent=Decimal("0.04"),
    budget=Decimal(1),
    unsent="Langfuse refused 3 scores",
    notes=("The judges called no cross-check.",),
)


def test_the_lines_count_what_was_measured_and_name_what_was_not_and_why() -> None:
    assert list(sample_lines(SAMPLE, Redactor(()))) == [
        (
            "Production from 2026-11-22T06:00:00+00:00 to 2026-11-22T12:00:00+00:00: 40 conversations began, "
            "selected: 3 for negative feedback, 5 for at random."
        ),
        "Feedback: 2 of 8 negative (25%).",
        "Measured: 2, 2 were measured before. Below a threshold: 1.",
        "  salon_reschedule: SwahiliFluencyMetric 0.62 < 0.80, BookingSlotConsistencyMetric 0.50 < 1.00",
        "Not measured: 3; the next run tries them again.",
        "  barbershop_mpesa: recording: The prompt changed since it was recorded.",
        "  spa_handoff: The budget was used up.",
        "  unread-1: Langfuse: it answered with status 500",
        "Blocked, because it is unknown what must be masked: 1.",
        "  the customer +254***432 has no name in the trace",
        "Without readable turns: 1.",
        "Without an applicable metric: 2.",
        "Some scores were not written back: Langfuse refused 3 scores. The next run writes them.",
        "Spent 0.04 of 1 US dollars.",
        "Note: The judges called no cross-check.",
    ]


def test_the_json_has_the_same_figures_and_where_the_next_run_starts() -> None:
    values = sample_json(SAMPLE, Redactor(()))
    assert (values["measured"], values["complete"]) == (2, False)
    assert values["next_since"] == "2026-11-22T07:00:00+00:00"
    assert [entry["trace"] for entry in values["not_looked_at"]] == ["barbershop_mpesa", "spa_handoff", "unread-1"]


def test_a_cursor_that_was_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "cursor.json"
    assert read_cursor(path) is None
    write_cursor(path, UNTIL)
    assert read_cursor(path) == UNTIL
    assert [file.name for file in path.parent.iterdir()] == ["cursor.json"]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", "not a cursor"),
        ("[]", "not a cursor"),
        ('{"until": 7}', "not a cursor"),
        ("[" * 100_000, "not a cursor"),
        ('{"until": "2026-11-22T12:00:00"}', "without time zone"),
    ],
)
def test_a_file_that_is_no_cursor_is_reported_with_what_to_do(tmp_path: Path, content: str, problem: str) -> None:
    path = tmp_path / "cursor.json"
    path.write_text(content)
    with pytest.raises(UsageError, match=problem) as caught:
        read_cursor(path)
    assert "--cursor" in caught.value.remedy


def test_a_cursor_that_cannot_be_read_or_written_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "cursor.json"
    path.mkdir()
    with pytest.raises(UsageError, match="cannot be read"):
        read_cursor(path)
    with pytest.raises(UsageError, match="cannot be written"):
        write_cursor(path, UNTIL)
    assert list(tmp_path.iterdir()) == [path]
