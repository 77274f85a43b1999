"""``ratiba chat``: talk with the system of this checkout, and write a scenario of the conversation."""

import argparse
import asyncio
import json
import re
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ratiba_action.commands.options import add_json, add_repo, count_option
from ratiba_action.errors import ConfigurationError, SuiteError, UsageError
from ratiba_action.model.answer_origin import Llm
from ratiba_action.settings.run_deadline import read_deadline
from ratiba_action.settings.settings import INPUTS, Settings, read_settings
from ratiba_action.util.text import clip

if TYPE_CHECKING:
    from ratiba_action.authoring.chat import About, Chat, ChatArm, SavedScenario
    from ratiba_action.authoring.chat_conversation import KeptAnswers
    from ratiba_action.authoring.chat_trace import TracedConversation
    from ratiba_action.commands.chat_terminal import ChatTerminal, Front
    from ratiba_action.llm.recordings.lines import ModelRecording
    from ratiba_action.model.scenario import Scenario, Turn
    from ratiba_action.run.inputs import ArmInputs, RunInputs
    from ratiba_action.run.services import Arms
    from ratiba_action.run.session import OpenSession, RunSession

    OpenFront = Callable[[], AbstractAsyncContextManager[Front]]

DESCRIPTION = """Talk with the system of this checkout, in a fresh tenant and within the budget, and save the
conversation as a scenario. After each turn you see the reply, state, tool calls, events, changed rows, cost and
seconds. /expect chooses what must stay true, and /save writes the scenario with its recording if it passes again. /help
lists all commands. Input may come from a pipe; then the exit code is 1 if one of its lines failed."""
EXAMPLE = """example:
  ratiba chat
  ratiba chat --language sw --budget-usd 1
  ratiba chat --scenario order_status
  ratiba chat --from conversation.json --turn 2
  ratiba chat --from 0af7651916cd43dd8448eb211c80319c --tenants ../tenants.yaml
  printf 'Habari\\n/expect all\\n/save greets\\n' | ratiba chat"""

_INPUTS = (
    *("config", "scenarios", "budget-usd", "monthly-budget-usd", "llm"),
    *("anthropic-base-url", "openai-base-url", "report-dir"),
)
_MUTANTS, _MAX_MUTANTS = 20, 1_000
_LISTED = 5
_TRACE_ID = re.compile(r"[A-Za-z0-9_-]{1,200}", re.ASCII)
_PLACE = re.compile(r"(?P<file>.+?)(?::(?P<line>[1-9][0-9]{0,5}))?")
_NOTE = "# Written by `ratiba chat`.\n"
_WITHOUT_JUDGE = (
    "# No judge was called: to measure fluency too, remove `metrics` and run: ratiba record --scenario {} --accept\n"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    for entry in INPUTS:
        if entry.name in _INPUTS:
            parser.add_argument(f"--{entry.name}", metavar=entry.metavar, help=entry.option_help)
    add_repo(parser)
    begin = parser.add_mutually_exclusive_group()
    begin.add_argument(
        "--scenario",
        metavar="ID",
        help="begin with customer, time and recorded answers of this scenario, and none of its turns",
    )
    begin.add_argument(
        "--from",
        dest="trace",
        metavar="TRACE",
        help="production conversation (a JSON file, or a trace's id in Langfuse) to repeat, masked, and continue",
    )
    parser.add_argument("--turn", metavar="N", help="repeat only the first N turns of --from (default: all)")
    parser.add_argument(
        "--tenants",
        metavar="FILE",
        help="YAML file with vertical and names of each tenant of a trace; keep it outside the checkout",
    )
    parser.add_argument("--language", metavar="CODE", help="language of the conversation (default: that of the suite)")
    parser.add_argument(
        "--mutants",
        metavar="N",
        help=f"after /save, run at most N mutants with recorded answers, 0 for none (default: {_MUTANTS})",
    )
    add_json(parser, "print a JSON object for each thing that happens, one a line")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatOptions:
    """What somebody asks of a chat: by ``ratiba chat``, or by ``ratiba view --chat``.

    Args:
        inputs: of the action, by name.
        repo: folder of the checkout; None for the environment's, or the current one.
        scenario: id of the scenario that it begins like.
        trace: file or id of the conversation of production that it begins with.
        turn: how many turns of that are repeated; None for all.
        tenants: file about the tenants of a trace.
        language: of the conversation; None for that of the suite.
        mutants: how many are run after a scenario was saved; None for the default.
        json: print JSON.
    """

    inputs: Mapping[str, str]
    repo: str | None = None
    scenario: str | None = None
    trace: str | None = None
    turn: str | None = None
    tenants: str | None = None
    language: str | None = None
    mutants: str | None = None
    json: bool = False


def run(arguments: argparse.Namespace, environment: MutableMapping[str, str]) -> int:
    """Talk on the terminal, or by a pipe; see ``talk``."""
    given = {name: getattr(arguments, name.replace("-", "_")) for name in _INPUTS}
    options = ChatOptions(
        inputs={name: value for name, value in given.items() if value is not None},
        repo=arguments.repo,
        scenario=arguments.scenario,
        trace=arguments.trace,
        turn=arguments.turn,
        tenants=arguments.tenants,
        language=arguments.language,
        mutants=arguments.mutants,
        json=arguments.json,
    )
    return talk(options, environment)


def talk(
    options: ChatOptions,
    environment: MutableMapping[str, str],
    open_session: "OpenSession | None" = None,
    front: "OpenFront | None" = None,
) -> int:
    """Talk.

    Args:
        open_session: makes what conversations run in; None for what the gate runs by.
        front: opens what a person talks by, once the system is started; None for the terminal or a pipe.

    Returns:
        The exit code: 0, or 1 where a line of a pipe failed.

    Raises:
        UsageError: an option is invalid.
        RatibaError: configuration or scenarios are invalid, or the system cannot be started.
    """
    from ratiba_action.authoring.chat_conversation import KeptAnswers
    from ratiba_action.commands.chat_terminal import terminal_as_it_was
    from ratiba_action.llm.recordings.folder import model_recordings, read_folder
    from ratiba_action.money.budget import Ledger
    from ratiba_action.run.arms import scratch_folder
    from ratiba_action.run.composition import open_session as open_real_session
    from ratiba_action.run.inputs import RunLog, SilentProgress

    maximum = _MUTANTS
    if options.mutants is not None:
        maximum = count_option("--mutants", options.mutants, _MAX_MUTANTS, minimum=0)
    chosen = options.scenario
    settings = _settings(options.inputs, environment)
    inputs = _inputs(options, settings, environment)
    session = _traced(options, settings, environment, inputs.repository)
    draft = _Draft(inputs)
    about = draft.about(options.language, next(iter(inputs.selection.scenarios)) if chosen else None, session)
    recorded = model_recordings(read_folder(inputs.recordings, [chosen])).get(chosen, ()) if chosen else ()
    starting = _Starting(options.json, maximum, environment, draft, about, tuple(recorded), session, KeptAnswers())
    ledger = Ledger(settings.budget_usd)
    with scratch_folder() as scratch, terminal_as_it_was():
        talk = _Talk(starting, ledger, scratch, RunLog(SilentProgress(), answered=starting.answers.keep), front)
        return talk.run(open_session or open_real_session)


def _settings(given: Mapping[str, str], environment: Mapping[str, str]) -> Settings:
    """The inputs; with a key the system calls models, as whoever talks with it expects.

    Raises:
        ConfigurationError: an input is invalid.
    """
    settings = read_settings(environment, given)
    if settings.llm is Llm.REPLAY:
        return settings
    # A key in the shell is spent by whoever asks for live answers, as here.
    live = read_settings(environment, {**given, "llm": Llm.LIVE.value})
    return replace(live, llm=Llm.AUTO)


def _inputs(options: ChatOptions, settings: Settings, environment: MutableMapping[str, str]) -> "RunInputs":
    from ratiba_action.commands.gate_options import GateOptions
    from ratiba_action.commands.gate_request import run_request
    from ratiba_action.decide.deciding import decide
    from ratiba_action.run.evaluation_inputs import read_inputs

    scenarios = (options.scenario,) if options.scenario else ()
    seconds = read_deadline("", environment)
    asked = GateOptions(inputs=options.inputs, repo=options.repo or "", scenarios=scenarios, seconds=seconds)
    inputs = read_inputs(run_request(asked, environment, settings, decide))
    if inputs.configuration.system.replay is not None:
        raise UsageError(
            f"Nobody can talk with the system of {settings.config}: 'system.replay' only repeats captured replies.",
            "Name the system that gave these replies, for example with 'system.adapter'.",
        )
    # What the change did to recordings says nothing about a conversation that has none.
    return replace(inputs, edited_recordings=0)


def _traced(
    options: ChatOptions, settings: Settings, environment: Mapping[str, str], repository: Path
) -> "TracedConversation | None":
    """The conversation of production that --from names, as far as --turn; None without one.

    Raises:
        UsageError: an option is invalid, or there is no such file or trace.
        ConfigurationError: its tenant's conversations must not leave production, or it contains a credential.
        InfrastructureError: Langfuse failed.
    """
    from ratiba_action.authoring.captured_session import read_session_file
    from ratiba_action.authoring.chat_trace import read_trace, traced_session
    from ratiba_action.commands.dataset_options import server_failed
    from ratiba_action.observability.langfuse_asking import LangfuseError
    from ratiba_action.production.tenants import tenants_outside
    from ratiba_action.run.event_logging import required_access

    name = options.trace
    if name is None:
        unused = [name for name in ("turn", "tenants") if getattr(options, name) is not None]
        if unused:
            raise UsageError(f"--{unused[0]} is for a conversation of production.", "Add --from TRACE.")
        return None
    if Path(name).is_file() or not _TRACE_ID.fullmatch(name):
        traced = traced_session(read_session_file(name))
    else:
        access = required_access(settings, environment, f"there is neither a file nor a trace {name!r} to read")
        try:
            traced = read_trace(access, name, tenants_outside(options.tenants, repository))
        except LangfuseError as error:
            raise server_failed(error) from error
    count = len(traced.turns)
    last = count if options.turn is None else count_option("--turn", options.turn, count, minimum=0)
    return replace(traced, turns=traced.turns[:last])


_NO_NAMES = (
    "The conversation lists no names of people, so names in its messages are sent and saved as they are. To mask them, "
    'list them: "names": ["Wanjiku Kamau"] in a file with "messages" or "exchanges", or --tenants FILE for a trace.'
)


class _Draft:
    """Reads plain data as a scenario of this repository.

    Args:
        inputs: of the run.
    """

    def __init__(self, inputs: "RunInputs") -> None:
        self.inputs = inputs

    def path(self, scenario_id: str) -> str:
        """Where the scenario's file lies in the repository."""
        return f"{self.inputs.settings.scenarios.rstrip('/')}/{scenario_id}.yaml"

    def content(self, data: Mapping[str, Any], note: str = "") -> bytes:
        """The scenario's file."""
        import yaml  # only what writes scenarios needs it

        return (note + yaml.safe_dump(dict(data), allow_unicode=True, sort_keys=False, width=110)).encode()

    def load(self, data: Mapping[str, Any]) -> "Scenario":
        """The scenario as the gate would read it, with the metrics that the configuration adds.

        Raises:
            SuiteError: it is invalid; every problem.
        """
        from ratiba_action.authoring.chat import CHAT
        from ratiba_action.checks.failure_rules import validate_rule
        from ratiba_action.config.metrics_block import attach_metrics
        from ratiba_action.metrics.registry import metric_problems, readers_of
        from ratiba_action.suite.load import load_suite
        from ratiba_action.suite.scenario_selection import with_defaults

        configuration = self.inputs.configuration
        names, timezone = configuration.metrics.names, configuration.timezone or ""
        path = self.path(str(data["id"]))
        try:
            (scenario,) = load_suite(
                {path: self.content(data)}, metric_problems, validate_rule, readers_of, names, timezone=timezone
            ).scenarios
        except SuiteError as error:  # nobody can look up a line of a file that is not written
            place = CHAT if data["id"] == CHAT else path
            raise SuiteError([replace(problem, path=place, line=0) for problem in error.problems]) from error
        attached = replace(scenario, assertions=attach_metrics(scenario, configuration.metrics))
        return with_defaults(attached, configuration.suite.defaults)

    def about(self, language: str | None, like: "Scenario | None", session: "TracedConversation | None") -> "About":
        """What the scenario says besides its turns: as another one, as the captured conversation, or as none."""
        from ratiba_action.authoring.chat import About
        from ratiba_action.model.scenario import DEFAULT_NOW
        from ratiba_action.privacy.masking import Redactor
        from ratiba_action.production.candidate import fictional_customer

        if like is not None:
            return _about_like(like, language)
        spoken = language or (session.language if session is not None else "") or self._language()
        now = (session.started if session is not None else "") or DEFAULT_NOW.isoformat()
        kinds = [scenario.system_type.value for scenario in self.inputs.suite.scenarios]
        more: dict[str, Any] = {"system_type": max(kinds, key=kinds.count)} if kinds else {}
        if session is not None:
            provider = Redactor(names=session.names).text(session.source)
            more["provenance"] = {"captured_at": now, "provider": provider}
        return About(language=spoken, now=now, customer=fictional_customer(spoken), more=more)

    def _language(self) -> str:
        found = [scenario.language for scenario in self.inputs.suite.scenarios]
        return max(found, key=found.count) if found else "en"


def _about_like(like: "Scenario", language: str | None) -> "About":
    from ratiba_action.authoring.chat import About
    from ratiba_action.suite.scenario_clock import local_now

    if like.script is not None or like.replies or like.test is not None or like.data_set:
        raise UsageError(
            f"The scenario {like.id!r} is no conversation of the layer golden.", "Name another one, or none."
        )
    more: dict[str, Any] = {"system_type": like.system_type.value}
    more |= {"vertical": like.vertical} if like.vertical else {}
    more |= {"inputs": dict(like.inputs)} if like.inputs else {}
    now = local_now(like.now, like.timezone) if like.timezone else like.now.isoformat()
    customer = {"name": like.customer.name, "phone": like.customer.phone}
    return About(language=language or like.language, now=now, customer=customer, more=more)


@dataclass(frozen=True)
class _Starting:
    """What a chat begins with.

    Args:
        mutants: how many are run after a scenario was written.
        recorded: answers of the scenario that it begins like.
        session: of production; None for none.
    """

    as_json: bool
    mutants: int
    environment: MutableMapping[str, str]
    draft: _Draft
    about: "About"
    recorded: "tuple[ModelRecording, ...]"
    session: "TracedConversation | None"
    answers: "KeptAnswers"

    @property
    def inputs(self) -> "RunInputs":
        """Of the run."""
        return self.draft.inputs


class _ChatArms:
    """Implements ``ChatArms`` on the arms of a run.

    Args:
        head: of this checkout; each of its arms is one more name for its system.
        read_base: reads the base, and writes its files; called once.
    """

    def __init__(self, arms: "Arms", head: "ArmInputs", read_base: "Callable[[], ArmInputs]") -> None:
        self._arms, self._head, self._read_base = arms, head, read_base
        self._count = 0
        self._base: ArmInputs | None = None

    def add(self, scenario: "Scenario", lines: "Sequence[ModelRecording]") -> "ChatArm":
        """See ``ChatArms``."""
        from ratiba_action.model.plan import Arm

        self._count += 1
        arm = Arm(f"{self._head.arm.name}-{self._count}", self._head.arm.root, self._head.arm.commit)
        made, chat_arm = _free_arm(replace(self._head, arm=arm), scenario, lines)
        self._arms.add(made)
        return chat_arm

    def remove(self, arm: "ChatArm") -> None:
        """See ``ChatArms``."""
        self._arms.remove(arm.name)

    @asynccontextmanager
    async def open_base(self, scenario: "Scenario", lines: "Sequence[ModelRecording]") -> "AsyncIterator[ChatArm]":
        """See ``ChatArms``."""
        base = await asyncio.to_thread(self._read_base) if self._base is None else self._base
        self._base = base
        made, chat_arm = _free_arm(base, scenario, lines)
        async with self._arms.open(made):
            yield chat_arm


def _free_arm(arm: "ArmInputs", scenario: "Scenario", lines: "Sequence[ModelRecording]") -> "tuple[ArmInputs, ChatArm]":
    """An arm that calls no model until it goes live."""
    from ratiba_action.authoring.chat import ChatArm

    free = {scenario.id}
    made = replace(arm, scenarios=(scenario,), recordings={scenario.id: tuple(lines)}, free=free)
    return made, ChatArm(arm.arm.name, free.clear)


class _Talk:
    """One chat, from the start of the system to the end of the input."""

    def __init__(self, starting: _Starting, ledger: Any, scratch: Path, log: Any, front: "OpenFront | None") -> None:
        from ratiba_action.authoring.chat import CHAT
        from ratiba_action.model.plan import Selection
        from ratiba_action.privacy.masking import Redactor
        from ratiba_action.run.arms import head_inputs
        from ratiba_action.util.persisted_credentials import persisted_credentials

        self._starting, self._ledger, self._scratch, self._log = starting, ledger, scratch, log
        self._command = "ratiba chat" if front is None else "ratiba view --chat"
        self._front, self._from_pipe = front or self._standard_streams, front is None and not sys.stdin.isatty()
        inputs = starting.inputs
        data = starting.about.data(CHAT, [{"user": "-"}])
        scenario = replace(starting.draft.load(data), assertions=(), turns=())
        selection = Selection(inputs.decided.decision, (scenario,))
        # The gate may run in this checkout meanwhile, and what was killed there can be resumed later.
        self._inputs = replace(inputs, selection=selection, journal=CHAT)
        self._head = replace(head_inputs(self._inputs), recordings={})
        persisted = persisted_credentials(inputs.decided.change.git, starting.environment)
        self._secrets = (*inputs.settings.secrets, *persisted.secrets)
        self._redactor = Redactor(self._secrets)
        self._failed, self._opened = 0, False

    def run(self, open_session: "OpenSession") -> int:
        """Start the system, talk, and end all of it."""
        from ratiba_action.run.paid_run import journal_place

        session = open_session(self._inputs, self._head, ledger=self._ledger, log=self._log, scratch=self._scratch)
        try:
            session.conduct(self._talk)
        finally:
            # Nothing is resumed from it, and it holds what models wrote; another chat's stays.
            if self._opened and self._inputs.llm is not Llm.REPLAY:
                journal_place(self._inputs, self._head).path.unlink(missing_ok=True)
        return 1 if self._failed and self._from_pipe else 0

    async def _talk(self, session: "RunSession") -> None:
        from ratiba_action.authoring.chat import Chat, ChatPorts

        self._opened = True
        services = replace(session.services, deadline=None)
        starting = self._starting
        names = starting.session.names if starting.session is not None else ()
        ports = ChatPorts(
            services=services,
            arms=_ChatArms(services.arms, self._head, self._base),
            answers=starting.answers,
            load=starting.draft.load,
            redactor=self._redactor.knowing(names),
            secrets=self._secrets,
            recorded=starting.recorded,
            without_model=f"No model is called: {self._why_no_model()}" if self._inputs.llm is Llm.REPLAY else "",
        )
        async with Chat(ports, starting.about) as chat, self._front() as front:
            terminal = self._terminal(chat, front)
            self._greet(terminal)
            await terminal.repeat(starting.session.turns if starting.session is not None else ())
            await terminal.run()
            self._failed = terminal.failures

    @asynccontextmanager
    async def _standard_streams(self) -> "AsyncIterator[Front]":
        from ratiba_action.commands.chat_terminal import Front, StandardInput
        from ratiba_action.reporting.terminal import make_console

        interactive = sys.stdin.isatty() and sys.stdout.isatty()
        columns = make_console(sys.stdout, self._starting.environment).width
        yield Front(StandardInput("you> "), sys.stdout, self._starting.as_json, columns, echo=not interactive)

    def _terminal(self, chat: Any, front: "Front") -> "ChatTerminal":
        from ratiba_action.commands.chat_terminal import ChatTerminal, Money, Screen

        starting = self._starting
        mutants = _ScenarioMutants(self._inputs, starting.environment, starting.mutants)
        return ChatTerminal(
            chat,
            front.lines,
            Screen(front.stream, self._redactor, front.as_json, front.columns),
            Money(lambda: self._ledger.spent, self._inputs.settings.budget_usd),
            self._write,
            mutants.lines if starting.mutants else None,
            self._label,
            mutants.check_place,
            echo=front.echo,
        )

    def _label(self, chat: "Chat", good: bool, by: str) -> str:  # noqa: FBT001 - as ``KeepLabel``
        from ratiba_action.production.calibration import CalibrationCandidate, label_conversation

        inputs, session = self._inputs, self._starting.session
        turns = [(turn.turn.user or _event_of(turn.turn), turn.heard.exchange.reply.text) for turn in chat.turns]
        names = session.names if session is not None else ()
        candidate = CalibrationCandidate(turns, "ratiba chat", chat.about.language, names, chat.models)
        folder = inputs.repository / inputs.settings.scenarios
        return label_conversation(folder, candidate, self._redactor, datetime.now(UTC).date(), by=by, good=good)

    def _greet(self, terminal: "ChatTerminal") -> None:
        from ratiba_action.commands.chat_terminal import about_line
        from ratiba_action.run.provider_keys import keys_line

        inputs, about = self._inputs, self._starting.about
        keys = keys_line(inputs.settings, inputs.configuration, self._starting.environment)
        if inputs.llm is Llm.REPLAY:
            keys = f"No model is called: {self._why_no_model()}"
        session = self._starting.session
        unmasked = [_NO_NAMES] if session is not None and session.turns and not session.names else []
        notes = [*self._log.warnings, *unmasked]
        data = {"keys": keys, "notes": notes, "now": about.now, "language": about.language}
        ending = [about_line(about), "  /help lists the commands, /quit ends."]
        text = "\n".join([keys, *(f"note: {note}" for note in notes), *ending])
        terminal.screen.show("start", {**data, "customer": dict(about.customer)}, text)

    def _why_no_model(self) -> str:
        """Why none is called, and what helps."""
        settings = self._inputs.settings
        if settings.why_withheld:
            return settings.why_withheld
        if self._starting.recorded:
            keys = "there is no key in RATIBA_ANTHROPIC_API_KEY or RATIBA_OPENAI_API_KEY"
            why = "llm is replay" if settings.llm is Llm.REPLAY else keys
            return f"{why}. If you write the scenario's own messages, you get its recorded answers."
        if settings.llm is Llm.REPLAY:
            return (
                "llm is replay. Leave out --llm, or begin with the recorded answers of a scenario: "
                f"{self._command} --scenario ID"
            )
        return (
            "there is no key. Put one into RATIBA_ANTHROPIC_API_KEY or RATIBA_OPENAI_API_KEY, or begin with the "
            f"recorded answers of a scenario: {self._command} --scenario ID"
        )

    def _base(self) -> "ArmInputs":
        from ratiba_action.run.arms import base_inputs
        from ratiba_action.run.base_commit import NoBase
        from ratiba_action.run.earlier_runs import github_history

        base = self._inputs.base
        if isinstance(base, NoBase):
            raise UsageError(f"There is no base to talk with: {base.reason}.", "Commit the version to compare with.")
        return base_inputs(self._inputs, base, self._scratch, github_history(self._inputs))

    def _write(self, saved: "SavedScenario") -> Sequence[str]:
        from ratiba_action.privacy.credentials import find_credentials
        from ratiba_action.util.locked_folder import write_new_files

        draft, folder = self._starting.draft, self._inputs.settings.scenarios.rstrip("/")
        taken = {scenario.id: scenario.path for scenario in self._inputs.suite.scenarios}
        if saved.id in taken and taken[saved.id] != draft.path(saved.id):
            raise UsageError(
                f"Nothing was written: {taken[saved.id]} has a scenario {saved.id!r} already.",
                "Choose another id: /save ID",
            )
        note = _NOTE + (_WITHOUT_JUDGE.format(saved.id) if "metrics" in saved.data else "")
        content = draft.content(saved.data, note)
        if kinds := sorted(set(find_credentials(content.decode()))):
            raise ConfigurationError(
                f"Nothing was written: the scenario would hold {', '.join(kinds)}.", "Take that turn back with /undo."
            )
        recording = {f"{folder}/recordings/{saved.id}.jsonl": saved.recording} if saved.recording else {}
        contents = {**recording, draft.path(saved.id): content}
        write_new_files(self._inputs.repository, contents)
        return tuple(reversed(contents))


def _event_of(turn: "Turn") -> str:
    return f"(event {json.dumps(turn.event, ensure_ascii=False)})"


class _ScenarioMutants:
    """Runs ``ratiba mutate`` on a scenario that was written, in a process of its own: it needs a database of its own.

    Args:
        maximum: how many mutants are run.
    """

    def __init__(self, inputs: "RunInputs", environment: Mapping[str, str], maximum: int) -> None:
        self._inputs, self._environment, self._maximum = inputs, environment, maximum

    def check_place(self, place: str) -> None:
        """See ``CheckPlace``."""
        if not self._maximum:
            raise UsageError(f"No mutants of {place!r} are run: --mutants is 0.", "Leave the file out: /save ID")
        found = _PLACE.fullmatch(place)
        if found is None or not (self._inputs.repository / found["file"]).exists():
            raise UsageError(
                f"Nothing was written: the repository has no file {found['file'] if found else place!r}.",
                "Give its path from the root of the repository, such as app/orders.py:12, or none: /save ID",
            )

    async def lines(self, scenario_id: str, place: str) -> Sequence[str]:
        """Which faults the scenario catches, in words.

        Args:
            place: a file, or a file with a line, of the system; empty for its prompts and code.
        """
        found = _PLACE.fullmatch(place)
        file, line = (found["file"], found["line"]) if found is not None else ("", None)
        settings = self._inputs.settings
        with tempfile.TemporaryDirectory(prefix="ratiba-chat-") as folder:
            command = [
                # Without -P, Python would look for modules in the checkout first, and run them in the open.
                *(sys.executable, "-P", "-m", "ratiba_action", "mutate", *([file] if file else [])),
                *("--scenario", scenario_id, "--llm", Llm.REPLAY.value, "--mutants", str(self._maximum), "--json"),
                *("--repo", str(self._inputs.repository), "--report-dir", folder),
                *("--config", settings.config, "--scenarios", settings.scenarios),
            ]
            pipe = asyncio.subprocess.PIPE
            process = await asyncio.create_subprocess_exec(
                *command, stdin=asyncio.subprocess.DEVNULL, stdout=pipe, stderr=pipe, env=dict(self._environment)
            )
            try:
                printed, complaints = await process.communicate()
            finally:
                if process.returncode is None:
                    process.terminate()
                    await process.wait()
        try:
            known = json.loads(printed)
        except ValueError:
            problem = clip(complaints.decode("utf-8", "replace"), 300) or f"it ended with {process.returncode}"
            return (f"mutants   not run: {problem}", f"Run it again: {_again(scenario_id, file)}")
        return tuple(_noticed(known, scenario_id, file, int(line) if line else None))


def _again(scenario_id: str, file: str) -> str:
    return f"ratiba mutate {f'{file} ' if file else ''}--scenario {scenario_id}"


def _noticed(known: Mapping[str, Any], scenario_id: str, file: str, line: int | None) -> Iterator[str]:
    """The faults that make the scenario fail, and what was not shown."""
    lines = [each for each in known["lines"] if line is None or each["line"] == line]
    mutants = [(each, mutant) for each in lines for mutant in each["mutants"]]
    killed = [(each, mutant) for each, mutant in mutants if mutant["result"] == "killed"]
    for each, mutant in killed[:_LISTED]:
        after = f" → {clip(mutant['after'], 60)}" if mutant["after"] else ""
        fault = f"{mutant['operator'].replace('_', ' ')}: {clip(mutant['before'], 60)}{after}"
        yield f"fails if  {each['file']}:{each['line']} {fault}"
    if len(killed) > _LISTED:
        yield f"          and with {len(killed) - _LISTED} more faults"
    results = Counter(mutant["result"] for _, mutant in mutants)
    tried = sum(results[name] for name in ("killed", "survived", "unobserved"))
    need, aside = results["needs_model"], results["unexercised"]
    where = f" in {file}{f':{line}' if line else ''}" if file else ""
    if tried and not killed:
        yield f"No fault{where} of {tried} that were tried makes it fail."
    elif aside and not killed:
        yield f"None of {aside} faults{where} is in code that the gate sees this conversation run."
    elif not mutants:
        chosen = f" among the {known['chosen']} of the file that were chosen" if line and known["chosen"] else ""
        yield f"There is no fault to try{where}{chosen}."
    if need:
        more = f"{_again(scenario_id, file)} --llm auto"
        yield f"{need} of the faults need a model, which costs money: {more}"
    elif tried and not killed:
        yield f"Assert more with /expect, or try more faults: {_again(scenario_id, file)}"
    elif not killed:
        yield f"To try more: {_again(scenario_id, file)} --mutants {_MAX_MUTANTS}"
