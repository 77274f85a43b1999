"""Warnings about scenarios and recordings that are valid but probably unintended."""

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path

from ratiba_action.checks.failure_rules import REFUSE, may_call_judge, phrases_alone
from ratiba_action.checks.sure_refusals import is_sure_refusal
from ratiba_action.errors import FileProblem
from ratiba_action.llm.recordings.lines import JudgeRecording, Recording
from ratiba_action.metrics.registry import is_judged, made_for, metric_names, recorded_as, recorded_names
from ratiba_action.model.reads import Reads
from ratiba_action.model.scenario import DEFAULT_CUSTOMER, DEFAULT_NOW, Assertion, Scenario
from ratiba_action.suite.building import refusal_assertions
from ratiba_action.util.comparable import comparable, is_of_word
from ratiba_action.util.gitignore import PatternList
from ratiba_action.util.instants import home_zone, unclear_times
from ratiba_action.verdict.quarantine import ends_soon

_NOT_LOOKED_INTO = frozenset({".git", ".venv", "node_modules", "__pycache__", "ratiba-report"})
_MAX_FILES = 200_000


Attach = Callable[[Scenario], tuple[Assertion, ...]]
"""All assertions of a scenario, including those that it does not list."""


def scenario_advice(
    scenarios: Iterable[Scenario], attach: Attach, repository: Path, today: date, observed: Mapping[str, Reads]
) -> tuple[FileProblem, ...]:
    """Warnings about scenarios, each once however many cases its file has.

    Args:
        scenarios: of a suite without mistakes.
        observed: what recordings say that scenarios read, by id.
        today: decides which quarantines have expired.
    """
    listed = tuple(scenarios)
    paths = tuple(_files(repository)) if any(scenario.touches for scenario in listed) else ()
    warnings: dict[FileProblem, None] = {}
    for scenario in listed:
        found = [
            *quarantine_advice(scenario, today),
            *touches_advice(scenario, paths, observed.get(scenario.id)),
            *short_text_advice(scenario),
            *clock_advice(scenario),
            *refusal_advice(scenario),
        ]
        complete = replace(scenario, assertions=attach(scenario))
        found += [*measuring_advice(complete), *default_advice(complete)]
        for name in (entry.metric for entry in scenario.assertions if entry.metric in metric_names()):
            if scenario.system_type not in made_for(name):
                types = ", ".join(made_for(name))
                found.append((scenario.line, f"{name} is made for {types}, and system_type is {scenario.system_type}"))
        warnings.update({FileProblem(scenario.path, line, message): None for line, message in found})
    return tuple(warnings)


def advisory_advice(scenarios: Sequence[Scenario], recorded: Collection[str]) -> Iterator[str]:
    """Warning that an advisory run, such as that of a change to code alone, would select nothing, or next to nothing.

    Args:
        scenarios: of a suite without mistakes.
        recorded: ids of those that have recordings.
    """
    selected = (
        "smoke" in scenario.tags or scenario.touches or scenario.script is not None or scenario.id in recorded
        for scenario in scenarios
    )
    if not scenarios or any(selected):
        return
    critical = any(scenario.critical for scenario in scenarios)
    what = "runs only the critical scenarios" if critical else "measures nothing"
    yield (
        f"no scenario is tagged smoke, has touches or is recorded, so an advisory run (a change to code alone) {what}. "
        "Tag one smoke, or run: ratiba record"
    )


def recording_advice(
    path: str, lines: Sequence[Recording], scenarios: Mapping[str, Sequence[Scenario]], attach: Attach
) -> Iterator[FileProblem]:
    """Warnings about one recording.

    Args:
        path: of the file; its stem is the id of its scenario.
        lines: in order.
        scenarios: by id, with those of a case file under the case file's own.
    """
    owners = scenarios.get(Path(path).stem, ())
    if not owners:
        yield FileProblem(path, 0, "no scenario has this id: delete the file, or rename it to the id of its scenario")
        return
    measured = {
        recorded_as(entry.metric, entry.parameters)
        for owner in owners
        for entry in (*attach(owner), *refusal_assertions(owner.rules))
        if is_judged(entry.metric, entry.parameters)
    }
    for number, line in enumerate(lines, start=1):
        if not isinstance(line, JudgeRecording):
            if all(owner.script is not None for owner in owners):
                yield FileProblem(path, number, "it is never used: the scenario has a mocked model")
        elif not recorded_names([line.metric]) & measured and all(owner.test is None for owner in owners):
            others = [name for name in sorted(measured) if name.partition(":")[0] == line.metric.partition(":")[0]]
            again = (
                f", but {others[0]!r:.80}; run: ratiba record --scenario {Path(path).stem} --accept" if others else ""
            )
            rest = again or ": delete the line"
            yield FileProblem(path, number, f"it is never used: the scenario does not use {line.metric!r:.80}{rest}")


def scored_metrics(lines: Iterable[Recording]) -> Iterator[str]:
    """Names of the metrics with recorded scores, with and without their versions."""
    return iter(recorded_names(line.metric for line in lines if isinstance(line, JudgeRecording)))


def missing_score_advice(
    scenarios: Iterable[Scenario], scored: Mapping[str, Collection[str]], attach: Attach
) -> Iterator[FileProblem]:
    """Warnings about judged metrics without a recorded score: a run without an API key cannot measure them.

    Args:
        scenarios: of a suite without mistakes, except those with unreadable recordings.
        scored: names of the metrics with recorded scores, by scenario id.
    """
    missing: dict[tuple[str, str, str], list[Scenario]] = {}
    for scenario in scenarios:
        for entry in attach(scenario):
            if not _calls_judge(entry.metric, scenario):
                continue
            if recorded_as(entry.metric, entry.parameters) not in scored.get(scenario.id, ()):
                missing.setdefault((scenario.path, scenario.data_set, entry.metric), []).append(scenario)
    for (path, cases_id, metric), found in missing.items():
        whom = f"{len(found)} of the cases of {cases_id}" if cases_id else found[0].id
        record = f"ratiba record --scenario {cases_id or found[0].id} --accept"
        message = (
            f"no score of {metric} is recorded for {whom}, so a run without an API key is incomplete. Run: {record}"
        )
        yield FileProblem(path, found[0].line, message)


def undecided_refusal_advice(
    scenarios: Iterable[Scenario], scored: Mapping[str, Collection[str]], texts: Mapping[str, Sequence[str]]
) -> Iterator[FileProblem]:
    """Warnings about replies that must refuse, and that a run without an API key may not be able to decide about.

    Args:
        scenarios: see ``missing_score_advice``.
        scored: see ``missing_score_advice``.
        texts: of the models' recorded answers, by the id of each scenario that is recorded. Without a text, nothing
            is known of the replies, and recording has stored the judge's answer if one was needed.
    """
    found: dict[FileProblem, None] = {}
    for scenario in scenarios:
        scripted = [str(step.get("text", "")) for step in scenario.script or ()]
        texts_of_scenario = (*scenario.replies, *scenario.captured, *scripted, *texts.get(scenario.id, ()))
        known = [text for text in texts_of_scenario if text.strip()]
        if any(map(is_sure_refusal, known)) or (scenario.id in texts and not known):
            continue
        for entry in refusal_assertions(scenario.rules):
            if recorded_as(entry.metric, entry.parameters) not in scored.get(scenario.id, ()):
                message = (
                    f"{REFUSE} calls the judge where phrases are not sure that the reply refuses, and no answer of the "
                    "judge is recorded, so a run without an API key may be incomplete. "
                    f"Run: ratiba record --scenario {scenario.data_set or scenario.id} --accept; or "
                    f"{phrases_alone(entry.parameters.get('turn'))}"
                )
                found[FileProblem(scenario.path, entry.line, message)] = None
    yield from found


def _calls_judge(metric: str, scenario: Scenario) -> bool:
    """Whether the metric calls a judge; a refusal makes no claims, so faithfulness calls none for it."""
    refuses = all(turn.expect.refusal for turn in scenario.turns)
    return is_judged(metric) and not (refuses and metric == "FaithfulnessByClaimMetric")


def _files(repository: Path) -> Iterator[str]:
    """Every file by its path in the repository."""
    count = 0
    for folder, folders, names in os.walk(repository):
        folders[:] = [name for name in folders if name not in _NOT_LOOKED_INTO]
        top = Path(folder).relative_to(repository)
        for name in names:
            count += 1
            if count > _MAX_FILES:
                return
            yield (top / name).as_posix()


def quarantine_advice(scenario: Scenario, today: date) -> Iterator[tuple[int, str]]:
    """Warns of a quarantine that has expired or ends within a week.

    Args:
        scenario: with or without one.
        today: a quarantine includes its last day.
    """
    if scenario.quarantine is not None and scenario.quarantine.until < today:
        until = scenario.quarantine.until.isoformat()
        yield scenario.line, f"its quarantine ended on {until}, so it counts again; remove or renew the quarantine"
    elif scenario.quarantine is not None and ends_soon(scenario.quarantine, today):
        yield (
            scenario.line,
            f"its quarantine ends on {scenario.quarantine.until.isoformat()}; then it counts again",
        )


def measuring_advice(scenario: Scenario) -> Iterator[tuple[int, str]]:
    """Warns of a scenario without any assertion, counting metrics that apply without being listed."""
    exact = scenario.rules or scenario.rows or scenario.replies or any(turn.expect.is_exact for turn in scenario.turns)
    limited = scenario.limits.seconds is not None or scenario.limits.usd is not None
    if not (scenario.assertions or exact or limited):
        yield scenario.line, "it asserts nothing: add `expect` to a turn, or add rules or assertions"


def clock_advice(scenario: Scenario) -> Iterator[tuple[int, str]]:
    """Warns of expected times without an offset that the zones with the offset of ``now`` read differently."""
    home = home_zone(scenario)
    read = f"; it is read in {home}, by `language: {scenario.language}`" if home else ""
    yield from ((line, problem + read) for line, problem in unclear_times(scenario))


_LANGUAGES_OF_REFUSALS = frozenset({"sw", "en", "mixed"})


def refusal_advice(scenario: Scenario) -> Iterator[tuple[int, str]]:
    """Warns of refusals that are looked for by Swahili and English phrases in replies of another language."""
    if scenario.language.partition("-")[0] in _LANGUAGES_OF_REFUSALS:
        return
    why = f"looks for Swahili and English phrases, and the scenario's language is {scenario.language}"
    for rule in scenario.rules:
        if rule.type == REFUSE and not may_call_judge(rule):
            yield rule.line, f"{REFUSE} without a judge {why}; let a judge decide: {{type: {REFUSE}}}"
    for turn in scenario.turns:
        if turn.expect.refusal is not None:
            yield turn.line, f"`refusal` {why}; use the rule {{type: {REFUSE}}}"


_MIN_LETTERS = 3


def short_text_advice(scenario: Scenario) -> Iterator[tuple[int, str]]:
    """Warns of texts that are looked for anywhere and so short that other words have them: ``A``, ``no``, ``5%``."""
    for turn in scenario.turns:
        if turn.expect.reply is not None:
            for key in ("contains", "contains_any", "not_contains"):
                for value in getattr(turn.expect.reply, key):
                    if _is_short(value):
                        yield turn.line, _found_anywhere(key, value)
    for rule in scenario.rules:
        if rule.type in {"must_contain", "must_not_contain"}:
            for value in rule.value if isinstance(rule.value, list | tuple) else [rule.value]:
                if _is_short(str(value)):
                    yield rule.line, _found_anywhere(rule.type, str(value))


def _is_short(value: str) -> bool:
    """Whether a text has fewer than three letters or digits, and no limits of its own such as ``(A)``."""
    text = comparable(value)
    count = sum(character.isalnum() for character in text)
    spaced = all(is_of_word(character) for character in text if character.isalnum())
    return 0 < count < _MIN_LETTERS and spaced and (is_of_word(text[0]) or is_of_word(text[-1]))


def _found_anywhere(key: str, value: str) -> str:
    return f"{key}: {value!r} is found inside other words too; to find it as a whole word, write `{key}_word`"


_COMPARES: Mapping[str, Sequence[str]] = {
    "BookingSlotConsistencyMetric": ("now", "customer"),
    "MpesaPaymentSafetyMetric": ("customer",),
}
"""The optional fields that a metric compares replies and rows with."""


def default_advice(scenario: Scenario) -> Iterator[tuple[int, str]]:
    """Metrics that compare with a field which the scenario leaves to its default."""
    defaults = {
        "now": scenario.now.replace(tzinfo=None) == DEFAULT_NOW.replace(tzinfo=None),
        "customer": scenario.customer == DEFAULT_CUSTOMER,
    }
    for metric in sorted({entry.metric for entry in scenario.assertions} & _COMPARES.keys()):
        if missing := [f"`{name}`" for name in _COMPARES[metric] if defaults[name]]:
            yield scenario.line, f"{metric} compares with {' and '.join(missing)}, which the scenario does not give"


def touches_advice(scenario: Scenario, paths: Sequence[str], reads: Reads | None) -> Iterator[tuple[int, str]]:
    """Warns of ``touches`` patterns that match no file, or none that the scenario reads.

    Args:
        paths: every file of the repository.
        reads: what its recording says that it reads; None where that is not known.
    """
    for text in scenario.touches:
        try:
            pattern = PatternList([text.removeprefix("!")])
        except ValueError as error:
            yield scenario.line, f"touches: {text!r} can never match: {error}"
            continue
        matched = [path for path in paths if pattern.match(path)]
        if not matched:
            yield scenario.line, f"touches: no file matches {text!r}"
        elif reads is not None and not text.startswith("!") and not reads.reads_any(matched):
            remedy = "remove the pattern; if the recording is out of date, run: ratiba record --reads"
            yield scenario.line, f"touches: by its recording the scenario reads no file that {text!r} matches; {remedy}"
