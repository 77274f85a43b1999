"""Reports of many runs without what was said, which takes most of the time that a ``results.json`` takes to read.

A history asks for scores and whether checks pass. What lies between the scenario and the checks of a result is passed
over, and so are the judge's words, where the file has the form that ``results_json`` writes. A row of any other form
is read in full.
"""

import json
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from typing import TypeVar

from ratiba_action.errors import ConfigurationError
from ratiba_action.model.codec import RepeatedRecords, decode
from ratiba_action.model.conversation import Transcript
from ratiba_action.model.measurement import Check, ScenarioResult, Score, Scored
from ratiba_action.model.plan import Arm, Trial
from ratiba_action.model.scenario import Scenario
from ratiba_action.model.verdict import Report
from ratiba_action.reporting.results_file import MAX_BYTES
from ratiba_action.reporting.results_json import load_report, unpacked

_RESULTS, _END, _BETWEEN = b'\n  "results": [\n   ', b"\n  ]", ",\n   "
_TRANSCRIPT, _CHECKS, _SCORES = '}, "transcript": {', ', "checks": ', ', "scores": ['
_TEXT, _VALUE = r'"[^"\\]*(?:\\.[^"\\]*)*"', r"[0-9](?:\.[0-9]+)?(?:e-[0-9]+)?"
_SCORED = re.compile(
    rf'\{{"outcome": "scored", "eval_fail": (?:true|false), "trial": \{{"scenario": (?=\{{"id": ({_TEXT}))'
)
_SCORE = re.compile(
    rf'\{{"metric": "([^"\\]*)", "version": "([^"\\]*)", "value": ({_VALUE}), "threshold": ({_VALUE}), '
    rf'"judged": (true|false), "reason": {_TEXT}, '
    rf'"invariants": \[(?:\{{"name": {_TEXT}, "satisfied": (?:true|false), "detail": {_TEXT}\}}(?:, )?)*\], '
    r'"cached": (true|false), "votes": \[\], "voters": \[\], "answered_by": \[\]\}(?:, |(\], "seconds": ))'
)
"""A score without votes, and whether it is the last one."""
_VOTES = re.compile(rb'"votes":\s*\[\s*[^\s\]]')
_MAX_KNOWN, _MAX_KEPT = 20_000, 1 << 14
"""Texts that are kept with what they were read as, and characters of each: a file decides neither about memory."""
Read = TypeVar("Read")
_scan = json.JSONDecoder().raw_decode


class MeasuredReports:
    """Reads one report after another; what runs of one suite repeat is decoded once."""

    def __init__(self) -> None:
        self._repeated = RepeatedRecords()
        self._scenarios: dict[str, tuple[str, Scenario]] = {}
        self._trials: dict[str, tuple[Arm, int]] = {}
        self._checks: dict[str, tuple[Check, ...]] = {}

    def summary(self, content: bytes) -> Report:
        """Everything about a run but its results.

        Args:
            content: of a ``results.json``, or of a ``results.json.gz``.

        Raises:
            ConfigurationError: it holds no report; says why.
        """
        content = unpacked(content, MAX_BYTES)
        rows = _ends(content)
        return replace(load_report(content), results=()) if rows is None else _summary(content, rows)

    def report(self, content: bytes, digests: Collection[str] | None = None) -> Report:
        """The same with its results: of a trial that ran to its end without its transcript and a judge's reasons.

        Args:
            content: as ``summary`` takes it.
            digests: of the scenarios whose results are wanted; None for all of them. Others may be left out.

        Raises:
            ConfigurationError: it holds no report; says why. What is passed over is not looked at.
        """
        content = unpacked(content, MAX_BYTES)
        rows = _ends(content)
        if rows is None:
            return load_report(content, repeated=self._repeated)
        report, found = _summary(content, rows), content[slice(*rows)].decode("ascii").split(_BETWEEN)
        if digests is not None:
            ids = {json.dumps(name) for name, digest in report.scenario_digests.items() if digest in digests}
            found = [row for row in found if (begins := _SCORED.match(row)) is None or begins[1] in ids]
        try:
            return replace(report, results=tuple(self._results(found)))
        except (ValueError, RecursionError) as error:  # of JSON, and of the codec
            raise ConfigurationError(f"results.json could not be read: {error}") from error

    def has_votes(self, content: bytes) -> bool:
        """Whether a score of a run may have votes; False where none has any.

        Args:
            content: as ``summary`` takes it.

        Raises:
            ConfigurationError: it cannot be unpacked.
        """
        return _VOTES.search(unpacked(content, MAX_BYTES)) is not None

    def _results(self, rows: list[str]) -> Iterator[ScenarioResult]:
        for number, row in enumerate(rows):
            path = f"$.report.results[{number}]"
            scored = self._scored(row, path)
            yield decode(ScenarioResult, json.loads(row), path, repeated=self._repeated) if scored is None else scored

    def _scored(self, row: str, path: str) -> Scored | None:
        """The trial in a row; None where it did not run to its end, or the row has another form."""
        begins = _SCORED.match(row)
        # A quotation mark inside a text has a backslash before it, and neither checks nor what follows them has such a
        # key: the last one is that of the result itself, whatever a tool of the system has returned.
        checks, scores = row.rfind(_CHECKS), row.rfind(_SCORES)
        if begins is None or not 0 < checks < scores:
            return None
        found = _scores(row, scores + len(_SCORES))
        if found is None:
            return None
        scenario, after = self._scenario(row, begins.end(), begins[1], path)
        ends = row.find(_TRANSCRIPT, after, checks)
        if ends < 0:
            return None
        arm, number = _once(self._trials, row[after:ends], lambda text: _arm_and_number(text, path))
        passed = _once(
            self._checks,
            row[checks + len(_CHECKS) : scores],
            lambda text: decode(tuple[Check, ...], json.loads(text), f"{path}.checks"),
        )
        return Scored(Trial(scenario, arm, number), Transcript(scenario.id, ()), passed, found, 0.0)

    def _scenario(self, row: str, begins: int, name: str, path: str) -> tuple[Scenario, int]:
        """The scenario that begins at a place of a row, and where it ends."""
        known = self._scenarios.get(name)
        if known is None or not row.startswith(known[0], begins):
            value, end = _scan(row, begins)
            scenario = decode(Scenario, value, f"{path}.trial.scenario", repeated=self._repeated)
            if end - begins > _MAX_KEPT or len(self._scenarios) >= _MAX_KNOWN:
                return scenario, end
            known = self._scenarios[name] = (row[begins:end], scenario)
        return known[1], begins + len(known[0])


def _once(known: dict[str, Read], text: str, read: Callable[[str], Read]) -> Read:
    """What a text is read as; it is read where it is the first of its kind, or too long to be kept."""
    if len(text) > _MAX_KEPT:
        return read(text)
    if text not in known:
        if len(known) >= _MAX_KNOWN:
            known.clear()
        known[text] = read(text)
    return known[text]


def _arm_and_number(text: str, path: str) -> tuple[Arm, int]:
    found = json.loads(f'{{"scenario": null{text}}}')
    number = decode(int, found.get("number"), f"{path}.trial.number")
    return decode(Arm, found.get("arm"), f"{path}.trial.arm"), number


def _scores(row: str, at: int) -> tuple[Score, ...] | None:
    """The scores that begin at a place of a row; None where there is none, one has votes, or the row another form."""
    scores = list[Score]()
    while found := _SCORE.match(row, at):
        metric, version, value, threshold, judged, cached, last = found.groups()
        score = Score(metric, version, float(value), float(threshold), judged=judged == "true", cached=cached == "true")
        scores.append(score)
        at = found.end()
        if last:
            return tuple(scores)
    return None


def _summary(content: bytes, rows: tuple[int, int]) -> Report:
    return load_report(content[: rows[0]] + content[rows[1] :])


def _ends(content: bytes) -> tuple[int, int] | None:
    """Where the rows of results begin and end; None where they do not stand in rows of their own.

    No string of JSON has a line's end in it, so that what is found here is no part of one.
    """
    begins = content.find(_RESULTS)
    ends = content.find(_END, begins)
    return None if begins < 0 or ends < 0 or not content.isascii() else (begins + len(_RESULTS), ends)
