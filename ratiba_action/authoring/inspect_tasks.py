"""Reads tasks of Inspect, whose files are parsed and never run, and their samples."""

import ast
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ratiba_action.authoring.goldens import messages_of
from ratiba_action.authoring.imports import TEST, Import, ImportedCase, ImportOutcome, InspectTask, NotImportedError
from ratiba_action.authoring.python_reading import (
    PythonFile,
    PythonReader,
    arguments,
    called,
    in_order,
    items_of,
    literal,
    literals,
    place_of,
    read_python,
    shown,
)
from ratiba_action.authoring.scorers import INSPECT_SCORERS, Scoring, places_of, read_scorer
from ratiba_action.authoring.source_folder import SourceFolder
from ratiba_action.errors import SuiteError
from ratiba_action.util.validation import shorten

_NEAR, _PERSON, _MAPPED = ImportOutcome.APPROXIMATED, ImportOutcome.MANUAL, ImportOutcome.MAPPED

FIELDS = ("input", "target", "choices", "id")
_SAMPLE = ("input", "choices", "target", "id", "metadata", "sandbox", "files", "setup")
_FILES = ("json_dataset", "csv_dataset")
_NO_EFFECT = (
    "name version metadata display_name tags fail_on_error continue_on_fail message_limit token_limit time_limit"
    " working_limit cost_limit config metrics model model_roles approval viewer early_stopping"
)
EVERY = (
    "Inspect reports the share of correct samples and fails nothing; here each sample must pass. For a share, add"
    " `gates: [{metric: answer_accuracy, at_least: 0.8, decides: true}]` to a scenario with a file of cases"
)
_OWN = "not imported: `{}` is code of the task, which can run through Inspect only: {}"
_CHOOSE = "Choose the right answer to the question below. {how}: ANSWER: LETTER, where LETTER is one of {letters}."
_CHOOSE_ALL = (
    "Choose all right answers to the question below; there may be several. {how}: ANSWER: LETTERS, where LETTERS are"
    " one or more of {letters}."
)
_ONLY, _LAST = "Reply with one line of this form only", "Reason step by step, and end with a line of this form"
_REASON = "{prompt}\n\nReason step by step, and end with a line of this form: ANSWER: your answer."


@dataclass(frozen=True, slots=True)
class TaskQuestion:
    """How a task asks a sample.

    Args:
        templates: texts with ``{prompt}``, applied in order.
        choose: template of a multiple-choice question; empty if choices are not shown.
        several: more than one choice may be right.
    """

    templates: Sequence[str] = ()
    choose: str = ""
    several: bool = False

    def ask(self, text: str, choices: Sequence[str]) -> str:
        """The message of a sample.

        Raises:
            NotImportedError: it has no choices.
        """
        for template in self.templates:
            text = template.replace("{prompt}", text)
        if not self.choose:
            return text
        if not choices:
            raise NotImportedError("it is a multiple-choice question without choices")
        letters = [_letter(index) for index in range(len(choices))]
        listed = "\n".join(f"{letter}) {choice}" for letter, choice in zip(letters, choices, strict=True))
        filled = {"{question}": text, "{choices}": listed, "{letters}": ",".join(letters)}
        parts = self.choose
        for name in ("{letters}", "{choices}", "{question}"):
            parts = parts.replace(name, filled[name])
        return parts


@dataclass(slots=True, kw_only=True)
class TaskFile(PythonReader):
    """A file of tasks.

    Args:
        path: in the repository; empty if it lies outside.
        made: functions in which a task was read.
        refused: why the task that is being read cannot run through Inspect; empty if it can.
        has_code: whether a part of it can run through Inspect only.
    """

    path: str
    folder: SourceFolder
    made: set[str] = field(default_factory=set)
    refused: str = ""
    has_code: bool = False

    def visit(self, node: ast.Call) -> None:
        """A call of ``Task``, with names replaced."""
        self.used.add(place_of(node))
        self.made.update(self.file.within)
        given = arguments(node, ("dataset",))
        maker = next((each for each in map(self._maker, self.file.within) if each is not None), None)
        self.refused, self.has_code = self._refusal(maker, given), False
        before = dict(self.found.findings)
        for key, value in given.items():
            self._option(node, key, value)
        question = self._question(given.get("solver", given.get("plan")))
        scorings = list(self._scorers(node, given.get("scorer"), question))
        samples = list(self._samples(given.get("dataset")))
        if maker is not None and self.has_code and not self.refused:
            self.found.findings = before
            self._run(maker, has_model="model" in given)
            return
        for place, sample in samples:
            add_sample(self.found, ImportedCase(*place), sample, question, scorings)
        if samples:
            self.note(node, _NEAR, "Task", EVERY)

    def left_over(self) -> None:
        """Samples that no task uses, and tasks that are not written here."""
        for node in in_order(self.file.tree):
            if isinstance(node, ast.Call) and called(node) == "Sample" and place_of(node) not in self.used:
                self.note(node, _PERSON, "Sample", "not imported: no task here that can be read uses it")
        for name in self.file.functions:
            maker = self._maker(name)
            if maker is None or name in self.made:
                continue
            refused = self._refusal(maker, {})
            if refused:
                self.note(maker, _PERSON, f"task {name}", _OWN.format(name, refused))
            else:
                self._run(maker, has_model=False)

    def _maker(self, name: str) -> ast.FunctionDef | None:
        """A function with ``@task`` that the module has; None for any other."""
        function = self.file.functions.get(name)
        if not isinstance(function, ast.FunctionDef) or function not in self.file.tree.body:
            return None
        marks = [each.func if isinstance(each, ast.Call) else each for each in function.decorator_list]
        return function if any(shown(each).rpartition(".")[2] == "task" for each in marks) else None

    def _refusal(self, maker: ast.FunctionDef | None, given: Mapping[str, ast.expr]) -> str:
        """Why a task cannot run through Inspect in the gate; empty if it can."""
        if maker is None:
            return "make it in a function with `@task`"
        listed = [*maker.args.posonlyargs, *maker.args.args]
        needed = listed[: len(listed) - len(maker.args.defaults)]
        needed += [
            each for each, value in zip(maker.args.kwonlyargs, maker.args.kw_defaults, strict=True) if value is None
        ]
        if needed:
            return f"give its parameter `{needed[0].arg}` a default"
        if literal(given.get("sandbox", ast.Constant(None))) not in {None, "local"}:
            return f"the gate's sandbox has no other one in it, such as {shown(given['sandbox'])}"
        dataset = given.get("dataset")
        if isinstance(dataset, ast.Call) and called(dataset) == "hf_dataset":
            return "save its dataset as JSON Lines"
        return ""

    def _run(self, maker: ast.FunctionDef, *, has_model: bool) -> None:
        """Let Inspect run a task, once."""
        task = InspectTask(self.path, maker.name, (self.name, maker.lineno), has_model)
        if task not in self.found.tasks:
            self.found.tasks.append(task)

    def _option(self, node: ast.Call, key: str, value: ast.expr) -> None:
        if key in {"dataset", "solver", "plan", "scorer"} or literal(value) is None:
            return
        if key == "epochs":
            self.note(node, _NEAR, "epochs", f"left out: {shown(value)}; set `strategy: {{trials: …}}`")
        elif key in _NO_EFFECT.split():
            self.note(node, _NEAR, f"Task {key}", "left out: it does not decide what passes")
        else:
            self.has_code = self.has_code or key != "sandbox"
            self.note(node, _PERSON, f"Task {key}", f"not imported: {shown(value)}")

    def _scorers(self, task: ast.Call, node: ast.expr | None, question: TaskQuestion) -> Iterator[Scoring]:
        if node is None:
            self.note(task, _PERSON, "Task", "not imported: it has no scorer, so it would measure nothing")
        known = unknown = 0
        for each in items_of(node):
            name = called(each) if isinstance(each, ast.Call) else shown(each)
            if name == "choice" and not question.choose:
                result = "not imported: its solver is not `multiple_choice()`, so no choice is ever read"
                self.note(each, _PERSON, "scorer choice", result)
                continue
            try:
                scoring = read_scorer(each, INSPECT_SCORERS)
            except NotImportedError as error:
                unknown += 1
                self.note(each, _PERSON, f"scorer {name}", f"not imported: {error}")
                continue
            known += 1
            note_scorer(self.found, (self.name, each.lineno), scoring)
            yield scoring
        self.has_code = self.has_code or (unknown > 0 and known == 0)

    def _question(self, node: ast.expr | None) -> TaskQuestion:
        """How the solvers ask."""
        question = TaskQuestion()
        for each in items_of(node):
            if isinstance(each, ast.Call) and called(each) == "chain":
                for inner in [part for given in each.args for part in items_of(given)]:
                    question = self._solver(inner, question)
            else:
                question = self._solver(each, question)
        return question

    def _solver(self, node: ast.expr, question: TaskQuestion) -> TaskQuestion:
        name = called(node) if isinstance(node, ast.Call) else shown(node)
        first = "template" if isinstance(node, ast.Call) else ""
        given = literals(arguments(node, (first,))) if isinstance(node, ast.Call) else {}
        template = self._text(given.get("template"))
        if name == "generate":
            return question
        if name == "multiple_choice":
            return self._multiple_choice(node, question, given, template)
        if name == "chain_of_thought" or (name == "prompt_template" and set(given) <= {"template"}):
            usual = _REASON if name == "chain_of_thought" and "template" not in given else template
            if usual and set(places_of(usual)) == {"prompt"}:
                if template is None:
                    self.note(node, _NEAR, name, "asks to reason step by step, in other words than Inspect's")
                else:
                    self.note(node, _MAPPED, name, "part of the message")
                return TaskQuestion((*question.templates, usual), question.choose, question.several)
        if name == "system_message":
            self.note(node, _NEAR, name, "left out: your system has its own instructions")
        else:
            self.has_code = True
            self.note(node, _PERSON, f"solver {name}", _OWN.format(shown(node), self.refused))
        return question

    def _multiple_choice(
        self, node: ast.expr, question: TaskQuestion, given: Mapping[str, Any], template: str | None
    ) -> TaskQuestion:
        if "template" in given and (template is None or not {"question", "choices"} <= set(places_of(template))):
            self.has_code = True
            self.note(node, _PERSON, "multiple_choice", "not imported: its template is not written here as a text")
            return question
        if given.get("shuffle") not in (None, False):
            self.note(node, _NEAR, "multiple_choice shuffle", "left out: choices keep their order")
        several = given.get("multiple_correct") is True
        if template is None:
            usual = _CHOOSE_ALL if several else _CHOOSE
            how = _LAST if given.get("cot") is True else _ONLY
            template = f"{usual.replace('{how}', how)}\n\n{{question}}\n\n{{choices}}"
            self.note(
                node, _NEAR, "multiple_choice", "the same choices and form of answer, in other words than Inspect's"
            )
        else:
            self.note(node, _MAPPED, "multiple_choice", "part of the message")
        return TaskQuestion(question.templates, template, several)

    def _text(self, value: Any) -> str | None:
        """A text, or that of the file that it names."""
        if not isinstance(value, str):
            return None
        if "\n" in value or "{" in value or not value.endswith((".txt", ".md")):
            return value
        try:
            return self.folder.text(value)
        except SuiteError:
            return value

    def _samples(self, node: ast.expr | None) -> Iterator[tuple[tuple[str, int], Mapping[str, Any]]]:
        """Samples with their places."""
        if isinstance(node, ast.Call) and called(node) == "MemoryDataset":
            node = arguments(node, ("samples",)).get("samples")
        if isinstance(node, ast.Call) and called(node) in _FILES:
            yield from self._file(node)
            return
        for each in items_of(node):
            if isinstance(each, ast.Call) and called(each) == "Sample":
                self.used.add(place_of(each))
                yield (self.name, each.lineno), _sample(each)
            else:
                self.has_code = True
                result = (
                    "not imported: its samples are not in the repository; save them as JSON Lines, and name that file"
                )
                self.note(each, _PERSON, f"dataset {shown(each)}", result)

    def _file(self, node: ast.Call) -> Iterator[tuple[tuple[str, int], Mapping[str, Any]]]:
        given = arguments(node, ("json_file" if called(node) == "json_dataset" else "csv_file", "sample_fields"))
        path = literal(given.get("json_file", given.get("csv_file", ast.Constant(None))))
        if not isinstance(path, str) or "://" in path:
            self.has_code = self.has_code or not isinstance(path, str)
            self.note(node, _PERSON, called(node), f"not imported: {shown(node)} names no file of the repository")
            return
        document = self.folder.document(path)
        rows = document.data
        if not isinstance(rows, list):
            self.found.wrong((document.name, 1), f"{shorten(rows)} is not a list of rows")
            return
        limit = literal(given["limit"]) if "limit" in given else None
        for key in sorted(
            set(given) - {"json_file", "csv_file", "sample_fields"} - ({"limit"} if _whole(limit) else set())
        ):
            known = key in {"shuffle", "seed", "shuffle_choices", "auto_id", "name"}
            result = "left out: order and names decide nothing here" if known else f"not imported: {shown(given[key])}"
            self.note(node, _NEAR if known else _PERSON, f"{called(node)} {key}", result)
        for index, row in enumerate(rows[: limit if _whole(limit) else None]):
            place = (document.name, document.line((index,)))
            if not isinstance(row, Mapping):
                self.found.wrong(place, f"{shorten(row)} is not a mapping")
                continue
            sample = self._mapped(given.get("sample_fields"), row)
            if sample is None:
                self.has_code = True
                how = shown(given["sample_fields"])
                result = f"not imported: what `{how}` makes of a row cannot be read; write the rows as samples"
                self.note(node, _PERSON, f"{called(node)} {path}", result)
                return
            yield place, sample

    def _mapped(self, fields: ast.expr | None, row: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """The sample that a row becomes; None if that cannot be known."""
        if fields is None:
            return row
        if isinstance(fields, ast.Call) and called(fields) == "FieldSpec":
            spec = literals(arguments(fields, FIELDS))
            names = {key: spec.get(key, key) for key in (*FIELDS, "sandbox", "files", "setup")}
            return {key: row[name] for key, name in names.items() if isinstance(name, str) and name in row}
        try:
            given = ast.parse(repr(json.loads(json.dumps(row))), mode="eval").body
        except (ValueError, RecursionError, MemoryError):
            return None
        made = self.file.applied(fields, given)
        if not (isinstance(made, ast.Call) and called(made) == "Sample"):
            return None
        self.used.add(place_of(made))
        sample = _sample(made)
        return None if any(isinstance(sample.get(key), ast.expr) for key in FIELDS) else sample


def add_sample(
    found: Import, case: ImportedCase, sample: Mapping[str, Any], question: TaskQuestion, scorings: Sequence[Scoring]
) -> None:
    """Add the case of a sample; what cannot be one is a finding."""
    place = (case.file, case.line)
    choices = _choices(sample.get("choices"))
    try:
        *earlier, last = messages_of(found, place, sample.get("input"))
        case.messages = (*earlier, question.ask(last, choices))
    except NotImportedError as error:
        found.note(place, _PERSON, TEST, f"not imported: {error}")
        return
    case.name = str(sample["id"]) if isinstance(sample.get("id"), str) else last
    if choices and not question.choose:
        found.note(case.whole, _PERSON, "choices", "not imported: the solver does not show them to the model")
    for key in sorted(set(sample) - {*FIELDS}):
        if sample[key] not in (None, "", {}, []):
            known = key in {"sandbox", "files", "setup"}
            result = "not imported: give your system these files" if known else "left out: a note"
            found.note(case.whole, _PERSON if known else _NEAR, f"sample {key}", result)
    for scoring in scorings:
        try:
            scoring.add(case, sample.get("target"), len(choices), several=question.several)
        except NotImportedError as error:
            found.note(place, _PERSON, f"scorer {scoring.entry.name}", f"not imported: {error}")
    found.cases.append(case)


def note_scorer(found: Import, place: tuple[str, int], scoring: Scoring) -> None:
    """List what a scorer became."""
    entry = scoring.entry
    note = entry.note if entry.name != "match" or scoring.options.get("numeric") else ""
    options = ", ".join(f"{key} {shorten(value)}" for key, value in scoring.options.items() if entry.name != "answer")
    result = f"{entry.metric}{f' ({options})' if options else ''}"
    found.note(place, _NEAR if note else _MAPPED, f"scorer {entry.name}", result + (f"; {note}" if note else ""))


def read_tasks(folder: SourceFolder, name: str, found: Import) -> None:
    """Read a file of tasks.

    Raises:
        SuiteError: it, or a file of samples, cannot be read or is malformed.
    """
    file = PythonFile(read_python(folder, name), frozenset({"Task"}))
    path = folder.below_top(name) if folder.top == folder.repository else None
    tasks = TaskFile(folder.name(name), found, file, path=path or "", folder=folder)
    before = len(found.findings)
    tasks.read()
    if len(found.findings) == before and not found.cases and not found.tasks:
        found.note((tasks.name, 1), _PERSON, "file", "not imported: it makes no `Task`")


def read_samples(folder: SourceFolder, name: str, found: Import, scorer: Scoring | None) -> None:
    """Read a file of samples; one with choices is a multiple-choice question.

    Args:
        scorer: of ``--scorer``.

    Raises:
        SuiteError: it cannot be read or is malformed.
    """
    document = folder.document(name)
    if scorer is not None:
        note_scorer(found, (document.name, 1), scorer)
    for index, row in enumerate(document.data if isinstance(document.data, list) else [document.data]):
        place = (document.name, document.line((index,)))
        if not isinstance(row, Mapping):
            found.wrong(place, f"{shorten(row)} is not a mapping")
            continue
        target = row.get("target")
        chosen = bool(row.get("choices")) and (scorer is None or scorer.entry.name == "choice")
        several = chosen and isinstance(target, list) and len(target) > 1
        usual = f"{(_CHOOSE_ALL if several else _CHOOSE).replace('{how}', _ONLY)}\n\n{{question}}\n\n{{choices}}"
        question = TaskQuestion((), usual if chosen else "", several)
        scorings = [scorer] if scorer is not None else []
        if scorer is None and chosen:
            scorings = [Scoring(INSPECT_SCORERS["choice"], {})]
            found.note((document.name, 1), _NEAR, "choices", "a multiple-choice question, scored as `choice()` does")
        elif scorer is None:
            result = "not imported: nothing here says how it is compared; give --scorer, such as --scorer includes"
            found.note((document.name, 1), _PERSON, "target", result)
        add_sample(found, ImportedCase(*place), row, question, scorings)
    if found.cases:
        found.note((document.name, 1), _NEAR, "samples", EVERY)


def _whole(value: Any) -> bool:
    """Whether a value is a number of rows."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _letter(index: int) -> str:
    return chr(ord("A") + index) if index < 26 else str(index - 25)  # noqa: PLR2004 - the alphabet


def _choices(value: Any) -> list[str]:
    """Choices as Inspect reads them, also from one text."""
    if value is None:
        return []
    if isinstance(value, str):
        listed: list[Any] = value.split(",")
        listed = listed if len(listed) > 1 else value.split()
        return [each.strip() for each in listed if each.strip()]
    return [str(each) for each in (value if isinstance(value, list) else [value]) if str(each).strip()]


def _sample(node: ast.Call) -> dict[str, Any]:
    """A literal sample; messages as mappings."""
    given = arguments(node, _SAMPLE)
    sample = literals(given)
    if isinstance(sample.get("input"), ast.expr):
        sample["input"] = [_message(each) for each in items_of(given["input"])]
    return sample


def _message(node: ast.expr) -> Any:
    name = called(node) if isinstance(node, ast.Call) else ""
    if isinstance(node, ast.Call) and name.startswith("ChatMessage"):
        content = literal(arguments(node, ("content",)).get("content", ast.Constant(None)))
        return {"role": name.removeprefix("ChatMessage").lower(), "content": content}
    return literal(node) if not isinstance(literal(node), ast.expr) else None
