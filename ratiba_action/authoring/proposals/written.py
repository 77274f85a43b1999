"""Turns a model's proposals into scenario files: masked, checked, tagged and without duplicates."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from ratiba_action.authoring.proposals.asking import PromptLine
from ratiba_action.authoring.proposals.kinds import SYSTEM_KINDS, Truth
from ratiba_action.checks.failure_rules import validate_rule
from ratiba_action.errors import FileProblem, SuiteError
from ratiba_action.metrics.registry import metric_problems
from ratiba_action.model.scenario import Layer, Scenario, SystemType
from ratiba_action.privacy.credentials import find_credentials
from ratiba_action.privacy.masking import Redactor
from ratiba_action.production.candidate import fingerprint_of
from ratiba_action.suite.load import load_suite
from ratiba_action.suite.scenario_schema import title_of
from ratiba_action.verdict.quarantine import PROPOSED

FOLDER = "proposed"
REASON = "Proposed by a model; nobody has reviewed it yet."

_CUSTOMER = {"name": "Alex", "phone": "+999 700 000 101"}
"""Of no country: no network has the code 999."""
_LETTERS = str.maketrans("0123456789abcdef", "abcdefghijklmnop")
_SHOWN = 12
_NOTE = (
    "# Proposed by a model. Check every line: whether it is worth testing, and whether its expectations are right.\n"
    f"# Then remove the tag `{PROPOSED}` and the quarantine.\n"
)


@dataclass(frozen=True, slots=True)
class Origin:
    """Where proposals come from, and who reviews them.

    Args:
        attack: kind of adversarial pair; empty for ordinary conversations.
        now: the clock of the scenarios, with its offset.
        until: last day of their quarantine.
        line: of a prompt, that the scenarios are to protect; None for any.
    """

    system_type: SystemType
    attack: str
    model: str
    prompts: tuple[str, ...]
    now: str
    owner: str
    until: date
    line: PromptLine | None = None


@dataclass(slots=True)
class Proposals:
    """The collected proposals.

    Args:
        known: fingerprints of existing scenarios; extended.
        files: content by path.
        duplicates: how many duplicate a scenario.
        dropped: why others are not valid scenarios.
    """

    folder: str
    known: set[str]
    files: dict[str, bytes] = field(default_factory=dict)
    duplicates: int = 0
    dropped: list[str] = field(default_factory=list)

    def add(self, proposed: Sequence[Mapping[str, Any]], origin: Origin) -> None:
        """Add the valid proposals, and note why others are dropped."""
        for number, scenario in enumerate(proposed, 1):
            try:
                self._take(scenario, origin)
            except SuiteError as error:
                message = "; ".join(problem.message for problem in error.problems)
                self.dropped.append(Redactor().text(f"number {number}: {message}"))

    def _take(self, scenario: Mapping[str, Any], origin: Origin) -> None:
        data = _data(scenario, origin)
        fingerprint = fingerprint_of(_loaded("proposal.yaml", data)[0])
        if origin.line is not None and not ("rules" in data or any("expect" in turn for turn in data["turns"])):
            raise SuiteError([FileProblem("proposal.yaml", 0, f"it expects nothing, so it protects no {origin.line}")])
        if fingerprint in self.known:
            self.duplicates += 1
            return
        # Letters only: digits could look like a phone or ID number.
        name = f"{PROPOSED}_{origin.attack or origin.system_type}_{fingerprint[:_SHOWN].translate(_LETTERS)}"
        path = f"{self.folder}/{FOLDER}/{name}.yaml"
        _, content = _loaded(path, {**data, "id": name})
        self.known.add(fingerprint)
        self.files[path] = content


def _loaded(path: str, data: Mapping[str, Any]) -> tuple[Scenario, bytes]:
    """The scenario and its file content, if `ratiba validate` would accept it.

    Raises:
        SuiteError: every problem.
    """
    import yaml  # only what writes scenarios needs it

    text = _NOTE + yaml.safe_dump(dict(data), allow_unicode=True, sort_keys=False, width=110)
    (scenario,) = load_suite({path: text.encode()}, metric_problems, validate_rule).scenarios
    return scenario, text.encode()


def _data(scenario: Mapping[str, Any], origin: Origin) -> dict[str, Any]:
    """The data of its file, with only known keys of the model's answer, masked.

    Raises:
        SuiteError: it has a credential, which would be masked too: what is left would say nothing.
    """
    kinds = sorted(find_credentials(json.dumps(scenario, ensure_ascii=False)))
    if kinds:
        raise SuiteError([FileProblem("proposal.yaml", 0, f"it contains {', '.join(kinds)}")])
    masked = Redactor().value({name: scenario.get(name) for name in ("shows", "language", "turns", "must_not_contain")})
    kind, listed = SYSTEM_KINDS[origin.system_type], masked["turns"]
    turns = [_turn(turn, kind.truths) for turn in listed] if isinstance(listed, list) else listed
    notes = {name: found for name in kind.notes if (found := _notes(listed, name))}
    forbidden = masked["must_not_contain"]
    assertions = list(_assertions(turns, kind.truths))
    return {
        "id": PROPOSED,
        **(title_of(masked["shows"]) if isinstance(masked["shows"], str) else {}),
        "language": masked["language"],
        "layer": Layer.GOLDEN.value,
        "system_type": origin.system_type.value,
        "tags": [PROPOSED, origin.attack or "ordinary"],
        "now": origin.now,
        "customer": _CUSTOMER,
        **({"touches": [_pattern(origin.line.file)]} if origin.line is not None else {}),
        "turns": turns,
        **({"rules": [{"type": "must_not_contain", "value": forbidden}]} if forbidden else {}),
        **({"assertions": assertions} if assertions else {}),
        "quarantine": {"reason": REASON, "owner": origin.owner, "until": origin.until.isoformat()},
        "provenance": {
            "source": PROPOSED,
            "model": origin.model,
            "prompts": list(origin.prompts),
            "shows": masked["shows"],
            **({"protects": str(origin.line)} if origin.line is not None else {}),
            **notes,
        },
    }


def _pattern(file: str) -> str:
    """The pattern, as in ``.gitignore``, that matches this file alone."""
    return "/" + re.sub(r"([\\*?\[\]\s])", r"\\\1", file)


def _turn(turn: Any, truths: Mapping[str, Truth]) -> Any:
    """A turn as a scenario writes it.

    Raises:
        SuiteError: a truth of it has another shape than was asked for.
    """
    if not isinstance(turn, dict):
        return turn
    try:
        expected = {name: truth.expected(turn[name]) for name, truth in truths.items() if turn.get(name)}
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        why = str(error) if isinstance(error, ValueError) else f"{', '.join(truths)}: another shape was asked for"
        raise SuiteError([FileProblem("proposal.yaml", 0, why)]) from error
    return {"user": turn.get("user"), **({"expect": expected} if expected else {})}


def _assertions(turns: Any, truths: Mapping[str, Truth]) -> Iterator[dict[str, Any]]:
    """The metrics that read what the turns expect."""
    expects = [turn.get("expect", {}) for turn in turns if isinstance(turn, dict)] if isinstance(turns, list) else []
    for name, truth in truths.items():
        if truth.assertion is not None and any(name in expect for expect in expects):
            metric, threshold, parameters = truth.assertion
            yield {"metric": metric, "threshold": threshold, **({"with": dict(parameters)} if parameters else {})}


def _notes(turns: Any, name: str) -> list[Any]:
    """What the model wrote in a field that only the reviewer reads, of all turns."""
    listed = turns if isinstance(turns, list) else []
    return [note for turn in listed if isinstance(turn, dict) for note in _texts(turn.get(name))]


def _texts(value: Any) -> list[str]:
    return [text for text in value if isinstance(text, str)] if isinstance(value, list) else []
