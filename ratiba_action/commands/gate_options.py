"""What somebody asks of a run of the gate: by ``ratiba gate``, ``merge``, ``dataset run``, or ``gate --watch``."""

import argparse
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ratiba_action.commands.options import count_option, parse_option
from ratiba_action.model.scenario import MAX_TRIALS
from ratiba_action.settings.run_deadline import read_deadline
from ratiba_action.settings.settings import INPUTS


@dataclass(frozen=True, slots=True, kw_only=True)
class GateOptions:
    """Options of a run; nothing below a command's ``run`` sees what ``argparse`` has parsed.

    Args:
        inputs: inputs of the action that the command line gives, by name; the others come from the environment.
        event: file with the event's payload; empty for the environment's.
        event_name: empty for the environment's.
        repo: folder of the checkout; empty for the environment's, or the current one.
        scenarios: ids of the scenarios to run; with ``tags``, empty for all.
        tags: run the scenarios with one of these.
        failed: run the scenarios that did not pass in the last run.
        affected: run only those of them whose outcome the change may alter.
        variant: of the system, instead of the system itself.
        variants: run all of them too, for comparison.
        concurrency: scenarios at a time; None for the configuration's.
        trials: minimum of each scenario.
        seconds: that the run may take; None for any number.
        resume: continue a killed run.
        judge_cache: use cached scores of judges.
        clear_judge_cache: delete them first.
        baseline_out: also write ``results.json`` there.
        json: print the outputs as JSON.
        watch: run again after each save.
        view: with ``watch``, show each run in a browser.
        dry_run: show mode, plan and costs; run nothing.
        verbosity: 1 for the comment and all scenarios on a terminal too, -1 for the verdict alone.
        folders: reports of shards, which are merged; empty for a run.
    """

    inputs: Mapping[str, str] = field(default_factory=dict)
    event: str = ""
    event_name: str = ""
    repo: str = ""
    scenarios: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    failed: bool = False
    affected: bool = False
    variant: str = ""
    variants: bool = False
    concurrency: int | None = None
    trials: int = 1
    seconds: float | None = None
    resume: bool = False
    judge_cache: bool = True
    clear_judge_cache: bool = False
    baseline_out: Path | None = None
    json: bool = False
    watch: bool = False
    view: bool = False
    dry_run: bool = False
    verbosity: int = 0
    folders: tuple[str, ...] = ()


def read_options(arguments: argparse.Namespace, environment: Mapping[str, str]) -> GateOptions:
    """The options of a command, which may lack some of them.

    Args:
        arguments: of ``gate``, ``merge``, ``dataset run`` or ``explain``.
        environment: of the process; has the time that the run may take where the command line does not say it.

    Raises:
        UsageError: a number is wrong.
    """
    given = vars(arguments)
    inputs = {entry.name: given.get(entry.attribute) for entry in INPUTS}
    concurrency, trials, out = (given.get(name) for name in ("concurrency", "trials", "baseline_out"))
    return GateOptions(
        inputs={name: text for name, text in inputs.items() if text is not None},
        event=given.get("event") or "",
        event_name=given.get("event_name") or "",
        repo=given.get("repo") or "",
        scenarios=tuple(given.get("scenario") or ()),
        tags=tuple(given.get("tag") or ()),
        failed=given.get("failed", False),
        affected=given.get("affected", False),
        variant=given.get("variant") or "",
        variants=given.get("variants", False),
        concurrency=None if concurrency is None else count_option("--concurrency", concurrency),
        trials=1 if trials is None else count_option("--trials", trials, MAX_TRIALS),
        seconds=parse_option("--deadline", given.get("deadline") or "", lambda text: read_deadline(text, environment)),
        resume=given.get("resume", False),
        judge_cache=not given.get("no_deepeval_cache", False),
        clear_judge_cache=given.get("deepeval_cache_clear", False),
        baseline_out=Path(out) if out else None,
        json=given.get("json", False),
        watch=given.get("watch", False),
        view=given.get("view", False),
        dry_run=given.get("dry_run", False),
        verbosity=given.get("verbosity", 0),
        folders=tuple(given.get("folders") or ()),
    )
