"""Ends of a run outside the gate's container: nothing to do, a wrong start, or no end at all. Standard library only."""

from collections.abc import Mapping, Sequence
from typing import TextIO

from ratiba_action.decide.deciding import Decided
from ratiba_action.errors import RatibaError
from ratiba_action.model.verdict import Conclusion, Report, Verdict
from ratiba_action.publish.publishing import Publication
from ratiba_action.publish.unmeasured_runs import refuse_wrong_start, report_without_run, skipped, stopped
from ratiba_action.settings.settings import Settings, unknown_variables
from ratiba_action.util.interruption import current

_AGAIN = "Run the job again."
ENDINGS: Mapping[str, tuple[str, str]] = {
    "": ("The run was cancelled or died before it could report.", f"Read the log of the step before. {_AGAIN}"),
    "cancelled": ("The run was cancelled before it could report.", _AGAIN),
    "container": (
        "The gate's container could not be made, so nothing was run.",
        "Read the log of the step before, which says what the Docker daemon refused.",
    ),
    "daemon": (
        "The Docker daemon stopped while the gate's container ran, so what the gate measured is lost.",
        f"Start the daemon, and look at its log for the cause. {_AGAIN}",
    ),
    "disk": (
        "The runner's folder for temporary files cannot be written to, so the gate was not started.",
        f"Make room on the runner's disk. {_AGAIN}",
    ),
    "docker": (
        "There is no Docker daemon that the gate's container could run in.",
        "Use a Linux runner with Docker, outside a 'container:' job; the log of the step before says more.",
    ),
    "image": (
        "The gate's image could not be pulled or built.",
        "Check the input 'image' and the runner's network; the log of the step before says more.",
    ),
    "killed": (
        "The gate's container ended before it could report.",
        f"Read the log of the step before. {_AGAIN}",
    ),
    "misconfigured": (
        "The gate refused its settings before it could report.",
        "Read the log of the step before, which names the setting.",
    ),
    "unsealed": (
        "What the gate's container left is not sealed by the gate, so none of it counts.",
        f"The gate died, or code of the change wrote in its place: read the log of the step before. {_AGAIN}",
    ),
    "memory": (
        "The gate's container was ended because it used up its memory.",
        "Use a runner with more memory, or let the system under test use less.",
    ),
}
"""Reason and remedy of each word of ``RATIBA_ENDED``, by which the script before says how the run ended."""


def conclude(
    settings: Settings,
    decided: Decided,
    environment: Mapping[str, str],
    stream: TextIO,
    *,
    problems: Sequence[str],
    ended: str | None = None,
) -> int:
    """Publish the end of a run that measured nothing: it has nothing to do, must not start, or left no results.

    Args:
        settings: the inputs; a wrong one has its default.
        decided: its mode, and what it is about.
        stream: what a person or the log reads; the secrets of the run must have been hidden in it.
        ended: a word of ``ENDINGS`` for a run that left no results, any other says nothing; None for one that has
            nothing to do.

    Returns:
        The exit code.
    """
    notes = [f"The variable {name} is set, but no input reads it." for name in unknown_variables(environment)]
    complaint = ""
    try:
        refuse_wrong_start(decided, problems)
    except RatibaError as error:
        report, complaint = stopped(settings, decided, error, notes), str(error)
    else:
        report = skipped(settings, decided, notes) if ended is None else _unfinished(settings, decided, ended, notes)
    publication = Publication(settings, environment, stream)
    with current().noting():
        return publication.publish(report, complaint="" if publication.in_workflow else complaint).exit_code


def _unfinished(settings: Settings, decided: Decided, ended: str, notes: Sequence[str]) -> Report:
    reason, action = ENDINGS.get(ended, ENDINGS[""])
    verdict = Verdict(Conclusion.INCOMPLETE, reason, action, misconfigured=ended == "misconfigured")
    return report_without_run(settings, decided, verdict, notes)
