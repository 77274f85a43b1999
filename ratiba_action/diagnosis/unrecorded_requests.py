"""Which parts of a change leave scenarios without a recorded answer, and what they change in the request."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ratiba_action.diagnosis.delta_debugging import BASE_FAILS, PASSES_AGAIN, Part, StepOutcome, Subset, attribute
from ratiba_action.diagnosis.failure_signature import lacks_recording
from ratiba_action.llm.request_inputs import VOLATILE, request_difference, sent_parts
from ratiba_action.metrics.judging.replay_judge import NEEDS_JUDGE
from ratiba_action.model.attribution import Attribution, ChangedPart, Explanation, Finding
from ratiba_action.model.conversation import Party
from ratiba_action.model.measurement import Errored, ScenarioResult
from ratiba_action.model.model_request import ModelRequest
from ratiba_action.model.verdict import Conclusion, Report
from ratiba_action.reporting.remedy import line_of
from ratiba_action.util.text import plural

_SHORTEST = 8
"""Characters of a line of a system prompt from which it is looked for in the change."""
NEW_EACH_RUN = ", which is new in each run"
"""Ends a sentence about a request that was another one when the same lines ran again."""
_WHY = {BASE_FAILS: "the base has none either", PASSES_AGAIN: "the whole change has one when it is run again"}
_CERTAIN = (Finding.FOUND, Finding.SEVERAL)


def units_of(parts: Sequence[Part], prompts: Collection[str]) -> tuple[Subset, ...]:
    """Groups of parts that are tried together: every part of a prompt file is one, since half of its edits never fit.

    Args:
        prompts: paths of prompt files.

    Returns:
        No group where every part is of a prompt: then nothing has to be found.
    """
    by_file: dict[str, list[int]] = {}
    for number, part in enumerate(parts):
        by_file.setdefault(part.path if part.path in prompts else f"{part.path}:{number}", []).append(number)
    return tuple(map(frozenset, by_file.values())) if {part.path for part in parts}.difference(prompts) else ()


def attribute_in_units(units: Sequence[Subset], outcome: Callable[[Subset], StepOutcome]) -> Attribution:
    """See ``attribute``; its parts are the units, and those of the result the change's."""

    def parts(chosen: Iterable[int]) -> Subset:
        return frozenset().union(*(units[number] for number in chosen))

    found = attribute(len(units), lambda chosen: outcome(parts(chosen)))
    causes = tuple(tuple(sorted(parts(cause))) for cause in found.causes)
    return replace(found, causes=causes, unrecorded=True, why=_WHY.get(found.why, found.why))


PartialRun = tuple[Subset, int]
"""The parts that were applied, and the number of the run with them, from 0; -1 before the search."""


@dataclass(slots=True)
class KeptRequests:
    """The requests of the system in each run with parts of a change.

    Args:
        of: the run that is going on.
    """

    of: PartialRun = (frozenset(), 0)
    _sent: dict[tuple[PartialRun, str], dict[int, ModelRequest]] = field(default_factory=dict)

    def keep(self, request: ModelRequest) -> None:
        """Keep a request of a scenario's first trial."""
        if request.party is Party.SYSTEM and request.trial == 0:
            self._sent.setdefault((self.of, request.scenario_id), {}).setdefault(request.position, request)

    def difference(self, scenario: str, change: PartialRun, again: PartialRun) -> str:
        """What differs in the first request that is not the base's; empty where none does.

        Args:
            again: another run, where there was one, that sends the change's request again. Where it did, a time in the
                request is no clock's; where it sent another one, the request is new in each run.
        """
        first = self._first(scenario, change)
        if first is None:
            return ""
        before, after = first
        number = f"model call {after.position + 1}"
        if before is None:
            return f"{number} is a further one"
        text = f"{number}: {request_difference(before, after)}"
        sent = {} if again == change else self._sent.get((again, scenario), {})
        if after.position not in sent:
            return text
        return text.replace(VOLATILE, "") + ("" if sent[after.position].key == after.key else NEW_EACH_RUN)

    def new_prompt_lines(self, scenarios: Iterable[str], change: PartialRun) -> frozenset[str]:
        """Lines of system prompts that are only in the base's, or only in the change's first differing request."""
        found = Counter[str]()
        for scenario in scenarios:
            first = self._first(scenario, change)
            if first is not None and first[0] is not None:
                before, after = (Counter(sent_parts(request).system) for request in first if request is not None)
                found += (before - after) + (after - before)
        return frozenset(line.strip() for line in found if len(line.strip()) >= _SHORTEST)

    def _first(self, scenario: str, change: PartialRun) -> tuple[ModelRequest | None, ModelRequest] | None:
        before, after = (self._sent.get((run, scenario), {}) for run in ((frozenset[int](), 0), change))
        for position in sorted(after):
            known = before.get(position)
            if known is None or known.key != after[position].key:
                return known, after[position]
        return None


_PLACES, _NAMED = 3, 8
"""Places that an advice names, and most scenarios that its command does."""
_RECORD, _AUTHORED = "ratiba record", " --authored"
_NEVER = (
    "The request is new in each run, so no recording would ever fit: take the value from the scenario (context.now)"
)
_CLOCK = "If the new value comes from the machine's clock or from chance, take it from the scenario (context.now). "


def with_advice(report: Report, found: Explanation) -> Report:
    """The report with what to do where code of the change leaves scenarios without a recorded answer.

    To record such a request again would store the fault. Where a prompt alone is the cause, the advice stays: no answer
    that was recorded fits an edited prompt.
    """
    causes = {name: cause for name, cause in found.scenarios.items() if _code_of([cause], found)}
    if not causes:
        return report
    results = tuple(_advised(result, causes, found) for result in report.results)
    verdict = report.verdict
    if verdict.conclusion is Conclusion.INCOMPLETE and NEEDS_JUDGE in verdict.action:
        judged = {result.trial.scenario.id for result in report.results if _lacks_judgement(result)}
        unjudged = [cause for name, cause in causes.items() if name in judged]
        verdict = replace(verdict, action=_if_right(unjudged, found, verdict.action)) if unjudged else verdict
    elif verdict.conclusion is Conclusion.INCOMPLETE and _RECORD in verdict.action:
        by_hand = _AUTHORED in verdict.action
        action = _advice(list(causes.values()), found, [*causes, *found.left_out], by_hand=by_hand)
        verdict = replace(verdict, action=f"{action}. Then run the gate again.")
    return replace(report, results=results, verdict=verdict)


def _advised(result: ScenarioResult, causes: Mapping[str, Attribution], found: Explanation) -> ScenarioResult:
    cause = causes.get(result.trial.scenario.id)
    if cause is None or not isinstance(result, Errored) or not lacks_recording(result):
        return result
    if _lacks_judgement(result):
        return replace(result, remedy=_if_right([cause], found, result.remedy))
    message = result.message
    if cause.request:
        message = f"{cause.request[0].upper()}{cause.request[1:]}, so the recorded model answer no longer applies."
    return replace(
        result,
        message=message,
        remedy=_advice([cause], found, [result.trial.scenario.id], by_hand=_AUTHORED in result.remedy),
    )


def _lacks_judgement(result: ScenarioResult) -> bool:
    """Whether it is the judge's answer about a reply that is not recorded, and no request of the system."""
    return isinstance(result, Errored) and lacks_recording(result) and result.remedy.startswith(NEEDS_JUDGE)


def _if_right(causes: Sequence[Attribution], found: Explanation, remedy: str) -> str:
    """What to do about replies that code changes, and of which no judge's answer is recorded."""
    right = f"Only if the new reply is right: {remedy[0].lower()}{remedy[1:]}"
    return f"Fix or revert {_places(_code_of(causes, found))}. {right}"


def _places(code: Sequence[ChangedPart]) -> str:
    more = f" and {plural(len(code) - _PLACES, 'more place')}" if len(code) > _PLACES else ""
    return ", ".join(map(line_of, code[:_PLACES])) + more


def _advice(causes: Sequence[Attribution], found: Explanation, scenarios: Sequence[str], *, by_hand: bool) -> str:
    """What to do about requests that code changes, without the last full stop."""
    code = _code_of(causes, found)
    places = _places(code)
    if any(NEW_EACH_RUN in cause.request for cause in causes):
        return f"Fix or revert {places}. {_NEVER}"
    clock = _CLOCK if any(VOLATILE in cause.request for cause in causes) else ""
    named = "".join(f" --scenario {name}" for name in scenarios) if len(scenarios) <= _NAMED else ""
    command = f"{_RECORD}{named}{_AUTHORED if by_hand else ''} --accept"
    if len(code) < len({part for cause in causes for part in cause.parts}):
        return f"Fix or revert {places}. {clock}For the edited prompt, then run: {command}"
    return f"Fix or revert {places}. {clock}Only if this change of the request is meant, run: {command}"


def _code_of(causes: Sequence[Attribution], found: Explanation) -> tuple[ChangedPart, ...]:
    """The parts that are no prompts, of causes that are certain."""
    numbers = {part for cause in causes if cause.unrecorded and cause.finding in _CERTAIN for part in cause.parts}
    return tuple(found.parts[number] for number in sorted(numbers) if not found.parts[number].prompt)
