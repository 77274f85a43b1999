"""Whose configuration may spend and send. Nothing else answers that; pure, and standard library only.

A configuration says where keys are sent, what calls cost and what is spent. In CI it counts only where somebody has
merged it: a change's own would send the keys of the run wherever its author likes. Events, facts and answers are a
table in ``docs/threat-model.md``; the reasons are in ``docs/decisions/0089-whose-configuration.md``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType


class Whose(StrEnum):
    """Whose configuration keys, ledger and token are used under."""

    PERSON = "the person's own"
    """On a laptop: whoever starts the gate there owns the keys too."""
    BASE = "the base commit's"
    """What the checkout says counts where it is stricter."""
    MERGED = "that of the commit itself"
    """It is on the default branch."""
    NOBODY = "nobody's"
    """The run has no key, no ledger and no token."""


class Base(StrEnum):
    """What is known of the commit that a change is compared with."""

    UNKNOWN = "unknown"
    """There is none, it is not in the clone, or it is the evaluated commit itself."""
    CLAIMED = "claimed"
    """The event or the clone says that it came before; nobody says that it was merged."""
    NAMED = "named"
    """The forge names it as what a pull request or a group of a merge queue is to be merged into."""
    MERGED = "merged"
    """The forge says that it is on the default branch; on a CI system without one that can be asked, the clone."""


_OF_A_REQUEST = frozenset({Base.NAMED, Base.MERGED})
_OF_A_COMMIT = frozenset({Base.MERGED})

EVENTS: Mapping[str, frozenset[Base]] = MappingProxyType(
    {
        "": _OF_A_COMMIT,
        "pull_request": _OF_A_REQUEST,
        "pull_request_review": _OF_A_REQUEST,
        "merge_group": _OF_A_REQUEST,
        "push": _OF_A_COMMIT,
        "schedule": _OF_A_COMMIT,
        "workflow_dispatch": _OF_A_REQUEST,
    }
)
"""Every event that the gate runs on, and which bases decide there; the empty name is a work tree without an event."""


@dataclass(frozen=True, slots=True)
class Known:
    """What is known before anything of the change runs. As it is, nothing is.

    Args:
        in_ci: see ``runs_in_ci``.
        event: name of the event that started the run; empty for none.
        base: of the commit that the change is compared with.
        configured: that commit has a configuration that can be used.
        merged: the commit that is checked out is on the default branch, in the forge's own words.
    """

    in_ci: bool = True
    event: str = ""
    base: Base = Base.UNKNOWN
    configured: bool = True
    merged: bool = False


def whose_configuration(known: Known) -> Whose:
    """Whose configuration may spend and send.

    Args:
        known: about the run.
    """
    if not known.in_ci:
        return Whose.PERSON
    deciding = EVENTS.get(known.event)
    if deciding is None:
        return Whose.NOBODY
    if known.base in deciding and known.configured:
        return Whose.BASE
    return Whose.MERGED if known.merged else Whose.NOBODY


_GITHUB = ("GITHUB_ACTIONS", "GITHUB_RUN_ID", "GITHUB_EVENT_NAME")
_OTHERS = ("GITLAB_CI", "CI_JOB_ID", "TF_BUILD", "JENKINS_URL", "TEAMCITY_VERSION", "CODEBUILD_BUILD_ID")


def runs_on_github(environment: Mapping[str, str]) -> bool:
    """Whether this is a job of GitHub's, also where a step has unset one of the variables that say so."""
    return any(environment.get(name) for name in _GITHUB)


def runs_in_ci(environment: Mapping[str, str]) -> bool:
    """Whether a machine started this process, and not a person: any sign of a CI system counts."""
    signs = any(environment.get(name) for name in _OTHERS)
    return signs or runs_on_github(environment) or environment.get("CI", "").lower() not in ("", "false", "0")
