"""What a model has proposed → scenario files: masked, checked as every scenario is, marked, none of them twice."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from ratiba_action.authoring.proposals.kinds import SYSTEM_KINDS
from ratiba_action.checks.failure_rules import validate_rule
from ratiba_action.errors import FileProblem, SuiteError
from ratiba_action.metrics.registry import metric_problems
from ratiba_action.model.scenario import Scenario
from ratiba_action.privacy.credentials import find_credentials
from ratiba_action.privacy.masking import Redactor
from ratiba_action.production.candidate import PROPOSED, fingerprint_of
from ratiba_action.suite.load import load_suite

FOLDER = "proposed"
REASON = "Proposed by a model; nobody has read it yet."

_CUSTOMER = {"name": "Achieng", "phone": "+254 700 000 101"}
_LETTERS = str.maketrans("0123456789abcdef", "abcdefghijklmnop")
_SHOWN = 12
_NOTE = (
    "# Proposed by a model. Read every line: whether it is worth testing, and whether what it expects is right, is\n"
    f"# yours to judge. Then take the tag `{PROPOSED}` and the quarantine away.\n"
)


@dataclass(frozen=True, slots=True)
class Origin:
    """Where proposals come from, and who reads them.

    Args:
        attack: kind of adversarial pair; empty for ordinary conversations.
        now: the clock of the scenarios, with its offset.
        until: the last day on which they decide nothing.
    """

    system_type: str
    attack: str
    model: str
    prompts: tuple[str, ...]
    now: str
    owner: str
    until: date


@dataclass(slots=True)
class Proposals:
    """What came of it.

    Args:
        folder: of the scenarios.
        known: fingerprints of what there is; grows.
        files: content by path.
        duplicates: how many said what a scenario says already.
        dropped: why others can be no scenario.
    """

    folder: str
    known: set[str]
    files: dict[str, bytes] = field(default_factory=dict)
    duplicates: int = 0
    dropped: list[str] = field(default_factory=list)

    def add(self, proposed: Sequence[Mapping[str, Any]], origin: Origin) -> None:
        """Take what can be taken, and note what cannot."""
        for number, one in enumerate(proposed, 1):
            try:
                self._take(one, origin)
            except SuiteError as error:
                told = "; ".join(problem.message for problem in error.problems)
                self.dropped.append(Redactor().text(f"number {number}: {told}"))

    def _take(self, one: Mapping[str, Any], origin: Origin) -> None:
        data = _data(one, origin)
        fingerprint = fingerprint_of(_loaded("proposal.yaml", data)[0])
        if fingerprint in self.known:
            self.duplicates += 1
            return
        # Letters only: a run of digits would look like a number that identifies a person.
        name = f"{PROPOSED}_{origin.attack or origin.system_type}_{fingerprint[:_SHOWN].translate(_LETTERS)}"
        path = f"{self.folder}/{FOLDER}/{name}.yaml"
        _, content = _loaded(path, {**data, "id": name})
        self.known.add(fingerprint)
        self.files[path] = content


def _loaded(path: str, data: Mapping[str, Any]) -> tuple[Scenario, bytes]:
    """The scenario and its text, when `ratiba validate` would accept it.

    Raises:
        SuiteError: every problem.
    """
    import yaml  # noqa: PLC0415 - only what writes scenarios needs it

    text = _NOTE + yaml.safe_dump(dict(data), allow_unicode=True, sort_keys=False, width=110)
    kinds = sorted(set(find_credentials(text)))
    if kinds:
        raise SuiteError([FileProblem(path, 0, f"it holds {', '.join(kinds)}")])
    (scenario,) = load_suite({path: text.encode()}, metric_problems, validate_rule).scenarios
    return scenario, text.encode()


def _data(one: Mapping[str, Any], origin: Origin) -> dict[str, Any]:
    """Its file, with nothing from the model that a scenario does not need, and all of that masked."""
    masked = Redactor().value({name: one.get(name) for name in ("shows", "language", "turns", "must_not_contain")})
    kind, listed = SYSTEM_KINDS[origin.system_type], masked["turns"]
    turns = [_turn(turn, kind.truth) for turn in listed] if isinstance(listed, list) else listed
    truths = isinstance(turns, list) and any(isinstance(turn, dict) and "expect" in turn for turn in turns)
    forbidden = masked["must_not_contain"]
    assertions = []
    if truths and kind.assertion is not None:
        metric, threshold, told = kind.assertion
        assertions = [{"metric": metric, "threshold": threshold, **({"with": dict(told)} if told else {})}]
    return {
        "id": PROPOSED,
        "language": masked["language"],
        "layer": "golden",
        "system_type": origin.system_type,
        "tags": [PROPOSED, origin.attack or "ordinary"],
        "now": origin.now,
        "customer": _CUSTOMER,
        "turns": turns,
        **({"rules": [{"type": "must_not_contain", "value": forbidden}]} if forbidden else {}),
        **({"assertions": assertions} if assertions else {}),
        "quarantine": {"reason": REASON, "owner": origin.owner, "until": origin.until.isoformat()},
        "provenance": {
            "source": PROPOSED,
            "model": origin.model,
            "prompts": list(origin.prompts),
            "shows": masked["shows"],
        },
    }


def _turn(turn: Any, truth: str) -> Any:
    if not isinstance(turn, dict):
        return turn
    told = turn.get(truth)
    if truth == "tools" and isinstance(told, list):
        told = [{"name": one} for one in told]
    return {"user": turn.get("user"), **({"expect": {truth: told}} if told else {})}
