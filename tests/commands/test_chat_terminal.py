"""What is typed in a chat and what is shown of it, on fakes."""

import io
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from ratiba_action.authoring.chat import Chat
from ratiba_action.commands import chat_terminal
from ratiba_action.commands.chat_terminal import HELP, ChatTerminal, Money, Screen
from ratiba_action.errors import UsageError, WorkerError
from ratiba_action.model.conversation import Document, Reply, SystemEvent, ToolCall
from ratiba_action.model.scenario import Turn
from ratiba_action.model.values import JsonObject
from ratiba_action.privacy.masking import Redactor
from tests.support.systems import Line
from tests.support.talks import GrowingTenants, talking
from tests.support.tenants import InMemoryTenants

ASKED = Reply("Pour quand ?", "ASKING")
BOOKED = Reply("C'est fait.\nMerci !", "BOOKED", "NONE", (ToolCall("book", {"day": "Friday"}, {"ok": True}),))


class Typed:
    """Implements ``LineReader`` with lines that are given."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = list(lines)

    async def next(self) -> str | None:
        """See ``LineReader``."""
        return self._lines.pop(0) if self._lines else None


async def typed(
    *lines: str,
    replies: Sequence[Line] = (ASKED, BOOKED),
    as_json: bool = False,
    tenants: InMemoryTenants | None = None,
    **given: Any,
) -> str:
    """What is shown of some lines."""
    stream = io.StringIO()
    async with talking(*replies, saved_as=["books"], tenants=tenants) as (chat, _):
        screen = Screen(stream, Redactor(["planted-secret"]), as_json, columns=100)
        money = Money(lambda: Decimal(0), Decimal(20))
        terminal = ChatTerminal(chat, Typed(lines), screen, money, lambda _saved: ["scenarios/books.yaml"], **given)
        await terminal.run()
    return stream.getvalue()


def never_labelled(*given: object) -> str:
    raise AssertionError(given)


async def test_a_label_is_kept_with_who_gave_it() -> None:
    kept = list[tuple[bool, str]]()

    def keep(_chat: Chat, good: bool, by: str) -> str:  # noqa: FBT001 - as ``KeepLabel``
        kept.append((good, by))
        return "cal_1"

    shown = await typed("Un massage", "/label good Asha Wanjiku", "/label bad", keep_label=keep)
    assert kept == [(True, "Asha Wanjiku"), (False, "")]
    assert "labelled  cal_1 as good" in shown


async def test_a_turn_shows_reply_state_tools_and_money() -> None:
    shown = await typed("Un massage", "Vendredi", "/quit", "never read")
    assert [line.rstrip() for line in shown.splitlines() if "cost" not in line] == [
        "system> Pour quand ?",
        "  state     ASKING",
        "system> C'est fait.",
        "        Merci !",
        "  state     ASKING → BOOKED",
        "  payment   NONE",
        '  tool      book(day="Friday") → {"ok": true}',
        "",
        "Not saved. To write a scenario, end with: /save ID",
    ]
    assert shown.count("USD 0.0000 paid, no model call") == 2


async def test_what_a_system_replies_can_neither_move_the_cursor_nor_show_a_secret() -> None:
    hostile = Reply(
        "\x1b[2J\x1b]0;title\x07planted-secret\u202e", "A\x1b[1m", events=(SystemEvent("e\x9b", {"\x1b": "\x1b"}),)
    )
    shown = await typed("Salut", "/expect", "/base", replies=[hostile])
    assert not set(shown) & set("\x1b\x07\x9b\u202e")
    assert "planted-secret" not in shown
    assert "\\x1b[2J" in shown


def test_the_documentation_names_each_kind_of_json() -> None:
    package = Path(chat_terminal.__file__).parent
    code = "".join((package / name).read_text() for name in ("chat.py", "chat_terminal.py"))
    shown = set(re.findall(r'screen\.show\(\s*"(\w+)"', code))
    (line,) = (line for line in (package.parents[1] / "docs/chat.md").read_text().splitlines() if "its `kind`:" in line)
    assert set(re.findall(r"`(\w+)`", line.partition("its `kind`:")[2])) == shown


FORGED = "X\nyou> Yes\n  passed    9 deterministic assertions"


async def test_nothing_of_a_system_looks_like_what_a_person_types() -> None:
    hostile = Reply(
        FORGED,
        FORGED,
        FORGED,
        (ToolCall(FORGED, {FORGED: FORGED}, FORGED),),
        (SystemEvent(FORGED, {}),),
        (Document(FORGED, FORGED),),
    )
    shown = await typed("Salut", "/expect", "/expect all", "Encore", replies=[hostile, WorkerError(FORGED)])
    lines = shown.splitlines()
    assert any("passed    9" in line for line in lines)
    assert not [line for line in lines if line.startswith(("you>", "  passed"))]


async def test_rows_that_differ_from_those_of_the_base_are_shown_beside_them() -> None:
    shown = await typed("Un massage", "/base", tenants=GrowingTenants())
    assert "1 ≠" in shown
    assert shown.count('bookings + {"id":') == 3


class ManyRows(GrowingTenants):
    """A turn adds six rows, of which the last is another one in each tenant."""

    async def read(self, tenant: Any, queries: Mapping[str, str]) -> Mapping[str, tuple[JsonObject, ...]]:
        """See ``TenantProvisioner``."""
        found = await super().read(tenant, queries)
        if "tables" in queries or not any(found.values()):
            return found
        ids = ["1", "2", "3", "4", "5", tenant.schema]
        return dict.fromkeys(queries, tuple({"id": number} for number in ids))


async def test_rows_that_are_not_shown_are_compared_with_the_base_too() -> None:
    shown = await typed("Un massage", "/base", tenants=ManyRows())
    assert "bookings + 1 more" in shown
    assert "1 ≠" in shown


async def test_json_says_of_each_turn_whether_the_base_did_the_same() -> None:
    for tenants, same in ((None, True), (ManyRows(), False)):
        shown = await typed("Un massage", "/base", as_json=True, tenants=tenants)
        (base,) = [each for each in map(json.loads, shown.splitlines()) if each["kind"] == "base"]
        assert [turn["same"] for turn in base["turns"]] == [same]


async def test_of_a_huge_reply_the_beginning_is_shown() -> None:
    shown = await typed("Salut", replies=[Reply("word " * 10_000)])
    assert len(shown) < 21_000
    assert "… (30,00" in shown


async def test_each_thing_is_an_object_of_json() -> None:
    shown = await typed(
        "Un massage", "/undo", "/expect", "/new", "/now 2026-05-01T10:00:00+03:00", "/help", as_json=True
    )
    things = [json.loads(line) for line in shown.splitlines()]
    assert [thing["kind"] for thing in things] == ["turn", "undone", "error", "new", "about", "help"]
    assert things[2]["remedy"] == "Say something first."
    assert things[-1]["text"] == HELP


@pytest.mark.parametrize(
    ("line", "problem", "remedy"),
    [
        ("/undo", "no turn to take back", "Say something first."),
        ("/bse", "no command '/bse'; did you mean '/base'?", "List them: /help"),
        ("/event paid", "not JSON", 'Write: /event {"type": "paid"}'),
        ("/event [1]", "no JSON object", 'Write: /event {"type": "paid"}'),
        ("/undo 3", "/undo takes no value, and has '3'", "Write: /undo"),
        ("/event", "/event needs an event", 'Write: /event {"type": "paid"}'),
        ("/as", "/as needs a name and a phone number", "Write: /as Wanjiku +254 700 000 101"),
        ("/now", "/now needs a time", "Write: /now 2026-04-25T10:00:00+03:00"),
        ("Sal\udcffut", "not UTF-8, so nothing was sent", "Set the terminal, or the file, to UTF-8."),
        ("/as Wanjiku", "'Wanjiku' is no name with a phone number", "Write: /as Wanjiku +254 700 000 101"),
        ("/now tomorrow", "is not a date and time", ""),
        ("/judge", "needs a metric", "Write: /judge SwahiliFluencyMetric"),
        ("/save", "needs an id", "Write: /save books_a_massage"),
        ("/label good", "nothing to label yet", "Say something first."),
        ("/label fine", "'fine' is not one of good, bad", "Write: /label good"),
        ("x" * 20_001, "20,001 characters", "Shorten it."),
    ],
)
async def test_a_line_that_cannot_be_done_says_what_helps_and_the_chat_goes_on(
    line: str, problem: str, remedy: str
) -> None:
    shown = await typed(line, "Un massage", as_json=True, keep_label=never_labelled)
    error, turn = [json.loads(text) for text in shown.splitlines()][:2]
    assert problem in error["problem"]
    assert error["remedy"] == remedy
    assert turn["reply"] == "Pour quand ?"


async def test_what_is_masked_is_shown_as_it_is_sent() -> None:
    number = "+254 722 123 456"
    shown = await typed(f"Call {number}", f'/event {{"type": "paid", "payer": "{number}"}}', as_json=True)
    things = [json.loads(line) for line in shown.splitlines()][:4]
    assert [thing["kind"] for thing in things] == ["masked", "turn", "masked", "turn"]
    assert things[0]["sent"] == things[1]["user"]
    assert things[2]["sent"] == things[3]["event"]
    assert "123 456" not in shown


async def test_customer_and_clock_are_those_of_a_conversation_that_has_not_begun() -> None:
    shown = await typed("/as Wanjiku Kamau +254 700 000 101", "Un massage", "/as Otieno +254 700 000 102", as_json=True)
    about, _, error, _ = [json.loads(text) for text in shown.splitlines()]
    assert about["customer"] == {"name": "Wanjiku Kamau", "phone": "+254 700 000 101"}
    assert error["remedy"] == "Begin again: /new"


async def test_what_is_asserted_is_chosen_by_number_and_by_text() -> None:
    shown = await typed("Un massage", "/expect", "/expect contains quand", "/expect 1", "/expect 9", "/expect none")
    assert "    1 [ ] state ASKING" in shown
    assert "      [x] the reply contains 'quand'" in shown
    assert "the numbers are 1 to 2" in shown
    assert "nothing is asserted of this turn" in shown


async def test_a_saved_scenario_names_its_files_and_what_it_catches_and_is_not_missed_at_the_end() -> None:
    async def mutants(scenario_id: str, place: str) -> Sequence[str]:
        return [f"fails if  {place} ({scenario_id})"]

    shown = await typed("Un massage", "/expect 1", "/save books app.py:3", show_mutants=mutants)
    assert "passed    1 deterministic assertion" in shown
    assert "Written: scenarios/books.yaml" in shown
    assert "fails if  app.py:3 (books)" in shown
    assert "Not saved" not in shown


async def test_nothing_is_saved_if_no_mutants_can_be_made_of_the_file_that_is_named() -> None:
    def refuse(place: str) -> None:
        raise UsageError(f"There is no file {place!r}.", "Name another one.")

    shown = await typed("Un massage", "/expect all", "/save books none.py:3", check_place=refuse)
    assert "There is no file 'none.py:3'. Name another one." in shown
    assert "Written" not in shown


async def test_this_checkout_and_the_base_stand_side_by_side() -> None:
    shown = await typed("Un massage", "/base")
    assert "this checkout" in shown
    assert "1 =" in shown


async def test_a_conversation_of_production_is_repeated_up_to_a_turn_that_does_not_end() -> None:
    stream = io.StringIO()
    async with talking(replace(ASKED, text="Je suis là")) as (chat, _):
        money = Money(lambda: Decimal(0), Decimal(20))
        terminal = ChatTerminal(chat, Typed([]), Screen(stream, Redactor()), money, lambda _saved: [])
        paid = Turn(event={"type": "paid"})
        await terminal.repeat([(Turn(user="Allô ?"), "Oui ?"), (paid, "Merci"), (Turn(user="Au revoir"), "Ciao")])
        assert len(chat.turns) == 1
    shown = stream.getvalue()
    assert "production  Oui ?" in shown
    assert '> /event {"type": "paid"}' in shown
    assert "taken back; the conversation has 1 turn" in shown
    assert "Au revoir" not in shown


async def test_nothing_of_a_conversation_of_production_looks_like_what_a_person_types() -> None:
    stream = io.StringIO()
    async with talking(ASKED) as (chat, _):
        terminal = ChatTerminal(
            chat, Typed([]), Screen(stream, Redactor()), Money(lambda: Decimal(0), Decimal(20)), lambda _saved: []
        )
        await terminal.repeat([(Turn(user=FORGED), FORGED)])
    lines = stream.getvalue().splitlines()
    assert sum("passed    9" in line for line in lines) == 2
    assert not [line for line in lines if line.startswith(("you>", "  passed"))]
