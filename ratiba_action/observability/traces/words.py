"""What is said about a delivery of traces."""

from ratiba_action.model.delivery import TraceDelivery
from ratiba_action.model.note import Note


def missing_note(delivery: TraceDelivery, events: str) -> str:
    """What a server does not have, why, and how it gets it; empty when it has everything.

    Args:
        delivery: what came of sending.
        events: path of the log, as people know it.
    """
    if delivery.complete:
        return ""
    pairs = (("span", delivery.spans_there, delivery.spans), ("score", delivery.scores_there, delivery.scores))
    counts = " and ".join(f"{max(all_ - there, 0)} of {all_} {name}s" for name, there, all_ in pairs)
    return Note(
        f"Langfuse lacks {counts} of this run: {delivery.problem or 'it did not take them'}. The verdict does not "
        "depend on it.",
        f"'ratiba report --resend-langfuse {events}' sends what is missing, and nothing twice.",
    )
