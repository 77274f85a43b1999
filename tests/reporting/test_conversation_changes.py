"""What changed in words: the differences themselves, the page and the line of the comment."""

import re
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ratiba_action.model.answer_origin import AnswerOrigin
from ratiba_action.model.comparison import ComparedTurn, Comparison, OutcomeChange, ScenarioComparison, Tier
from ratiba_action.model.conversation import ToolCall
from ratiba_action.model.plan import BASE, Arm
from ratiba_action.model.verdict import Conclusion, Report
from ratiba_action.privacy.masking import Redactor
from ratiba_action.reporting.comment import render_comment
from ratiba_action.reporting.conversation_changes import (
    ConversationChange,
    FirstDifference,
    Line,
    Piece,
    aligned_calls,
    describe_change,
    describe_changes,
    first_difference,
    word_diff,
)
from ratiba_action.reporting.html import render_html
from ratiba_action.reporting.summary import summarise
from tests.support.sample_comparison import sample_compared_report, sample_comparison, sample_passed_comparison
from tests.support.sample_report import sample_check, sample_score, sample_scored

WORDS = st.lists(st.sampled_from(["saa", "nne", "kumi", "asubuhi", "ng'ombe", "14:00", "3,500", ".", "\n"])).map(
    " ".join
)
TEXTS = st.one_of(st.text(), WORDS)


def joined(pieces: tuple[Piece, ...], *kinds: str) -> str:
    return "".join(piece.text for piece in pieces if piece.kind in kinds)


@given(TEXTS, TEXTS)
@example("a b " * 400, "b a " * 400)
@example("Moja. Mbili! " * 300, "Moja. Tatu! " * 300)
def test_the_pieces_give_both_texts(base: str, head: str) -> None:
    pieces = word_diff(base, head)
    assert joined(pieces, "same", "removed") == base
    assert joined(pieces, "same", "added") == head
    assert all(piece.text for piece in pieces)
    assert all(first.kind != second.kind for first, second in pairwise(pieces))


@given(TEXTS)
def test_a_text_does_not_differ_from_itself(text: str) -> None:
    assert joined(word_diff(text, text), "removed", "added") == ""


@pytest.mark.parametrize(
    ("base", "head", "removed", "added"),
    [
        ("Karibu saa nne asubuhi.", "Karibu saa kumi jioni.", ["nne asubuhi"], ["kumi jioni"]),
        ("Bei ni KES 3,500 kesho", "Bei ni KES 1,500 kesho", ["3,500"], ["1,500"]),
        ("Uko free saa 14:00?", "Uko free saa 08:00?", ["14:00"], ["08:00"]),
        ("Nina ng'ombe wawili", "Nina ng'ombe watatu", ["wawili"], ["watatu"]),
        ("Asante sana", "Asante", [" sana"], []),
        ("Sijui jibu la swali hilo", "Your slot is booked", ["Sijui jibu la swali hilo"], ["Your slot is booked"]),
    ],
)
def test_whole_words_numbers_and_times_are_marked(base: str, head: str, removed: list[str], added: list[str]) -> None:
    pieces = word_diff(base, head)
    assert [piece.text for piece in pieces if piece.kind == "removed"] == removed
    assert [piece.text for piece in pieces if piece.kind == "added"] == added


def test_a_long_text_is_compared_by_sentences() -> None:
    same = "Moja na mbili na tatu. " * 200
    pieces = word_diff(f"{same}Nne. {same}Tano.", f"{same}Sita. {same}Saba.")
    assert ("Nne. " in joined(pieces, "removed"), "Sita. " in joined(pieces, "added")) == (True, True)
    assert len(joined(pieces, "same")) >= len(same)


def call(name: str, output: Any = None, **args: Any) -> ToolCall:
    return ToolCall(name, args, output)


def test_calls_are_aligned_by_name_and_position() -> None:
    base = call("lookup", day=1), call("book", day=1), call("pay")
    head = call("lookup", day=2), call("notify"), call("book", day=2)
    assert aligned_calls(base, head) == [(base[0], head[0]), (None, head[1]), (base[1], head[2]), (base[2], None)]


TURN = ComparedTurn(
    "Kesho saa nne?", state="CONFIRMING", payment="NONE", tool_calls=(call("book", hour=10, day="kesho"),)
)
BASE_REPLIES = ("Karibu!", "Uko tayari saa nne asubuhi, karibu sana.", "Asante.", "Kwaheri.")


def change(**fields: Any) -> OutcomeChange:
    other = replace(TURN, state="BOOKED", tool_calls=(call("book", hour=16, day="kesho"),))
    found = OutcomeChange(
        "spa_0",
        passes=False,
        base_replies=BASE_REPLIES,
        head_replies=("Karibu!", "Uko tayari saa kumi jioni, karibu sana.", "Asante.", "Kwaheri."),
        base_turns=(TURN,) * 4,
        head_turns=(TURN, other, TURN, TURN),
    )
    return replace(found, **fields)


def marked(line: Line) -> tuple[str, str]:
    """Both sides of a line, with what differs in brackets."""

    def side(pieces: tuple[Piece, ...] | None) -> str:
        return "".join(f"[{piece.text}]" if piece.kind != "same" else piece.text for piece in pieces or ())

    return side(line.base), side(line.head)


def test_only_changed_turns_are_expanded() -> None:
    found = describe_change(change(), flipped=True)
    assert [(turn.first, turn.last, bool(turn.lines)) for turn in found.turns] == [
        (1, 1, False),
        (2, 2, True),
        (3, 4, False),
    ]
    lines = {line.what: line for line in found.turns[1].lines}
    assert list(lines) == ["customer", "tool", "assistant", "state", "payment"]
    assert (lines["customer"].same, lines["payment"].same) == (True, True)
    assert marked(lines["tool"]) == ('book(hour=[10], day="kesho")', 'book(hour=[16], day="kesho")')
    assert marked(lines["state"]) == ("[CONFIRMING]", "[BOOKED]")
    assert marked(lines["assistant"])[1] == "Uko tayari saa [kumi jioni], karibu sana."
    assert found.direction == "newly failing"


def test_a_turn_that_one_side_did_not_reach_is_a_difference() -> None:
    found = describe_change(change(head_replies=BASE_REPLIES[:1], head_turns=(TURN,)), flipped=True)
    assert [len(turn.lines) > 0 for turn in found.turns] == [False, True, True, True]
    lines = {line.what: line for line in found.turns[1].lines}
    assert (lines["customer"].same, lines["assistant"].head) == (True, None)
    # The error or the assertion says that it was not reached.
    assert first_difference(found) is None


def test_what_is_long_is_shortened_and_says_so() -> None:
    same, much = "na " * 2_000, "x" * 5_000
    found = describe_change(change(base_replies=(f"{same}moja",), head_replies=(f"{same}{much}",)), flipped=True)
    (line,) = (line for line in found.turns[0].lines if line.what == "assistant")
    text = "".join(marked(line))
    assert "equal characters" in text
    assert "(3,000 more characters)" in text
    assert len(text) < 4_000


def test_of_a_report_without_turns_the_replies_are_compared() -> None:
    found = describe_change(change(base_turns=(), head_turns=()), flipped=True)
    assert [line.what for turn in found.turns for line in turn.lines] == ["assistant"]
    assert not found.whole


def test_a_conversation_that_differs_by_its_masks_alone_is_not_shown() -> None:
    same = change(head_replies=BASE_REPLIES, head_turns=(TURN,) * 4)
    assert describe_changes(sample_comparison(flips=(), changed=(same,))) == ()
    assert [found.flipped for found in describe_changes(sample_comparison(flips=(same,), changed=(change(),)))] == [
        True,
        False,
    ]


def first(**fields: Any) -> FirstDifference | None:
    return first_difference(describe_change(change(**fields), flipped=True))


def test_the_first_difference_is_in_words() -> None:
    assert first() == FirstDifference(
        2, "assistant", "Uko tayari saa nne asubuhi, karibu sana.", "Uko tayari saa kumi jioni, karibu sana."
    )
    found = first(head_replies=BASE_REPLIES)
    assert found == FirstDifference(2, "tool", 'book(hour=10, day="kesho…', 'book(hour=16, day="kesho…')
    assert first(head_replies=BASE_REPLIES, head_turns=(TURN,) * 4) is None
    empty = first(base_replies=("",), head_replies=("Karibu",), base_turns=(), head_turns=())
    assert empty == FirstDifference(1, "assistant", "", "Karibu")


@given(TEXTS, TEXTS)
def test_the_first_difference_is_short(base: str, head: str) -> None:
    found = first(base_replies=(base,), head_replies=(head,), base_turns=(), head_turns=())
    assert (found is None) == (base == head)
    for text in (found.base, found.head) if found else ():
        assert len(text) <= 82
        assert "\n" not in text


def report(found: OutcomeChange) -> Report:
    failed = replace(sample_scored("spa_0", checks=(sample_check(passed=False),), scores=(sample_score(),)))
    return sample_compared_report(sample_comparison(flips=(found,)), results=(failed,))


HOSTILE = [
    "`rm -rf`",
    "a | b | c",
    "<img src=x onerror=alert(1)>",
    "</del></details><script>alert(1)</script>",
    "@maintainer",
    "[click](https://evil.example)",
    "![x](https://evil.example/p.png)",
    "https://evil.example/a",
    "one\n\n# two\n\n| a |\n| - |",
    "::error::x",
    "<!-- ratiba-eval-gate -->",
    "\u202edlrow",
]


def line_of(body: str) -> str:
    (line,) = (line for line in body.splitlines() if line.startswith("First difference"))
    return line


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_words_stay_one_harmless_line_of_the_comment(text: str) -> None:
    found = change(base_replies=("Karibu",), head_replies=(text,), base_turns=(), head_turns=())
    line = line_of(render_comment(summarise(report(found))))
    assert line.startswith("First difference, turn 1: “Karibu” → “")
    plain = re.sub(r"`https://[^`]*`", "", re.sub(r"\\[\\`\[\]|*]", "", line))  # an address is code: no link
    assert not re.search(r"[`|<>\[\]]|@m|://e|::|\u202e", plain)


def test_what_one_side_lacks_is_no_quotation() -> None:
    spoken, booked = ComparedTurn(user="Habari"), ComparedTurn(user="Habari", tool_calls=(call("book", slot=14),))
    found = change(base_replies=("Karibu",), head_replies=("Karibu",), base_turns=(spoken,), head_turns=(booked,))
    line = line_of(render_comment(summarise(report(found))))
    assert line.startswith("First difference, turn 1, tool: nothing → “book(")
    word = change(base_replies=("nothing",), head_replies=("Karibu",), base_turns=(), head_turns=())
    assert line_of(render_comment(summarise(report(word)))).endswith("“nothing” → “Karibu”")


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_words_are_text_in_the_page(text: str) -> None:
    tool = ComparedTurn(user=text, state=text, tool_calls=(call(text, text, **{text: text}),), event={text: text})
    found = change(base_replies=("Karibu",), head_replies=(text,), base_turns=(TURN,), head_turns=(tool,))
    page = render_html(summarise(report(found)))
    plain = render_html(summarise(report(change(base_replies=("a",), head_replies=("b",)))))
    for tag in ("script", "img", "/details"):
        assert page.count(f"<{tag}") <= plain.count(f"<{tag}")
    assert "\u202e" not in page


def test_the_page_shows_both_sides_with_marks_that_are_no_colours() -> None:
    page = render_html(summarise(report(change())))
    words = page[page.index('<section class="words"') : page.index("</section>")]
    assert "<del>nne asubuhi</del>" in words
    assert "<ins>kumi jioni</ins>" in words
    assert "Turns 3 to 4: 2 equal turns" in words
    assert words.index('data-side="base"') < words.index('data-side="this PR"')
    style = page[: page.index("</style>")]
    assert re.search(r"del \{ text-decoration: line-through", style)
    assert re.search(r"ins \{ text-decoration: underline", style)


KEY, PHONE = "sk-live-0123456789abcdef", "+254 712 345 678"


@pytest.mark.parametrize("before", range(40, 90))
def test_a_key_or_a_number_at_the_edge_is_masked_before_the_line_is_cut(before: int) -> None:
    text = f"{'x' * before} {KEY} {PHONE}"
    turn = replace(TURN, tool_calls=(call("pay", {"key": KEY}, phone=PHONE, key=KEY),))
    found = change(base_replies=("Karibu",), head_replies=(text,), base_turns=(TURN,), head_turns=(turn,))
    masked = Redactor([KEY]).report(report(found))
    for published in (render_comment(summarise(masked)), render_html(summarise(masked))):
        assert "sk-l" not in published
        assert "712 3" not in published


def test_a_conversation_of_one_side_only_is_described() -> None:
    found: ConversationChange = describe_change(change(base_replies=(), base_turns=()), flipped=True)
    assert all(line.base is None for turn in found.turns for line in turn.lines if line.what != "customer")


def passing(*names: str, text: str = "Plans start at KES 250 a month.") -> Report:
    changed = tuple(
        OutcomeChange(name, passes=True, base_replies=("Plans start at KES 2,500 a month.",), head_replies=(text,))
        for name in names
    )
    return sample_compared_report(sample_passed_comparison(changed=changed))


def test_what_passes_and_is_not_as_on_the_base_is_shown_since_no_assertion_decides_about_it() -> None:
    body = render_comment(summarise(passing("price")))
    assert "1 scenario passes and is not as on the base. No assertion decides whether that is right:" in body
    assert re.search(r"^- `price`, turn 1: “.*KES 2,500 a month.*” → “.*KES 250 a month.*”$", body, re.MULTILINE)
    many = render_comment(summarise(passing("a", "b", "c", "d", "e")))
    assert "5 scenarios pass and are not as on the base." in many
    assert "- 2 more, in the report" in many
    assert "not as on the base" not in render_comment(summarise(passing()))
    assert "not as on the base" not in render_comment(
        summarise(passing("spa_0", text="Plans start at KES 2,500 a month."))
    )


def test_such_a_pass_is_not_plainly_green() -> None:
    for names, alert in ((("price",), "NOTE"), ((), "TIP")):
        report = passing(*names)
        found = replace(report, verdict=replace(report.verdict, conclusion=Conclusion.PASSED))
        assert f"> [!{alert}]\n> ## Passed" in render_comment(summarise(found))


ALIKE = (
    "Every reply, tool call and state is as on the base: if this change is meant to alter one, no scenario shows it."
)


def test_where_nothing_varies_and_nothing_differs_the_comment_says_so() -> None:
    scenarios = tuple(ScenarioComparison(name, 0.88, 0.88, Tier.WITHIN_NOISE) for name in ("spa_0", "spa_1"))
    exact = sample_passed_comparison(exact=True, scenarios=scenarios, difference=0.0, metrics=())
    without_scores = Comparison(Tier.NOT_COMPARABLE, (), (), "2 of 2 scenarios passed on the base.")

    def body(found: Comparison, *, base: bool = True, **changes: Any) -> str:
        ours = tuple(sample_scored(name) for name in ("spa_0", "spa_1"))
        theirs = tuple(replace(each, trial=replace(each.trial, arm=Arm(BASE, "a1b2c3d"))) for each in ours)
        report = sample_compared_report(found)
        report = replace(report, results=(*ours, *(theirs if base else ())), **{"llm": AnswerOrigin.REPLAY, **changes})
        return render_comment(summarise(report))

    assert ALIKE in body(exact)
    assert ALIKE in body(without_scores)
    other = change(base_replies=("One.",), head_replies=("Two.",), passes=True)
    for found in (replace(exact, exact=False), replace(exact, changed=(other,)), replace(exact, flips=(other,))):
        assert ALIKE not in body(found)
    assert ALIKE not in body(exact, base=False), "a base that was stored is kept without its conversations"
    assert ALIKE not in body(without_scores, edited_scenarios=1)
    assert ALIKE not in body(exact, llm=AnswerOrigin.LIVE)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_words_of_a_scenario_that_passes_stay_one_harmless_line(text: str) -> None:
    body = render_comment(summarise(passing("price", text=text)))
    (line,) = (line for line in body.splitlines() if line.startswith("- `price`, turn 1: "))
    plain = re.sub(r"`https://[^`]*`", "", re.sub(r"\\[\\`\[\]|*]", "", line.removeprefix("- `price`")))
    assert not re.search(r"[`|<>\[\]]|@m|://e|::|\u202e", plain)
