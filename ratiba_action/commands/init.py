"""``ratiba init``: set up the gate in a repository, with a stand-in where it finds no server to start."""

import argparse
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from ratiba_action.authoring.observed_prompts import observed_prompts, proposed_steps
from ratiba_action.authoring.project_files import installed_folder, read_project
from ratiba_action.authoring.starter_answers import (
    ACTION,
    CODE_MODES,
    KINDS,
    StarterAnswers,
    ask_questions,
    parse_code_mode,
    parse_kind,
    parse_language,
    parse_prompts,
)
from ratiba_action.authoring.starter_files import (
    CONFIGURATION,
    RECORDING,
    SCENARIO,
    WORKFLOW,
    declared_keys,
    stand_in,
    starter_files,
)
from ratiba_action.commands.options import add_json, add_repo, parse_option, print_json, repository_of
from ratiba_action.config.configuration import read_configuration
from ratiba_action.errors import UsageError
from ratiba_action.llm.recordings.folder import read_reads
from ratiba_action.settings.input_values import parse_name
from ratiba_action.settings.provider_keys import providers_with_keys
from ratiba_action.settings.settings import read_settings
from ratiba_action.util.folder_tree import paths_below
from ratiba_action.util.installation import install_command, installed_from, page
from ratiba_action.util.locked_folder import read_plain_file, write_new_files
from ratiba_action.util.text import printable_lines

DESCRIPTION = """Write the files that a repository needs: workflow, configuration and a first scenario. If package.json,
go.mod, Gemfile or Dockerfile says how to start your server, the gate starts it. Otherwise the command also writes an
adapter with a stand-in for your system, and the gate passes at once, without an API key. Existing files are never
changed. Once scenarios are recorded, the command writes nothing and proposes `prompts` and `touches` for the files that
the system reads."""
EXAMPLE = """example:
  ratiba init
  ratiba init --yes --function bot:answer
  ratiba init --yes --language sw --prompts 'prompts/*.md'
  ratiba init --yes --kind prompt --json"""

IGNORED = ".gitignore"
_BRANCH = re.compile(r"ref: refs/(?:remotes/origin|heads)/(\S+)\s*")
_FUNCTION = re.compile(r"\w+(?:\.\w+)*:\w+")
_ACTION = re.compile(r"[\w.-]+/[\w./-]+@[\w./-]+")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    proposed = StarterAnswers()
    parser.add_argument("--kind", metavar=f"{{{','.join(KINDS)}}}", help="how the gate connects to your system")
    parser.add_argument(
        "--language", metavar="CODE", help=f"language of the first scenario (default: {proposed.language})"
    )
    parser.add_argument(
        "--prompts",
        metavar="PATTERNS",
        help="glob patterns of the prompt files (default: prompts/*.md if there are any)",
    )
    parser.add_argument(
        "--code",
        metavar=f"{{{','.join(CODE_MODES)}}}",
        help=f"mode for changes of code (default: {proposed.code})",
    )
    parser.add_argument("--name", metavar="NAME", help=f"name of the gate (default: {proposed.name})")
    parser.add_argument("--action", metavar="ACTION", help="the action that the workflow uses: owner/repository@commit")
    parser.add_argument(
        "--url", metavar="URL", help="URL of your server, for --kind http, if the gate does not start it"
    )
    parser.add_argument(
        "--function", metavar="MODULE:NAME", help="your own function, such as bot:answer, for --kind function"
    )
    add_repo(parser, "this folder's repository")
    parser.add_argument("--yes", action="store_true", help="ask no questions; use options and defaults")
    add_json(parser, "print JSON; also asks no questions")


def run(arguments: argparse.Namespace, environment: Mapping[str, str]) -> int:
    """Ask questions, write the files, and print the next steps.

    Raises:
        UsageError: an option is invalid, a file exists already, or there is no terminal.
        SuiteError: an answer is not valid in a configuration or a scenario, or what is there has mistakes.
    """
    repository = repository_of(arguments, {})
    if not repository.is_dir():
        raise UsageError(f"There is no folder {str(repository)!r}.", "Give the checkout with --repo.")
    steps = _proposed(repository, environment)
    if steps is not None:
        _print((), steps, as_json=arguments.json)
        return 0
    answers = replace(_from_options(arguments, repository), providers=providers_with_keys(environment))
    if not (arguments.yes or arguments.json):
        if not sys.stdin.isatty():
            raise UsageError("There is no terminal to ask questions on.", "Run: ratiba init --yes")
        answers = ask_questions(answers, input, lambda line: print(line, flush=True))  # noqa: T201 - a dialogue
    contents = {**starter_files(answers, has_prompt=_has_prompt(answers, repository))}
    unignored = _unignored(answers, repository)
    if unignored and not (repository / IGNORED).exists():
        contents[IGNORED], unignored = f"{unignored}/\n".encode(), ""
    write_new_files(repository, contents)
    steps = [f"echo {unignored}/ >> {IGNORED}  # what `system.setup` installs is no part of the repository"]
    _print(contents, [*(steps if unignored else ()), *_next_steps(answers, contents)], as_json=arguments.json)
    return 0


def _unignored(answers: StarterAnswers, repository: Path) -> str:
    """The folder that the set-up fills, unless a line of the repository's ``.gitignore`` names it."""
    folder = installed_folder(answers.project.setup) if answers.kind in {"http", "function"} else ""
    try:
        lines = (repository / IGNORED).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    return "" if folder in {line.strip().removeprefix("**/").strip("/*") for line in lines} else folder


def _print(written: Iterable[str], steps: Sequence[str], *, as_json: bool) -> None:
    if as_json:
        print_json({"written": list(written), "next": steps})
        return
    sys.stdout.write(printable_lines("".join(f"Written: {name}\n" for name in written)))
    numbered = "".join(f"{number}. {step}\n" for number, step in enumerate(steps, 1))
    sys.stdout.write(printable_lines(f"\nNext:\n{numbered}"))


def _proposed(repository: Path, environment: Mapping[str, str]) -> list[str] | None:
    """What to add to the configuration for what scenarios were seen to read; None before that, and without one."""
    settings = read_settings(environment, {})
    recorded = paths_below(repository / settings.scenarios / "recordings")
    observed = read_reads(repository / settings.scenarios / "recordings", sorted({path.stem for path in recorded}))
    if not observed or not (repository / settings.config).is_file():
        return None
    configuration = read_configuration(settings.config, read_plain_file(repository, settings.config))
    found = observed_prompts(observed, repository, settings)
    steps = list(proposed_steps(found, observed, configuration, settings.config))
    return steps or ["Nothing: every file of which a text reaches a model is a prompt by its name."]


def _from_options(arguments: argparse.Namespace, repository: Path) -> StarterAnswers:
    proposed, project = StarterAnswers(), read_project(repository)
    kind = "http" if project.serve or project.port or arguments.url else proposed.kind
    kind = arguments.kind or ("function" if arguments.function else kind)
    if arguments.function and kind != "function":
        raise UsageError(f"--kind {kind} calls no function.", "Leave out --kind, or --function.")
    found = "prompts/*.md" if any((repository / "prompts").glob("*.md")) else ""
    return StarterAnswers(
        kind=parse_option("--kind", kind, parse_kind),
        language=parse_option("--language", arguments.language or proposed.language, parse_language),
        prompts=parse_prompts(found if arguments.prompts is None else arguments.prompts),
        name=parse_option("--name", arguments.name or proposed.name, parse_name),
        code=parse_option("--code", arguments.code or proposed.code, parse_code_mode),
        branch=_default_branch(repository),
        action=parse_option("--action", arguments.action or installed_from().action, _parse_action),
        url=arguments.url or proposed.url,
        function=parse_option("--function", arguments.function, _parse_function) if arguments.function else "",
        project=project,
    )


def _has_prompt(answers: StarterAnswers, repository: Path) -> bool:
    return answers.kind == "prompt" and (repository / answers.prompt_file).is_file()


def _parse_action(text: str) -> str:
    if not _ACTION.fullmatch(text):
        raise ValueError("owner/repository@commit")
    return text


def _parse_function(text: str) -> str:
    if not _FUNCTION.fullmatch(text):
        raise ValueError("module:name, such as bot:answer for `answer` of bot.py")
    return text


def _default_branch(repository: Path) -> str:
    """The remote's default branch, else the current branch, else main."""
    for name in ("refs/remotes/origin/HEAD", "HEAD"):
        try:
            found = _BRANCH.fullmatch((repository / ".git" / name).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        if found:
            return found[1]
    return StarterAnswers().branch


def _first_gate(contents: Mapping[str, bytes]) -> Iterable[str]:
    """The first run calls no model whatever keys there are, so replay is asked for."""
    names = declared_keys(contents[CONFIGURATION])
    yield "ratiba gate --llm replay     # passes now, with a stand-in for your system, and calls no model"
    if names:
        spent = " or ".join(names)
        yield f"Without --llm replay the gate calls the judge with the key in {spent}, which {CONFIGURATION} names."


def _own_system(answers: StarterAnswers) -> Iterable[str]:
    yield from () if answers.function else _own_server(answers)
    yield f"Write a message of your customers, and what must be true then, into {SCENARIO}."
    what = "function" if answers.function else "server"
    yield f"ratiba record --accept       # calls your {what} and records what its model answers; needs an API key"
    yield (
        f"Without an API key, let a program stand in for the model ({page('quickstart', _STAND_IN)}), or write "
        f"the model's answers into the scenario ({page('scenarios', 'fsm')})."
    )
    yield "ratiba gate                  # passes, and calls no model while the recordings fit"


_STAND_IN = "4-a-stand-in-for-the-model"


def _own_server(answers: StarterAnswers) -> Iterable[str]:
    start = "Start your server, and set" if answers.has_url else "Set"
    places = page("adapters", "a-server-with-its-own-interface")
    yield f"{start} the server's `url`, `body` and `reply` in {CONFIGURATION}: {places}"


def _next_steps(answers: StarterAnswers, contents: Mapping[str, bytes]) -> Iterable[str]:
    own, judged = stand_in(answers), RECORDING in contents
    if judged and find_spec("deepeval") is None:
        yield f"{install_command('judges')}  # a judge scores replies in this language"
    if not own:
        yield from _own_system(answers)
    else:
        yield from _first_gate(contents)
        what = "your prompt" if answers.kind == "prompt" else "your system"
        yield f"Replace the content of {own} with {what}, and the messages in {SCENARIO} with those of your customers."
    if answers.kind == "prompt":
        yield f"Remove `layer` and `script` from {SCENARIO}, so that the real model answers instead of the mocked one."
    if judged or answers.kind == "prompt":
        until = f". Until then {RECORDING} has a score written by hand" if judged else ""
        yield f"ratiba record --accept       # records the answers of models and judges; needs an API key{until}"
    if judged:
        off = f"set `metrics: {{fluency: false}}` in {CONFIGURATION} and delete {RECORDING}"
        yield f"Without an API key, {off}. Then no judge scores replies."
    if own and answers.kind != "prompt":
        program = f"let a program stand in for it ({page('quickstart', _STAND_IN)})"
        mocked = f"write its answers into the scenario ({page('scenarios', 'fsm')})"
        yield f"Without an API key for the model that your system calls, {program}, or {mocked}."
    yield f"ratiba validate              # checks {CONFIGURATION} and the scenarios"
    if answers.action == ACTION:
        yield f"In {WORKFLOW}, replace OWNER with the account that has ratiba-eval-gate, and COMMIT with a commit's id."
    yield "ratiba doctor                # lists what is still missing"
    if own and answers.kind != "http":
        yield "ratiba init                  # again, once scenarios are recorded: proposes `prompts` and `touches`"
    if answers.has_url:
        yield f"In {WORKFLOW} start your server in a separate step before the step Evaluate."
    check = "eval" if answers.has_url else "gate / eval"
    yield f"Commit the files, open a pull request, and make `{check}` a required check."
