"""Which conversations a comparison keeps of the base."""

from dataclasses import replace
from datetime import UTC, datetime

from ratiba_action.model.answer_origin import AnswerOrigin
from ratiba_action.model.codec import decode, encode
from ratiba_action.model.comparison import Comparison, MeasuredRun, Rules
from ratiba_action.model.measurement import Check, Scored
from ratiba_action.verdict.runs import MAX_CHANGED, MAX_CHARACTERS, compare_as_measured
from tests.support.sample_report import sample_scored


def scored(name: str, reply: str = "Karibu.", *, passed: bool = True) -> Scored:
    check = Check("state", 1, "state", "confirmed", "confirmed" if passed else "collect_slot", passed=passed)
    return replace(sample_scored(name, reply=reply), checks=(check,), scores=())


def run(*results: Scored, answers: AnswerOrigin = AnswerOrigin.REPLAY, this_run: bool = True) -> MeasuredRun:
    return MeasuredRun(None, datetime(2026, 4, 25, tzinfo=UTC), "", answers, results, this_run=this_run)


def compared(head: MeasuredRun, base: MeasuredRun) -> Comparison:
    return compare_as_measured(head, base, Rules())


def changed(head: MeasuredRun, base: MeasuredRun) -> list[str]:
    return [change.scenario_id for change in compared(head, base).changed]


def test_a_flip_keeps_what_happened_on_both_sides() -> None:
    (flip,) = compared(run(scored("spa_0", "Sijui.", passed=False)), run(scored("spa_0"))).flips
    assert (flip.base_replies, flip.head_replies) == (("Karibu.",), ("Sijui.",))
    for (turn,) in (flip.base_turns, flip.head_turns):
        assert turn.state == "CONFIRMING_SLOT"
        assert [call.name for call in turn.tool_calls] == ["check_availability"]
        assert turn.user == scored("spa_0").trial.scenario.turns[0].user


def test_an_unchanged_conversation_adds_nothing_to_a_report() -> None:
    found = compared(
        run(scored("spa_0"), scored("spa_1", passed=False)), run(scored("spa_0"), scored("spa_1", passed=False))
    )
    assert (found.flips, found.changed) == ((), ())


def test_recorded_answers_of_the_same_run_that_differ_are_a_change() -> None:
    head, base = scored("spa_0", "Karibu tena."), scored("spa_0")
    assert changed(run(head), run(base)) == ["spa_0"]
    # Live answers vary by chance, and those of a stored base are masked.
    assert changed(run(head, answers=AnswerOrigin.LIVE), run(base, answers=AnswerOrigin.LIVE)) == []
    assert changed(run(head), run(base, this_run=False)) == []


def test_a_scenario_that_fails_otherwise_than_before_is_a_change() -> None:
    head, base = scored("spa_0", "Sijui.", passed=False), scored("spa_0", "Samahani.", passed=False)
    assert changed(run(head), run(base, this_run=False)) == ["spa_0"]


def test_failing_scenarios_come_first_and_the_list_is_bounded() -> None:
    base = [scored(f"spa_{number:03}") for number in range(MAX_CHANGED + 20)]
    head = [scored(f"spa_{number:03}", "Karibu tena.") for number in range(MAX_CHANGED + 20)]
    failing = scored("zz", "Sijui.", passed=False), scored("zz", "Samahani.", passed=False)
    found = changed(run(*head, failing[0]), run(*base, failing[1]))
    assert (len(found), found[0]) == (MAX_CHANGED, "zz")


def test_turns_that_are_too_much_are_left_out_whole() -> None:
    def large(result: Scored) -> Scored:
        (exchange,) = result.transcript.exchanges
        reply = replace(exchange.reply, output="x" * (MAX_CHARACTERS // 3))
        return replace(result, transcript=replace(result.transcript, exchanges=(replace(exchange, reply=reply),)))

    names = "spa_0", "spa_1", "spa_2"
    head = run(*(large(scored(name, "Sijui.", passed=False)) for name in names))
    flips = compared(head, run(*map(large, map(scored, names)))).flips
    assert [len(flip.base_turns) for flip in flips] == [1, 0, 0]
    assert [len(flip.base_replies) for flip in flips] == [1, 1, 1]


def test_a_comparison_that_was_written_before_is_read() -> None:
    found = compared(run(scored("spa_0", "Sijui.", passed=False)), run(scored("spa_0")))
    written = encode(found)
    del written["changed"]
    for flip in written["flips"]:
        del flip["base_turns"], flip["head_turns"]
    read = decode(Comparison, written)
    assert read.flips[0].base_replies == found.flips[0].base_replies
    assert (read.flips[0].base_turns, read.changed) == ((), ())
