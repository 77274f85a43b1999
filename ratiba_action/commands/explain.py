"""``ratiba explain``: find the lines of a change that make scenarios fail."""

import argparse
import json
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, MutableMapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ratiba_action.commands.options import add_json, add_repo, count_option
from ratiba_action.model.answer_origin import Llm
from ratiba_action.settings.settings import INPUTS, read_settings
from ratiba_action.util.text import clip, printable

if TYPE_CHECKING:
    from ratiba_action.model.attribution import Attribution, ChangedPart, Explanation
    from ratiba_action.privacy.masking import Redactor
    from ratiba_action.run.inputs import RunInputs
    from ratiba_action.run.session import OpenSession

DESCRIPTION = """Find the lines of a change that make scenarios fail, or leave them without a recorded answer. The
command runs the scenarios that did not pass in the last run, or those that you name, on the base with parts of the
change: first all, then none, then smaller and smaller parts. Recorded answers of both sides are used. A model is called
only with a key, within the budget. Your working tree does not change."""
EXAMPLE = """example:
  ratiba explain
  ratiba explain --scenario order_status --runs 20 --json"""

_INPUTS = (
    *("config", "scenarios", "rules", "budget-usd", "monthly-budget-usd", "llm"),
    *("anthropic-base-url", "openai-base-url", "report-dir"),
)
_RUNS, _MAX_RUNS = 30, 500
_INCOMPLETE = 3
_LINE = 100


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    change_options(parser, _INPUTS)
    parser.add_argument(
        "--scenario",
        action="append",
        default=[],
        metavar="ID",
        help="explain this scenario (default: those that did not pass in the last run); may be repeated",
    )
    parser.add_argument(
        "--runs", default=str(_RUNS), metavar="N", help=f"run parts of the change at most N times (default: {_RUNS})"
    )


def change_options(parser: argparse.ArgumentParser, inputs: Collection[str]) -> None:
    """Add the options of a command that runs scenarios on changed files: some inputs, the checkout, limits, JSON."""
    for entry in INPUTS:
        if entry.name in inputs:
            parser.add_argument(f"--{entry.name}", metavar=entry.metavar, help=entry.option_help)
    add_repo(parser)
    parser.add_argument("--concurrency", metavar="N", help="scenarios to run in parallel (default: 4)")
    parser.add_argument("--deadline", metavar="SECONDS", help="end after this time and report what is known")
    add_json(parser)


def run(
    arguments: argparse.Namespace,
    environment: MutableMapping[str, str],
    open_session: "OpenSession | None" = None,
) -> int:
    """Explain.

    Args:
        open_session: makes what scenarios run in; None for what the gate runs by.

    Returns:
        The exit code: 0 where every cause was found or nothing fails, 3 where one was not.

    Raises:
        UsageError: an option is invalid, or there is no last run.
        RatibaError: configuration or scenarios are invalid, or the base cannot be read.
    """
    from ratiba_action.commands.gate_options import read_options
    from ratiba_action.commands.gate_request import run_request
    from ratiba_action.decide.deciding import decide
    from ratiba_action.diagnosis.partial_runs import explain
    from ratiba_action.model.attribution import Finding
    from ratiba_action.money.budget import Ledger
    from ratiba_action.privacy.masking import Redactor
    from ratiba_action.run.composition import open_session as open_real_session
    from ratiba_action.run.evaluation_inputs import read_inputs
    from ratiba_action.run.judging_start import judging_begun
    from ratiba_action.util.persisted_credentials import persisted_credentials

    maximum = count_option("--runs", arguments.runs, _MAX_RUNS)
    settings = read_settings(environment, {name: getattr(arguments, name.replace("-", "_")) for name in _INPUTS})
    options = replace(read_options(arguments, environment), failed=not arguments.scenario)
    request = run_request(options, environment, settings, decide)
    persisted = persisted_credentials(request.decided.change.git, environment)
    redactor = Redactor((*settings.secrets, *persisted.secrets))
    ledger = Ledger(settings.budget_usd)
    with judging_begun(request) as begun:
        inputs = read_inputs(begun)
        progress = progress_with_keys(inputs, redactor, environment)
        found = redactor.explanation(
            explain(inputs, ledger, open_session=open_session or open_real_session, max_runs=maximum, progress=progress)
        )
    if arguments.json:
        shown = redactor.value(_as_json(found))
        sys.stdout.write(json.dumps(shown, indent=2, ensure_ascii=False) + "\n")
    elif not found.scenarios:
        sys.stdout.write("Every selected scenario passes with this change.\n")
    else:
        for text in (*_lines(found), f"{found.runs} runs, USD {ledger.spent:.4f} of {settings.budget_usd:.2f}."):
            sys.stdout.write(printable(redactor.text(text)) + "\n")
    certain = (Finding.FOUND, Finding.SEVERAL)
    complete = all(cause.finding in certain and not cause.why for cause in found.scenarios.values())
    return 0 if complete and not found.left_out else _INCOMPLETE


def progress_with_keys(
    inputs: "RunInputs", redactor: "Redactor", environment: Mapping[str, str]
) -> Callable[[str], None]:
    """What prints lines of progress on standard error; the first one says which keys are used.

    Raises:
        ConfigurationError: models are to be called, and there is no key.
    """
    from ratiba_action.run.provider_keys import keys_line, require_key

    def progress(line: str) -> None:
        sys.stderr.write(f"{printable(redactor.text(line))}\n")
        sys.stderr.flush()

    require_key(inputs.settings, inputs.configuration, environment)
    if inputs.llm != Llm.REPLAY and (line := keys_line(inputs.settings, inputs.configuration, environment)):
        progress(line)
    return progress


def _lines(found: "Explanation") -> Iterator[str]:
    """The causes for people: a sentence for each, with the lines that it names."""
    from ratiba_action.reporting.wording import describe_explanation

    described = describe_explanation(found)
    for cause in described.causes if described is not None else ():
        yield cause.sentence
        for part in cause.parts:
            yield from _part_lines(part)


def _part_lines(part: "ChangedPart") -> Iterator[str]:
    yield f"  {part.path}:{part.line}"
    if part.whole:
        yield "    the whole file was added, removed or is no text"
    yield from (f"    - {clip(line.rstrip(), _LINE)}" for line in part.removed.splitlines())
    yield from (f"    + {clip(line.rstrip(), _LINE)}" for line in part.added.splitlines())


def _as_json(found: "Explanation") -> dict[str, Any]:
    return {
        "runs": found.runs,
        "spent_usd": str(found.spent),
        "parts": [_part(part) for part in found.parts],
        "scenarios": {name: _cause(cause, found) for name, cause in sorted(found.scenarios.items())},
    }


def _cause(cause: "Attribution", found: "Explanation") -> dict[str, Any]:
    return {
        "finding": cause.finding.value,
        "why": cause.why,
        "by_chance": cause.by_chance,
        "unrecorded": cause.unrecorded,
        "request": cause.request,
        "steps": cause.steps,
        "parts": [_part(found.parts[number]) for number in cause.parts],
        "causes": [[_part(found.parts[number]) for number in group] for group in cause.causes],
    }


def _part(part: "ChangedPart") -> dict[str, Any]:
    lines = {"removed": part.removed.splitlines(), "added": part.added.splitlines()}
    return {"file": part.path, "line": part.line, "prompt": part.prompt, **lines}
