"""A message that ends with a traceback: what was raised, in one line, and where, in several."""

TRACEBACK = "Traceback (most recent call last):"


def summary_of(message: str, scenario_id: str = "") -> str:
    """What was raised, without the traceback; a message without one stays as it is.

    Args:
        message: of an error.
        scenario_id: of the conversation that it belongs to, where that is named beside it.
    """
    summary, _, _ = message.partition(f"\n{TRACEBACK}")
    return summary.removeprefix(f"scenario {scenario_id!r}: ") if scenario_id else summary


def traceback_of(message: str) -> str:
    """The traceback, a line for each frame and its code; empty without one."""
    _, found, frames = message.partition(f"\n{TRACEBACK}")
    return f"{TRACEBACK}{frames}" if found else ""


def origin_of(message: str) -> str:
    """Where and what was raised, the same for every message that one mistake leads to; empty without a traceback.

    These are the frames and the exception's type: what it says may hold a value of the conversation.
    """
    frames = traceback_of(message).split("\n")
    places = [number for number, line in enumerate(frames) if line.startswith('  File "')]
    if not places:
        return "\n".join(frames)
    raised = next((line for line in frames[places[-1] + 1 :] if not line.startswith(" ")), "")
    return "\n".join([*(frames[number] for number in places), raised.partition(":")[0]])
