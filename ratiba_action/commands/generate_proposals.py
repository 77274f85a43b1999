"""``ratiba generate --propose``: scenarios that a model proposes, from prompts and transcripts."""

import argparse
import os
import re
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ratiba_action.authoring.proposals.kinds import ADVERSARIAL, SYSTEM_KINDS
from ratiba_action.commands.options import count_option, print_json, repository_of
from ratiba_action.errors import BudgetError, InfrastructureError, JudgeError, UsageError
from ratiba_action.model.answer_origin import Llm
from ratiba_action.model.scenario import SystemType
from ratiba_action.settings.settings import Settings, read_settings
from ratiba_action.util.locked_folder import is_file
from ratiba_action.util.text import printable_lines

if TYPE_CHECKING:
    from ratiba_action.authoring.proposals.asking import PromptLine, Question
    from ratiba_action.authoring.proposals.written import Origin, Proposals
    from ratiba_action.config.configuration import Configuration
    from ratiba_action.money.budget import Ledger

_MAX, _MAX_KNOWN, _REVIEW_DAYS = 20, 50, 30
_INCOMPLETE = 3
_SHOWN = 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``--propose``."""
    parser.add_argument(
        "--system-type",
        choices=[kind.value for kind in SYSTEM_KINDS],
        default="chatbot",
        help="type of the system, with --propose (default: chatbot)",
    )
    parser.add_argument(
        "--adversarial",
        action="append",
        choices=tuple(ADVERSARIAL),
        default=[],
        help="propose N pairs of this kind of attack instead; may be repeated",
    )
    parser.add_argument(
        "--prompt",
        action="append",
        default=[],
        metavar="FILE",
        help="prompt file to propose from (default: the system's prompts); may be repeated",
    )
    parser.add_argument(
        "--for",
        dest="protected",
        metavar="FILE:LINE",
        help="propose scenarios that protect this line of a prompt, such as one that ratiba mutate lists",
    )
    parser.add_argument(
        "--document",
        action="append",
        default=[],
        metavar="FILE",
        help="document of the knowledge base to propose from; may be repeated",
    )
    parser.add_argument(
        "--transcript",
        action="append",
        default=[],
        metavar="FILE",
        help="captured session to propose from; it is masked",
    )
    parser.add_argument(
        "--budget-usd", metavar="VALUE", help="maximum cost in US dollars (default: 20; RATIBA_EVAL_BUDGET_USD)"
    )
    parser.add_argument(
        "--owner", default="the reviewers", metavar="NAME", help="who reviews the proposals (default: the reviewers)"
    )
    parser.add_argument(
        "--config", metavar="PATH", help="the gate's configuration file (default: .github/ratiba.yml; RATIBA_CONFIG)"
    )


def run(arguments: argparse.Namespace, environment: Mapping[str, str]) -> int:
    """Call the model, check its proposals, and write the valid ones.

    Returns:
        The exit code: 3 if not all model calls succeeded, or no proposal is valid.

    Raises:
        UsageError: an option is invalid.
        RatibaError: configuration, scenarios or keys are invalid.
    """
    from ratiba_action.authoring.proposals.asking import require_another_model
    from ratiba_action.money.budget import Ledger
    from ratiba_action.run.authority import authorized_configuration
    from ratiba_action.run.provider_keys import keys_line, require_key

    count = count_option("--propose", arguments.propose, _MAX)
    options = {"scenarios": arguments.scenarios, "config": arguments.config, "budget-usd": arguments.budget_usd}
    repository = repository_of(arguments, {})
    settings, configuration = authorized_configuration(read_settings(environment, options), repository, environment)
    prompts = _prompts(arguments.prompt, repository, configuration)
    line = _line(arguments.protected, prompts)
    require_another_model(configuration)
    spendable = replace(settings, llm=Llm.LIVE, shell_keys={})
    if spendable.why_withheld or configuration.simulator.provider not in configuration.providers:
        # It knows the other names of a built-in provider's key.
        require_key(spendable, configuration, environment, task="Proposing scenarios")
    _require_key_of_simulator(spendable, configuration)
    sys.stderr.write(keys_line(settings, configuration, environment) + "\n")
    documents = _texts("document", arguments.document, repository)
    proposals, known = _known(repository, settings.scenarios)
    style = configuration.metrics.fluency.audience
    questions = _questions(arguments, count, (prompts, documents), known, style=style, line=line)
    ledger, notes = Ledger(settings.budget_usd), list[str]()

    def take(name: str, answer: "list[dict[str, Any]]") -> None:
        proposals.add(answer, _origin(arguments, name, configuration, [*prompts, *documents], line))

    calls = _ModelCalls(settings, configuration, environment, ledger, notes)
    complete = calls.ask(questions, take)
    code = _finish(arguments, repository, proposals, ledger, notes)
    return code if complete else _INCOMPLETE


def _require_key_of_simulator(settings: "Settings", configuration: "Configuration") -> None:
    """Refuse before anything is read for the model: another provider's key does not call it."""
    from ratiba_action.run.provider_keys import key_variable, keys_of

    described, keys = configuration.simulator, keys_of(settings, configuration)
    if described.provider in keys:
        return
    declared = configuration.providers.get(described.provider)
    name = key_variable(described.provider) if declared is None else declared.key_variable
    others = f" to a model of {' or '.join(sorted(keys))}" if keys else ""
    raise InfrastructureError(
        f"The model of `simulator`, {described.model} of {described.provider}, proposes scenarios, and there is no key "
        f"for {described.provider}.",
        f"Put one into {name}, or set simulator.provider and simulator.model in the configuration{others}.",
    )


@dataclass(frozen=True, slots=True)
class _ModelCalls:
    """What the model calls need."""

    settings: Settings
    configuration: "Configuration"
    environment: Mapping[str, str]
    ledger: "Ledger"
    notes: list[str]

    def ask(self, questions: "Sequence[Question]", take: "Callable[[str, list[dict[str, Any]]], None]") -> bool:
        """Call the model for each question; returns whether all calls succeeded. Earlier answers are kept."""
        import asyncio

        from ratiba_action.authoring.proposals.asking import request_proposals

        asking = request_proposals(
            questions,
            self.settings,
            self.configuration,
            environment=self.environment,
            ledger=self.ledger,
            warn=self.notes.append,
            take=take,
        )
        try:
            asyncio.run(asking)
        except (BudgetError, JudgeError, InfrastructureError) as error:
            self.notes.append(f"The model's proposals are incomplete: {error}")
            return False
        return True


def _prompts(named: Sequence[str], repository: Path, configuration: "Configuration") -> dict[str, str]:
    root = repository / configuration.system.root
    found = (path for pattern in configuration.system.prompt_patterns for path in root.glob(pattern) if is_file(path))
    names = list(named) or sorted({path.relative_to(repository).as_posix() for path in found})
    return _texts("prompt", names, repository)


def _texts(what: str, names: Sequence[str], repository: Path) -> dict[str, str]:
    """Text of files of the checkout, by name."""
    from ratiba_action.util.locked_folder import read_plain_file

    texts: dict[str, str] = {}
    for name in names:
        outside = Path(name).is_absolute() or ".." in Path(name).parts
        try:
            texts[name] = "" if outside else read_plain_file(repository, name).decode("utf-8")
            reason = "it is outside of the checkout" if outside else ""
        except (OSError, ValueError) as error:
            reason = str(error.strerror) if isinstance(error, OSError) else "it is not UTF-8"
        if reason:
            raise UsageError(f"The {what} {name!r} cannot be read: {reason}.", "Give a file of the checkout.")
    return texts


def _line(given: str | None, prompts: Mapping[str, str]) -> "PromptLine | None":
    """The line of a prompt that ``--for`` names; None without it."""
    from ratiba_action.authoring.proposals.asking import PromptLine

    if given is None:
        return None
    path, _, digits = given.rpartition(":")
    name, number = os.path.normpath(path), int(digits) if re.fullmatch("[0-9]{1,9}", digits) else 0
    example = "Give a line as ratiba mutate lists it: --for FILE:LINE"
    if not (path and number):
        raise UsageError(f"--for {given!r} is not a file and a line from 1.", example)
    if name not in prompts:
        listed = ", ".join(list(prompts)[:_SHOWN]) or "none"
        raise UsageError(
            f"--for {given!r}: {name!r} is not one of the prompts to propose from ({listed}).",
            "Give a prompt of system.prompts, or name the file with --prompt too.",
        )
    lines = prompts[name].removesuffix("\n").split("\n")
    if number > len(lines):
        raise UsageError(f"--for {given!r}: {name!r} has {len(lines)} lines.", example)
    if not lines[number - 1].strip():
        raise UsageError(f"--for {given!r}: this line of {name!r} is empty.", example)
    return PromptLine(name, number)


@dataclass(frozen=True, slots=True)
class _Known:
    """What is known of the existing scenarios: the first messages of some, and the languages of all."""

    messages: tuple[str, ...]
    languages: tuple[str, ...]


def _known(repository: Path, folder: str) -> "tuple[Proposals, _Known]":
    """A collector that knows the existing scenarios, and what the model is given of them."""
    from ratiba_action.authoring.proposals.written import Proposals
    from ratiba_action.checks.failure_rules import validate_rule
    from ratiba_action.metrics.registry import metric_problems
    from ratiba_action.production.candidate import fingerprint_of
    from ratiba_action.suite.load import load_suite, read_scenario_files

    files = read_scenario_files(repository, folder) if (repository / folder).is_dir() else {}
    # What they say counts here, and not when; the zone of those that name none stands in the configuration.
    scenarios = load_suite(files, metric_problems, validate_rule, timezone=None).scenarios if files else ()
    begin = (scenario.turns[0].user for scenario in scenarios if scenario.turns and scenario.turns[0].user)
    known = _Known(tuple(begin)[:_MAX_KNOWN], tuple(sorted({scenario.language for scenario in scenarios})))
    return Proposals(folder, {fingerprint_of(scenario) for scenario in scenarios}), known


def _questions(
    arguments: argparse.Namespace,
    count: int,
    texts: tuple[Mapping[str, str], Mapping[str, str]],
    known: _Known,
    *,
    style: str | None,
    line: "PromptLine | None",
) -> "list[Question]":
    from ratiba_action.authoring.captured_session import read_session_file
    from ratiba_action.authoring.proposals.asking import Material, form, schema

    languages = [arguments.language] if arguments.language else list(known.languages or ("en",))
    material = Material(*texts, [read_session_file(name) for name in arguments.transcript], line)
    if not (material.prompts or material.documents or material.transcripts):
        raise UsageError(
            "There is nothing to propose scenarios from: the system has no prompt files.",
            "Give some with --prompt, --document or --transcript, or set system.prompts.",
        )
    kind = SystemType(arguments.system_type)
    shape = schema(kind, languages)
    return [
        (
            attack,
            form(kind, attack, count, languages=languages, material=material, known=known.messages, style=style),
            shape,
        )
        for attack in dict.fromkeys(arguments.adversarial or [""])
    ]


def _origin(
    arguments: argparse.Namespace,
    attack: str,
    configuration: "Configuration",
    files: Sequence[str],
    line: "PromptLine | None",
) -> "Origin":
    from ratiba_action.authoring.proposals.written import Origin
    from ratiba_action.suite.scenario_clock import local_now

    now, timezone = datetime.now(UTC).astimezone(), configuration.timezone
    return Origin(
        system_type=SystemType(arguments.system_type),
        attack=attack,
        model=configuration.simulator.model,
        prompts=tuple(files),
        now=arguments.now or (local_now(now, timezone) if timezone else now.isoformat(timespec="seconds")),
        owner=arguments.owner,
        until=(now + timedelta(days=_REVIEW_DAYS)).date(),
        line=line,
    )


def _finish(
    arguments: argparse.Namespace, repository: Path, proposals: "Proposals", ledger: "Ledger", notes: Sequence[str]
) -> int:
    from ratiba_action.util.locked_folder import write_new_files

    # Existing files are never overwritten; the other proposals are written.
    fresh = {name: content for name, content in proposals.files.items() if not os.path.lexists(repository / name)}
    proposals.duplicates += len(proposals.files) - len(fresh)
    write_new_files(repository, fresh)
    written, spent = list(fresh), str(ledger.spent)
    if arguments.json:
        result = {
            "written": written,
            "duplicates": proposals.duplicates,
            "dropped": proposals.dropped,
            "spent_usd": spent,
            "notes": list(notes),
        }
        print_json(result)
    else:
        lines = [f"Written: {name}" for name in written]
        lines += [f"Dropped, not a valid scenario: {why}" for why in proposals.dropped]
        lines += [f"Left out as duplicates: {proposals.duplicates}"] if proposals.duplicates else []
        lines += [*notes, f"Spent {spent} of {ledger.cap} US dollars."]
        lines += ["Review each, remove the tag `proposed` and the quarantine, then run: ratiba validate"] * bool(
            written
        )
        if written and arguments.protected:
            prompt = shlex.quote(arguments.protected.rpartition(":")[0])
            lines.append(f"Then see whether they protect the line: ratiba mutate {prompt}")
        sys.stdout.write(printable_lines("".join(f"{line}\n" for line in lines)))
    return 0 if written or proposals.duplicates else _INCOMPLETE
