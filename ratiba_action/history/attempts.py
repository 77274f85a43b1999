"""Earlier attempts of the same run: a red run that is run again adds its data instead of replacing it."""

import itertools
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from ratiba_action.errors import RatibaError
from ratiba_action.history.artifacts import mapping_of, results_in
from ratiba_action.model.answer_origin import AnswerOrigin
from ratiba_action.model.comparison import MeasuredRun
from ratiba_action.model.values import JsonObject
from ratiba_action.model.verdict import Conclusion, Report
from ratiba_action.ports import GithubRepository
from ratiba_action.reporting.results_file import MAX_BYTES
from ratiba_action.util.locked_folder import read_plain_file

_MAX_ATTEMPTS = 10
_RESULTS = "results.json"
_KEPT = "attempts"
_ASKED_ANEW = frozenset({AnswerOrigin.LIVE, AnswerOrigin.MIXED})
"""Replayed answers are the same ones in every attempt: counted twice they would pass for more data."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """What an earlier attempt must share with this one.

    Args:
        commit: that the work tree is equal to; empty where it has changes of its own, which nothing else shares.
        run_id: of the workflow run; 0 on a laptop.
        run_attempt: of this one, from 1.
        resumed: this one goes on with a run that was ended; what that run has left is this one's own data.
    """

    gate: str
    commit: str
    suite_digest: str
    judge_model: str
    run_id: int = 0
    run_attempt: int = 1
    resumed: bool = False

    def is_added_to(self, report: Report) -> bool:
        """Whether a report measured the same and asked for its answers anew."""
        subject = report.subject
        ours = (self.gate, self.commit, self.suite_digest, self.judge_model, self.run_id)
        theirs = (report.name, report.commit, report.suite_digest, report.judge_model, subject.run_id)
        earlier = not self.run_id or subject.run_attempt < self.run_attempt
        return bool(self.commit) and ours == theirs and earlier and report.llm in _ASKED_ANEW


def attempts_in_folder(folder: Path, attempt: Attempt) -> tuple[MeasuredRun, ...]:
    """The runs before this one in the report directory, the last and those that were kept, that measured the same."""
    last = _read(folder, _RESULTS)
    contents = [] if _is_resumed(last, attempt) else [last]
    if _is_plain(folder / _KEPT):
        names = sorted((path.name for path in (folder / _KEPT).glob("*.json")), reverse=True)
        contents += [_read(folder / _KEPT, name) for name in names[:_MAX_ATTEMPTS]]
    return _added(contents, attempt)


def keep_attempt(folder: Path, attempt: Attempt) -> None:
    """Put the last run's results aside before they are overwritten; forgotten where it measured something else."""
    content, kept = _read(folder, _RESULTS), folder / _KEPT
    if kept.is_symlink() or _is_resumed(content, attempt):
        return  # nothing is written past a link
    began = _began(content) if _may_be_added(content, attempt) else None
    try:
        if began is None:
            for path in kept.glob("*.json"):
                path.unlink()
            return
        kept.mkdir(exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        with os.fdopen(os.open(kept / f"{began:%Y%m%dT%H%M%S%f}.json", flags, 0o644), "wb") as file:
            file.write(content)
    except OSError:
        return  # it was kept before, or is lost: a run with less data says less, and never something else


def _may_be_added(content: bytes, attempt: Attempt) -> bool:
    """Whether results name what the attempt measures, by a look that costs a fraction of reading the whole report."""
    report = _plain_report(content)
    ours = (attempt.gate, attempt.commit, attempt.suite_digest, attempt.judge_model)
    theirs = tuple(report.get(name) for name in ("name", "commit", "suite_digest", "judge_model"))
    llm = report.get("llm")
    return bool(attempt.commit) and ours == theirs and isinstance(llm, str) and llm in _ASKED_ANEW


def _began(content: bytes) -> datetime | None:
    """When the run of these results began; None where they do not say."""
    try:
        return datetime.fromisoformat(str(_plain_report(content).get("started_at")))
    except ValueError:
        return None


def _plain_report(content: bytes) -> JsonObject:
    """The report as plain JSON; empty where there is none."""
    try:
        report = json.loads(content)["report"]
    except (ValueError, RecursionError, KeyError, TypeError):
        return {}
    return report if isinstance(report, dict) else {}


def _is_resumed(content: bytes, attempt: Attempt) -> bool:
    """Whether results are those of the run that is gone on with: one that has its verdict is not."""
    if not attempt.resumed:
        return False
    from ratiba_action.history.results import load_baseline

    try:
        return load_baseline(content).verdict.conclusion is Conclusion.INCOMPLETE
    except RatibaError:
        return False


def _read(folder: Path, name: str) -> bytes:
    """A file's bytes; none of what is missing or no plain file."""
    try:
        return read_plain_file(folder, name, MAX_BYTES)
    except OSError:
        return b""


def _is_plain(folder: Path) -> bool:
    return folder.is_dir() and not folder.is_symlink()


def attempts_on_github(github: GithubRepository, attempt: Attempt) -> tuple[MeasuredRun, ...]:
    """What earlier attempts of a workflow run have left, by the name that the workflow gives their reports.

    Raises:
        GithubError: GitHub could not be asked.
    """
    if attempt.run_attempt <= 1 or not attempt.run_id:
        return ()
    rows = map(mapping_of, github.artifacts_of_run(attempt.run_id, f"{attempt.gate}-report"))
    kept = (row["id"] for row in rows if isinstance(row.get("id"), int) and row.get("expired") is False)
    contents = []
    for number in itertools.islice(kept, _MAX_ATTEMPTS):
        archive = github.download_artifact(number)
        try:
            contents.append(results_in(archive))
        except RatibaError:
            continue  # an attempt that died left something else
    return _added(contents, attempt)


def _confirming(report: Report) -> dict[str, tuple[tuple[float, ...], tuple[float, ...]]]:
    """What an attempt measured on both arms to confirm a drop; of the base nothing else is kept of it."""
    scenarios = report.verdict.comparison.scenarios if report.verdict.comparison is not None else ()
    return {
        scenario.scenario_id: (scenario.confirming_base, scenario.confirming_head)
        for scenario in scenarios
        if scenario.confirming_base and scenario.confirming_head
        if all(0 <= value <= 1 for value in (*scenario.confirming_base, *scenario.confirming_head))
    }


def _added(contents: Iterable[bytes], attempt: Attempt) -> tuple[MeasuredRun, ...]:
    """Each attempt once, in order; what cannot be read adds nothing, and was reported when it was written."""
    runs: dict[str, MeasuredRun] = {}
    for content in contents:
        try:
            if not _may_be_added(content, attempt):
                continue
            from ratiba_action.history.results import load_baseline, measured_run  # with earlier attempts alone

            report = load_baseline(content)
            if attempt.is_added_to(report):
                # On a laptop every attempt is the first, and only its time distinguishes it.
                name = report.subject.run_attempt if attempt.run_id else report.started_at.isoformat()
                runs.setdefault(
                    str(name), replace(measured_run(report), confirming=_confirming(report), merges=report.merges)
                )
        except RatibaError:
            continue
    return tuple(_confirming_once(sorted(runs.values(), key=lambda run: run.started_at)))


def _confirming_once(runs: Sequence[MeasuredRun]) -> list[MeasuredRun]:
    """The runs, of each scenario only the last one's confirming trials: they include those of the attempts before."""
    known: set[str] = set()
    found: list[MeasuredRun] = []
    for run in reversed(runs):
        found.append(replace(run, confirming={name: run.confirming[name] for name in run.confirming.keys() - known}))
        known |= run.confirming.keys()
    return found[::-1]
