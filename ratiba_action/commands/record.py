"""``ratiba record``: run scenarios with live models and record the answers as recordings."""

import argparse
import contextlib
import json
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TextIO

from ratiba_action.commands.options import add_variant, parse_option
from ratiba_action.config.configuration import load_configuration
from ratiba_action.decide.deciding import DecideRequest, decide, request_of
from ratiba_action.errors import UsageError
from ratiba_action.github.workflow import WorkflowLog
from ratiba_action.llm.recordings.comparison import Kind, render
from ratiba_action.llm.recordings.folder import read_folder
from ratiba_action.llm.recordings.writer import write_all
from ratiba_action.model.answer_origin import Llm
from ratiba_action.model.change import Mode
from ratiba_action.model.scenario import MOST_TRIALS
from ratiba_action.model.verdict import Report
from ratiba_action.privacy.masking import Redactor
from ratiba_action.publish.unmeasured_runs import refuse_wrong_start
from ratiba_action.reporting.money_facts import log_forecast, money_phrase
from ratiba_action.reporting.terminal import make_progress
from ratiba_action.reporting.wording import plural
from ratiba_action.run.estimating import forecast
from ratiba_action.run.evaluation_inputs import read_inputs
from ratiba_action.run.gate import RunOutcome, evaluate
from ratiba_action.run.inputs import Choice, RunInputs, RunLog, RunRequest
from ratiba_action.run.provider_keys import require_key
from ratiba_action.run.recording_review import Candidate, Outcome, Review, review
from ratiba_action.settings.input_values import parse_count
from ratiba_action.settings.run_deadline import read_deadline
from ratiba_action.settings.settings import INPUTS, Input, Settings, read_settings, unknown_variables
from ratiba_action.util.text import printable

DESCRIPTION = """Run scenarios with live models and record what models and judges answer as recordings.
Shows what changes; an existing recording is only replaced with --accept. Exit 1 when something waits for --accept or
is refused, 3 when a scenario did not run to its end."""
EXAMPLE = """example:
  ratiba record --scenario spa_booking_swahili_happy
  ratiba record --tag smoke --accept
  ratiba record --scenario spa_booking_swahili_happy --trials 3"""

DEFAULT_CONCURRENCY = "4"
_INPUTS = frozenset(
    {
        *("config", "scenarios", "budget-usd", "monthly-budget-usd", "anthropic-base-url", "openai-base-url"),
        "report-dir",
    }
)
"""The inputs that a recording reads; the others say how a run is decided about and published."""

Recorder = Callable[[RunInputs, RunLog], RunOutcome]
"""Runs every selected scenario with live models and collects the answers; ``gate.evaluate`` is the real one."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options: the inputs that a live run reads, and those of a person at a terminal."""
    for entry in _inputs():
        parser.add_argument(
            f"--{entry.name}", metavar="VALUE", help=f"{entry.description} ({entry.environment_variable})"
        )
    parser.add_argument("--repo", metavar="DIR", help="the checkout (default: GITHUB_WORKSPACE or this folder)")
    parser.add_argument(
        "--scenario", action="append", default=[], metavar="ID", help="record this one; may be repeated"
    )
    parser.add_argument("--tag", action="append", default=[], metavar="TAG", help="record those with this tag")
    add_variant(parser)
    parser.add_argument("--trials", default="1", metavar="K", help="trials to record of each scenario (default: 1)")
    parser.add_argument("--accept", action="store_true", help="replace existing recordings that differ")
    parser.add_argument("--concurrency", default=DEFAULT_CONCURRENCY, metavar="N", help="scenarios at once")
    parser.add_argument("--deadline", metavar="SECONDS", help="end the run in order after this time (RATIBA_DEADLINE)")
    parser.add_argument("--resume", action="store_true", help="go on with a killed run, and pay for nothing twice")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace, environment: MutableMapping[str, str]) -> int:
    """Record with live models.

    Raises:
        RatibaError: nothing could be recorded.
    """
    return record(arguments, environment, evaluate)


def record(arguments: argparse.Namespace, environment: MutableMapping[str, str], recorder: Recorder) -> int:
    """Record, show what changes, write what may be written, and say the exit code.

    Raises:
        ConfigurationError: an input or a file is wrong; nothing was spent.
        InfrastructureError: there is no key.
        RecordingError: a file cannot be written.
    """
    options: dict[str, str | None] = {entry.name: getattr(arguments, entry.attribute) for entry in _inputs()}
    settings = replace(read_settings(environment, {**options, "llm": Llm.LIVE}), llm=Llm.RECORD)
    stream = sys.stderr if arguments.json else sys.stdout
    if environment.get("GITHUB_ACTIONS") == "true":
        for secret in settings.secrets:
            WorkflowLog(stream).mask(secret)
    redactor = Redactor(settings.secrets)
    request = _request(arguments, environment, settings)
    load_configuration(request.repository, settings.config)
    require_key(settings, environment)
    inputs, log = read_inputs(request), RunLog(make_progress(stream, environment, redactor))
    log.warnings += [f"The variable {name} is set, and no input reads it." for name in unknown_variables(environment)]
    expected = forecast(inputs)
    if expected is not None:
        log_forecast(expected, lambda line: print(printable(line), file=stream, flush=True), log.note)
    kept = _keep(inputs, log, recorder, overwrite=arguments.accept)
    with _plain(stream, environment):
        _tell(kept, redactor, stream)
    if arguments.json:
        sys.stdout.write(json.dumps(_as_json(kept, redactor), indent=2) + "\n")
    return _exit_code(kept)


_AFTER_A_FAILURE = "Fix the code, or change the scenario if the new behaviour is right. Then run the command again."


@dataclass(frozen=True, slots=True)
class _Kept:
    """What came of a run.

    Args:
        written: files of recordings.
        waiting: those that were not replaced, with the place where their new content lies.
    """

    reviewed: Review
    report: Report
    written: Sequence[Path]
    waiting: Mapping[Path, Path]


def _keep(inputs: RunInputs, log: RunLog, recorder: Recorder, *, overwrite: bool) -> _Kept:
    """Record, and write what may be written. Recordings that cannot be read are told before anything is spent."""
    settings, scenarios = inputs.settings, inputs.selection.scenarios
    folder = inputs.recordings
    before = read_folder(folder, [one.id for one in scenarios])
    outcome = recorder(inputs, log)
    results = outcome.report.results
    reviewed = review(
        folder, scenarios, results=results, before=before, recorded=outcome.recorded, secrets=settings.secrets
    )
    beside = Path(settings.report_dir).absolute() / "recordings" / inputs.variant
    held = [one.path for one in reviewed.kept if one.outcome is Outcome.CHANGED and not overwrite]
    waiting = {path: beside / path.name for path in held}
    write_all({waiting.get(one.path, one.path): one.lines for one in reviewed.kept})
    written = [one.path for one in reviewed.kept if one.path not in waiting]
    return _Kept(reviewed, outcome.report, written, waiting)


def _inputs() -> tuple[Input, ...]:
    return tuple(entry for entry in INPUTS if entry.name in _INPUTS)


def _request(arguments: argparse.Namespace, environment: MutableMapping[str, str], settings: Settings) -> RunRequest:
    repository = Path(arguments.repo or environment.get("GITHUB_WORKSPACE") or ".").resolve()
    if not repository.is_dir():
        raise UsageError(f"There is no folder {str(repository)!r}.", "Name the checkout with --repo.")
    event = environment.get("GITHUB_EVENT_PATH")
    place = DecideRequest(repository, environment.get("GITHUB_EVENT_NAME", ""), Path(event) if event else None)
    # Whoever records wants to, whatever has changed.
    decided = decide(replace(request_of(settings, place), floor=Mode.BLOCKING), environment)
    refuse_wrong_start(decided, ())
    return RunRequest(
        settings=settings,
        decided=decided,
        repository=decided.change.git.root if decided.change.git is not None else repository,
        environment=environment,
        choice=Choice(tuple(arguments.scenario), tuple(arguments.tag)),
        concurrency=parse_option("--concurrency", arguments.concurrency, parse_count),
        seconds=parse_option("--deadline", arguments.deadline or "", lambda given: read_deadline(given, environment)),
        resume=arguments.resume,
        variant=arguments.variant,
        trials=parse_option("--trials", arguments.trials, partial(parse_count, most=MOST_TRIALS)),
    )


@contextlib.contextmanager
def _plain(stream: TextIO, environment: Mapping[str, str]) -> Iterator[None]:
    """What models said is never read as a command of the workflow's log."""
    in_workflow = environment.get("GITHUB_ACTIONS") == "true"
    with WorkflowLog(stream).plain() if in_workflow else contextlib.nullcontext():
        yield


def _tell(kept: _Kept, redactor: Redactor, stream: TextIO) -> None:
    lines = [line for one in kept.reviewed.candidates for line in _lines_of(one)]
    lines += [f"note: {note}" for note in kept.report.notes]
    # The commands to copy hold paths, which must stay as they are.
    shown = [*(redactor.text(line) for line in lines), money_phrase(kept.report.spending), *_ending(kept)]
    stream.write("".join(f"{printable(line)}\n" for line in shown))
    stream.flush()


def _lines_of(one: Candidate) -> list[str]:
    if one.outcome is Outcome.UNFINISHED:
        return [f"{one.scenario_id}: not recorded: {one.reason}"]
    if one.outcome is Outcome.FAILED:
        return [f"{one.scenario_id}: not recorded: {one.reason}", f"  {_AFTER_A_FAILURE}"]
    if one.outcome is Outcome.REFUSED:
        return [f"{one.scenario_id}: refused", *(f"  {one.path.name} {finding}" for finding in one.findings)]
    failing = "" if one.passed else "; judged scores are below their thresholds"
    heading = f"{one.scenario_id}: {one.outcome.value}: {one.comparison.summary}{failing}"
    return [heading, *(f"  {line}" for line in render(one.comparison))]


def _ending(kept: _Kept) -> list[str]:
    """What was written, and what to do about the rest."""
    refused = kept.reviewed.having(Outcome.REFUSED)
    if refused:
        return [
            f"Nothing was written: what {plural(len(refused), 'scenario')} recorded must not be kept.",
            "A scenario declares the identifiers that its recording may hold; docs/recordings.md says how.",
        ]
    lines = [f"Written: {path.name}" for path in kept.written]
    if kept.waiting:
        lines.append("Not replaced without --accept. To accept what was recorded now:")
        lines += [f"  cp {shlex.quote(str(place))} {shlex.quote(str(path))}" for path, place in kept.waiting.items()]
    return lines or ["Nothing was written."]


def _exit_code(kept: _Kept) -> int:
    if kept.reviewed.having(Outcome.REFUSED, Outcome.FAILED) or kept.waiting:
        return 1
    return 3 if kept.reviewed.having(Outcome.UNFINISHED) or not kept.reviewed.candidates else 0


def _as_json(kept: _Kept, redactor: Redactor) -> dict[str, object]:
    described = [
        {
            "scenario": one.scenario_id,
            "outcome": one.outcome.value,
            "path": str(one.path),
            "written": one.path in kept.written,
            "waiting": str(kept.waiting[one.path]) if one.path in kept.waiting else None,
            "passed": one.passed,
            **{kind.value: one.comparison.count(kind) for kind in Kind},
            "findings": [str(finding) for finding in one.findings],
            "reason": redactor.text(one.reason),
        }
        for one in kept.reviewed.candidates
    ]
    return {"recordings": described, "spent_usd": str(kept.report.spending.spent)}
