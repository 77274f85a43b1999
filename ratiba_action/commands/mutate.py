"""``ratiba mutate``: find the lines of the system that no scenario protects."""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator, MutableMapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from ratiba_action.commands.explain import change_options, progress_with_keys
from ratiba_action.commands.options import count_option
from ratiba_action.diagnosis.mutation_score import (
    OPEN,
    Fate,
    LineMutants,
    LineProtection,
    MutantResult,
    lines_of,
    score_of,
)
from ratiba_action.errors import UsageError
from ratiba_action.settings.settings import Settings, read_settings
from ratiba_action.util.text import clip, printable

if TYPE_CHECKING:
    from ratiba_action.diagnosis.mutation_runs import Mutation
    from ratiba_action.run.inputs import RunInputs

DESCRIPTION = """Find the lines of the system that no scenario protects. The command puts one fault at a time into a
copy of the system: it drops or reverses a part of a prompt or of a tool's description, drops a call, drops or inverts a
condition, or changes a constant, an operator or a condition of SQL. Then it runs the scenarios that could notice the
fault. The mutation score is the share of faults that a scenario notices. Faults in code use recorded answers; faults in
prompts call a model, with a key and within the budget. Your working tree does not change, and your database is not
used."""
EXAMPLE = """example:
  ratiba mutate
  ratiba mutate prompts/booking.md app/payments.py --mutants 200 --json"""

_INPUTS = ("config", "scenarios", "budget-usd", "monthly-budget-usd", "llm", "anthropic-base-url", "openai-base-url")
_MUTANTS, _MAX_MUTANTS = 100, 100_000
_LISTED = 40
_LINE = 90
_INCOMPLETE = 3
_FILE = "mutation.html"
_FATES = tuple(Fate)
_NOT_COUNTED = (Fate.EQUIVALENT, Fate.NEEDS_MODEL, Fate.NOT_MEASURED)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument(
        "file",
        nargs="*",
        metavar="FILE",
        help="make mutants of these files or folders (default: the system's prompts, and its Python files that a "
        "scenario runs)",
    )
    change_options(parser, (*_INPUTS, "report-dir"))
    parser.add_argument(
        "--scenario", action="append", default=[], metavar="ID", help="use this scenario only; may be repeated"
    )
    parser.add_argument(
        "--mutants",
        default=str(_MUTANTS),
        metavar="N",
        help=f"run at most N mutants, the riskiest lines first (default: {_MUTANTS})",
    )
    parser.add_argument("--fresh", action="store_true", help="also run mutants whose result is known")


def run(arguments: argparse.Namespace, environment: MutableMapping[str, str]) -> int:
    """Run mutants.

    Returns:
        The exit code: 0 where all of the chosen mutants were run and some count, else 3.

    Raises:
        UsageError: an option is invalid, or there is nothing to run.
        RatibaError: configuration, scenarios or files are invalid.
    """
    from ratiba_action.commands.gate_options import read_options
    from ratiba_action.commands.gate_request import run_request
    from ratiba_action.decide.deciding import decide
    from ratiba_action.diagnosis.mutated_files import read_files
    from ratiba_action.diagnosis.mutation_runs import measure
    from ratiba_action.money.budget import Ledger
    from ratiba_action.privacy.masking import Redactor
    from ratiba_action.run.composition import open_session
    from ratiba_action.run.evaluation_inputs import read_inputs
    from ratiba_action.run.inputs import RunLog, SilentProgress
    from ratiba_action.util.persisted_credentials import persisted_credentials

    maximum = count_option("--mutants", arguments.mutants, _MAX_MUTANTS)
    given = {name: getattr(arguments, name.replace("-", "_")) for name in (*_INPUTS, "report-dir")}
    # A mutant may do anything to its database: it gets one that ends with the run.
    settings = replace(read_settings(environment, given), database_url="")
    inputs = read_inputs(run_request(read_options(arguments, environment), environment, settings, decide))
    scenarios = inputs.selection.scenarios if arguments.scenario else inputs.suite.scenarios
    if not scenarios:
        raise UsageError(f"There are no scenarios in {settings.scenarios!r}.", "Add one: ratiba init")
    inputs = replace(inputs, selection=replace(inputs.selection, scenarios=scenarios, left_out=(), free=()))
    redactor = Redactor((*settings.secrets, *persisted_credentials(inputs.decided.change.git, environment).secrets))
    progress = progress_with_keys(inputs, redactor, environment)
    files, ledger = read_files(inputs, arguments.file), Ledger(settings.budget_usd)
    log = RunLog(SilentProgress())
    found = measure(
        inputs, files, log, ledger, open_session=open_session, maximum=maximum, progress=progress, fresh=arguments.fresh
    )
    known = _as_json(found, inputs, ledger.spent)
    shown = redactor.value({"headline": headline(known), **known})
    page = _write_page(shown, redactor.value(dict(files.texts)), settings)
    if arguments.json:
        sys.stdout.write(json.dumps(shown, indent=2, ensure_ascii=False) + "\n")
    else:
        _print(shown, environment)
        sys.stdout.write(f"{_FILE}  {page}\n")
    return _INCOMPLETE if found.ended or shown["score"]["counted"] == 0 else 0


def _as_json(found: "Mutation", inputs: "RunInputs", spent: Any) -> dict[str, Any]:
    """Everything that is known, as plain data; the table and the page are made of it."""
    score = score_of(found.results)
    root = PurePosixPath(inputs.configuration.system.root)
    files: dict[str, list[MutantResult]] = {}
    for result in found.results:
        files.setdefault(result.mutant.path, []).append(result)
    return {
        "score": _score(found.results),
        "counts": {fate.value: sum(result.fate is fate for result in found.results) for fate in _FATES},
        "found": found.found,
        "chosen": found.chosen,
        "measured": len(found.results),
        "ended": found.ended,
        "notes": [*found.notes, *([_why_nothing(found)] if not score.counted else [])],
        "scenarios": {"passing": list(found.passing), "failing": list(found.failing)},
        "never_run": [
            {"file": str(root / name), "line": line, "function": function} for name, line, function in found.never_run
        ],
        "spent_usd": str(spent),
        "root": str(root),
        "files": [
            {
                "file": str(root / name),
                "name": name,
                "score": _score(results),
                **Counter(each.fate.value for each in results),
            }
            for name, results in sorted(files.items())
        ],
        "lines": [_line(line, root) for line in lines_of(found.results)],
    }


def _why_nothing(found: "Mutation") -> str:
    if found.ended:
        return "The run ended before any mutant counted."
    if not found.passing:
        return "No scenario passes on the system as it is, so none can notice a mutant: run ratiba gate"
    if any(result.fate is Fate.NEEDS_MODEL for result in found.results):
        return "Mutants of prompts need a model: give a key, and run with --llm auto"
    return "No mutant counts: see the notes"


def _score(results: Sequence[MutantResult]) -> dict[str, Any]:
    score = score_of(results)
    interval = score.interval
    return {
        "killed": score.killed,
        "counted": score.counted,
        "share": score.share,
        "low": interval.low if interval else None,
        "high": interval.high if interval else None,
    }


def _line(line: LineProtection, root: PurePosixPath) -> dict[str, Any]:
    return {
        "file": str(root / line.path),
        "line": line.line,
        "protection": line.protection.value,
        "scenarios": list(line.scenarios),
        "mutants": [
            {
                "operator": result.mutant.operator.value,
                "before": result.mutant.before,
                "after": result.mutant.fault or result.mutant.after,
                "result": result.fate.value,
                "killed_by": list(result.killed_by),
            }
            for result in line.results
        ],
    }


def _print(shown: dict[str, Any], environment: MutableMapping[str, str]) -> None:
    from rich.table import Table  # heavy, and not needed for JSON
    from rich.text import Text

    from ratiba_action.reporting.terminal import make_console

    console = make_console(sys.stdout, environment)
    table = Table(box=None, pad_edge=False)
    for heading in ("file", *(fate.value.replace("_", " ") for fate in _FATES), "score"):
        table.add_column(heading, justify="left" if heading == "file" else "right")
    for file in shown["files"]:
        cells = [printable(file["file"]), *(str(file.get(fate, 0)) for fate in _FATES), _percent(file["score"])]
        table.add_row(*map(Text, cells))
    if shown["files"]:
        console.print(table)
    for line in _summary(shown):
        console.out(printable(line), highlight=False)


def _percent(score: dict[str, Any]) -> str:
    return f"{score['share']:.0%}" if score["counted"] else "-"


def _summary(shown: dict[str, Any]) -> Iterator[str]:
    open_lines = [
        line for line in shown["lines"] if line["protection"] in {LineMutants.UNPROTECTED, LineMutants.PARTLY}
    ]
    if open_lines:
        yield "Not protected:"
    for line in open_lines[:_LISTED]:
        for mutant in line["mutants"]:
            if mutant["result"] in OPEN:
                yield f"  {line['file']}:{line['line']} {mutant['result']}: {_fault(mutant)}"
    if len(open_lines) > _LISTED:
        yield f"  and {len(open_lines) - _LISTED} more lines; {_FILE} and --json list them"
    if shown["never_run"]:
        names = (f"{each['file']}:{each['line']} {each['function']}" for each in shown["never_run"][:_LISTED])
        rest = len(shown["never_run"]) - _LISTED
        yield f"No scenario runs: {', '.join(names)}{f' and {rest} more' if rest > 0 else ''}"
    yield from shown["notes"]
    if shown["scenarios"]["failing"]:
        yield f"These scenarios do not pass as it is and kill nothing: {', '.join(shown['scenarios']['failing'])}."
    yield headline(shown)


def _fault(mutant: dict[str, Any]) -> str:
    before = clip(" ".join(mutant["before"].split()), _LINE)
    after = clip(" ".join(mutant["after"].split()), _LINE)
    return f"{mutant['operator'].replace('_', ' ')}: {before}{f' → {after}' if after else ''}"


def headline(shown: dict[str, Any]) -> str:
    """The score in one sentence, and what it is about."""
    score, counts = shown["score"], shown["counts"]
    about = f"{shown['measured']:,} of {shown['found']:,} mutants were run, for USD {float(shown['spent_usd']):.4f}"
    ended = f"; {shown['ended']}" if shown["ended"] else ""
    left = [f"{counts[fate]} {fate.value.replace('_', ' ')}" for fate in _NOT_COUNTED if counts[fate]]
    apart = f" ({', '.join(left)}: not counted)" if left else ""
    if not score["counted"]:
        return f"No mutation score: {about}{ended}{apart}."
    return (
        f"Mutation score {score['share']:.0%} (95% interval {score['low']:.0%} to {score['high']:.0%}): "
        f"{score['killed']} of {score['counted']} killed{apart}. {about}{ended}."
    )


def _write_page(shown: dict[str, Any], texts: dict[str, str], settings: Settings) -> Path:
    """Write ``mutation.html`` to the report folder."""
    from ratiba_action.production.calibration import write_whole
    from ratiba_action.reporting.html import page_template  # needed at the end only
    from ratiba_action.settings.report_folder import make_report_folder, refuse_links

    folder = Path(settings.report_dir)
    refuse_links(folder)
    make_report_folder(folder)
    known = {(line["file"], line["line"]): line for line in shown["lines"]}
    files = [
        (file, [(number, text, known.get((file["file"], number))) for number, text in enumerate(lines, 1)])
        for file in shown["files"]
        for lines in [texts[file["name"]].splitlines()]
    ]
    page = page_template("mutation.html.j2").render(
        shown=shown, headline=headline(shown), files=files, fault=_fault, open_results=OPEN
    )
    write_whole(folder / _FILE, page)
    return folder / _FILE
