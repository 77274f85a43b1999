"""Token counts of answers that pass the gateway."""

from ratiba_action.core.model.conversation import Usage
from ratiba_action.core.model.values import JsonObject
from ratiba_action.core.reported_usage import reported_usage
from ratiba_action.errors import RecordingError


def recorded_usage(provider: str, endpoint: str, answer: JsonObject) -> Usage:
    """The tokens that a recorded answer reports.

    Raises:
        RecordingError: it reports none that can be used.
    """
    try:
        return reported_usage(provider, endpoint, answer)
    except ValueError as error:
        raise RecordingError(f"A recorded answer of {provider} cannot be used: {error}.", "Record it again.") from error
