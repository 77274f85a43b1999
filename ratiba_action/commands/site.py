"""``ratiba site``: the history of runs as pages that need no server."""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from ratiba_action.commands.options import RUN_SOURCES, add_json, checkout_of
from ratiba_action.errors import UsageError
from ratiba_action.settings.report_folder import IGNORE_ALL, IGNORE_FILE
from ratiba_action.settings.settings import Settings, read_settings

if TYPE_CHECKING:
    from ratiba_action.history.run_files import BrokenFile
    from ratiba_action.publish.site.elsewhere import Elsewhere
    from ratiba_action.publish.site.pages import History, RunPage
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
    from ratiba_action.publish.site.pages import site_pages

    settings = read_settings(environment, {})
    target = Path(arguments.to) if arguments.to else checkout_of(environment.get("GITHUB_WORKSPACE") or ".") / "site"
    require_own_folder(target)  # before a long history is read
    with ExitStack() as stack:
        history, made = _history(arguments, settings, environment, stack)
        for line in _about(history):
            sys.stderr.write(f"{line}\n")
        # Without --to it lies in the checkout, where its files would be a change that no rule knows.
        ignored = [] if arguments.to else [(IGNORE_FILE, IGNORE_ALL)]
        files, size = write_site(chain(ignored, site_pages(history, made)), target)
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
) -> "tuple[History, Iterable[RunPage]]":
    """The history, and the pages of its runs, which are made when they are asked for."""
    from ratiba_action.commands.history_branch import site_block
    from ratiba_action.commands.kept_runs import kept_runs
    from ratiba_action.publish.site.pages import History
    from ratiba_action.publish.site.reading import RunReader
    from ratiba_action.publish.site.run_cache import open_cache, product_digest
    from ratiba_action.publish.site.spread import processors
    from ratiba_action.run.cache_place import site_runs_folder

    root = checkout_of(environment.get("GITHUB_WORKSPACE") or ".")
    transcripts = site_block(root, settings).transcripts
    elsewhere = _elsewhere(arguments.elsewhere, settings)
    facts: Mapping[str, ScenarioFacts] = {}
    broken: tuple[BrokenFile, ...] = ()
    reader = None
    if arguments.source == _LEDGER:
        source, lines = "the ledger's database", _of_ledger(settings, environment)
    else:
        files = stack.enter_context(kept_runs(arguments.source, settings, environment))
        cache = stack.enter_context(open_cache(site_runs_folder(environment)))
        product = product_digest(Path(__file__).parents[1])
        reader = RunReader(files, cache, product, settings.secrets, processors())
        (lines, broken), source = reader.read(), files.source
        facts = reader.facts(lines)
    if not lines:
        listed = "".join(f"\n  {file.name}: {file.problem}" for file in broken[:_BROKEN_SHOWN])
        raise UsageError(
            f"There is no run in {source}, so there is no site.{listed}\n",
            "Keep runs with: ratiba report --to-branch ratiba-history",
        )
    counted = Counter(line.branch for line in lines if line.branch)
    branch = arguments.branch or max(counted, key=lambda name: (counted[name], name), default="")
    history = History(source, lines, branch, facts, broken, transcripts, elsewhere)
    return history, () if reader is None else reader.pages(history)  # the database keeps no more than figures


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


def _of_ledger(settings: Settings, environment: Mapping[str, str]) -> "tuple[RunLine, ...]":
    from ratiba_action.commands.status import ledger_of
    from ratiba_action.history.keeping import read_records
    from ratiba_action.publish.site.runs import line_of_record, newest_first

    repository = environment.get("GITHUB_REPOSITORY", "")
    return newest_first(map(line_of_record, read_records(ledger_of(settings), settings.name, repository)))
