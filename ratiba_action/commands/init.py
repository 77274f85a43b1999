"""``ratiba init``: set the gate up in a repository with files that pass at once."""

import argparse
import json
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from ratiba_action.authoring.starter_answers import (
    ACTION,
    CODE_MODES,
    KINDS,
    StarterAnswers,
    ask_everything,
    parse_code_mode,
    parse_kind,
    parse_language,
    parse_prompts,
)
from ratiba_action.authoring.starter_files import CONFIGURATION, RECORDING, SCENARIO, WORKFLOW, stand_in, starter_files
from ratiba_action.commands.options import parse_option
from ratiba_action.errors import UsageError
from ratiba_action.settings.input_values import parse_name
from ratiba_action.util.locked_folder import write_new_files
from ratiba_action.util.text import printable_lines

DESCRIPTION = """Write what a repository needs: the workflow, the configuration, an adapter with a stand-in for your
system, and a first scenario. It passes at once, without a key. No file that is there is ever changed."""
EXAMPLE = """example:
  ratiba init
  ratiba init --yes --language sw --prompts 'prompts/*.md'
  ratiba init --yes --kind prompt --json"""

PROVIDERS = ("anthropic", "openai")
_BRANCH = re.compile(r"ref: refs/(?:remotes/origin|heads)/(\S+)\s*")
_ACTION = re.compile(r"[\w.-]+/[\w./-]+@[\w./-]+")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    proposed = StarterAnswers()
    parser.add_argument("--kind", metavar="KIND", help=f"how the gate speaks with your system: {', '.join(KINDS)}")
    parser.add_argument("--language", metavar="CODE", help=f"of the first scenario (default: {proposed.language})")
    parser.add_argument(
        "--prompts", metavar="PATTERNS", help="where the prompt files are (default: prompts/*.md if any)"
    )
    parser.add_argument(
        "--code",
        metavar="MODE",
        help=f"what failures after a change of code are: {', '.join(CODE_MODES)} (default: {proposed.code})",
    )
    parser.add_argument("--name", metavar="NAME", help=f"of the gate (default: {proposed.name})")
    parser.add_argument("--action", metavar="ACTION", help="what the workflow uses, owner/repository@commit")
    parser.add_argument("--url", metavar="URL", help=f"of the server, for the kind http (default: {proposed.url})")
    parser.add_argument("--repo", metavar="DIR", help="the checkout (default: this folder)")
    parser.add_argument("--yes", action="store_true", help="ask nothing; take options and defaults")
    parser.add_argument("--json", action="store_true", help="print JSON; asks nothing either")


def run(arguments: argparse.Namespace, environment: Mapping[str, str]) -> int:
    """Ask, write, and say what to do next.

    Raises:
        UsageError: an option is wrong, a file exists already, or there is nobody to ask.
        SuiteError: an answer cannot stand in a configuration or a scenario.
    """
    repository = Path(arguments.repo or ".").resolve()
    if not repository.is_dir():
        raise UsageError(f"There is no folder {str(repository)!r}.", "Name the checkout with --repo.")
    answers = replace(_from_options(arguments, repository), provider=_only_provider(environment))
    if not (arguments.yes or arguments.json):
        if not sys.stdin.isatty():
            raise UsageError("There is no terminal to ask questions on.", "Give --yes, with options where needed.")
        answers = ask_everything(answers, input, lambda line: print(line, flush=True))  # noqa: T201 - a dialogue
    contents = starter_files(answers, has_prompt=_has_prompt(answers, repository))
    write_new_files(repository, contents)
    steps = list(_next_steps(answers, contents))
    if arguments.json:
        sys.stdout.write(json.dumps({"written": list(contents), "next": steps}, indent=2) + "\n")
    else:
        sys.stdout.write(printable_lines("".join(f"Written: {name}\n" for name in contents)))
        sys.stdout.write("\nNext:\n" + "".join(f"{number}. {step}\n" for number, step in enumerate(steps, 1)))
    return 0


def _from_options(arguments: argparse.Namespace, repository: Path) -> StarterAnswers:
    proposed = StarterAnswers()
    found = "prompts/*.md" if any((repository / "prompts").glob("*.md")) else ""
    return StarterAnswers(
        kind=parse_option("--kind", arguments.kind or proposed.kind, parse_kind),
        language=parse_option("--language", arguments.language or proposed.language, parse_language),
        prompts=parse_prompts(found if arguments.prompts is None else arguments.prompts),
        name=parse_option("--name", arguments.name or proposed.name, parse_name),
        code=parse_option("--code", arguments.code or proposed.code, parse_code_mode),
        branch=_default_branch(repository),
        action=parse_option("--action", arguments.action or ACTION, _parse_action),
        url=arguments.url or proposed.url,
    )


def _only_provider(environment: Mapping[str, str]) -> str:
    """The provider whose key is the only one in the environment; the key itself is not used."""
    names = {provider: (f"RATIBA_{provider.upper()}_API_KEY", f"{provider.upper()}_API_KEY") for provider in PROVIDERS}
    there = [provider for provider, variables in names.items() if any(map(environment.get, variables))]
    return there[0] if len(there) == 1 else ""


def _has_prompt(answers: StarterAnswers, repository: Path) -> bool:
    return answers.kind == "prompt" and (repository / answers.prompt_file).is_file()


def _parse_action(text: str) -> str:
    if not _ACTION.fullmatch(text):
        raise ValueError("owner/repository@commit")
    return text


def _default_branch(repository: Path) -> str:
    """The branch that the remote calls its default one, else the one that is checked out, else main."""
    for name in ("refs/remotes/origin/HEAD", "HEAD"):
        try:
            found = _BRANCH.fullmatch((repository / ".git" / name).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        if found:
            return found[1]
    return StarterAnswers().branch


def _next_steps(answers: StarterAnswers, contents: Mapping[str, bytes]) -> Iterable[str]:
    own, graded = stand_in(answers), RECORDING in contents
    if graded and find_spec("deepeval") is None:
        yield "pip install 'ratiba-eval-gate[judges]'  # a judge scores replies in this language"
    if own and answers.kind == "http":
        yield f"python3 {own} &     # start the stand-in for your server: the gate starts none"
    if not own:
        yield f"Start your server, and say in {CONFIGURATION} where it answers and how."
        yield "ratiba gate                  # asks it"
    else:
        yield "ratiba gate                  # passes now, with a stand-in for your system"
        what = "your prompt" if answers.kind == "prompt" else "your system"
        yield f"Replace what is in {own} by {what}, and put your customers' words into {SCENARIO}."
    if answers.kind == "prompt":
        yield f"Take `layer` and `script` out of {SCENARIO}, so that the model answers and not the script."
    if graded or answers.kind == "prompt":
        until = f". Until then {RECORDING} holds a score written by hand" if graded else ""
        yield f"ratiba record --accept       # asks models and judge once and keeps their answers; needs a key{until}"
    if graded:
        yield f"Without a key, put `metrics: {{fluency: false}}` into {CONFIGURATION}: no judge scores replies then."
    yield f"ratiba validate              # every mistake in {CONFIGURATION} and the scenarios"
    if answers.action == ACTION:
        yield f"In {WORKFLOW} put the action's owner for OWNER and the commit of a release for COMMIT."
    if answers.kind == "http":
        yield f"In {WORKFLOW} start your server in a step of its own, before the step Evaluate."
    yield "Commit the files, open a pull request, and make the check `eval` required."
