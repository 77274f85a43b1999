from datetime import UTC, datetime, timedelta

from ratiba_action.production.feedback import Feedback, FeedbackCounts, count_feedback

BEGAN = datetime(2026, 11, 22, 6, tzinfo=UTC)


def pressed(trace: str, value: float | str, minutes: int = 0) -> Feedback:
    return Feedback(f"{trace} {minutes}", "trace", trace, value, BEGAN + timedelta(minutes=minutes))


def test_who_presses_twice_has_changed_their_mind() -> None:
    counts = count_feedback([pressed("a", 1, 5), pressed("a", 0), pressed("b", "thumbs_down"), pressed("c", 1)])
    assert counts == FeedbackCounts(positive=2, negative=1)
    assert counts.negative_share == 1 / 3


def test_of_nobody_there_is_no_share() -> None:
    assert count_feedback([]).negative_share is None


def test_a_comment_is_neither_and_takes_nothing_back() -> None:
    counts_of = [
        pressed("a", "thumbs_down", 1),
        pressed("a", "comment", 2),
        pressed("b", "comment"),
        pressed("c", "thumbs_up"),
    ]
    assert count_feedback(counts_of) == FeedbackCounts(positive=1, negative=1, other=1)
    assert count_feedback(counts_of).negative_share == 0.5
