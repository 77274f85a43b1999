"""The kinds of case, and how many of a campaign's cases are of each."""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from fuzz.case import Case
from fuzz.checkouts import decide_on_hostile_checkout
from fuzz.container import decide_in_container, gate_in_container
from fuzz.fork_artifacts import post_hostile_artifact
from fuzz.gateway_requests import send_hostile_requests
from fuzz.github_answers import publish_to_faulty_github
from fuzz.provider_answers import pay_faulty_providers
from fuzz.whole_gates import gate_on_host, signal_on_host


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of case.

    Args:
        share: of all cases.
        run: runs one.
        about: one line for the table.
    """

    share: float
    run: Callable[[Case], None]
    about: str


KINDS: Mapping[str, Kind] = {
    "checkout": Kind(0.160, decide_on_hostile_checkout, "`ratiba decide` on a hostile checkout"),
    "gateway": Kind(0.360, send_hostile_requests, "hostile requests to a live gateway that pays for its answers"),
    "provider": Kind(0.240, pay_faulty_providers, "paid calls to providers that fail, hang and lie"),
    "github": Kind(0.080, publish_to_faulty_github, "a comment posted to a GitHub that fails"),
    "artifact": Kind(0.081, post_hostile_artifact, "a fork's results.json, posted by the second workflow"),
    "gate": Kind(0.015, gate_on_host, "a whole gate: hostile change, system, providers and GitHub"),
    "signal": Kind(0.009, signal_on_host, "the same, with signals at random moments"),
    "container": Kind(0.012, gate_in_container, "the action's steps with the gate in its container, some cancelled"),
    "contained": Kind(0.043, decide_in_container, "`ratiba decide` on a hostile checkout, in the container"),
}


def kind_of(seed: int) -> str:
    """Name of the kind of a seed's case."""
    chosen = random.Random(f"kind {seed}")
    return chosen.choices(list(KINDS), [kind.share for kind in KINDS.values()])[0]
