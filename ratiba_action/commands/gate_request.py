"""What the options of a run ask for: the change to decide about, and the scenarios to run."""

from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass, replace
from pathlib import Path

from ratiba_action.commands.gate_options import GateOptions
from ratiba_action.decide.deciding import DecideChange, DecideRequest, event_of, request_of
from ratiba_action.errors import UsageError
from ratiba_action.history.files import NO_BASELINE, read_named_baseline
from ratiba_action.model.change import Mode
from ratiba_action.run.authority import authorized
from ratiba_action.run.earlier_runs import AUTO, NONE
from ratiba_action.run.inputs import Choice, RunRequest
from ratiba_action.settings.settings import Settings
from ratiba_action.verdict.trials import Standing, outcomes_of

_SELECTING = ("scenarios", "tags", "failed", "affected")
"""Options that select scenarios."""

_OTHERS = "Run: ratiba gate. Or name scenarios with --scenario."


@dataclass(frozen=True, slots=True)
class AskedRun:
    """A run that somebody asked for.

    Args:
        request: with the settings that it may use.
        problems: what is wrong with rules, event, baseline and the file for one, where somebody has named them.
    """

    request: RunRequest
    problems: tuple[str, ...]


def asked_run(
    options: GateOptions, environment: MutableMapping[str, str], settings: Settings, decide_change: DecideChange
) -> AskedRun:
    """The run that is asked for, and all that is wrong with it, before anything is run.

    Raises:
        UsageError: options cannot be used together; or as ``run_request`` does.
    """
    _refuse_contradictions(options, settings)
    request = authorized(run_request(options, environment, settings, decide_change))
    decided = request.decided
    problems = (
        *decided.wrong_rules,
        *(decided.wrong_event if options.event else ()),  # one that a runner left is only a doubt about the mode
        *_problems_of_file(options.baseline_out),
        *_problems_of_baseline(request),
    )
    return AskedRun(request, problems)


def run_request(
    options: GateOptions, environment: MutableMapping[str, str], settings: Settings, decide_change: DecideChange
) -> RunRequest:
    """The request of the run, with the decision about the change.

    Raises:
        UsageError: there is no such checkout, no last run, or every scenario passed in it.
    """
    repository = _checkout(options.repo, environment)
    event = event_of(environment, repository, options.event or None, options.event_name or None)
    decided = decide_change(_decide_request(event, settings, _selecting(options)), environment)
    if options.watch:
        # Each run is compared with the one before; a run of the base would take as long again.
        decided = replace(decided, change=decided.change.without_base)
    return RunRequest(
        settings=settings,
        decided=decided,
        repository=decided.change.git.root if decided.change.git is not None else repository,
        environment=environment,
        choice=_chosen_scenarios(options, settings),
        concurrency=options.concurrency,
        trials=options.trials,
        seconds=options.seconds,
        resume=options.resume,
        variant=options.variant,
        cache=options.judge_cache,
        variants=options.variants,
        dry_run=options.dry_run,
        shard_reports=_reports(options.folders, settings.shards),
    )


def _checkout(repo: str, environment: Mapping[str, str]) -> Path:
    """The folder that was named, the environment's, or the current one; raises UsageError where there is none."""
    found = Path(repo or environment.get("GITHUB_WORKSPACE") or ".").resolve()
    if not found.is_dir():
        raise UsageError(f"There is no folder {str(found)!r}.", "Give the checkout with --repo.")
    return found


def _reports(folders: tuple[str, ...], shards: str) -> tuple[str, ...]:
    """Folders of the reports that are to be merged, by arguments or by input; empty for a run."""
    return folders or ((shards,) if shards else ())


def _refuse_contradictions(options: GateOptions, settings: Settings) -> None:
    """Refuse options that cannot be used together."""
    merges, shard = _reports(options.folders, settings.shards), settings.shard
    if shard is not None and options.folders:
        raise UsageError(f"RATIBA_SHARD is {str(shard)!r}, and a merge is of all shards.", "Unset RATIBA_SHARD.")
    if shard is not None or merges:
        # They need the results of the whole suite in one process.
        given = {
            "--failed": options.failed,
            "--affected": options.affected,
            "--variants": options.variants,
            "--watch": options.watch,
            "--baseline-out": shard is not None and options.baseline_out is not None,
            "--resume": shard is None and options.resume,
        }
        if named := [name for name, value in given.items() if value]:
            remedy = f"Remove {'it' if len(named) == 1 else 'them'}."
            raise UsageError(f"{' and '.join(named)} cannot be used with shards.", remedy)
    if options.variants and (options.variant or options.resume):
        raise UsageError("--variants runs all variants from the start.", "Remove --variant and --resume.")


def _selecting(options: GateOptions) -> str:
    """The options that select scenarios, in words; empty for none."""
    return " and ".join(f"--{name.removesuffix('s')}" for name in _SELECTING if getattr(options, name))


def _decide_request(event: DecideRequest, settings: Settings, selecting: str) -> DecideRequest:
    """The input of the decision. Selected scenarios run whatever has changed."""
    from ratiba_action.github.clients import by_pygithub

    floor = Mode.BLOCKING if selecting else settings.mode
    return replace(
        request_of(settings, event),
        floor=floor if floor is not Mode.SKIP else None,
        floor_why=f"{selecting} selects the scenarios to run" if selecting else "",
        connect=by_pygithub,
    )


def _problems_of_file(out: Path | None) -> tuple[str, ...]:
    """Why the baseline cannot be written."""
    if out is None or not (out.is_dir() or not out.absolute().parent.is_dir()):
        return ()
    wrong = "is a folder" if out.is_dir() else "lies in a folder that does not exist"
    return (f"--baseline-out: {str(out)!r} {wrong}. Give a file in a folder that exists.",)


def _problems_of_baseline(request: RunRequest) -> tuple[str, ...]:
    """Why a baseline that somebody has named cannot be compared with.

    What the change itself edits there is no mistake of theirs: it is read as the base has it, or the run is incomplete.
    """
    named, change = request.settings.baseline, request.decided.change
    if named in (AUTO, NONE):
        return ()
    found = read_named_baseline(named, request.repository, change.files, git=change.git, pooled=1)
    if found.runs or found.lost is not None:
        return ()
    wrong = [note.removeprefix(NO_BASELINE) for note in found.notes if note.startswith(NO_BASELINE)]
    remedy = "Name results of an earlier run, or give auto or none."
    return tuple(f"baseline (RATIBA_BASELINE): {why} {remedy}" for why in wrong)


def _chosen_scenarios(options: GateOptions, settings: Settings) -> Choice:
    """The selected scenarios and tags, including the scenarios of --failed."""
    failed = _not_passed(Path(settings.report_dir) / "results.json") if options.failed else ()
    return Choice((*options.scenarios, *failed), options.tags, options.affected)


def _not_passed(results: Path) -> list[str]:
    """Ids of the scenarios that did not pass in the last run."""
    from ratiba_action.reporting.results_json import load_report

    try:
        report = load_report(results.read_bytes())
    except FileNotFoundError as error:
        raise UsageError(f"There is no report of a last run: {str(results)!r} does not exist.", _OTHERS) from error
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise UsageError(f"The last run's {str(results)!r} cannot be read: {why}.", _OTHERS) from error
    if not report.results:
        raise UsageError(f"The last run in {str(results)!r} measured nothing.", _OTHERS)
    ids = sorted(
        {outcome.scenario.id for outcome in outcomes_of(report.results) if outcome.standing is not Standing.PASSED}
    )
    if not ids:
        raise UsageError(f"Every scenario of the last run in {str(results)!r} passed.", _OTHERS)
    return ids
