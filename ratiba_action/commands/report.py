"""``ratiba report``: show the last run's report, or publish one for a run that could not do so itself."""

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path

from ratiba_action.commands.compare import add_rules, read_rules
from ratiba_action.commands.options import RUN_SOURCES, add_json, print_json
from ratiba_action.errors import InfrastructureError, PublishError, RatibaError, UsageError
from ratiba_action.settings.settings import Settings, read_settings, read_settings_leniently

DESCRIPTION = """Show the report of the last run, or publish the report of a run that could not publish it itself."""
EXAMPLE = """example:
  ratiba report
  ratiba report --results ratiba-report/results.json --json
  ratiba report --open
  ratiba report --diff main/results.json
  ratiba report --trends --branch main
  ratiba report --trends --branch main --from ratiba-history   # without a database
  ratiba report --resend-langfuse ratiba-report/events.jsonl
  ratiba report --resend-otlp ratiba-report/events.jsonl
  ratiba report --compress        # write results.json.gz
  ratiba report --to-history      # write the last run to the metrics history
  ratiba report --to-branch ratiba-history   # or to a branch of the repository, without a database
  ratiba report --unfinished      # last step of a workflow, which always runs
  ratiba report --workflow-run    # in the second workflow, for pull requests of forks"""


_SEALED = 10
"""Added to the exit code that a seal contains."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("--results", metavar="FILE", help="results.json of the run (default: in the report directory)")
    add_json(parser, "print the outputs as JSON")
    add_rules(parser)
    task = parser.add_mutually_exclusive_group()
    task.add_argument(
        "--open", action="store_true", help="open report.html in the browser; without one, print its path"
    )
    task.add_argument("--diff", metavar="BASE", help="compare the results with a base's: a results.json, or its folder")
    task.add_argument(
        "--unfinished", action="store_true", help="publish an incomplete report if this run has written no results"
    )
    task.add_argument(
        "--sealed",
        metavar="DIR",
        help="read the sealed conclusion of the gate's container; exits with 10 plus the gate's exit code",
    )
    task.add_argument(
        "--workflow-run",
        action="store_true",
        help="post the results of the run that triggered this 'workflow_run' event",
    )

    task.add_argument("--trends", action="store_true", help="show each metric over the last runs of a branch")
    task.add_argument(
        "--to-history",
        action="store_true",
        help="write the run to the metrics history in ledger-url; a run is written only once",
    )
    task.add_argument(
        "--to-branch",
        metavar="NAME",
        help="add the run to a branch that contains only runs, such as ratiba-history, and push it",
    )
    task.add_argument(
        "--resend-langfuse", metavar="EVENTS", help="send an events.jsonl to Langfuse, except what it has already"
    )
    task.add_argument(
        "--resend-otlp", metavar="EVENTS", help="send an events.jsonl to the OpenTelemetry collector again"
    )
    task.add_argument(
        "--compress", action="store_true", help="write results.json.gz next to the results, which every command reads"
    )
    parser.add_argument(
        "--branch", metavar="NAME", help="branch of --trends (default: the base branch of the last run)"
    )
    parser.add_argument(
        "--from",
        dest="source",
        metavar="SOURCE",
        help=f"for --trends, instead of the database in ledger-url: {RUN_SOURCES}",
    )
    parser.add_argument(
        "--remote",
        metavar="URL",
        help="repository of --to-branch (default: this one on its server in a workflow, else the remote origin)",
    )
    parser.add_argument(
        "--keep-days", metavar="N", default="400", help="--to-branch removes runs that are older (default: 400)"
    )
    parser.add_argument(
        "--keep-mb",
        metavar="N",
        default="50",
        help="--to-branch removes the oldest runs beyond this many megabytes (default: 50)",
    )
    parser.add_argument("--last", metavar="N", default="20", help="maximum number of runs in --trends (default: 20)")


def run(arguments: argparse.Namespace, environment: Mapping[str, str]) -> int:
    """Run one of the tasks.

    Raises:
        UsageError: the task cannot run in this environment.
    """
    tasks = (
        (arguments.sealed, _sealed),
        (arguments.unfinished, _unfinished),
        (arguments.workflow_run, _workflow_run),
        (arguments.diff, _diff),
        (arguments.resend_langfuse, _resend),
        (arguments.resend_otlp, _resend_otlp),
        (arguments.trends, _trends),
        (arguments.to_history, _to_history),
        (arguments.to_branch, _to_branch),
        (arguments.compress, _compress),
        (arguments.open, _open),
    )
    task = next((task for wanted, task in tasks if wanted), _show)
    return task(arguments, environment)


def _resend(arguments: argparse.Namespace, environment: Mapping[str, str]) -> int:
    from ratiba_action.run.event_logging import resend

    path = Path(arguments.resend_langfuse)
    return resend(read_settings(environment, {}), environment, path, as_json=arguments.json)


def _resend_otlp(arguments: argparse.Namespace, environment: Mapping[str, str]) -> int:
    from ratiba_action.run.event_logging import resend_to_collector

    path = Path(arguments.resend_otlp)
    return resend_to_collector(read_settings(environment, {}), environment, path, as_json=arguments.json)


def _trends(arguments: argparse.Namespace, environment: Mapping[str, str]) -> int:
    from ratiba_action.commands.trends import show_trends

    settings = read_settings(environment, {})
    return show_trends(arguments, settings, environment, _results(arguments, settings))


def _to_history(arguments: argparse.Namespace, environment: Mapping[str, str]) -> int:
    from ratiba_action.commands.trends import write_to_history

    settings = read_settings(environment, {})
    return write_to_history(settings, _results(arguments, settings), named=bool(arguments.results))


def _to_branch(arguments: argparse.Namespace, environment: Mapping[str, str]) -> int:
    from ratiba_action.commands.history_branch import write_to_branch

    settings = read_settings(environment, {})
    return write_to_branch(arguments, settings, environment, _results(arguments, settings))


def _results(arguments: argparse.Namespace, settings: Settings) -> Path:
    from ratiba_action.reporting.results_json import results_in_folder

    given = Path(arguments.results) if arguments.results else Path(settings.report_dir)
    return results_in_folder(given) if given.is_dir() or not arguments.results else given


def _compress(arguments: argparse.Namespace, environment: Mapping[str, str]) -> int:
    from ratiba_action.reporting.results_file import COMPRESSED
    from ratiba_action.reporting.results_json import packed, read_results
    from ratiba_action.util.whole_files import write_whole_files

    results = _results(arguments, read_settings(environment, {}))
    if results.name.endswith(".gz"):
        raise UsageError(f"{str(results)!r} is compressed already.", "Give a results.json with --results.")
    read_results(results)  # only what can be read again is compressed
    path, content = results.with_name(COMPRESSED if results.name == "results.json" else f"{results.name}.gz"), b""
    try:
        content = results.read_bytes()
        write_whole_files({path: packed(content)})
        size = path.stat().st_size
    except OSError as error:
        raise UsageError(f"{str(path)!r} cannot be written: {error.strerror}.", "Give another --results.") from error
    if arguments.json:
        sys.stdout.write(json.dumps({"file": str(path), "bytes": size, "unpacked_bytes": len(content)}) + "\n")
    else:
        sys.stdout.write(f"Written: {path} ({size:,} bytes; unpacked {len(content):,}).\n")
    return 0


def _show(arguments: argparse.Namespace, environment: Mapping[str, str]) -> int:
    from ratiba_action.publish.full_publication import full_publication  # the other tasks have no package
    from ratiba_action.reporting.results_json import read_results
    from ratiba_action.reporting.summary import outputs_of

    settings = read_settings(environment, {})
    report = read_results(_results(arguments, settings))
    if arguments.json:
        print_json(outputs_of(report))
    else:
        full_publication(settings, environment, sys.stdout, verbosity=1).show(report)
    return 0


def _open(arguments: argparse.Namespace, environment: Mapping[str, str]) -> int:
    import webbrowser

    results = _results(arguments, read_settings(environment, {}))
    page = results.with_name("report.html").resolve()
    if not page.is_file():
        raise UsageError(f"There is no report at {str(page)!r}.", "Write one with: ratiba gate")
    try:
        opened = webbrowser.open(page.as_uri())
    except webbrowser.Error:
        opened = False
    if arguments.json:
        sys.stdout.write(json.dumps({"file": str(page), "opened": opened}) + "\n")
    else:
        sys.stdout.write(f"{'Opened' if opened else 'No browser was found. Open'}: {page}\n")
    return 0


def _diff(arguments: argparse.Namespace, environment: Mapping[str, str]) -> int:
    from ratiba_action.history.files import compared_with
    from ratiba_action.model.codec import encode
    from ratiba_action.reporting.comment_comparison import render_comparison
    from ratiba_action.reporting.summary import summarise
    from ratiba_action.reporting.terminal import make_console, print_comment

    rules = read_rules(arguments, environment)
    report = compared_with(_results(arguments, read_settings(environment, {})), arguments.diff, rules)
    if arguments.json:
        result = {"baseline": encode(report.baseline), "comparison": encode(report.verdict.comparison)}
        sys.stdout.write(json.dumps(result, indent=2, allow_nan=False) + "\n")
        return 0
    console, body = make_console(sys.stdout, environment), render_comparison(summarise(report))
    if console.is_terminal:
        print_comment(body, console)
    else:
        console.out(body, end="", highlight=False)
    return 0


def _sealed(arguments: argparse.Namespace, environment: Mapping[str, str]) -> int:
    """Used by the action's last step, which must distinguish this from every other exit code."""
    from ratiba_action.github.step_files import remember, write_outputs
    from ratiba_action.publish.seal import SEAL_KEY, open_seal

    sealed = open_seal(Path(arguments.sealed), environment.get(SEAL_KEY, ""))
    try:
        if file := environment.get("GITHUB_OUTPUT"):
            write_outputs(remember(Path(file)), sealed.outputs)
    except PublishError as error:
        sys.stderr.write(f"ratiba: {error}\n")
    return _SEALED + sealed.exit_code


def _unfinished(arguments: argparse.Namespace, environment: Mapping[str, str]) -> int:
    from ratiba_action.decide.deciding import decide_or_doubt, event_of, request_of
    from ratiba_action.publish.concluding import conclude  # most runs are finished
    from ratiba_action.publish.publishing import Publication

    if not environment.get("GITHUB_RUN_ID"):
        raise UsageError("GITHUB_RUN_ID is not set, so no run can be unfinished.", "Use --unfinished in a workflow.")
    settings, problems = read_settings_leniently(environment, {})
    if _is_of_this_run(_results(arguments, settings), environment):
        return 0
    stream = sys.stderr if arguments.json else sys.stdout
    Publication(settings, environment, stream).hide_secrets()
    place = event_of(environment, Path(environment.get("GITHUB_WORKSPACE") or "."))
    decided = decide_or_doubt(request_of(settings, place), environment)
    ended = environment.get("RATIBA_ENDED", "")
    return conclude(settings, decided, environment, stream, problems=problems, ended=ended)


def _is_of_this_run(results: Path, environment: Mapping[str, str]) -> bool:
    from ratiba_action.reporting.results_json import read_results  # the first to need it imports it

    try:
        subject = read_results(results).subject
    except RatibaError:
        return False
    attempt = environment.get("GITHUB_RUN_ATTEMPT") or "1"
    return (str(subject.run_id), str(subject.run_attempt)) == (environment.get("GITHUB_RUN_ID"), attempt)


def _workflow_run(arguments: argparse.Namespace, environment: Mapping[str, str]) -> int:
    from ratiba_action.decide.event import load_event
    from ratiba_action.decide.workflow_run import read_workflow_run
    from ratiba_action.publish.publishing import Publication
    from ratiba_action.publish.second_workflow import SecondWorkflow

    settings = read_settings(environment, {})
    name, path = environment.get("GITHUB_EVENT_NAME", ""), environment.get("GITHUB_EVENT_PATH")
    if name != "workflow_run" or not path:
        raise UsageError(f"The event is {name!r}, not 'workflow_run'.", "Trigger the workflow by 'workflow_run'.")
    if not settings.github_token:
        raise UsageError(
            "github-token is empty, so nothing can be posted.", "Set github-token: ${{ github.token }} in the step."
        )
    try:
        workflow_run = read_workflow_run(load_event(Path(path)))
    except InfrastructureError as error:
        raise UsageError(error.problem, "Trigger the workflow by 'workflow_run' of type 'completed'.") from error
    publication = Publication(settings, environment, sys.stdout)
    publication.hide_secrets()
    SecondWorkflow(settings, workflow_run, _results(arguments, settings), environment, publication).publish()
    return 0
