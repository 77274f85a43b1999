"""``ratiba gate --watch``: after each save, runs the scenarios again that depend on it, and prints what changed.

Each run is a fork of this process, which has everything loaded, so that it is in all else the run that a person starts.
What takes long to start, and would be the same again, is kept for all of them: the fork servers with the system's
libraries, a database server, and DeepEval. Files, templates and tenants are each run's own.
"""

import asyncio
import contextlib
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, Self

from ratiba_action.commands.gate_options import GateOptions
from ratiba_action.commands.gate_run import inputs_of
from ratiba_action.commands.gate_run import run as run_gate
from ratiba_action.commands.view import serving_beside
from ratiba_action.config.configuration import load_configuration
from ratiba_action.decide.base_recordings import observed_at_base
from ratiba_action.decide.contents import Contents
from ratiba_action.decide.observed_files import ObservedFiles
from ratiba_action.errors import RatibaError, UsageError
from ratiba_action.model.answer_origin import Llm
from ratiba_action.model.change import Mode
from ratiba_action.model.reads import Reads
from ratiba_action.model.scenario import Scenario
from ratiba_action.publish.annotations import problems_of
from ratiba_action.reporting.results_json import load_report
from ratiba_action.reporting.summary import ScenarioRow, summarise
from ratiba_action.run.arms import scratch_folder
from ratiba_action.run.composition import open_kept
from ratiba_action.run.evaluation_inputs import read_suite, tests_of
from ratiba_action.settings.settings import Settings
from ratiba_action.suite.affected import depends_on
from ratiba_action.suite.team_tests import with_tests
from ratiba_action.util.git import Git
from ratiba_action.util.interruption import CancelledBySignal, Interruption, current
from ratiba_action.util.text import clip, few, plural, printable_lines

if TYPE_CHECKING:
    from ratiba_action.run.inputs import Kept

_POLL_SECONDS = 0.2
_MAX_NAMES = 3
_LINE = 300
Files = Mapping[str, tuple[int, int]]
"""Time of change in nanoseconds and size in bytes by path from the repository's root."""


@dataclass(frozen=True, slots=True)
class WatchedOutcome:
    """How a scenario ended.

    Args:
        ended: in a word or two.
        why: what failed first; empty where nothing did.
    """

    ended: str
    why: str


def run(options: GateOptions, environment: MutableMapping[str, str], settings: Settings) -> int:
    """Watch until a signal ends it.

    Args:
        options: of ``ratiba gate``; each run gets them, with the scenarios that an edit concerns.

    Raises:
        UsageError: an option does not go with ``--watch``, or this is a job in CI.
        InfrastructureError: the folder is in no git repository.
    """
    # A run again and again makes no sense of these.
    refused = {
        "--dry-run": options.dry_run,
        "--json": options.json,
        "--variants": options.variants,
        "--resume": options.resume,
        "--event": options.event,
        "--failed": options.failed,
        "--baseline-out": options.baseline_out,
    }
    if given := [name for name, value in refused.items() if value]:
        raise UsageError(f"--watch does not take {', '.join(given)}.", "Run the gate without --watch.")
    if any(environment.get(name) for name in ("GITHUB_ACTIONS", "GITLAB_CI", "CI")):
        raise UsageError("--watch is for a person at a terminal, not for a job in CI.", "Remove --watch.")
    git = Git(Path(options.repo or "."), environment)
    try:
        # Before anything else is started: the process is forked for it.
        shown = serving_beside(git.root, settings, environment) if options.view else contextlib.nullcontext()
        with current().raising(), shown, scratch_folder() as scratch, _Services(scratch) as services:
            _Watch(options, environment, settings, git, services=services).go_on()
    except CancelledBySignal:
        sys.stdout.write("\n")
        return 0


class _Services:
    """What is kept started between runs, by an event loop of its own that runs only while something starts or ends."""

    def __init__(self, scratch: Path) -> None:
        self._scratch, self._runner, self._stack = scratch, asyncio.Runner(), AsyncExitStack()
        self.kept: Kept | None = None

    def start(self, options: GateOptions, environment: MutableMapping[str, str]) -> None:
        """Start them anew; where that is not possible, the run itself will say why."""
        self.close()
        with self._threads(), contextlib.suppress(RatibaError, OSError):
            opened = open_kept(inputs_of(options, environment), self._scratch)
            self.kept = self._runner.run(self._stack.enter_async_context(opened))

    def close(self) -> None:
        """End them."""
        self.kept = None
        with self._threads():
            self._runner.run(self._stack.aclose())

    @contextmanager
    def _threads(self) -> Iterator[None]:
        """Threads for the event loop that end with this: the process is forked afterwards."""
        with ThreadPoolExecutor() as threads:
            self._runner.get_loop().set_default_executor(threads)
            yield

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.close()
        finally:
            with self._threads():  # what a signal has interrupted ends too
                self._runner.close()


class _Watch:
    """What is known between two runs."""

    def __init__(
        self,
        options: GateOptions,
        environment: MutableMapping[str, str],
        settings: Settings,
        git: Git,
        *,
        services: _Services,
    ) -> None:
        self._options, self._environment, self._settings, self._git = options, environment, settings, git
        self._report = Path(settings.report_dir).resolve()
        self._asked = options.scenarios
        self._known: dict[str, WatchedOutcome] = {}
        self._left = settings.budget_usd
        self._services, self._renew = services, False

    def go_on(self) -> NoReturn:
        """Run everything that is asked for, then what each save concerns; never returns."""
        files = self._files()
        _print(f"Watching {plural(len(files), 'file')}; Ctrl-C ends.")
        self._start()
        self._run(self._asked)
        while True:
            if self._renew:
                self._start()
            time.sleep(_POLL_SECONDS)
            if not (edited := _edited(files, now := self._files())):
                continue
            while (later := self._files()) != now:  # an editor or a tool that is still writing
                edited, now = [*edited, *_edited(now, later)], later
                time.sleep(_POLL_SECONDS)
            files = now
            self._concern(sorted({*edited}))

    def _start(self) -> None:
        self._services.start(self._given(self._asked), self._environment)
        self._renew = False

    def _files(self) -> Files:
        """What git tracks or would, without the reports of the runs."""
        root, found = self._git.root, dict[str, tuple[int, int]]()
        for name in (*self._git.index(), *self._git.untracked()):
            path = root / name
            try:
                facts = path.lstat()
            except OSError:
                continue
            if self._report not in path.parents:
                found[name] = (facts.st_mtime_ns, facts.st_size)
        return found

    def _concern(self, edited: Sequence[str]) -> None:
        """Run the scenarios that depend on edited files."""
        _print(f"\n{few(edited, _MAX_NAMES)}:")
        chosen = self._chosen(edited)
        if chosen is not None and not chosen:
            _print("  no scenario depends on it.")
        else:
            self._run(self._asked if chosen is None else chosen)

    def _chosen(self, edited: Sequence[str]) -> Sequence[str] | None:
        """Ids of the scenarios to run; None for all, also where the scenarios cannot be read: the run says why."""
        if self._settings.config in edited:
            return None
        folder = self._settings.scenarios
        try:
            scenarios = self._scenarios()
        except RatibaError:
            return None
        self._known = {each.id: self._known[each.id] for each in scenarios if each.id in self._known}
        seen = self._observed()
        concerned: dict[str, None] = {}
        for path in edited:
            reading = [each for each in scenarios if depends_on(each, path, folder, seen(each.id))]
            # What no system reads may be the gate's to read, such as a metric.
            for each in reading or (one for one in scenarios if depends_on(one, path, folder)):
                concerned[each.data_set or each.id] = None
        tags = set(self._options.tags)
        asked = {
            each.data_set or each.id
            for each in scenarios
            if not (self._asked or tags) or {each.id, each.data_set} & {*self._asked} or each.tags & tags
        }
        return [name for name in concerned if name in asked]

    def _observed(self) -> Callable[[str], Reads | None]:
        """What the scenarios of the last commit were seen to read; what is edited meanwhile is not known of it."""
        try:
            with Contents(self._git, self._git.commit("HEAD"), None) as contents:
                return observed_at_base(contents, [self._settings.scenarios], []).of
        except RatibaError:
            return ObservedFiles().of

    def _scenarios(self) -> Sequence[Scenario]:
        """Those of the files, and the repository's own tests that the configuration names."""
        root, settings = self._git.root, self._settings
        configuration = load_configuration(root, settings.config)
        _, suite = read_suite(root, settings, configuration)
        return with_tests(suite, tests_of(configuration, root, settings.config))[0].scenarios

    def _run(self, scenarios: Sequence[str]) -> None:
        began, before, may_spend = time.monotonic(), self._written(), self._left
        with tempfile.TemporaryFile() as output:
            code = self._fork(scenarios, output.fileno())
            output.seek(0)
            printed = output.read().decode("utf-8", "replace")
        seconds, kept = time.monotonic() - began, self._services.kept
        self._renew = kept is None or bool(kept.missed[0])
        if self._written() == before:
            self._renew |= code != _MISCONFIGURED
            # What a run spent that left no results is not known; one that was misconfigured spent nothing.
            self._left = may_spend if code == _MISCONFIGURED else Decimal(0)
            sys.stdout.write(printable_lines(printed))
            sys.stdout.flush()
            return
        report = load_report((self._report / "results.json").read_bytes())
        self._left = may_spend - report.spending.spent
        if not report.results:
            self._renew = True
            for line in report.verdict.warnings or (f"{report.verdict.reason} {report.verdict.action}".rstrip(),):
                _print(f"  {line}")
            return
        rows = summarise(report).scenarios
        outcomes = {row.name: WatchedOutcome(row.ended, clip(_first_problem(row), _LINE)) for row in rows}
        for line in changes(self._known, outcomes):
            _print(f"  {line}")
        self._known |= outcomes
        passed = sum(each.ended == "passed" for each in self._known.values())
        spent = f", USD {report.spending.spent:.4f}" if report.spending.spent else ""
        _print(f"  {plural(len(outcomes), 'scenario')} in {seconds:.1f} s{spent}; {passed} of {len(self._known)} pass.")

    def _written(self) -> int:
        """When the last run's results were written, in nanoseconds; 0 where there are none."""
        try:
            return (self._report / "results.json").stat().st_mtime_ns
        except OSError:
            return 0

    def _fork(self, scenarios: Sequence[str], output: int) -> int:
        """The exit code of a run in a process of its own, which prints to a file."""
        child = os.fork()
        if not child:
            code = _FAILED
            try:
                Interruption().install()
                os.dup2(output, 1)
                os.dup2(output, 2)
                code = self._gate(scenarios)
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)
        try:
            return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        except CancelledBySignal:
            os.kill(child, signal.SIGTERM)
            os.waitpid(child, 0)
            raise

    def _gate(self, scenarios: Sequence[str]) -> int:
        try:
            return run_gate(self._given(scenarios), self._environment, kept=self._services.kept)
        except RatibaError as error:
            sys.stderr.write(f"ratiba: {error}\n")
            return error.exit_code

    def _given(self, scenarios: Sequence[str]) -> GateOptions:
        # Without a change the gate would run nothing, and whoever watches has not changed anything yet.
        inputs = {"mode": Mode.BLOCKING.value, "budget-usd": f"{max(self._left, _MIN):f}"}
        if self._left < _MIN:
            inputs["llm"] = Llm.REPLAY.value
        return replace(
            self._options,
            inputs={**self._options.inputs, **inputs},
            scenarios=tuple(scenarios),
            tags=() if scenarios else self._options.tags,
        )


_MISCONFIGURED = 2
_FAILED = 3
_MIN = Decimal("0.01")
"""US dollars; with less left of the budget that all runs share, models are called no more."""


def changes(before: Mapping[str, WatchedOutcome], after: Mapping[str, WatchedOutcome]) -> Iterator[str]:
    """A line for each scenario that ended otherwise than before, and for each that did not pass and ran first now.

    Args:
        before: what is known of each scenario, by its name.
    """
    for name, now in after.items():
        known = before.get(name)
        if known == now or (known is None and now.ended == "passed"):
            continue
        turned = now.ended if known is None or known.ended == now.ended else f"{known.ended} → {now.ended}"
        yield f"{name}: {turned}" + (f": {now.why}" if now.why else "")


def _first_problem(row: ScenarioRow) -> str:
    return next((problem for _, problem in problems_of(row.deciding.result)), row.deciding.why)


def _edited(before: Files, after: Files) -> list[str]:
    """Paths that are new, gone or changed."""
    return [name for name in {*before, *after} if before.get(name) != after.get(name)]


def _print(line: str) -> None:
    sys.stdout.write(f"{printable_lines(line)}\n")
    sys.stdout.flush()
