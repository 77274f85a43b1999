"""A chat on fakes: no process, no database and no model."""

import json
from dataclasses import replace
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.authoring.chat_conversation import changes
from ratiba_action.authoring.chat_expectations import expect_of, offers_of
from ratiba_action.errors import BudgetError, ConfigurationError, RatibaError, SuiteError, UsageError, WorkerError
from ratiba_action.metrics.search_metrics import CutParameters, RecallAtKMetric
from ratiba_action.model.conversation import Document, Reply, SystemEvent, ToolCall
from ratiba_action.model.measurement import Case, Score
from ratiba_action.run.reply_size import MAX_BYTES_OF_A_PART
from tests.support.talks import ABOUT, GrowingTenants, Talk, load, talking

ASKED = Reply("Pour quand ?", "ASKING")
BOOKED = Reply("C'est fait.", "BOOKED", tool_calls=(ToolCall("book", {"day": "Friday", "ticket": "t-1"}),))


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


async def test_a_reply_that_the_gate_would_refuse_is_no_turn() -> None:
    async with talking(ASKED, Reply("x" * (MAX_BYTES_OF_A_PART + 1))) as (chat, talk):
        await chat.say("Un massage")
        with pytest.raises(WorkerError, match="turn 2: the text has 262145 bytes"):
            await chat.say("Vendredi")
        talk.lines[1] = BOOKED
        assert (await chat.say("Vendredi")).exchange.reply == BOOKED


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
        await chat.say("Je suis Amina, +254700000001, et lui +254 722 123 456, lucie.Amina@example.com")
        await chat.send_event({"type": "paid", "payer": {"phone": "+254 722 123 456"}, "amount": 2500})
        sent = talk.system.sessions[0].turns
    assert sent[0].user is not None
    assert "Amina, +254700000001" in sent[0].user
    assert "123 456" not in sent[0].user
    assert "lucie" not in sent[0].user
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
    number = Reply("Appelez le +254 722 123 456", "ASKING", events=(SystemEvent("call", {"to": "+254 722 123 456"}),))
    async with talking(number) as (chat, _):
        await chat.say("Un massage")
        offers = await chat.offers()
    assert "123 456" not in str(offers)
    assert [dict(offer.expect) for offer in offers] == [{"state": "ASKING"}, {"events": [{"type": "call"}]}]


async def test_documents_that_were_the_same_are_asserted_by_their_recall() -> None:
    found = Reply("Argan.", None, documents=(Document("oil-1"), Document("oil-1"), Document("oil-2")))
    async with talking(found, saved_as=["finds"], metric=lambda _: RecallAtKMetric(CutParameters(k=3))) as (chat, talk):
        await chat.say("Une huile")
        offers = await chat.offers()
        assert [dict(offer.expect) for offer in offers] == [{"documents": ["oil-1", "oil-2"]}, {"equals": "Argan."}]
        chat.expect(offers[:1])
        saved = await chat.save("finds")
        assert saved.data["assertions"] == [{"metric": "RecallAtKMetric", "threshold": 1.0, "with": {"k": 3}}]
        assert saved.assertions == 1
        talk.lines[0] = replace(found, documents=(Document("oil-1"), Document("oil-3")))
        with pytest.raises(ConfigurationError, match=r"RecallAtKMetric is 0\.50"):
            await chat.save("finds")


async def test_documents_that_are_others_each_time_are_not_offered() -> None:
    async with talking(Reply("Argan.", None, documents=(Document("oil-1"),))) as (chat, talk):
        await chat.say("Une huile")
        talk.lines[0] = Reply("Argan.", None, documents=(Document("oil-2"),))
        assert [dict(offer.expect) for offer in await chat.offers()] == [{"equals": "Argan."}]


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
        with pytest.raises(UsageError, match=r"contains 'QUAND'.*that the reply above does not have"):
            chat.expect_text("not_contains", "QUAND")
        chat.expect_text("not_contains", "demain")
        chat.expect_text("contains", "quand")
        chat.expect(())
        assert expect_of(chat.turns[-1].chosen) == {"not_contains": ["demain"], "contains": ["quand"]}
        chat.expect_nothing()
        assert expect_of(chat.turns[-1].chosen) == {}


class CountsExpectedTools:
    """Implements ``Metric``: the share of turns of which tools are expected."""

    name, version, judged = "ToolCallAccuracyMetric", "1", False

    async def measure(self, case: Case, threshold: float) -> Score:
        """See ``Metric``."""
        expected = [exchange.turn.expect.tools is not None for exchange in case.transcript.exchanges]
        return Score(self.name, self.version, sum(expected) / len(expected), threshold, judged=False)


async def test_a_metric_measures_the_conversation_so_far_with_what_is_asserted_of_it() -> None:
    async with talking(ASKED, BOOKED, metric=lambda _: CountsExpectedTools()) as (chat, _):
        await chat.say("Un massage")
        await chat.say("Vendredi")
        with pytest.raises(SuiteError, match=r"no turn says expect\.tools"):
            await chat.judge("ToolCallAccuracyMetric")
        chat.expect((await chat.offers())[1:2])
        assert (await chat.judge("ToolCallAccuracyMetric")).value == 0.5
        with pytest.raises(SuiteError, match="did you mean"):
            await chat.judge("ToolCalAccuracyMetric")
        with pytest.raises(UsageError, match="code of the repository"):
            await chat.judge("metrics:Own")


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


ROWS = st.lists(st.fixed_dictionaries({"id": st.integers(1, 3), "day": st.sampled_from(["Friday", None])}))


@given(before=ROWS, after=ROWS)
def test_what_was_there_with_what_came_and_without_what_went_is_what_is_there(
    before: list[dict[str, object]], after: list[dict[str, object]]
) -> None:
    key = partial(json.dumps, sort_keys=True)
    rows = sorted(map(key, after))
    found = changes({"bookings": tuple(before)}, {"bookings": tuple(after)})
    assert bool(found) == (sorted(map(key, before)) != rows)
    for change in found:
        left = [key(row) for row in before]
        for row in change.removed:
            left.remove(key(row))
        assert sorted([*left, *map(key, change.added)]) == rows


async def test_a_row_that_went_is_asserted_by_its_absence() -> None:
    async with talking(ASKED) as (chat, _):
        heard = await chat.say("Un massage")
    one, two = {"id": 1, "day": "Friday"}, {"id": 2, "day": "Sunday"}
    gone = replace(heard, rows=changes({"bookings": (one, two)}, {"bookings": (two,)}))
    rows = [offer.expect["rows"] for offer in offers_of(gone, gone, uses_tools=False) if "rows" in offer.expect]
    assert rows == [[{"table": "bookings", "where": {"id": 1, "day": "Friday"}, "count": 0}]]
