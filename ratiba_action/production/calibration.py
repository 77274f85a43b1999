"""The calibration set: masked conversations that people labelled, when the next ones are due, and what is overdue."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import Field, model_validator

from ratiba_action.errors import FileProblem, SuiteError, UsageError
from ratiba_action.model.canonical import digest
from ratiba_action.privacy.masking import Redactor
from ratiba_action.util.locked_folder import read_plain_file
from ratiba_action.util.strict_yaml import read_yaml
from ratiba_action.util.text import clip, cut, plural
from ratiba_action.util.validation import StrictModel, validate
from ratiba_action.util.whole_files import write_whole_files
from ratiba_action.verdict.human_agreement import Weights

FILE = "calibration/human_labelled.yaml"
CRITERIA = ("intent comprehension", "response naturalness", "cultural appropriateness")
BEST, WORST = 5, 1
A_MONTH = 10
"""Conversations that are labelled each month."""
_MISSED = 2
"""Sessions in a row without a label, after which somebody else should own the set."""
_SHOWN = 12
_WEEK = 7

Words = Annotated[str, Field(min_length=1, max_length=2_000)]
_NAME = 100
Name = Annotated[str, Field(min_length=1, max_length=_NAME)]
Day = Annotated[date, Field(strict=False)]
Label = Annotated[int, Field(ge=1, le=5)]


class CriterionBlock(StrictModel):
    """What the judge is to look at; a metric of the gate, or steps."""

    metric: Name | None = Field(default=None, description="judged metric that is calibrated by this criterion")
    steps: Annotated[list[Words], Field(max_length=20)] = Field(
        default_factory=list, description="steps by which the judge scores it; default: what its name says"
    )


class LabelledTurnBlock(StrictModel):
    """What the customer wrote, and the reply; masked."""

    user: str
    reply: str


class LabelBlock(StrictModel):
    """What one person says of a conversation."""

    by: Name
    day: Day
    scores: dict[Name, Label]


class ConversationBlock(StrictModel):
    """A masked conversation with its labels."""

    id: Name
    added: Day
    source: Name
    language: Name = "und"
    models: list[Name] = Field(default_factory=list, description="that wrote the replies; none of them is the judge")
    turns: Annotated[list[LabelledTurnBlock], Field(min_length=1)]
    labels: list[LabelBlock] = Field(default_factory=list)

    @property
    def digest(self) -> str:
        """Of what was said: a score belongs to exactly this text."""
        return digest([[turn.user, turn.reply] for turn in self.turns])


class CalibrationSet(StrictModel):
    """The file ``human_labelled.yaml``."""

    owner: Name = Field(description="who labels the conversations of each month")
    owner_until: Day | None = Field(default=None, description="last day of the owner; then somebody else is named")
    kappa: Weights = Field(
        default="quadratic",
        description="kappa that decides: quadratic, together with bias and exact agreement; or unweighted, alone",
    )
    criteria: dict[Name, CriterionBlock] = Field(
        default_factory=lambda: {name: CriterionBlock() for name in CRITERIA}, min_length=1
    )
    conversations: list[ConversationBlock] = Field(default_factory=list)

    @model_validator(mode="after")
    def _is_consistent(self) -> "CalibrationSet":
        ids = [conversation.id for conversation in self.conversations]
        twice = sorted({name for name in ids if ids.count(name) > 1})
        problems = [f"the id {name!r} is used twice" for name in twice]
        for conversation in self.conversations:
            for label in conversation.labels:
                wrong = sorted(label.scores.keys() ^ self.criteria.keys())
                if wrong:
                    problems.append(
                        f"the labels of {conversation.id!r} by {label.by!r} must name each of "
                        f"{', '.join(self.criteria)} once; wrong: {', '.join(wrong)}"
                    )
        if problems:
            raise ValueError("; ".join(problems))
        return self

    @property
    def unlabelled(self) -> tuple[ConversationBlock, ...]:
        """Conversations without a label, in order."""
        return tuple(conversation for conversation in self.conversations if not conversation.labels)

    def labels(self, criterion: str) -> dict[str, int]:
        """The latest label of each labelled conversation, by its id."""
        return {
            # Of two labels of one day the later one corrects the other.
            conversation.id: max(reversed(conversation.labels), key=lambda label: label.day).scores[criterion]
            for conversation in self.conversations
            if conversation.labels
        }


def read_calibration(folder: Path) -> CalibrationSet | None:
    """The calibration set below a scenarios folder; None if there is none.

    Raises:
        SuiteError: the file is wrong; holds every problem.
        UsageError: it cannot be read.
    """
    name = f"{folder.name}/{FILE}"
    try:
        document, problems = read_yaml(name, read_plain_file(folder, FILE))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UsageError(f"{name!r} cannot be read: {error.strerror}.", "Make it a readable plain file.") from error
    if document is not None:
        found, problems = validate(CalibrationSet, document)
        if found is not None:
            return found
    raise SuiteError(problems)


class _WithoutAliases(yaml.SafeDumper):
    """Writes a value that occurs twice as often as it occurs: the reader takes no aliases."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - the signature of the base
        return True


def write_calibration(folder: Path, calibration: CalibrationSet) -> None:
    """Replace the file, whole or not at all.

    Raises:
        UsageError: it cannot be written.
    """
    data = calibration.model_dump(exclude_defaults=True)
    text = yaml.dump(data, Dumper=_WithoutAliases, sort_keys=False, allow_unicode=True, width=120)
    write_into(folder, FILE, text)


def write_into(folder: Path, name: str, text: str) -> None:
    """Replace a file of the calibration folder, whole or not at all.

    Raises:
        UsageError: it cannot be written, or the folder is a link: a checkout chooses no other place to write to.
    """
    if os.path.realpath(folder) != os.path.join(os.path.realpath(folder.parent), folder.name):  # noqa: PTH118 - of text
        raise UsageError(f"{folder.name!r} is behind a symbolic link, so nothing was written.", "Remove the link.")
    write_whole(folder / name, text)


def write_whole(path: Path, text: str) -> None:
    """Replace a file, whole or not at all.

    Raises:
        UsageError: it cannot be written.
    """
    try:
        write_whole_files({path: text.encode()})
    except OSError as error:
        raise UsageError(
            f"{str(path)!r} cannot be written: {error.strerror}.", "Name a file that you may write to."
        ) from error


@dataclass(frozen=True, slots=True)
class CalibrationCandidate:
    """A conversation that may be added; not masked.

    Args:
        turns: each message and its reply.
    """

    turns: Sequence[tuple[str, str]]
    source: str
    language: str = "und"
    names: Sequence[str] = ()
    models: Sequence[str] = ()


def added_to(
    calibration: CalibrationSet,
    candidates: Sequence[CalibrationCandidate],
    redactor: Redactor,
    today: date,
    maximum: int = A_MONTH,
) -> tuple[CalibrationSet, tuple[str, ...]]:
    """The set with new conversations, masked; one that it has already is left out.

    Returns:
        The set, and the ids of what is new.
    """
    known = {conversation.digest for conversation in calibration.conversations}
    new: list[ConversationBlock] = []
    for candidate in candidates:
        mask = redactor.knowing(candidate.names).text
        source = " ".join(mask(candidate.source).split())
        turns = [LabelledTurnBlock(user=mask(user), reply=mask(reply)) for user, reply in candidate.turns]
        made = ConversationBlock(
            id="unnamed",
            added=today,
            # Masked already, so an id without spaces may be cut anywhere.
            source=cut(source, _NAME) or "transcript",
            language=clip(candidate.language or "und", _NAME),
            models=[clip(model, _NAME) for model in candidate.models],
            turns=turns,
        )
        if turns and made.digest not in known and len(new) < maximum:
            known.add(made.digest)
            new.append(made.model_copy(update={"id": f"cal_{made.digest[:_SHOWN]}"}))
    conversations = [*calibration.conversations, *new]
    return calibration.model_copy(update={"conversations": conversations}), tuple(each.id for each in new)


def labelled(calibration: CalibrationSet, name: str, label: LabelBlock) -> CalibrationSet:
    """The set with one more label.

    Raises:
        UsageError: there is no such conversation, or the label does not name each criterion from 1 to 5.
    """
    if all(conversation.id != name for conversation in calibration.conversations):
        raise UsageError(f"The calibration set has no conversation {name!r}.", "Add it: ratiba calibrate add.")
    if label.scores.keys() != calibration.criteria.keys():
        raise UsageError(
            f"The label of {name!r} names {', '.join(label.scores) or 'nothing'}.",
            f"Give a number from 1 to 5 for each of {', '.join(calibration.criteria)}.",
        )
    conversations = [
        each.model_copy(update={"labels": [*each.labels, label]}) if each.id == name else each
        for each in calibration.conversations
    ]
    return calibration.model_copy(update={"conversations": conversations})


def label_conversation(
    folder: Path, candidate: CalibrationCandidate, redactor: Redactor, today: date, *, by: str, good: bool
) -> str:
    """Add a conversation with a label to the calibration set, or the label where the set has it; returns its id.

    A thumb says one thing of the whole conversation: up is ``BEST`` of each criterion, and down ``WORST``.

    Args:
        folder: of the scenarios.
        by: who labels; empty for the owner of the set.

    Raises:
        UsageError: there is no set and nobody to own it, the name is too long, or the file cannot be written.
        SuiteError: the set is wrong.
    """
    if len(by) > _NAME:
        raise UsageError(f"The name has {len(by)} characters, and {_NAME} are allowed.", "Give a shorter one.")
    found = read_calibration(folder)
    if found is None and not by:
        raise UsageError(
            "There is no calibration set yet, so nobody owns it.",
            "Say who labels: /label good NAME (or /label bad NAME)",
        )
    calibration = found or CalibrationSet(owner=by)
    changed, _ = added_to(calibration, [candidate], redactor, today)
    # In a set of its own the conversation is new, whatever it is called in the other one.
    alone, _ = added_to(CalibrationSet(owner=calibration.owner), [candidate], redactor, today)
    digest_of_it = alone.conversations[0].digest
    name = next(each.id for each in changed.conversations if each.digest == digest_of_it)
    scores = dict.fromkeys(calibration.criteria, BEST if good else WORST)
    label = LabelBlock(by=by or calibration.owner, day=today, scores=scores)
    write_calibration(folder, labelled(changed, name, label))
    return name


def first_monday(day: date) -> date:
    """The first Monday of the day's month."""
    first = day.replace(day=1)
    return first + timedelta(days=-first.weekday() % _WEEK)


def _next_month(day: date) -> date:
    return (day.replace(day=1) + timedelta(days=31)).replace(day=1)


@dataclass(frozen=True, slots=True)
class Schedule:
    """When conversations are to be labelled.

    Args:
        last: day of the latest label; None without any.
        due: first session without a label; None if none is overdue.
        missed: how many sessions passed without a label.
        gone: the owner's last day, if it is over.
    """

    owner: str
    last: date | None
    due: date | None
    missed: int
    following: date
    today: date
    gone: date | None = None

    @property
    def overdue_days(self) -> int:
        """Since the first session that was missed; 0 if none was."""
        return 0 if self.due is None else (self.today - self.due).days

    @property
    def sentence(self) -> str:
        """What is due, in one or two sentences."""
        if self.due is None:
            sentence = f"The next session of the calibration set is on {self.following} (owner: {self.owner})."
        else:
            late = f"overdue by {plural(self.overdue_days, 'day')}" if self.overdue_days else "due today"
            missed = f", {self.missed} sessions were missed" if self.missed > 1 else ""
            sentence = f"The calibration set's session of {self.due} is {late}{missed} (owner: {self.owner})."
        if self.gone is not None:
            return f"{sentence} {self.owner} owned the set until {self.gone}: name another `owner` in {FILE}."
        if self.missed >= _MISSED:
            return f"{sentence} If {self.owner} has no time for it, name another `owner` in {FILE}."
        return sentence


def schedule(calibration: CalibrationSet, today: date) -> Schedule:
    """What is due: a label in each month, from its first Monday on, after the month in which the set began."""
    days = [label.day for each in calibration.conversations for label in each.labels if label.day <= today]
    last, begun = max(days, default=None), min((each.added for each in calibration.conversations), default=today)
    session = first_monday(begun if last is None else last)
    # A label before its month's first Monday belongs to the session before.
    after = last if last is not None else begun - timedelta(days=1)
    if session <= after:
        session = first_monday(_next_month(after))
    missed, due = 0, session if session <= today else None
    while session <= today:
        missed, session = missed + 1, first_monday(_next_month(session))
    until = calibration.owner_until
    gone = until if until is not None and until < today else None
    return Schedule(calibration.owner, last, due, missed, session, today, gone)


def form_data(calibration: CalibrationSet) -> Mapping[str, Any]:
    """What the form needs: criteria, and the conversations without a label."""
    return {
        "criteria": list(calibration.criteria),
        "conversations": [
            {"id": each.id, "turns": [turn.model_dump() for turn in each.turns]} for each in calibration.unlabelled
        ],
    }


class ReturnedLabel(StrictModel):
    """One label of a form."""

    id: Name
    by: Name
    day: Day
    scores: dict[Name, Label]


class ReturnedLabels(StrictModel):
    """What the form gives back."""

    labels: Annotated[list[ReturnedLabel], Field(min_length=1)]


def read_labels(path: Path, calibration: CalibrationSet, today: date) -> CalibrationSet:
    """The set with the labels that a form gave back; all of them or none.

    Args:
        today: no label is of a later day.

    Raises:
        UsageError: the file cannot be read.
        SuiteError: it is wrong; holds every problem.
    """
    try:
        document, problems = read_yaml(str(path), path.read_bytes())
    except OSError as error:
        raise UsageError(f"{str(path)!r} cannot be read: {error.strerror}.", "Give the form's file.") from error
    returned = None
    if document is not None:
        returned, problems = validate(ReturnedLabels, document)
    if returned is None or document is None:
        raise SuiteError(problems)
    wrong: list[FileProblem] = []
    for number, each in enumerate(returned.labels):
        if each.day > today:
            why = f"day: {each.day} is after today, {today}; give the day on which the label was given"
            wrong.append(FileProblem(str(path), document.line(("labels", number)), why))
            continue
        try:
            calibration = labelled(calibration, each.id, LabelBlock(by=each.by, day=each.day, scores=each.scores))
        except UsageError as error:
            wrong.append(FileProblem(str(path), document.line(("labels", number)), str(error)))
    if wrong:
        raise SuiteError(wrong)
    return calibration
