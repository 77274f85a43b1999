"""A candidate as the text of a scenario file, and what is in the suite already."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ratiba_action.checks.failure_rules import validate_rule
from ratiba_action.errors import FileProblem, SuiteError
from ratiba_action.metrics.registry import metric_problems
from ratiba_action.privacy.credentials import find_credentials
from ratiba_action.privacy.masking import MASK
from ratiba_action.production.candidate import Candidate, fingerprint_of
from ratiba_action.suite.load import load_suite, read_scenario_files

FOLDER = "from_production"

_NOTE = """\
# A customer disliked this conversation. It is masked; read every line all the same. Then say what must hold in it
# (`expect`, `rules`, `assertions`), compare with the replies below `provenance`, and take away the tag `proposed` and
# the quarantine.
"""


@dataclass(slots=True)
class KnownScenarios:
    """What a candidate may be a duplicate of, each with the scenario that stands for it.

    Args:
        by_id: path by id.
        by_fingerprint: path by what is said.
        by_trace: path by the trace that a scenario was promoted from.
    """

    by_id: dict[str, str] = field(default_factory=dict)
    by_fingerprint: dict[str, str] = field(default_factory=dict)
    by_trace: dict[str, str] = field(default_factory=dict)

    def stands_for(self, candidate: Candidate) -> str:
        """Path of the scenario that is this candidate already; empty for none."""
        return (
            self.by_trace.get(_trace(candidate), "")
            or self.by_fingerprint.get(candidate.fingerprint, "")
            or self.by_id.get(candidate.id, "")
        )

    def add(self, candidate: Candidate, path: str) -> None:
        """Know one more."""
        self.by_id[candidate.id] = self.by_fingerprint[candidate.fingerprint] = path
        if trace := _trace(candidate):
            self.by_trace[trace] = path


def _trace(candidate: Candidate) -> str:
    """Its trace; empty where the id had to be masked, so that others may look the same."""
    trace = str(candidate.data["provenance"].get("trace", ""))
    return "" if MASK in trace else trace


def known_scenarios(repository: Path, folder: str) -> KnownScenarios:
    """The scenarios of a checkout.

    Args:
        repository: the checkout.
        folder: of the scenarios in it; one without any is all right.

    Raises:
        SuiteError: they cannot be read, so that it is not known what is a duplicate.
    """
    known = KnownScenarios()
    files = read_scenario_files(repository, folder) if (repository / folder).is_dir() else {}
    if not files:
        return known
    for scenario in load_suite(files, metric_problems, validate_rule).scenarios:
        known.by_id[scenario.id] = scenario.path
        known.by_fingerprint.setdefault(fingerprint_of(scenario), scenario.path)
        trace = scenario.provenance.get("trace")
        if isinstance(trace, str):
            known.by_trace.setdefault(trace, scenario.path)
    return known


def path_of(candidate: Candidate, folder: str) -> str:
    """Where a candidate's file stands in the repository."""
    return f"{folder}/{FOLDER}/{candidate.id}.yaml"


def is_there(repository: Path, path: str) -> bool:
    """Whether something of that name exists; it is never overwritten."""
    return os.path.lexists(repository / path)


def candidate_file(candidate: Candidate, path: str) -> Mapping[str, bytes]:
    """The file of a candidate, checked as `ratiba validate` checks it.

    Raises:
        SuiteError: it holds a credential or something unmasked, or cannot be a scenario; every problem.
    """
    import yaml  # noqa: PLC0415 - only what writes scenarios needs it

    text = _NOTE + yaml.safe_dump(dict(candidate.data), allow_unicode=True, sort_keys=False, width=110)
    kinds = sorted(set(find_credentials(text)))
    if kinds:
        raise SuiteError([FileProblem(path, 0, f"the conversation holds {', '.join(kinds)}")])
    load_suite({path: text.encode()}, metric_problems, validate_rule)
    return {path: text.encode()}
