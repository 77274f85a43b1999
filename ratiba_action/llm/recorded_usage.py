"""Token counts of answers that pass the gateway."""

from ratiba_action.errors import RecordingError
from ratiba_action.model.conversation import Usage
from ratiba_action.model.values import JsonObject
from ratiba_action.money.reported_usage import reported_usage


def recorded_usage(provider: str, endpoint: str, answer: JsonObject) -> Usage:
    """The tokens that a recorded answer reports.

    Raises:
        RecordingError: it reports none that can be used.
    """
    try:
        return reported_usage(provider, endpoint, answer)
    except ValueError as error:
        raise RecordingError(f"A recorded answer of {provider} cannot be used: {error}.", "Record it again.") from error
