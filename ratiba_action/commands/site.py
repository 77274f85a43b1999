"""``ratiba site``: the history of runs as pages that need no server."""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from ratiba_action.commands.options import RUN_SOURCES, add_json, checkout_of
from ratiba_action.errors import UsageError
from ratiba_action.settings.settings import Settings, read_settings

if TYPE_CHECKING:
    from ratiba_action.history.run_files import BrokenFile, FoundRuns, RunFiles
    from ratiba_action.model.verdict import Report
    from ratiba_action.publish.site.elsewhere import Elsewhere
    from ratiba_action.publish.site.pages import History
    from ratiba_action.publish.site.runs import RunLine, ScenarioFacts

DESCRIPTION = """Write the history of runs as a static site: an overview, every run, runs side by side, scenarios over
time with flaky ones marked, and trends of metrics, judges and cost. The site works from a file and on GitHub Pages, and
loads nothing from another host. 'site.transcripts' in the configuration decides whether it shows conversations."""
EXAMPLE = """example:
  ratiba site                                     # from the branch of runs to the folder site
  ratiba site --from downloaded-results --to public
  ratiba site --from github                       # from artifacts of workflow runs, with RATIBA_GITHUB_TOKEN
  ratiba site --with mutation.json --with calibration.json   # of ratiba mutate --json and calibrate run --json
  ratiba site --from ledger --branch main         # from the database of RATIBA_LEDGER_URL"""

_LEDGER = "ledger"
_BROKEN_SHOWN = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument(
        "--from",
        dest="source",
        metavar="SOURCE",
        help=f"{RUN_SOURCES}, or 'ledger' for its database (default: the branch of 'history.branch', or else "
        "ratiba-history)",
    )
    parser.add_argument(
        "--to",
        metavar="DIR",
        help="folder to write; may only hold an earlier site (default: site in the repository's root)",
    )
    parser.add_argument(
        "--branch",
        metavar="NAME",
        help="branch for the trends and the badge (default: the branch with the most runs)",
    )
    parser.add_argument(
        "--with",
        dest="elsewhere",
        action="append",
        default=[],
        metavar="FILE",
        help="also show what 'ratiba mutate', 'calibrate run', 'sample', 'drift' or 'canary' printed with --json; may "
        "be repeated",
    )
    add_json(parser)


def run(arguments: argparse.Namespace, environment: Mapping[str, str]) -> int:
    """Write the site.

    Raises:
        UsageError: the target holds other files, there is no run to show, or a file of --with is no command's.
        ConfigurationError: the source or the configuration cannot be read.
        LedgerError: the database cannot be read.
        GithubError: GitHub refused, or did not answer in time.
    """
    from ratiba_action.publish.site.folder import require_own_folder, write_site
    from ratiba_action.publish.site.pages import all_pages

    settings = read_settings(environment, {})
    target = Path(arguments.to) if arguments.to else checkout_of(environment.get("GITHUB_WORKSPACE") or ".") / "site"
    require_own_folder(target)  # before a long history is read
    with ExitStack() as stack:
        history, load = _history(arguments, settings, environment, stack)
        for line in _about(history):
            sys.stderr.write(f"{line}\n")
        files, size = write_site(all_pages(history, load), target)
    if arguments.json:
        broken = [{"file": file.name, "problem": file.problem} for file in history.broken]
        found = {"folder": str(target), "files": files, "bytes": size, "runs": len(history.lines), "broken": broken}
        known = {**found, "branch": history.branch, "transcripts": history.transcripts.value}
        sys.stdout.write(json.dumps(known, indent=2) + "\n")
    else:
        sys.stdout.write(f"Written: {target}/index.html ({files:,} files, {size / 1_000_000:,.1f} MB).\n")
    return 0


def _about(history: "History") -> list[str]:
    """What is about to be published, and what could not be read."""
    from ratiba_action.commands.history_branch import TRANSCRIPTS_KEPT
    from ratiba_action.util.text import plural, printable

    kept = TRANSCRIPTS_KEPT[history.transcripts]
    found = f"The site shows {plural(len(history.lines), 'run')} from {history.source}, {kept}"
    lines = [printable(f"{found} (site.transcripts: {history.transcripts.value}).")]
    if history.broken:
        lines.append(f"{plural(len(history.broken), 'file')} could not be read:")
        lines += [printable(f"  {file.name}: {file.problem}") for file in history.broken[:_BROKEN_SHOWN]]
        more = len(history.broken) - _BROKEN_SHOWN
        lines += [f"  and {more} more, which the page index.html lists"] if more > 0 else []
    return lines


def _history(
    arguments: argparse.Namespace, settings: Settings, environment: Mapping[str, str], stack: ExitStack
) -> "tuple[History, Callable[[RunLine], Report | None]]":
    from ratiba_action.commands.history_branch import site_block
    from ratiba_action.commands.kept_runs import kept_runs
    from ratiba_action.publish.site.pages import History
    from ratiba_action.publish.site.runs import newest_first

    root = checkout_of(environment.get("GITHUB_WORKSPACE") or ".")
    transcripts = site_block(root, settings).transcripts
    elsewhere = _elsewhere(arguments.elsewhere, settings)
    facts: Mapping[str, ScenarioFacts] = {}
    broken: tuple[BrokenFile, ...] = ()
    load: Callable[[RunLine], Report | None] = _unknown
    if arguments.source == _LEDGER:
        source, lines = "the ledger's database", _of_ledger(settings, environment)
    else:
        files, collected = stack.enter_context(kept_runs(arguments.source, settings, environment)), _Collected()
        found = files.read(collected.keep)
        lines, broken, source = newest_first(line for _, line in found.runs), found.broken, files.source
        facts, load = collected.facts, _loader(files, found, settings)
    if not lines:
        listed = "".join(f"\n  {file.name}: {file.problem}" for file in broken[:_BROKEN_SHOWN])
        raise UsageError(
            f"There is no run in {source}, so there is no site.{listed}\n",
            "Keep runs with: ratiba report --to-branch ratiba-history",
        )
    counted = Counter(line.branch for line in lines if line.branch)
    branch = arguments.branch or max(counted, key=lambda name: (counted[name], name), default="")
    return History(source, lines, branch, facts, broken, transcripts, elsewhere), load


def _elsewhere(names: Sequence[str], settings: Settings) -> "Elsewhere":
    from ratiba_action.privacy.masking import Redactor
    from ratiba_action.publish.site.elsewhere import MAX_BYTES, Elsewhere, with_file
    from ratiba_action.util.locked_folder import read_plain_file

    found, redactor = Elsewhere(), Redactor(settings.secrets)
    for name in names:
        path = Path(name)
        try:
            content = read_plain_file(path.parent, path.name, MAX_BYTES)
        except (OSError, ValueError) as error:
            problem = getattr(error, "strerror", None) or error
            raise UsageError(f"{name!r} cannot be read: {problem}.", "Give an existing file with --with.") from error
        found = with_file(found, name, content, redactor)
    return found


class _Collected:
    """What each scenario is, as the newest run says, while runs are read in any order."""

    def __init__(self) -> None:
        self.facts: dict[str, ScenarioFacts] = {}
        self._newest: dict[str, str] = {}
        self._known: dict[str, str] = {}

    def keep(self, report: "Report") -> "RunLine":
        from dataclasses import replace

        from ratiba_action.publish.site.runs import facts_of, line_of

        line = line_of(report)
        for name, facts in facts_of(report).items():
            if line.id > self._newest.get(name, ""):
                self.facts[name], self._newest[name] = facts, line.id
        # One text for each name: a history repeats them in every run.
        return replace(line, outcomes={self._known.setdefault(name, name): end for name, end in line.outcomes.items()})


def _loader(files: "RunFiles", found: "FoundRuns[RunLine]", settings: Settings) -> "Callable[[RunLine], Report | None]":
    from ratiba_action.privacy.masking import Redactor

    names = {line.id: name for name, line in found.runs}
    redactor = Redactor(settings.secrets)
    return lambda line: redactor.report(files.files[names[line.id]]())


def _unknown(_: "RunLine") -> None:
    """The database keeps no more of a run than its figures."""


def _of_ledger(settings: Settings, environment: Mapping[str, str]) -> "tuple[RunLine, ...]":
    from ratiba_action.commands.status import ledger_of
    from ratiba_action.history.keeping import read_records
    from ratiba_action.publish.site.runs import line_of_record, newest_first

    repository = environment.get("GITHUB_REPOSITORY", "")
    return newest_first(map(line_of_record, read_records(ledger_of(settings), settings.name, repository)))
