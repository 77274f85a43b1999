"""``ratiba generate``: write scenarios from a captured session, from a template, or proposed by a model."""

import argparse
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any

from ratiba_action.authoring.captured_session import CapturedSession, CapturedTurn, read_session_file
from ratiba_action.checks.failure_rules import validate_rule
from ratiba_action.commands import generate_proposals
from ratiba_action.commands.options import add_json, add_repo, parse_option, print_json, repository_of
from ratiba_action.errors import FileProblem, SuiteError, UsageError
from ratiba_action.metrics.registry import metric_problems
from ratiba_action.model.scenario import Layer
from ratiba_action.privacy.credentials import find_credentials
from ratiba_action.privacy.masking import Redactor
from ratiba_action.production.candidate import fictional_customer
from ratiba_action.settings.settings import read_settings
from ratiba_action.suite.load import load_suite
from ratiba_action.suite.scenario_schema import title_of
from ratiba_action.util.locked_folder import write_new_files
from ratiba_action.util.text import printable_lines
from ratiba_action.verdict.quarantine import PROPOSED


@dataclass(frozen=True, slots=True)
class GeneratorTemplate:
    """A scenario template.

    Args:
        shows: in words.
        more: names of further files that belong to it.
    """

    shows: str
    more: tuple[str, ...] = ()


TEMPLATES: Mapping[str, GeneratorTemplate] = {
    "agent_tool_call": GeneratorTemplate("an agent calls the right tool with the right arguments, and no other"),
    "rag_faithfulness": GeneratorTemplate("an answer is supported by the documents that were retrieved"),
    "classifier_data_set": GeneratorTemplate(
        "a classifier is right often enough, for each class", ("classifier_data_set.jsonl",)
    ),
    "search_ranking": GeneratorTemplate("the most relevant documents come first"),
    "safety_refusal": GeneratorTemplate("what must be refused is refused, and what is harmless is not"),
    "prompt_injection": GeneratorTemplate("text in a message or a document gives no orders and learns no secrets"),
    "adversarial_vague_query": GeneratorTemplate("the system asks back after a vague question instead of guessing"),
    "adversarial_rival_term": GeneratorTemplate("a rival's term in the question does not get into the answer"),
    "adversarial_several_documents": GeneratorTemplate("an answer puts several documents together"),
    "adversarial_hallucination_bait": GeneratorTemplate("a question about what does not exist gets no invented answer"),
}


def template_files(name: str, folder: str) -> Mapping[str, bytes]:
    """Content of a template's files by their path in the repository.

    Args:
        name: one of ``TEMPLATES``.
    """
    place = files("ratiba_action.authoring") / "templates"
    return {
        f"{folder}/{name_of_file}": (place / name_of_file).read_bytes()
        for name_of_file in (f"{name}.yaml", *TEMPLATES[name].more)
    }


DESCRIPTION = """Write a scenario from a captured session (masked and tagged `proposed`) or from a template, or let a
model propose scenarios within the budget. Existing files are never changed."""
EXAMPLE = """example:
  ratiba generate --from session.json
  ratiba generate --from messages.json --layer golden --id asks_for_hours --language en --now 2026-05-04T08:15:00+03:00
  ratiba generate --templates
  ratiba generate --template agent_tool_call
  ratiba generate --propose 5 --transcript session.json
  ratiba generate --propose 5 --system-type rag --document knowledge/prices.md
  ratiba generate --propose --for prompts/booking.md:14
  ratiba generate --propose 2 --adversarial vague_query --adversarial rival_term --system-type rag"""

_ID = re.compile(r"[a-z0-9][a-z0-9_-]{0,99}")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--from", dest="session", metavar="FILE", help="JSON file with a captured session")
    what.add_argument("--template", metavar="NAME", help="name of a template, see --templates")
    what.add_argument("--templates", action="store_true", help="list the templates and exit")
    what.add_argument(
        "--propose",
        nargs="?",
        const="1",
        metavar="N",
        help="let the configured simulator model propose N scenarios (1 to 20; default: 1)",
    )
    parser.add_argument(
        "--layer",
        choices=[Layer.REPLAY.value, Layer.GOLDEN.value],
        default="replay",
        help="layer of the scenario, with --from (default: replay)",
    )
    parser.add_argument("--id", metavar="ID", help="id of the scenario (default: that of the session)")
    parser.add_argument(
        "--language", metavar="CODE", help="language of the conversation, such as sw (default: that of the session)"
    )
    parser.add_argument("--now", metavar="TIME", help="time of the conversation (default: that of the session)")
    generate_proposals.add_arguments(parser)
    add_repo(parser, "this folder's repository")
    parser.add_argument("--scenarios", metavar="PATH", help="scenarios folder (default: scenarios; RATIBA_SCENARIOS)")
    add_json(parser)


def run(arguments: argparse.Namespace, environment: Mapping[str, str]) -> int:
    """Write one scenario.

    Raises:
        UsageError: an option is invalid, or a file exists already.
        SuiteError: the session cannot become a scenario; every problem.
    """
    if arguments.templates:
        return _list(as_json=arguments.json)
    if arguments.propose is not None:
        return generate_proposals.run(arguments, environment)
    if arguments.protected is not None:
        raise UsageError("--for is for scenarios that a model proposes.", "Add --propose.")
    folder = read_settings(environment, {"scenarios": arguments.scenarios}).scenarios
    repository = repository_of(arguments, {})
    if not repository.is_dir():
        raise UsageError(f"There is no folder {str(repository)!r}.", "Give the checkout with --repo.")
    if arguments.template is not None:
        name = parse_option("--template", arguments.template, _parse_template)
        contents = template_files(name, folder)
        advice = "Replace its messages, tools and documents by your own, then run: ratiba validate"
    else:
        proposal = propose(_session(arguments), arguments.layer, folder)
        contents = {proposal.path: proposal.content}
        advice = f"Review it, remove the tag `{PROPOSED}`, then run: ratiba validate"
    write_new_files(repository, contents)
    if arguments.json:
        print_json({"written": list(contents)})
    else:
        sys.stdout.write(printable_lines("".join(f"Written: {name}\n" for name in contents)) + f"{advice}\n")
    return 0


def _list(*, as_json: bool) -> int:
    if as_json:
        listed = {name: template.shows for name, template in TEMPLATES.items()}
        print_json(listed)
    else:
        width = max(map(len, TEMPLATES))
        sys.stdout.write("".join(f"{name:<{width}}  {template.shows}\n" for name, template in TEMPLATES.items()))
    return 0


def _parse_template(text: str) -> str:
    if text not in TEMPLATES:
        raise ValueError(f"one of {', '.join(TEMPLATES)}")
    return text


def _session(arguments: argparse.Namespace) -> CapturedSession:
    """The session of the file, completed by the options."""
    path = arguments.session
    session = read_session_file(path)
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
        FileProblem(path, 0, f"{name!r} is missing; add it, or give {option}")
        for name, (option, value) in options.items()
        if not value
    ]
    if session.id and not _ID.fullmatch(session.id):
        allowed = "lower-case letters, digits, '-' and '_'"
        missing.append(
            FileProblem(
                path, 0, f"the id {session.id!r:.80} is not allowed (allowed: {allowed}); give another with --id"
            )
        )
    if missing:
        raise SuiteError(missing)
    return session


_NOTE = (
    "# Proposed from a captured session. Personal identifiers were masked; check every line all the same.\n"
    f"# Then remove the tag `{PROPOSED}`.\n"
)


@dataclass(frozen=True, slots=True)
class Proposal:
    """A scenario's file.

    Args:
        path: in the repository.
    """

    path: str
    content: bytes


def propose(session: CapturedSession, layer: str, folder: str) -> Proposal:
    """The proposed scenario of a session.

    Args:
        session: with id, language and time.
        layer: ``replay`` compares the replies with those captured; ``golden`` keeps them as reference answers.
        folder: of the scenarios, in the repository.

    Raises:
        SuiteError: it contains a credential, or is not a valid scenario; every problem.
    """
    import yaml  # only what writes scenarios needs it

    redactor = Redactor(names=session.names)
    masked = {
        "id": session.id,
        **title_of(redactor.text(session.turns[0].user)),
        "language": session.language,
        "layer": layer,
        "tags": [PROPOSED, *(redactor.text(tag) for tag in session.tags if tag != PROPOSED)],
        "now": session.captured_at,
        "customer": fictional_customer(session.language),
        "turns": [_turn(turn, layer, redactor) for turn in session.turns],
        **({"assertions": [{"metric": "RougeLMetric", "threshold": 0.5}]} if _compared(session, layer) else {}),
        "provenance": {"captured_at": session.captured_at, "provider": redactor.text(session.provider) or "unknown"},
    }
    text = _NOTE + yaml.safe_dump(masked, allow_unicode=True, sort_keys=False, width=110)
    path = f"{folder}/{session.id}.yaml"
    kinds = sorted(set(find_credentials(text)))
    if kinds:
        raise SuiteError([FileProblem(path, 0, f"the session contains {', '.join(kinds)}; remove it")])
    load_suite({path: text.encode()}, metric_problems, validate_rule)
    return Proposal(path, text.encode())


def _compared(session: CapturedSession, layer: str) -> bool:
    return layer == Layer.GOLDEN and any(turn.reply for turn in session.turns)


def _turn(turn: CapturedTurn, layer: str, redactor: Redactor) -> dict[str, Any]:
    reply = redactor.text(turn.reply)
    expect: dict[str, Any] = {}
    if turn.tools:
        expect["tools"] = [{"name": name, "args": redactor.value(dict(args))} for name, args in turn.tools]
    if layer == Layer.GOLDEN and reply:
        expect["answer"] = reply
    values: dict[str, Any] = {"user": redactor.text(turn.user)}
    if layer == Layer.REPLAY:
        values["reply"] = reply
    return {**values, **({"expect": expect} if expect else {})}
