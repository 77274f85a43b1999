"""What the scorers of Inspect and OpenAI evals become: metrics of ``scorer_checks.py``, which an import writes."""

import ast
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from ratiba_action.authoring.imports import SCORERS, ImportedCase, NotImportedError
from ratiba_action.authoring.python_reading import arguments, called, literal, shown
from ratiba_action.util.patterns import pattern_problem
from ratiba_action.util.validation import shorten

TARGET, IDEAL = "target", "ideal"
_F1_THRESHOLD = 0.5
JUDGED = (
    "Judge the answer below by the criterion.\n\nTask: {question}\n\nAnswer: {answer}\n\nCriterion: {criterion}\n\n"
    "Reason step by step. Then choose C if the answer meets the criterion"
)
"""In words of this project; a template of the team's own is used as it is."""


@dataclass(frozen=True, slots=True)
class Scorer:
    """A scorer that is run.

    Args:
        name: in its tool.
        options: parameters by name, in the order of positional ones, with the types that they may have.
        note: what differs.
    """

    name: str
    metric: str
    answers: str
    options: Mapping[str, type] = field(default_factory=dict)
    note: str = ""


def _inspect(name: str, note: str = "", **options: type) -> Scorer:
    return Scorer(name, f"{SCORERS}:inspect_{name}", TARGET, options, note)


def _openai(name: str, metric: str, **options: type) -> Scorer:
    return Scorer(name, f"{SCORERS}:openai_{metric}", IDEAL, options)


_NUMERALS = "with `numeric`, Chinese numerals and powers written as superscripts are no numbers"
INSPECT_SCORERS: Mapping[str, Scorer] = MappingProxyType(
    {
        "match": _inspect("match", _NUMERALS, location=str, ignore_case=bool, numeric=bool),
        "includes": _inspect("includes", ignore_case=bool),
        "pattern": _inspect("pattern", pattern=str, ignore_case=bool, match_all=bool),
        "answer": Scorer("answer", f"{SCORERS}:inspect_pattern", TARGET, {"pattern": str}),
        "exact": _inspect("exact"),
        "f1": _inspect(
            "f1", f"Inspect has no pass mark: the threshold is {_F1_THRESHOLD}", answer_fn=str, stop_words=list
        ),
        "choice": _inspect("choice"),
        "model_graded_qa": Scorer(
            "model_graded_qa",
            f"{SCORERS}:by_judge",
            TARGET,
            {"template": str, "instructions": str, "partial_credit": bool},
            "the gate's judge, asked in other words unless the task has a template",
        ),
        "model_graded_fact": Scorer(
            "model_graded_fact",
            f"{SCORERS}:by_judge",
            TARGET,
            {"template": str, "instructions": str, "partial_credit": bool},
            "the gate's judge, asked in other words unless the task has a template",
        ),
    }
)
OPENAI_SCORERS: Mapping[str, Scorer] = MappingProxyType(
    {
        "Match": _openai("Match", "match"),
        "Includes": _openai("Includes", "includes", ignore_case=bool),
        "FuzzyMatch": _openai("FuzzyMatch", "fuzzy_match"),
        "JsonMatch": _openai("JsonMatch", "json_match"),
        "JsonValidator": _openai("JsonValidator", "json_validator"),
    }
)
_ANSWERS = {
    "letter": r"(?is)ANSWER\s*:\s*([A-Za-z])(?:\W|$)(?!.*ANSWER\s*:)",
    "word": r"(?is)ANSWER\s*:\s*(\S+?)(?=[.,;:!?]?\s*(?:\n|$))(?!.*ANSWER\s*:)",
    "line": r"(?i)ANSWER\s*:\s*([^\n]+)\s*\Z",
}
_LOCATIONS = ("begin", "end", "any", "exact")


@dataclass(frozen=True, slots=True)
class Scoring:
    """A scorer with its parameters.

    Args:
        entry: None for one that has no counterpart.
    """

    entry: Scorer
    options: Mapping[str, Any]

    def add(self, case: ImportedCase, target: Any, choices: int = 0, *, several: bool = False) -> None:
        """Let a case be scored.

        Args:
            target: one text or several, of which one suffices.
            choices: how many there are.
            several: more than one choice may be right.

        Raises:
            NotImportedError: it cannot score this case.
        """
        name, metric = self.entry.name, self.entry.metric
        if name == "JsonValidator":
            case.measure(metric, 1.0)
            return
        given: dict[str, Any] = {**self.options, self.entry.answers: _texts(target, self.entry.answers)}
        if name == "choice":
            given |= {"choices": choices, "multiple_correct": several}
            _known_choices(given[TARGET], choices)
        elif name == "JsonMatch":
            _all_json(given[IDEAL])
        elif metric.endswith(":by_judge"):
            case.measure(metric, 1.0, **_judged(self.options, given[TARGET]))
            return
        case.measure(metric, _F1_THRESHOLD if name == "f1" else 1.0, **given)


def read_scorer(node: ast.expr, known: Mapping[str, Scorer]) -> Scoring:
    """A scorer as its tool writes it, such as ``match(location="any")`` or ``Includes``.

    Raises:
        NotImportedError: it has no counterpart, or an argument that is not known here.
    """
    name = called(node) if isinstance(node, ast.Call) else getattr(node, "attr", getattr(node, "id", ""))
    if name not in known:
        raise NotImportedError(
            f"`{shown(node)}` has no counterpart: write a metric of your own, or one of {', '.join(known)}"
        )
    given = arguments(node, tuple(known[name].options)) if isinstance(node, ast.Call) else {}
    return scoring(known[name], {key: literal(value) for key, value in given.items()})


def scoring(entry: Scorer, given: Mapping[str, Any]) -> Scoring:
    """A scorer with its arguments.

    Raises:
        NotImportedError: one is not known here, no literal, or wrong.
    """
    read = {key: value for key, value in given.items() if key not in {"model", "model_role"} and value is not None}
    for key, value in read.items():
        if key not in entry.options or not isinstance(value, entry.options[key]) or key == "answer_fn":
            text = shown(value) if isinstance(value, ast.expr) else shorten(value)
            raise NotImportedError(
                f"{entry.name} has {key}={text}, which is not known here or not written as a literal"
            )
    if entry.name == "match" and read.get("location", "end") not in _LOCATIONS:
        raise NotImportedError(f"its location {shorten(read['location'])} is none of {', '.join(_LOCATIONS)}")
    if entry.name == "answer":
        if read.get("pattern") not in _ANSWERS:
            raise NotImportedError(f"its pattern is none of {', '.join(_ANSWERS)}")
        read = {"pattern": _ANSWERS[read["pattern"]]}
    elif entry.name == "pattern":
        problem = pattern_problem(read["pattern"]) if "pattern" in read else "it has none"
        if problem:
            raise NotImportedError(f"its pattern cannot be used: {problem}")
    return Scoring(entry, read)


def by_judge(prompt: str, choices: Mapping[str, float], **values: Any) -> dict[str, Any]:
    """Parameters of the metric that lets a judge choose.

    Args:
        prompt: with places in braces.
        values: what the places stand for, beside those of the conversation.
    """
    return {"prompt": prompt, "choices": dict(choices), "values": values, "judge_calls": 1}


def places_of(template: str) -> list[str]:
    """The names in braces of a template."""
    return re.findall(r"\{(\w+)\}", template)


def _judged(options: Mapping[str, Any], target: Sequence[str]) -> dict[str, Any]:
    partly = bool(options.get("partial_credit"))
    choices = {"C": 1.0, **({"P": 0.5} if partly else {}), "I": 0.0}
    usual = JUDGED + (", P if it does so in part," if partly else "") + " or I if it does not."
    instructions = options.get("instructions", usual.rpartition("\n\n")[2])
    prompt = options.get("template", usual)
    unknown = set(places_of(prompt)) - {"question", "answer", "criterion", "instructions"}
    if unknown:
        raise NotImportedError(f"its template names {', '.join(sorted(unknown))}, which is not known here")
    return by_judge(prompt, choices, criterion="".join(target), instructions=instructions)


def _texts(target: Any, name: str) -> list[str]:
    listed = target if isinstance(target, list) else [target]
    if not listed or target in ("", None):
        raise NotImportedError(f"it has no {name}")
    plain = [str(each) if isinstance(each, int | float) and not isinstance(each, bool) else each for each in listed]
    if not all(isinstance(each, str) for each in plain):
        raise NotImportedError(f"its {name} {shorten(target)} is not a text or a list of texts")
    return plain


def _known_choices(target: Sequence[str], choices: int) -> None:
    """Raise unless each letter of a target names one of the choices."""
    letters = [chr(ord("A") + index) if index < 26 else str(index - 25) for index in range(choices)]  # noqa: PLR2004 - the alphabet
    wrong = [each for each in "".join(target) if each not in ", " and each.upper() not in letters]
    if wrong or not choices:
        raise NotImportedError(f"its target {', '.join(target)[:80]!r} names no choice; there are {choices}")


def _all_json(ideal: Sequence[str]) -> None:
    for each in ideal:
        try:
            json.loads(each)
        except ValueError as error:
            raise NotImportedError(f"its ideal {shorten(each)} is not JSON") from error
