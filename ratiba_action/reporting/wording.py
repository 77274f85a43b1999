"""Formats amounts, numbers and results as text, the same in every report format."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import zip_longest

from ratiba_action.checks.system_exceptions import exception_of
from ratiba_action.model.attribution import Attribution, ChangedPart, Explanation, Finding
from ratiba_action.model.change import Mode, ModeDecision
from ratiba_action.model.measurement import Errored, NotRun, ScenarioResult, Scored
from ratiba_action.model.plan import Selection
from ratiba_action.model.values import Usd
from ratiba_action.util.text import clip, cut_before, origin_of, plural, summary_of, traceback_of
from ratiba_action.verdict.trials import ScenarioOutcome, Standing, standing

SELF_REPORTED = "Their results come from processes that run the system's code as well, which could change them."
_LISTED = 10
_CENT = Decimal("0.01")
_BAR = 20


def dollars(amount: Usd) -> str:
    """An amount in dollars; fractions of a cent are shown, so that a cost never reads as zero."""
    if 0 < abs(amount) < _CENT:
        return f"{amount:.4f}" if abs(amount) >= Decimal("0.0001") else "< 0.0001"
    return f"{amount:,.2f}"


def scenario_dollars(amount: Usd) -> str:
    """What one scenario costs: with fractions of a cent up to a dollar, so that scenarios can be compared."""
    return f"{amount:.4f}" if Decimal("0.0001") <= abs(amount) < 1 else dollars(amount)


def bar(part: Usd, whole: Usd) -> str:
    """A bar of 20 blocks, filled in proportion; any positive part fills at least one block."""
    share = min(max(part / whole, Decimal(0)), Decimal(1)) if whole > 0 else Decimal(1 if part > 0 else 0)
    filled = max(int(share * _BAR), 1 if share else 0)
    return "█" * filled + "░" * (_BAR - filled)


def number(value: float) -> str:
    """A score or threshold with two decimals, or four if it needs them."""
    value = round(value, 4)
    return f"{value:.2f}" if round(value, 2) == value else f"{value:.4f}"


def label(result: ScenarioResult) -> str:
    """The scenario's id, with arm and trial unless they are head and the first."""
    trial = result.trial
    arm = "" if trial.arm.name == "head" else f".{trial.arm.name}"
    return f"{trial.scenario.id}{arm}" + (f".trial{trial.number + 1}" if trial.number else "")


def outcome(result: ScenarioResult) -> str:
    """The result of one trial in a word or two."""
    if isinstance(result, Scored):
        return "passed" if result.passed else "failed"
    if isinstance(result, Errored):
        raised = exception_of(result)
        failed = f"failed: {raised}" if raised else "failed"
        return failed if standing(result) is Standing.FAILED else f"{result.phase.value} error"
    return "not run"


def describe_trials(outcome: ScenarioOutcome) -> str:
    """How many counted trials passed, how many others there are, and how many were retried; empty for one trial."""
    several, counted = len(outcome.trials) > 1, outcome.counted
    parts = [f"{outcome.passed} of {plural(len(counted), 'trial')}"] if several else []
    further = len(outcome.trials) - len(counted)
    parts += [f"{further} more for the pass rate or the comparison"] if further else []
    count = len(outcome.retried)
    parts += [f"{count} {'retry' if count == 1 else 'retries'}"] if count else []
    return ", ".join(parts)


def scenario_label(outcome: ScenarioOutcome) -> str:
    """The scenario's id, with its arm unless that is head."""
    arm = outcome.deciding.trial.arm.name
    return outcome.scenario.id if arm == "head" else f"{outcome.scenario.id}.{arm}"


def explanation(result: ScenarioResult) -> str:
    """Why a trial could not be measured, without a traceback; empty if it was."""
    if isinstance(result, Errored):
        return summary_of(result.message, result.trial.scenario.id)
    return result.reason if isinstance(result, NotRun) else ""


def short_explanation(result: ScenarioResult) -> str:
    """The explanation, short enough for a table."""
    lacks_score = isinstance(result, Errored) and result.lacks_score
    return "no score" if lacks_score else explanation(result)


def frames(result: ScenarioResult) -> str:
    """The traceback of the system's error; empty if there was none."""
    return traceback_of(result.message) if isinstance(result, Errored) else ""


@dataclass(frozen=True, slots=True)
class RaisedError:
    """An error of the system, and every scenario in which it was raised.

    Args:
        scenarios: their labels, in the report's order.
    """

    first: ScenarioResult
    scenarios: tuple[str, ...]

    @property
    def others(self) -> str:
        """The names of the other scenarios, shortened; empty if there are none."""
        return listed(self.scenarios[1:])


def raised_errors(results: Iterable[ScenarioResult]) -> tuple[RaisedError, ...]:
    """Each distinct error of the system once: one bug can fail many scenarios."""
    found: dict[str, list[ScenarioResult]] = {}
    for result in results:
        if isinstance(result, Errored) and frames(result):
            found.setdefault(origin_of(result.message), []).append(result)
    return tuple(RaisedError(raised[0], tuple(map(label, raised))) for raised in found.values())


def listed(names: Sequence[str]) -> str:
    """The first few names and the number of others; empty for none."""
    more = len(names) - _LISTED
    return ", ".join(names[:_LISTED]) + (f" and {more} more" if more > 0 else "")


def mode_line(decision: ModeDecision, *, enforce: bool) -> str:
    """The mode, the file and rule that decided it, and the effect of a failure.

    Args:
        decision: with at least one reason, the strictest first.
        enforce: false in a trial period.
    """
    first, *others = decision.reasons
    why = first.why.rstrip(".")
    because = f"{first.path}: {why}" if first.path else why
    same = len({reason.path for reason in others if reason.mode is decision.mode and reason.path} - {first.path})
    more = f", and {plural(same, 'more file')}" if same else ""
    return f"Mode: {decision.mode} ({because}{more}). {_effect(decision.mode, enforce=enforce)}"


def selection_line(selection: Selection) -> str:
    """How many of the suite's scenarios run, and why not the others; empty if all run."""
    chosen = len(selection.scenarios)
    total = chosen + len(selection.left_out)
    if chosen == total:
        return ""
    advisory = selection.decision.mode is Mode.ADVISORY
    advice = "advisory mode runs smoke scenarios, touched ones and fully recorded ones"
    others = "" if selection.covered else "; none covers this change, so critical ones run too"
    why = f"{advice}{others}" if advisory else "those selected"
    return f"{chosen} of {plural(total, 'scenario')} run: {why}."


def _effect(mode: Mode, *, enforce: bool) -> str:
    if mode is Mode.SKIP:
        return "Nothing is run."
    if not enforce:
        return "Failures do not block: enforce is false."
    if mode is Mode.ADVISORY:
        return "Failures do not block, but for new ones of critical scenarios. To block by all, use --mode blocking."
    return "Failures block."


@dataclass(frozen=True, slots=True)
class CauseText:
    """What makes some scenarios fail, or leaves them without a recorded answer, in a sentence.

    Args:
        pieces: of the sentence: text, and parts of the change where it names them.
        parts: of the change that cause it, or among which the cause is.
        certain: whether these parts are the cause; if not, it is among them.
        unrecorded: whether the scenarios lack a recorded answer, rather than fail.
    """

    pieces: tuple[str | ChangedPart, ...]
    scenarios: tuple[str, ...]
    parts: tuple[ChangedPart, ...]
    certain: bool
    unrecorded: bool = False

    @property
    def sentence(self) -> str:
        """The sentence as plain text."""
        return "".join(piece if isinstance(piece, str) else place_of(piece) for piece in self.pieces)


@dataclass(frozen=True, slots=True)
class ExplanationText:
    """What makes the failing scenarios fail.

    Args:
        note: how often they were run for it, and what that cost.
        diff: the change, each part with what it is: ``cause``, ``possible cause`` or nothing.
        omitted: how many harmless parts the diff leaves out.
    """

    causes: tuple[CauseText, ...]
    note: str
    diff: tuple[tuple[ChangedPart, str], ...]
    omitted: int


_MAX_PARTS = 200
_NAMED_PARTS = 4
_LINE = 60


def describe_explanation(found: Explanation | None) -> ExplanationText | None:
    """The explanation as text; None where there is none."""
    if found is None:
        return None
    grouped: dict[Attribution, list[str]] = {}
    for name, cause in sorted(found.scenarios.items()):
        grouped.setdefault(replace(cause, steps=0, by_chance=False, request=""), []).append(name)
    causes = tuple(
        _cause_text(replace(cause, request=found.scenarios[names[0]].request), tuple(names), found.parts)
        for cause, names in grouped.items()
    )
    marks = {part: "possible cause" for cause in causes for part in cause.parts}
    marks |= {part: "cause" for cause in causes if cause.certain for part in cause.parts}
    diff = [
        (part, marks.get(part, "")) for number, part in enumerate(found.parts) if number < _MAX_PARTS or part in marks
    ]
    more = f" Not explained: {listed(found.left_out)}." if found.left_out else ""
    how = f"Found by {plural(found.runs, 'run')} with parts of the change, for USD {dollars(found.spent)}."
    note = f"{how if found.runs else 'Known from the results on the base.'}{more}"
    return ExplanationText(causes, note, tuple(diff), len(found.parts) - len(diff))


def _cause_text(cause: Attribution, names: tuple[str, ...], parts: Sequence[ChangedPart]) -> CauseText:
    # Results of another run are read as well, so positions may be wrong.
    groups = [[parts[number] for number in group if 0 <= number < len(parts)] for group in cause.causes]
    certain = cause.finding in (Finding.FOUND, Finding.SEVERAL)
    named = tuple(part for group in groups for part in group)
    pieces = _cause_pieces(cause, listed(names), groups, len(parts))
    return CauseText(pieces, names, named, certain, cause.unrecorded)


_Pieces = tuple[str | ChangedPart, ...]


def _joined(items: Sequence[_Pieces], separator: str) -> _Pieces:
    return tuple(piece for item in items for piece in (separator, *item))[1:]


def _cause_pieces(cause: Attribution, names: str, groups: Sequence[Sequence[ChangedPart]], total: int) -> _Pieces:
    count, rest, missing = len(cause.parts), total - len(cause.parts), cause.unrecorded
    because = f" ({cause.why})" if cause.why else ""
    request = f". {cause.request[0].upper()}{cause.request[1:]}" if missing and cause.request else ""
    named = [_by_prompt(group) if missing else [(part,) for part in group] for group in groups]
    places = [_joined(parts, " and ") for parts in named]
    which = f"{names} without a recorded answer"
    verb, result = ("leave", which) if missing else ("make", f"{names} fail")
    does = f"{verb}s {result}"
    what = f"What leaves {which}" if missing else f"The cause of the failure of {names}"
    if cause.finding is Finding.NONE:
        return (f"No line of the change {does}: {cause.why}.",)
    if cause.finding is Finding.NOT_RESOLVED or not any(places):
        return (f"Which line {does} was not resolved: {cause.why}.",)
    if cause.finding is Finding.ONE_OF and count > _NAMED_PARTS:
        return (f"{what} is among {count} of {total} changed parts{because}{request}.",)
    if cause.finding is Finding.ONE_OF:
        start = f"{what} may be {'one of these changed parts' if count > 1 else 'this changed part'}: "
        return (start, *_joined(places, " and "), f"{because}{request}.")
    if cause.finding is Finding.SEVERAL:
        return (f"Each of these {does} on its own: ", *_joined(places, "; "), f"{because}{request}.")
    single = len(places[0]) == 1 if missing else count == 1
    together = does if single else f"together {verb} {result}"
    harmless = f"; the other {plural(rest, 'changed part')} {'does' if rest == 1 else 'do'} not" if rest else ""
    return (*places[0], f" {together}{harmless}{request}.")


def _by_prompt(group: Sequence[ChangedPart]) -> Sequence[_Pieces]:
    """The parts of a group; several of one prompt are named together."""
    by_path: dict[str, list[ChangedPart]] = {}
    for part in group:
        by_path.setdefault(part.path if part.prompt else place_of(part), []).append(part)
    return [
        (parts[0],) if len(parts) == 1 else (f"{path} ({plural(len(parts), 'changed part')})",)
        for path, parts in by_path.items()
    ]


def _lines(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.splitlines() if line.strip()]


def _from_difference(removed: Sequence[str], added: Sequence[str]) -> tuple[str, str]:
    """The first lines that differ, begun shortly before the difference where their clipped beginnings are equal."""
    pairs = zip_longest(removed, added, fillvalue="")
    before, after = next(
        ((a, b) for a, b in pairs if a != b), (removed[0] if removed else "", added[0] if added else "")
    )
    shown = clip(before, _LINE), clip(after, _LINE)
    if shown[0] != shown[1] or before == after:
        return shown
    differ = (place for place, (a, b) in enumerate(zip(before, after, strict=False)) if a != b)
    same = next(differ, min(len(before), len(after)))
    at = cut_before(before, max(same - _LINE // 3, 0))
    at = at if same - at < _LINE // 2 else cut_before(before, same)
    shown = clip(f"… {before[at:].lstrip()}", _LINE), clip(f"… {after[at:].lstrip()}", _LINE)
    if shown[0] != shown[1]:
        return shown
    # A word that is longer than what is shown.
    return f"{len(before)} characters", f"{len(after)} characters, other ones from character {same + 1}"


def place_of(part: ChangedPart) -> str:
    """A changed part by its file, its lines and the words of the first that differs."""
    return f"{part.path}{lines_of(part)} ({what_of(part)})"


def lines_of(part: ChangedPart) -> str:
    """The lines of a changed part, after a space; empty for a whole file."""
    if part.whole:
        return ""
    last = part.line + max(len(part.added.splitlines()) - 1, 0)
    return f" line {part.line}" if last == part.line else f" lines {part.line} to {last}"


def what_of(part: ChangedPart) -> str:
    """What is different in a changed part: the words of its first line that differs."""
    if part.whole:
        return "the whole file"
    lines = [_lines(text) for text in (part.removed, part.added)]
    removed, added = _from_difference(*lines)
    if removed and added:
        what = f"“{removed}” → “{added}”"
    else:
        what = f"“{removed or added}” {'removed' if removed else 'added'}" if removed or added else "blank lines"
    differ = sum(before != after for before, after in zip_longest(*lines))
    return what + (f", and {plural(differ - 1, 'more line')}" if differ > 1 else "")
