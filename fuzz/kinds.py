"""The kinds of case, and how many of a campaign's cases are of each."""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from fuzz.added_files import judge_with_added_files
from fuzz.case import Case
from fuzz.checkouts import decide_on_hostile_checkout
from fuzz.container import decide_in_container, deprive_in_container, gate_in_container
from fuzz.deprived import deprive_on_host
from fuzz.event_keys import spend_under_any_event
from fuzz.failing_operations import starve_gate
from fuzz.fork_artifacts import post_hostile_artifact
from fuzz.gateway_requests import send_hostile_requests
from fuzz.github_answers import publish_to_faulty_github
from fuzz.provider_answers import pay_faulty_providers
from fuzz.victims import harm_victims
from fuzz.whole_gates import gate_on_host, signal_on_host


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of case.

    Args:
        share: of all cases.
        run: runs one.
        about: one line for the table.
        docker: it needs a Docker daemon, and so the user who may use it.
    """

    share: float
    run: Callable[[Case], None]
    about: str
    docker: bool = False


KINDS: Mapping[str, Kind] = {
    "checkout": Kind(0.080, decide_on_hostile_checkout, "`ratiba decide` on a hostile checkout"),
    "gateway": Kind(0.120, send_hostile_requests, "hostile requests to a live gateway that pays for its answers"),
    "provider": Kind(0.080, pay_faulty_providers, "paid calls to providers that fail, hang and lie"),
    "github": Kind(0.030, publish_to_faulty_github, "a comment posted to a GitHub that fails"),
    "artifact": Kind(0.040, post_hostile_artifact, "a fork's results.json, posted by the second workflow"),
    "gate": Kind(0.010, gate_on_host, "a whole gate: hostile change, system, providers and GitHub"),
    "signal": Kind(0.007, signal_on_host, "the same, with signals at random moments"),
    "victims": Kind(0.326, harm_victims, "a system in its sandbox does misdeeds beside the other parties of a run"),
    "starved": Kind(0.120, starve_gate, "a whole gate of a regression, in which operations of the gate fail"),
    "event": Kind(0.080, spend_under_any_event, "a whole gate with keys: any event, a change that wants them"),
    "added": Kind(0.030, judge_with_added_files, "a whole gate of a regression that brings files to be judged by"),
    "deprived": Kind(0.025, deprive_on_host, "a whole gate of a regression that makes another party fail"),
    "imprisoned": Kind(0.012, deprive_in_container, "the same, in the gate's container", docker=True),
    "container": Kind(0.006, gate_in_container, "the action's steps in a container, some cancelled", docker=True),
    "contained": Kind(
        0.034, decide_in_container, "`ratiba decide` on a hostile checkout, in the container", docker=True
    ),
}


def kind_of(seed: int) -> str:
    """Name of the kind of a seed's case."""
    chosen = random.Random(f"kind {seed}")
    return chosen.choices(list(KINDS), [kind.share for kind in KINDS.values()])[0]
