"""How long a run may take: an option, else a variable that a workflow sets together with its job's own time-out.

The time for sending to Langfuse and to a collector comes on top of it.
"""

import re
from collections.abc import Mapping

DEADLINE = "RATIBA_DEADLINE"
"""The variable; it is no input, since what it has to stay below is the job's."""


LANGFUSE_SECONDS = "RATIBA_LANGFUSE_SECONDS"
"""The variable that says how long sending to Langfuse may take at the end of a run."""

OTLP_SECONDS = "RATIBA_OTLP_SECONDS"
"""The same of sending to an OpenTelemetry collector."""

_SENDING_SECONDS = 10.0
_SECONDS = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9})?")


def parse_seconds(text: str) -> float:
    """A duration in seconds, more than zero.

    Raises:
        ValueError: it is not.
    """
    seconds = float(text) if _SECONDS.fullmatch(text) else 0.0
    if not 0 < seconds <= 86_400:  # noqa: PLR2004 - a day
        raise ValueError("seconds, more than 0 and at most 86400")
    return seconds


def problems_of_deadline(environment: Mapping[str, str]) -> tuple[str, ...]:
    """What is wrong with the variable; empty when nothing is."""
    return problems_of_seconds(DEADLINE, environment)


def problems_of_seconds(variable: str, environment: Mapping[str, str]) -> tuple[str, ...]:
    """What is wrong with a variable that holds seconds; empty when nothing is."""
    text = environment.get(variable)
    try:
        parse_seconds(text or "1")
    except ValueError as error:
        return (f"{variable}: {text!r} is not allowed: give {error}.",)
    return ()


def sending_seconds(variable: str, environment: Mapping[str, str]) -> float:
    """Seconds that sending may take; a wrong variable is reported by ``problems_of_seconds``.

    Args:
        variable: ``LANGFUSE_SECONDS`` or ``OTLP_SECONDS``.
    """
    text = environment.get(variable)
    return parse_seconds(text) if text and not problems_of_seconds(variable, environment) else _SENDING_SECONDS


def read_deadline(option: str, environment: Mapping[str, str]) -> float | None:
    """Seconds that the run may take, None for any number.

    Args:
        option: from the command line, which comes first; empty where not given.
        environment: its variable counts as not set where it is wrong: ``problems_of_deadline`` reports that.

    Raises:
        ValueError: the option is wrong; says what is allowed.
    """
    if option:
        return parse_seconds(option)
    text = environment.get(DEADLINE)
    return parse_seconds(text) if text and not problems_of_deadline(environment) else None
