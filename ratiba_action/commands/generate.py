"""``ratiba generate``: a scenario from a captured session, or from a template."""

import argparse
import json
import re
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from ratiba_action.authoring.new_files import write_new_files
from ratiba_action.authoring.proposal import propose
from ratiba_action.authoring.templates import TEMPLATES, template_files
from ratiba_action.commands.options import parse_option
from ratiba_action.core.captured_session import CapturedSession, read_session
from ratiba_action.core.printable import printable_lines
from ratiba_action.core.production.candidate import PROPOSED
from ratiba_action.errors import FileProblem, SuiteError, UsageError
from ratiba_action.settings import read_settings

DESCRIPTION = """Write a scenario: from a captured session, masked and tagged `proposed`, or from a template.
No file that is there is ever changed."""
EXAMPLE = """example:
  ratiba generate --from session.json
  ratiba generate --from messages.json --layer golden --id asks_for_hours --language en --now 2026-05-04T08:15:00+03:00
  ratiba generate --templates
  ratiba generate --template agent_tool_call"""

_ID = re.compile(r"[a-z0-9][a-z0-9_-]{0,99}")
_MOST_BYTES = 4 << 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--from", dest="session", metavar="FILE", help="a captured session; docs/first-scenario.md")
    what.add_argument("--template", metavar="NAME", help="one of those that --templates lists")
    what.add_argument("--templates", action="store_true", help="list the templates and exit")
    parser.add_argument(
        "--layer", choices=("replay", "golden"), default="replay", help="of a session (default: replay)"
    )
    parser.add_argument("--id", metavar="ID", help="of the scenario, where the session has none or another is wanted")
    parser.add_argument("--language", metavar="CODE", help="of a session that does not tell it")
    parser.add_argument("--now", metavar="TIME", help="when it was captured, if it does not tell it")
    parser.add_argument("--repo", metavar="DIR", help="the checkout (default: this folder)")
    parser.add_argument("--scenarios", metavar="PATH", help="folder of the scenarios (RATIBA_SCENARIOS)")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace, environment: Mapping[str, str]) -> int:
    """Write one scenario.

    Raises:
        UsageError: an option is wrong, or a file exists already.
        SuiteError: the session cannot become a scenario; every problem.
    """
    if arguments.templates:
        return _list(as_json=arguments.json)
    folder = read_settings(environment, {"scenarios": arguments.scenarios}).scenarios
    repository = Path(arguments.repo or ".").resolve()
    if not repository.is_dir():
        raise UsageError(f"There is no folder {str(repository)!r}.", "Name the checkout with --repo.")
    if arguments.template:
        name = parse_option("--template", arguments.template, _parse_template)
        contents = template_files(name, folder)
        advice = "Put your own words, tools and documents into it, then run `ratiba validate`."
    else:
        proposal = propose(_session(arguments), arguments.layer, folder)
        contents = {proposal.path: proposal.content}
        advice = f"Read it, take the tag `{PROPOSED}` away, then run `ratiba validate`."
    write_new_files(repository, contents)
    if arguments.json:
        sys.stdout.write(json.dumps({"written": list(contents)}, indent=2) + "\n")
    else:
        sys.stdout.write(printable_lines("".join(f"Written: {name}\n" for name in contents)) + f"{advice}\n")
    return 0


def _list(*, as_json: bool) -> int:
    if as_json:
        listed = {name: template.shows for name, template in TEMPLATES.items()}
        sys.stdout.write(json.dumps(listed, indent=2) + "\n")
    else:
        width = max(map(len, TEMPLATES))
        sys.stdout.write("".join(f"{name:<{width}}  {one.shows}\n" for name, one in TEMPLATES.items()))
    return 0


def _parse_template(text: str) -> str:
    if text not in TEMPLATES:
        raise ValueError(f"one of {', '.join(TEMPLATES)}")
    return text


def _session(arguments: argparse.Namespace) -> CapturedSession:
    """The session of the file, completed by the options."""
    path = arguments.session
    session, problems = read_session(_decoded(Path(path)))
    if session is None:
        raise SuiteError([FileProblem(path, 0, problem) for problem in problems])
    session = replace(
        session,
        id=arguments.id or session.id,
        language=arguments.language or session.language,
        captured_at=arguments.now or session.captured_at,
    )
    options = {
        "id": ("--id", session.id),
        "language": ("--language", session.language),
        "captured_at": ("--now", session.captured_at),
    }
    missing = [
        FileProblem(path, 0, f"it has no {name!r}; add it, or give {option}")
        for name, (option, value) in options.items()
        if not value
    ]
    if session.id and not _ID.fullmatch(session.id):
        allowed = "small letters, digits, '-' and '_'"
        missing.append(FileProblem(path, 0, f"the id {session.id!r:.80} is not allowed: {allowed}; give --id"))
    if missing:
        raise SuiteError(missing)
    return session


def _decoded(path: Path) -> object:
    try:
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise UsageError(f"The session {str(path)!r} cannot be read: {error.strerror}.", "Name a file.") from error
    if len(content) > _MOST_BYTES:
        raise UsageError(f"The session {str(path)!r} has more than {_MOST_BYTES:,} bytes.", "Cut it.")
    try:
        return json.loads(content.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"The session {str(path)!r} is not JSON in UTF-8: {error}.", "Export it again.") from error
