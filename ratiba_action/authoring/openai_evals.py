"""Reads a registry of OpenAI evals, and its samples. Nothing is executed."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from ratiba_action.authoring.goldens import messages_of
from ratiba_action.authoring.imports import SCORERS, TEST, Import, ImportedCase, ImportOutcome, NotImportedError
from ratiba_action.authoring.inspect_tasks import note_scorer
from ratiba_action.authoring.scorers import IDEAL, OPENAI_SCORERS, Scorer, Scoring, by_judge, places_of, scoring
from ratiba_action.authoring.source_folder import SourceFolder
from ratiba_action.errors import FileProblem, SuiteError
from ratiba_action.util.validation import shorten

_NEAR, _PERSON = ImportOutcome.APPROXIMATED, ImportOutcome.MANUAL
_JUDGE = "ModelBasedClassify"
_HOW = frozenset({"samples_jsonl", "max_tokens", "sample_kwargs", "eval_kwargs", "eval_type", "match_fn", "metaeval"})
_EVERY = (
    "OpenAI evals reports the share of right samples and fails nothing; here each sample must pass. For a share, add"
    " `gates: [{metric: answer_accuracy, at_least: 0.8, decides: true}]` to a scenario with a file of cases"
)


@dataclass(frozen=True, slots=True)
class Judged:
    """A question to a judge about each sample, of a file in ``modelgraded``.

    Args:
        choices: what each is worth, from 0 to 1.
        values: what places of the prompt stand for, the same for all samples.
    """

    prompt: str
    choices: Mapping[str, float]
    values: Mapping[str, str]

    def add(self, case: ImportedCase, sample: Mapping[str, Any]) -> None:
        """Let a judge choose.

        Raises:
            NotImportedError: the prompt names what the sample does not have.
        """
        values = {str(key): _text(value) for key, value in sample.items() if key != "input"} | dict(self.values)
        missing = set(places_of(self.prompt)) - {"input", "completion", *values}
        if missing:
            raise NotImportedError(f"the question names {', '.join(sorted(missing))}, which the sample does not have")
        case.measure(f"{SCORERS}:by_judge", 1.0, **by_judge(self.prompt, self.choices, **values))


def read_registry(folder: SourceFolder, name: str, found: Import) -> None:
    """Read a file of a registry, ``evals/NAME.yaml``; its samples are in ``../data``.

    Raises:
        SuiteError: it, or a file of samples, cannot be read or is malformed.
    """
    document = folder.document(name)
    registry = folder
    if folder.below_top("..") is not None:
        registry = SourceFolder(folder.root.parent, str(PurePosixPath(folder.shown).parent), folder.repository)
    if not isinstance(document.data, Mapping):
        raise SuiteError([FileProblem(document.name, 1, f"{shorten(document.data)} is not a mapping of evals")])
    for key, entry in document.data.items():
        place = (document.name, document.line((key,)))
        what = f"eval {shorten(key)[1:-1]}"
        if not isinstance(entry, Mapping):
            found.wrong(place, f"{shorten(entry)} is not a mapping")
        elif "class" not in entry:
            if entry.get("id") not in document.data:
                found.note(place, _PERSON, what, f"not imported: {shorten(entry.get('id'))} is not in this file")
        else:
            try:
                _eval(registry, found, place, what, entry)
            except NotImportedError as error:
                found.note(place, _PERSON, what, f"not imported: {error}")
            except SuiteError as error:
                found.problems += error.problems


def _eval(folder: SourceFolder, found: Import, place: tuple[str, int], what: str, entry: Mapping[str, Any]) -> None:
    args = entry.get("args")
    given: Mapping[str, Any] = args if isinstance(args, Mapping) else {}
    kind = str(entry["class"]).rpartition(":")[2]
    if kind == _JUDGE:
        judge = _judge(folder, given)
        result = f"{SCORERS}:by_judge; the gate's judge chooses, and explains first"
        found.note(place, _NEAR, f"{what}: {kind}", result)
        scorer: Scoring | Judged = judge
    elif kind in OPENAI_SCORERS:
        known = OPENAI_SCORERS[kind]
        scorer = scoring(known, {key: given[key] for key in known.options if key in given})
        note_scorer(found, place, scorer)
    else:
        raise NotImportedError(f"{shorten(entry['class'])} has no counterpart: write a metric of your own")
    read = (
        _HOW
        | {"modelgraded_spec", "modelgraded_spec_args"}
        | (OPENAI_SCORERS[kind].options.keys() if kind in OPENAI_SCORERS else set())
    )
    for key in sorted(set(given) - read):
        few = key in {"num_few_shot", "few_shot_jsonl"}
        result = "left out: your system has its own instructions" if few else f"not imported: {shorten(given[key])}"
        found.note(place, _NEAR if few else _PERSON, f"{what}: {key}", result)
    path = given.get("samples_jsonl")
    if not isinstance(path, str) or "://" in path or not path.endswith((".jsonl", ".json")):
        raise NotImportedError(f"its samples {shorten(path)} are no JSON Lines file of the repository")
    found.note(place, _NEAR, what, _EVERY)
    _rows(folder, _samples_path(folder, path), found, scorer)


def _samples_path(folder: SourceFolder, path: str) -> str:
    """Where the samples lie: in the registry's ``data``, or from the top of the repository."""
    top = folder.below_top("")
    up = "/".join([".."] * len(PurePosixPath(top or "").parts))
    here = str(PurePosixPath(up) / path) if up else path
    try:
        folder.read(here)
    except SuiteError:
        return f"data/{path}"
    return here


def _judge(folder: SourceFolder, given: Mapping[str, Any]) -> Judged:
    """The question of a file in ``modelgraded``.

    Raises:
        NotImportedError: it is not in the repository, or no choice passes.
    """
    name = given.get("modelgraded_spec")
    where = f"modelgraded/{name}.yaml"
    try:
        document = folder.document(where)
    except SuiteError as error:
        reason = f"its question {folder.name(where)} is not in the repository"
        raise NotImportedError(f"{reason}; copy it there from the registry of OpenAI evals") from error
    spec = document.data.get(name) if isinstance(document.data, Mapping) else None
    spec = spec if isinstance(spec, Mapping) else {}
    prompt, listed = spec.get("prompt"), spec.get("choice_strings")
    if isinstance(prompt, list):
        prompt = "\n\n".join(str(each.get("content")) for each in prompt if isinstance(each, Mapping))
    choices = (
        [str(each) for each in listed] if isinstance(listed, list | str) and not str(listed).startswith("from_") else []
    )
    scores = spec.get("choice_scores")
    if scores == "from_strings":
        scores = {each: float(each) for each in choices if each.replace(".", "", 1).isdecimal()}
    outputs = spec.get("input_outputs")
    reply = outputs.get("input") if isinstance(outputs, Mapping) and len(outputs) == 1 else None
    if not isinstance(prompt, str) or not choices or spec.get("output_template") or not isinstance(reply, str):
        raise NotImportedError(f"{document.name} has no prompt with choices for one answer to `input`")
    if "{{" in prompt:
        raise NotImportedError(f"{document.name} has doubled braces in its prompt; write single ones")
    if not isinstance(scores, Mapping):
        raise NotImportedError(
            f"{document.name} does not say what a choice is worth, so none passes or fails; add `choice_scores`"
        )
    values = {str(key): float(value) for key, value in scores.items() if isinstance(value, int | float)}
    different = len(set(values.values()))
    if set(values) != set(choices) or different != 2:  # noqa: PLR2004 - right and wrong
        raise NotImportedError(
            f"{document.name} has {different} different `choice_scores`; with two, the higher one passes"
        )
    best = max(values.values())
    more = given.get("modelgraded_spec_args")
    known = {str(key): _text(value) for key, value in more.items()} if isinstance(more, Mapping) else {}
    prompt = prompt.replace(f"{{{reply}}}", "{completion}")
    return Judged(prompt, {key: float(value == best) for key, value in values.items()}, known)


def read_samples(folder: SourceFolder, name: str, found: Import, scorer: Scoring | None) -> None:
    """Read a file of samples.

    Args:
        scorer: of ``--scorer``.

    Raises:
        SuiteError: it cannot be read or is malformed.
    """
    if scorer is not None:
        note_scorer(found, (folder.name(name), 1), scorer)
        found.note((folder.name(name), 1), _NEAR, "samples", _EVERY)
    _rows(folder, name, found, scorer)


def _rows(folder: SourceFolder, name: str, found: Import, scorer: Scoring | Judged | None) -> None:
    document = folder.document(name)
    for index, row in enumerate(document.data if isinstance(document.data, list) else [document.data]):
        place = (document.name, document.line((index,)))
        if not isinstance(row, Mapping):
            found.wrong(place, f"{shorten(row)} is not a mapping")
        elif "input" not in row:
            found.wrong(place, f"there is no 'input'; it has {', '.join(map(shorten, row))}")
        else:
            _sample(found, place, row, scorer)


def _sample(found: Import, place: tuple[str, int], row: Mapping[str, Any], scorer: Scoring | Judged | None) -> None:
    case = ImportedCase(*place)
    if scorer is None:
        result = "not imported: nothing here says how it is compared; give --scorer, such as --scorer Match"
        found.note(case.whole, _PERSON, IDEAL, result)
    try:
        case.messages = messages_of(found, place, row["input"])
    except NotImportedError as error:
        found.note(place, _PERSON, TEST, f"not imported: {error}")
        return
    try:
        if isinstance(scorer, Judged):
            scorer.add(case, row)
        elif scorer is not None:
            scorer.add(case, row.get(IDEAL))
    except NotImportedError as error:
        found.note(place, _PERSON, f"scorer {_name(scorer)}", f"not imported: {error}")
    for key in sorted(set(row) - {"input", IDEAL}):
        if not isinstance(scorer, Judged):
            found.note(case.whole, _NEAR, f"sample {shorten(key)[1:-1]}", "left out: the eval does not compare with it")
    found.cases.append(case)


def _name(scorer: Scoring | Judged | None) -> str:
    entry: Scorer | None = scorer.entry if isinstance(scorer, Scoring) else None
    return entry.name if entry is not None else _JUDGE


def _text(value: Any) -> str:
    """A value as the text of a prompt; messages below each other."""
    if isinstance(value, list) and all(isinstance(each, Mapping) for each in value):
        return "\n".join(f"{each.get('role')}: {each.get('content')}" for each in value)
    return value if isinstance(value, str) else ", ".join(map(str, value)) if isinstance(value, list) else str(value)
