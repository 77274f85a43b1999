"""Where model answers come from: what a run is asked for, and what it came to."""

from enum import StrEnum


class Llm(StrEnum):
    """Where a run may take model answers from: the input ``llm``, and ``record`` for the command of that name.

    ``AUTO`` takes recordings where they fit, and calls models for the rest.
    """

    AUTO = "auto"
    REPLAY = "replay"
    LIVE = "live"
    RECORD = "record"


class RecordingSource(StrEnum):
    """Where one recorded answer comes from: written by hand, or from a provider."""

    AUTHORED = "authored"
    LIVE = "live"


class AnswerOrigin(StrEnum):
    """Where the model answers of a run came from."""

    REPLAY = "replay"
    MIXED = "mixed"
    LIVE = "live"
    RECORD = "record"
