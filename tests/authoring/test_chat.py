"""A chat on fakes: no process, no database and no model."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
import yaml

from ratiba_action.authoring.chat import About, Chat, ChatArm, ChatPorts
from ratiba_action.authoring.chat_conversation import KeptAnswers, changes
from ratiba_action.authoring.chat_expectations import expect_of, offers_of
from ratiba_action.checks.failure_rules import validate_rule
from ratiba_action.errors import BudgetError, ConfigurationError, RatibaError, SuiteError, UsageError, WorkerError
from ratiba_action.llm.recordings.lines import ModelRecording
from ratiba_action.metrics.registry import metric_problems
from ratiba_action.model.conversation import Event, Reply, ToolCall
from ratiba_action.model.plan import HEAD, Arm
from ratiba_action.model.scenario import Scenario
from ratiba_action.model.values import JsonObject
from ratiba_action.ports import Metric
from ratiba_action.privacy.masking import Redactor
from ratiba_action.run.inputs import ArmInputs, RunLog
from ratiba_action.run.services import Arms, ArmServices, RunServices
from ratiba_action.suite.load import load_suite
from tests.support.gateways import InMemoryGateway
from tests.support.progress import RecordedProgress
from tests.support.systems import Line, ScriptedSystem
from tests.support.tenants import InMemoryTenants

ABOUT = About(language="fr", now="2026-04-25T10:00:00+03:00", customer={"name": "Amina", "phone": "+254 700 000 001"})
ASKED = Reply("Pour quand ?", "ASKING")
BOOKED = Reply("C'est fait.", "BOOKED", tool_calls=(ToolCall("book", {"day": "Friday", "ticket": "t-1"}),))


class SharedArms(Arms):
    """Arms of one system, under as many names as are asked for."""

    def add(self, arm: ArmInputs) -> None:
        """See ``Arms``."""
        raise AssertionError(arm)

    def share(self, name: str) -> None:
        """Give the first arm one more name."""
        first = self[HEAD]
        self._started[name] = replace(first, arm=Arm(name, ""), template=first.arm)


class FakeChatArms:
    """Implements ``ChatArms``: remembers what went live, and with which answers."""

    def __init__(self, arms: SharedArms) -> None:
        self._arms = arms
        self.made: list[str] = []
        self.live: list[str] = []

    def add(self, _scenario: Scenario, _lines: Sequence[ModelRecording]) -> ChatArm:
        """See ``ChatArms``."""
        name = f"head-{len(self.made)}"
        self.made.append(name)
        self._arms.share(name)
        return ChatArm(name, lambda: self.live.append(name))

    def remove(self, arm: ChatArm) -> None:
        """See ``ChatArms``."""
        self._arms.remove(arm.name)

    @asynccontextmanager
    async def open_base(self, scenario: Scenario, lines: Sequence[ModelRecording]) -> AsyncIterator[ChatArm]:
        """See ``ChatArms``."""
        arm = self.add(scenario, lines)
        yield arm
        self.remove(arm)


class GrowingTenants(InMemoryTenants):
    """A table to which each second read adds a row; its id is another one in each tenant."""

    def __init__(self) -> None:
        super().__init__()
        self._reads: dict[str, int] = {}

    async def read(self, tenant: Any, queries: Mapping[str, str]) -> Mapping[str, tuple[JsonObject, ...]]:
        await super().read(tenant, queries)
        if "tables" in queries:
            return {"tables": ({"table_name": "bookings"}, {"table_name": "checkpoint_writes"})}
        assert set(queries) == {"bookings"} or not queries
        count = self._reads[tenant.schema] = self._reads.get(tenant.schema, -1) + 1
        rows = tuple({"id": f"{tenant.schema}-{number}", "service": "massage", "note": None} for number in range(count))
        return dict.fromkeys(queries, rows)


def load(data: JsonObject) -> Scenario:
    content = yaml.safe_dump(dict(data)).encode()
    (scenario,) = load_suite({"scenarios/chat.yaml": content}, metric_problems, validate_rule).scenarios
    return scenario


def no_metric(assertion: Any) -> Metric:
    raise AssertionError(assertion)


class Talk:
    """A chat on fakes, and what it did with them."""

    def __init__(self, lines: Sequence[Line], saved_as: Sequence[str], tenants: InMemoryTenants | None = None) -> None:
        self.lines = list(lines)
        self.system = ScriptedSystem(dict.fromkeys(("chat", *saved_as), self.lines))
        self.tenants = tenants or InMemoryTenants()
        self.gateway = InMemoryGateway()
        self.arms = SharedArms({HEAD: ArmServices(Arm(HEAD, ""), self.system)})
        self.chat_arms = FakeChatArms(self.arms)

    async def start(self, **given: Any) -> Chat:
        await self.tenants.start()
        await self.system.start()
        await self.tenants.prepare(Arm(HEAD, ""), self.system.migrate)
        services = RunServices(self.arms, self.tenants, self.gateway, no_metric, RunLog(RecordedProgress()))
        return Chat(ChatPorts(services, self.chat_arms, KeptAnswers(), load, Redactor(), **given), ABOUT)


@asynccontextmanager
async def talking(
    *lines: Line, saved_as: Sequence[str] = (), tenants: InMemoryTenants | None = None
) -> AsyncIterator[tuple[Chat, Talk]]:
    talk = Talk(lines, saved_as, tenants)
    async with await talk.start() as chat:
        yield chat, talk
    assert not talk.tenants.alive
    assert all(access.closed for access in talk.gateway.accesses)
    assert set(talk.arms) == {HEAD}


async def test_a_turn_tells_what_the_system_did_and_how_its_state_changed() -> None:
    async with talking(ASKED, BOOKED) as (chat, _):
        await chat.say("Un massage")
        heard = await chat.say("Vendredi")
    assert heard.exchange.reply == BOOKED
    assert heard.state_before == "ASKING"


async def test_undo_takes_one_turn_back_in_a_new_tenant_in_which_nothing_went_live_before_it_was_repeated() -> None:
    async with talking(ASKED, BOOKED) as (chat, talk):
        await chat.say("Un massage")
        await chat.say("Vendredi")
        await chat.undo()
        assert [turn.turn.user for turn in chat.turns] == ["Un massage"]
        assert [len(session.turns) for session in talk.system.sessions] == [2, 1]
        assert len(talk.tenants.provisioned) == 2
        assert len(talk.tenants.alive) == 1
        assert talk.chat_arms.live == talk.chat_arms.made
        assert (await chat.say("Samedi")).exchange.reply == BOOKED


async def test_there_is_nothing_to_take_back_judge_assert_or_compare_before_a_turn() -> None:
    async with talking(ASKED) as (chat, _):
        for refused in (chat.undo, chat.base, chat.offers):
            with pytest.raises(UsageError, match="Say something first"):
                await refused()
        with pytest.raises(UsageError, match="Say something first"):
            await chat.judge("EnglishFluencyMetric")


@pytest.mark.parametrize("error", [BudgetError("The cap of USD 1.00 is reached."), WorkerError("it raised")])
async def test_a_turn_that_does_not_end_is_taken_back_and_those_before_it_stay(error: RatibaError) -> None:
    async with talking(ASKED, error) as (chat, talk):
        await chat.say("Un massage")
        with pytest.raises(type(error)):
            await chat.say("Vendredi")
        talk.lines[1] = BOOKED
        heard = await chat.say("Vendredi")
    assert heard.exchange.reply == BOOKED
    assert len(chat.turns) == 2


async def test_a_system_that_does_otherwise_when_it_is_repeated_says_so_and_names_the_way_out() -> None:
    async with talking(ASKED, BOOKED, BOOKED) as (chat, talk):
        await chat.say("Un massage")
        await chat.say("Vendredi")
        talk.lines[0] = WorkerError("it raised")
        with pytest.raises(ConfigurationError, match=r"could not be repeated.*Begin again: /new"):
            await chat.undo()
        talk.lines[0] = ASKED
        await chat.begin_again()
        assert (await chat.say("Un massage")).exchange.reply == ASKED


async def test_other_peoples_identifiers_are_masked_before_they_are_sent_and_the_customers_own_are_not() -> None:
    async with talking(ASKED, ASKED, ASKED) as (chat, talk):
        await chat.say("Je suis Amina, +254700000001, et lui +254 722 123 456")
        await chat.send_event({"type": "paid", "payer": {"phone": "+254 722 123 456"}, "amount": 2500})
        sent = talk.system.sessions[0].turns
    assert sent[0].user is not None
    assert "Amina, +254700000001" in sent[0].user
    assert "123 456" not in sent[0].user
    assert sent[1].event is not None
    assert "123 456" not in str(sent[1].event)
    assert sent[1].event["amount"] == 2500


async def test_an_event_without_a_type_is_refused() -> None:
    async with talking(ASKED) as (chat, _):
        with pytest.raises(UsageError, match="has no 'type'"):
            await chat.send_event({"amount": 1})


async def test_only_what_was_the_same_in_another_tenant_is_offered() -> None:
    async with talking(ASKED, BOOKED, tenants=GrowingTenants()) as (chat, talk):
        await chat.say("Un massage")
        heard = await chat.say("Vendredi")
        talk.lines[1] = replace(BOOKED, tool_calls=(ToolCall("book", {"day": "Friday", "ticket": "t-2"}),))
        offers = await chat.offers()
    assert [row["service"] for change in heard.rows for row in change.added] == ["massage"]
    assert [dict(offer.expect) for offer in offers] == [
        {"state": "BOOKED"},
        {"tools": [{"name": "book", "args": {"day": "Friday"}}]},
        {"rows": [{"table": "bookings", "where": {"service": "massage"}, "count": 2}]},
        {"equals": "C'est fait."},
    ]


async def test_what_would_be_masked_is_not_offered() -> None:
    number = Reply("Appelez le +254 722 123 456", "ASKING", events=(Event("call", {"to": "+254 722 123 456"}),))
    async with talking(number) as (chat, _):
        await chat.say("Un massage")
        offers = await chat.offers()
    assert "123 456" not in str(offers)
    assert [dict(offer.expect) for offer in offers] == [{"state": "ASKING"}, {"events": [{"type": "call"}]}]


async def test_no_tool_is_offered_once_one_was_called() -> None:
    async with talking(BOOKED, ASKED) as (chat, _):
        await chat.say("Un massage")
        await chat.say("Merci")
        offers = await chat.offers()
    assert {"tools": []} in [offer.expect for offer in offers]


async def test_a_saved_scenario_has_turns_and_what_was_chosen_and_passed_in_a_tenant_of_its_own() -> None:
    async with talking(ASKED, BOOKED, saved_as=["books"]) as (chat, talk):
        await chat.say("Un massage")
        chat.expect_text("contains", "quand")
        await chat.say("Vendredi")
        chat.expect((await chat.offers())[:1])
        saved = await chat.save("books")
        assert talk.tenants.provisioned[-1] == "books"
        assert talk.chat_arms.made[-1] not in talk.chat_arms.live
    assert saved.assertions == 2
    assert saved.recording == b""
    assert saved.data["turns"] == [
        {"user": "Un massage", "expect": {"contains": ["quand"]}},
        {"user": "Vendredi", "expect": {"state": "BOOKED"}},
    ]
    assert load(saved.data).customer.name == "Amina"


async def test_what_does_not_pass_again_is_not_saved() -> None:
    async with talking(ASKED, saved_as=["books"]) as (chat, talk):
        await chat.say("Un massage")
        chat.expect((await chat.offers())[:1])
        talk.lines[0] = replace(ASKED, state="LOST")
        with pytest.raises(ConfigurationError, match=r"Nothing was written.*expected ASKING, got LOST"):
            await chat.save("books")


async def test_nothing_is_saved_that_asserts_nothing_or_has_an_id_that_names_no_file() -> None:
    async with talking(ASKED) as (chat, _):
        await chat.say("Un massage")
        with pytest.raises(UsageError, match=r"Nothing is asserted.*/expect"):
            await chat.save("books")
        chat.expect_text("contains", "quand")
        with pytest.raises(SuiteError, match="id"):
            await chat.save("../books")


async def test_a_text_is_asserted_only_if_it_is_so_in_the_reply() -> None:
    async with talking(ASKED) as (chat, _):
        await chat.say("Un massage")
        with pytest.raises(UsageError, match="does not contain 'demain'"):
            chat.expect_text("contains", "demain")
        with pytest.raises(UsageError, match="contains 'QUAND'"):
            chat.expect_text("not_contains", "QUAND")
        chat.expect_text("not_contains", "demain")
        chat.expect_text("contains", "quand")
        chat.expect(())
        assert expect_of(chat.turns[-1].chosen) == {"not_contains": ["demain"], "contains": ["quand"]}
        chat.expect_nothing()
        assert expect_of(chat.turns[-1].chosen) == {}


async def test_the_base_hears_the_same_and_a_turn_that_does_not_end_there_does_not_end_the_chat() -> None:
    async with talking(ASKED, BOOKED) as (chat, talk):
        await chat.say("Un massage")
        await chat.say("Vendredi")
        heard, error = await chat.base()
        assert [each.exchange.reply for each in heard] == [ASKED, BOOKED]
        assert error is None
        talk.lines[1] = WorkerError("it raised")
        heard, error = await chat.base()
        assert ([each.exchange.reply for each in heard], str(error)) == ([ASKED], "it raised")
        assert len(chat.turns) == 2


async def test_customer_and_clock_that_no_scenario_can_have_leave_everything_as_it_was() -> None:
    async with talking(ASKED) as (chat, _):
        await chat.say("Un massage")
        with pytest.raises(SuiteError, match="now"):
            await chat.begin_again(replace(ABOUT, now="tomorrow"))
        assert chat.about == ABOUT
        assert len(chat.turns) == 1


async def test_whatever_ends_a_chat_drops_its_tenants() -> None:
    talk = Talk([ASKED], [])

    async def interrupted() -> None:
        async with await talk.start() as chat:
            await chat.say("Un massage")
            assert talk.tenants.alive
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await interrupted()
    assert not talk.tenants.alive


def test_rows_that_came_went_or_changed_are_listed_by_table() -> None:
    one, two, new = {"id": 1, "day": "Friday"}, {"id": 2, "day": "Friday"}, {"id": 1, "day": "Sunday"}
    before = {"bookings": (one, two), "gone": (one,), "same": (one,)}
    (change,) = changes(before, {"bookings": (new, two), "same": (one,), "new": ()})
    assert (change.table, change.added, change.removed) == ("bookings", (new,), (one,))


async def test_a_row_that_went_is_asserted_by_its_absence() -> None:
    async with talking(ASKED) as (chat, _):
        heard = await chat.say("Un massage")
    one, two = {"id": 1, "day": "Friday"}, {"id": 2, "day": "Sunday"}
    gone = replace(heard, rows=changes({"bookings": (one, two)}, {"bookings": (two,)}))
    rows = [offer.expect["rows"] for offer in offers_of(gone, gone, uses_tools=False) if "rows" in offer.expect]
    assert rows == [[{"table": "bookings", "where": {"id": 1, "day": "Friday"}, "count": 0}]]
