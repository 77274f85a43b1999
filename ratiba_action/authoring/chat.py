"""``ratiba chat``: a conversation with the system under test that becomes a scenario."""

import asyncio
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, Protocol, Self

from ratiba_action.authoring.chat_conversation import ChatConversation, Heard, KeptAnswers, open_conversation
from ratiba_action.authoring.chat_expectations import Offer, expect_of, of_text, offers_of
from ratiba_action.errors import ConfigurationError, RatibaError, RecordingError, UsageError
from ratiba_action.llm.recordings.lines import ModelRecording, find_forbidden
from ratiba_action.llm.recordings.writer import render_recordings
from ratiba_action.metrics.registry import is_judged
from ratiba_action.model.conversation import Transcript
from ratiba_action.model.measurement import Case, Errored, NotRun, ScenarioResult, Score, Scored
from ratiba_action.model.plan import Plan, Trial
from ratiba_action.model.scenario import Scenario, Turn
from ratiba_action.model.values import JsonObject
from ratiba_action.privacy.masking import Redactor
from ratiba_action.run.runner import run_plan
from ratiba_action.run.services import RunServices, TrialCalls
from ratiba_action.suite.scenario_schema import title_of
from ratiba_action.verdict.trials import Standing, standing

CHAT = "chat"
"""Id of the scenario as long as it has no name."""
_SHOWN = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What a scenario says besides its turns, as its file has it.

    Args:
        customer: with ``name`` and ``phone``.
        now: the clock that the system is given.
        more: other fields of the file, such as ``system_type``, ``inputs`` and ``provenance``.
    """

    language: str
    now: str
    customer: Mapping[str, str]
    more: JsonObject = field(default_factory=dict)

    def data(self, scenario_id: str, turns: Sequence[JsonObject]) -> JsonObject:
        """The scenario as plain data, in the order of a file."""
        first = next((turn["user"] for turn in turns if "user" in turn), "")
        return {
            "id": scenario_id,
            **title_of(first),
            "language": self.language,
            "now": self.now,
            "customer": dict(self.customer),
            **self.more,
            "turns": list(turns),
        }


@dataclass(frozen=True, slots=True)
class ChatArm:
    """An arm that a conversation runs on.

    Args:
        name: as the services know it.
        go_live: lets its system call models from now on; until then recorded answers alone are given.
    """

    name: str
    go_live: Callable[[], None] = lambda: None


class ChatArms(Protocol):
    """Makes the arms of a chat."""

    def add(self, scenario: Scenario, lines: Sequence[ModelRecording]) -> ChatArm:
        """An arm of this checkout, answered from these lines, that calls no model yet."""
        ...

    def remove(self, arm: ChatArm) -> None:
        """Forget an arm whose conversation has ended."""
        ...

    def open_base(self, scenario: Scenario, lines: Sequence[ModelRecording]) -> AbstractAsyncContextManager[ChatArm]:
        """The base, answered from these lines, that calls no model yet; it ends with the context.

        Raises:
            RatibaError: there is no base, or it cannot be started.
        """
        ...


LoadScenario = Callable[[JsonObject], Scenario]
"""Reads plain data as a scenario file is read; raises ``SuiteError`` with every problem."""


def message_of(turn: Turn) -> JsonObject:
    """The customer's message or the event of a turn, as a scenario file has it."""
    return {"event": turn.event} if turn.user is None else {"user": turn.user}


@dataclass(slots=True)
class ChatTurn:
    """A turn that was taken, with what is asserted of it."""

    turn: Turn
    heard: Heard
    chosen: tuple[Offer, ...] = ()

    @property
    def expected(self) -> JsonObject:
        """What is asserted of it, as a scenario file has it."""
        return expect_of(self.chosen)

    def data(self) -> JsonObject:
        """The turn as a scenario file has it."""
        return {**message_of(self.turn), **({"expect": self.expected} if self.chosen else {})}


@dataclass(frozen=True, slots=True)
class SavedScenario:
    """A scenario that was proved.

    Args:
        data: of its file.
        recording: of its recording's file; empty where the system calls no model.
        assertions: how many deterministic assertions and metrics passed.
    """

    id: str
    data: JsonObject
    recording: bytes
    assertions: int


@dataclass(frozen=True, slots=True)
class ChatPorts:
    """What a chat runs by.

    Args:
        services: of an open run; its log hands each answer to ``answers``.
        load: reads a scenario.
        redactor: masks what is typed, and knows the run's secrets.
        secrets: that no file may hold.
        recorded: answers that are given before a model is called.
        without_model: what to do where an answer is not recorded and no model may be called.
    """

    services: RunServices
    arms: ChatArms
    answers: KeptAnswers
    load: LoadScenario
    redactor: Redactor
    secrets: Sequence[str] = ()
    recorded: Sequence[ModelRecording] = ()
    without_model: str = ""


class Chat:
    """A conversation that can be taken back, continued, compared, judged and saved.

    An async context manager: what is open ends with it.

    Args:
        about: of the scenario that it becomes.
    """

    def __init__(self, ports: ChatPorts, about: About) -> None:
        self._ports, self.about = ports, about
        self.turns: list[ChatTurn] = []
        self._stack = AsyncExitStack()
        self._conversation: ChatConversation | None = None
        self._arm: ChatArm | None = None
        self._base_lines: tuple[ModelRecording, ...] = ()
        self._repeated: tuple[Heard, ...] | None = None
        self.why_not_repeated = ""

    async def __aenter__(self) -> Self:
        self._load([])
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._end()

    @property
    def models(self) -> tuple[str, ...]:
        """The models that have answered, each once."""
        return tuple(dict.fromkeys(line.model for line in self._lines()))

    async def say(self, text: str) -> Heard:
        """Say something as the customer; what identifies anybody else is masked before.

        Raises:
            RatibaError: the turn did not come to its end; it is taken back.
        """
        return await self._take(Turn(user=self.masked(text)))

    async def send_event(self, event: JsonObject) -> Heard:
        """Deliver an event, masked.

        Raises:
            UsageError: it has no type.
            RatibaError: as for ``say``.
        """
        if not isinstance(event.get("type"), str):
            raise UsageError(f"The event {event!r:.80} has no 'type' that is text.", 'Write: /event {"type": "paid"}')
        return await self._take(Turn(event=self.masked_event(event)))

    async def undo(self) -> None:
        """Take the last turn back: a new tenant, and the turns before it with their recorded answers.

        Raises:
            UsageError: there is no turn.
            RatibaError: the turns before it could not be repeated.
        """
        if not self.turns:
            raise UsageError("There is no turn to take back.", "Say something first.")
        self.turns.pop()
        await self._end()
        await self._ready()

    async def begin_again(self, about: About | None = None) -> None:
        """Forget all turns; the next one begins a conversation in a new tenant.

        Raises:
            SuiteError: no scenario can say this about itself.
        """
        before, self.about = self.about, about or self.about
        try:
            self._load([])
        except RatibaError:
            self.about = before
            raise
        self.turns = []
        await self._end()

    def masked(self, text: str) -> str:
        """A text as it is sent: the customer's own number and name stay, every other identifier is masked."""
        name, phone = self.about.customer.get("name", ""), self.about.customer.get("phone", "")
        own = [value for value in (phone, "".join(phone.split()), name) if value]
        return _apart(text, own, self._ports.redactor.text)

    def masked_event(self, event: JsonObject) -> JsonObject:
        """An event as it is delivered."""
        return {name: self._masked_value(name, part) for name, part in event.items()}

    def _masked_value(self, name: str, value: Any) -> Any:
        if isinstance(value, str):
            return self.masked(value)
        if isinstance(value, dict):
            return {key: self._masked_value(key, part) for key, part in value.items()}
        if isinstance(value, list):
            return [self._masked_value(name, part) for part in value]
        return self._ports.redactor.value(value, name)

    def is_public(self, name: str, value: Any) -> bool:
        """Whether a value may stand in a file as it is."""
        return bool(self._masked_value(name, value) == value)

    async def base(self) -> tuple[list[Heard], RatibaError | None]:
        """Say the same to the base, in a tenant of its own; answers to equal requests are not paid for again.

        Returns:
            What it answered, and the error of the turn after these, if one did not come to its end.

        Raises:
            UsageError: there is no turn.
            RatibaError: there is no base, or it cannot be started.
        """
        if not self.turns:
            raise UsageError("There is nothing to say to the base yet.", "Say something first.")
        scenario = self._load([])
        lines = _each_once((*self._lines(), *self._base_lines))
        heard = list[Heard]()
        async with AsyncExitStack() as stack:
            arm = await stack.enter_async_context(self._ports.arms.open_base(scenario, lines))
            self._ports.answers.begin(arm.name, lines)
            arm.go_live()
            try:
                conversation = await self._open(stack, scenario, arm)
                for each in self.turns:
                    heard.append(await conversation.say(each.turn))
            except RatibaError as error:
                return heard, self._advised(error)
            finally:
                self._base_lines = _each_once((*self._base_lines, *self._ports.answers.of(arm.name)))
        return heard, None

    async def judge(self, metric: str) -> Score:
        """The score of a metric for the conversation so far.

        Raises:
            UsageError: there is no turn.
            SuiteError: there is no such metric, or it needs parameters.
            RatibaError: it could not be measured.
        """
        if not self.turns or self._arm is None:
            raise UsageError("There is nothing to judge yet.", "Say something first.")
        if ":" in metric:
            raise UsageError(f"{metric!r} is code of the repository.", "Save the conversation, and run: ratiba gate")
        data = self.about.data(CHAT, [turn.data() for turn in self.turns])
        scenario = self._ports.load({**data, "assertions": [{"metric": metric, "threshold": 0.0}]})
        assertion = next(entry for entry in scenario.assertions if entry.metric == metric)
        pairs = zip(self.turns, scenario.turns, strict=True)
        transcript = Transcript(CHAT, tuple(replace(taken.heard.exchange, turn=turn) for taken, turn in pairs))
        case = Case(scenario, transcript, 0, self._arm.name)
        try:
            return await self._ports.services.metric(assertion).measure(case, 0.0)
        except RecordingError as error:
            raise self._advised(error) from error

    async def offers(self) -> tuple[Offer, ...]:
        """What can be asserted of the last turn; the conversation is repeated once to see what stays the same.

        Raises:
            UsageError: there is no turn.
        """
        if not self.turns:
            raise UsageError("There is nothing to assert yet.", "Say something first.")
        again = await self._repeat()
        uses_tools = any(turn.heard.exchange.reply.tool_calls for turn in self.turns)
        repeated = again[-1] if again else None
        return offers_of(self.turns[-1].heard, repeated, uses_tools=uses_tools, is_public=self.is_public)

    def expect(self, chosen: Iterable[Offer]) -> None:
        """Assert this of the last turn, and nothing else that was offered; texts of the reply stay."""
        texts = [offer for offer in self.turns[-1].chosen if _is_text(offer)]
        self.turns[-1].chosen = (*chosen, *texts)

    def expect_nothing(self) -> None:
        """Assert nothing of the last turn."""
        self.turns[-1].chosen = ()

    def expect_text(self, kind: str, text: str) -> Offer:
        """Assert that the last reply contains a text, or that it does not.

        Raises:
            UsageError: there is no turn, the text is not so in this reply, or it would be masked.
        """
        if not self.turns:
            raise UsageError("There is nothing to assert yet.", "Say something first.")
        if self.masked(text) != text:
            raise UsageError(f"{self.masked(text)!r} holds an identifier, which is masked.", "Choose another text.")
        offer = of_text(kind, text, self.turns[-1].heard.exchange.reply.text)
        self.turns[-1].chosen = (*(each for each in self.turns[-1].chosen if each != offer), offer)
        return offer

    async def save(self, scenario_id: str) -> SavedScenario:
        """The scenario with its recording, once it has passed in a fresh tenant with its recorded answers alone.

        Nothing is written.

        Raises:
            UsageError: nothing is asserted.
            SuiteError: it is no valid scenario.
            ConfigurationError: it would hold an identifier or a secret, or it does not pass.
        """
        if not any(turn.chosen for turn in self.turns):
            raise UsageError(
                "Nothing is asserted of any turn, so the scenario would pass whatever the system does.",
                "Choose what must stay true: /expect",
            )
        data, scenario = self._drafted(scenario_id)
        lines = self._lines()
        if found := find_forbidden(lines, scenario, self._ports.secrets):
            places = "; ".join(map(str, found[:_SHOWN]))
            raise ConfigurationError(
                f"Nothing was written: the recording would hold identifiers that are not the customer's: {places}.",
                "Take that turn back with /undo, or give the customer that number with /as NAME PHONE.",
            )
        result = await self._prove(scenario, lines)
        if standing(result) is not Standing.PASSED or not isinstance(result, Scored):
            raise ConfigurationError(
                f"Nothing was written: with its recorded answers the scenario does not pass again: {_why(result)}.",
                "Choose what is asserted of the last turn with /expect, or take it back with /undo.",
            )
        passed = len(result.checks) + len(result.deciding_scores)
        return SavedScenario(scenario_id, data, render_recordings(lines) if lines else b"", passed)

    def _drafted(self, scenario_id: str) -> tuple[JsonObject, Scenario]:
        """The scenario of all turns, as its file has it and as it is read."""
        data = self.about.data(scenario_id, [turn.data() for turn in self.turns])
        # No assertion of a turn alone reads its documents; of a list that repeats one, k counts each place.
        if lengths := [len(turn.heard.exchange.reply.documents) for turn in self.turns if "documents" in turn.expected]:
            recall = {"metric": "RecallAtKMetric", "threshold": 1.0, "with": {"k": max(lengths)}}
            data = {**data, "assertions": [recall]}
        scenario = self._ports.load(data)
        if any(is_judged(entry.metric, entry.parameters) for entry in scenario.assertions):
            # No judge was called, and a recording needs the answer of one to each of its questions.
            data = {**data, "metrics": {"fluency": False}}
            scenario = self._ports.load(data)
        return data, scenario

    async def _prove(self, scenario: Scenario, lines: Sequence[ModelRecording]) -> ScenarioResult:
        """Run a scenario as the gate does, without any model."""
        arm = self._ports.arms.add(scenario, lines)
        try:
            trial = Trial(scenario, self._ports.services.arms[arm.name].arm, 0)
            services = replace(self._ports.services, calls=TrialCalls(), deadline=None)
            (result,) = await run_plan(Plan((trial,)), services)
        finally:
            self._ports.arms.remove(arm)
        if isinstance(result, NotRun):  # only a signal ends it so early
            raise asyncio.CancelledError
        return result

    async def _take(self, turn: Turn) -> Heard:
        conversation = await self._ready()
        try:
            heard = await conversation.say(turn)
        except RatibaError as error:
            await self._end()
            raise self._advised(error) from error
        self.turns.append(ChatTurn(turn, heard))
        self._repeated = None
        return heard

    def _advised(self, error: RatibaError) -> RatibaError:
        """The error; of an answer that is not recorded with what helps here: a chat is no scenario to record."""
        without_model = self._ports.without_model
        return RecordingError(error.problem, without_model) if isinstance(error, RecordingError) else error

    async def _ready(self) -> ChatConversation:
        """The conversation with all turns taken; begun again in a new tenant where it has ended."""
        if self._conversation is not None:
            return self._conversation
        scenario, lines = self._load([]), self._known()
        arm = self._ports.arms.add(scenario, lines)
        self._stack.callback(self._ports.arms.remove, arm)
        self._ports.answers.begin(arm.name, lines)
        try:
            conversation = await self._open(self._stack, scenario, arm)
            for turn in self.turns:
                turn.heard = await conversation.say(turn.turn)
        except RatibaError as error:
            await self._end()
            if not self.turns:
                raise
            raise ConfigurationError(
                f"The turns before could not be repeated with their recorded answers: {error.problem}",
                "The system does not ask the same each time. Begin again: /new",
            ) from error
        arm.go_live()
        self._conversation, self._arm = conversation, arm
        return conversation

    async def _open(self, stack: AsyncExitStack, scenario: Scenario, arm: ChatArm) -> ChatConversation:
        return await open_conversation(stack, self._ports.services, scenario, arm.name, self._ports.answers)

    async def _repeat(self) -> tuple[Heard, ...]:
        """The whole conversation once more in another tenant; nothing where it cannot be, or would cost money."""
        if self._repeated is not None:
            return self._repeated
        services, self.why_not_repeated = self._ports.services, ""
        heard = list[Heard]()
        if services.turns.reported_calls or any(arm.declared_usd for arm in services.arms.values()):
            self.why_not_repeated = "the system calls models without the gateway, so that it would cost money"
            return ()
        scenario, lines = self._load([]), self._lines()
        async with AsyncExitStack() as stack:
            arm = self._ports.arms.add(scenario, lines)
            stack.callback(self._ports.arms.remove, arm)
            self._ports.answers.begin(arm.name, lines)
            try:
                conversation = await self._open(stack, scenario, arm)
                for turn in self.turns:
                    heard.append(await conversation.say(turn.turn))
            except RatibaError as error:
                self.why_not_repeated = error.problem
                heard = []
        self._repeated = tuple(heard)
        return self._repeated

    def _lines(self) -> tuple[ModelRecording, ...]:
        """The answers of the turns that were taken."""
        if self._arm is None or not self.turns:
            return ()
        return self._ports.answers.of(self._arm.name)[: self.turns[-1].heard.answers]

    def _known(self) -> tuple[ModelRecording, ...]:
        """The answers that the next conversation is given: those of its turns, then what the chat began with."""
        return _each_once((*self._lines(), *self._ports.recorded))

    def _load(self, turns: Sequence[JsonObject]) -> Scenario:
        """The scenario without its turns: what the system is given before a conversation begins."""
        return replace(self._ports.load(self.about.data(CHAT, [*turns, {"user": "-"}])), turns=(), assertions=())

    async def _end(self) -> None:
        """End what is open; the answers of the turns so far are kept."""
        self._repeated, self._conversation = None, None
        stack, self._stack = self._stack, AsyncExitStack()
        await stack.aclose()


def _is_text(offer: Offer) -> bool:
    return not {"contains", "not_contains"}.isdisjoint(offer.expect)


def _each_once(lines: Iterable[ModelRecording]) -> tuple[ModelRecording, ...]:
    """The first line of each key and ordinal."""
    known: dict[tuple[str, int], ModelRecording] = {}
    for line in lines:
        known.setdefault((line.key, line.ordinal), line)
    return tuple(known.values())


def _apart(text: str, own: Sequence[str], mask: Callable[[str], str]) -> str:
    """The text masked, but for the first of these values and all others in what is left.

    A value that is a part of a longer address, number or word is not left: that would be somebody else's.
    """
    if not own:
        return mask(text)
    alone = re.compile(rf"(?<![\w.@+-]){re.escape(own[0])}(?![\w@+-]|\.\w)")
    return own[0].join(_apart(part, own[1:], mask) for part in alone.split(text))


def _why(result: ScenarioResult) -> str:
    if isinstance(result, Errored):
        return f"{result.phase.value} error: {result.explanation.rstrip('.')}"
    if not isinstance(result, Scored):
        return result.reason
    failed = [check for check in result.checks if not check.passed]
    words = [f"turn {check.turn}: {check.what}: expected {check.expected}, got {check.got}" for check in failed]
    words += [f"{score.metric} is {score.value:.2f}" for score in result.deciding_scores if not score.passed]
    return "; ".join(words[:_SHOWN])
