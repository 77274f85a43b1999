"""Which changed lines nothing runs: by statements of functions, and only where it was seen."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.model.note import Caveat
from ratiba_action.run.changed_lines import ChangedLines, lines_that_differ, never_run
from ratiba_action.run.services import Measured
from tests.support.recorder import FakeRecorder

CODE = '''\
LIMIT = 500


def price(amount, member):
    """What a customer pays."""
    try:
        total = int(
            amount,
        )
    except ValueError:
        return None
    if (
        member
        and total > LIMIT
    ):
        # A discount.
        total -= 50
    else:
        total += 0
    return total


class Shop:
    name: str

    async def open(self):
        pass
        note: str
        return "open"
'''
EVERY = frozenset(range(1, CODE.count("\n") + 1))
IMPORTED = frozenset({1, 4, 23, 24, 26})


@pytest.mark.parametrize(
    ("ran", "missed"),
    [
        (IMPORTED | {6, 7, 8, 12, 13, 19, 20}, (10, 11, 17, 29)),
        (IMPORTED | {6, 7, 10, 11}, (12, 13, 14, 17, 19, 20, 29)),
        (IMPORTED | {6, 7, 12, 13, 14, 17, 20, 29}, (10, 11, 19)),
        (IMPORTED, (6, 7, 8, 9, 10, 11, 12, 13, 14, 17, 19, 20, 29)),
        (frozenset(), ()),
    ],
    ids=["no discount", "no number", "a discount", "imported only", "seen nowhere"],
)
def test_a_statement_is_run_as_a_whole_and_only_those_of_functions_count(
    ran: frozenset[int], missed: tuple[int, ...]
) -> None:
    assert never_run(CODE, EVERY, ran) == missed


def test_only_changed_lines_are_named_and_a_text_that_is_no_python_has_none() -> None:
    assert never_run(CODE, frozenset({9, 10, 16}), IMPORTED) == (9, 10)
    assert never_run("def broken(:\n    x = 1\n", frozenset({2}), frozenset({1})) == ()


@given(st.frozensets(st.sampled_from(sorted(EVERY))), st.frozensets(st.sampled_from(sorted(EVERY)), min_size=1))
def test_no_line_is_named_that_is_unchanged_or_ran(changed: frozenset[int], ran: frozenset[int]) -> None:
    missed = set(never_run(CODE, changed, ran))
    assert missed <= changed
    assert not missed & ran


@given(st.lists(st.sampled_from("abc")), st.lists(st.sampled_from("abc")))
def test_lines_that_do_not_differ_stand_in_both_texts_in_this_order(old: list[str], new: list[str]) -> None:
    before, after = ("".join(f"{line}\n" for line in lines) for lines in (old, new))
    differ, _ = lines_that_differ(before, after)
    assert differ <= set(range(1, len(new) + 1))
    rest = iter(old)
    assert all(line in rest for number, line in enumerate(new, 1) if number not in differ)


def test_only_what_ends_a_line_of_python_ends_one() -> None:
    assert lines_that_differ("a\n\x0c\nb\n", "a\n\x0c\nc\n") == (frozenset({3}), 1)
    assert lines_that_differ("a = '\u2028'\nb\n", "a = '\u2028'\nc\n") == (frozenset({2}), 1)


def test_a_change_decides_by_the_lines_between_equal_ends_how_much_is_compared() -> None:
    lines = [str(number) for number in range(10_000)]
    edited = [*lines[:5_000], "new", *lines[5_001:]]
    assert lines_that_differ("\n".join(lines), "\n".join(edited)) == (frozenset({5_001}), 1)
    other = [line for number in range(3_000) for line in (f"other {number}", "y")]
    assert lines_that_differ("\n".join([*lines, "y"] * 2), "\n".join(other)) == (frozenset(), 0)
    assert lines_that_differ("1\n2\n", "3\n4\n5\n", 5) == (frozenset(), 0)
    assert lines_that_differ("1\n2\n", "3\n4\n5\n", 6) == (frozenset({1, 2, 3}), 6)


def test_nothing_is_said_of_a_file_of_too_many_statements() -> None:
    text = "def f():\n    " + "a;" * 20_001 + "\n    b\n"
    assert never_run(text, frozenset({3}), frozenset({1})) == ()
    assert never_run("def f():\n    a;a\n    b\n", frozenset({3}), frozenset({1})) == (3,)


def notes(executed: dict[str, Any], *, broken: bool = False, runs: int = 1) -> tuple[str, ...]:
    scenarios: Any = [f"shop_{number}" for number in range(runs)]
    inputs: Any = type("Inputs", (), {})()
    inputs.selection = type("Selection", (), {})()
    inputs.selection.scenarios = [type("Scenario", (), {"id": name})() for name in scenarios]
    inputs.trials = 1
    recorder = FakeRecorder(broken={"shop_0": "it raised"} if broken else {})
    results = recorder(inputs, type("Log", (), {})()).report.results
    lines = ChangedLines({"price.py": (CODE, EVERY)}, "bot/")
    return lines.notes(executed, Measured(results))


def test_what_no_scenario_runs_qualifies_a_pass_with_places_in_the_repository() -> None:
    (note,) = notes({"shop_0": {"price.py": IMPORTED | {6, 7, 12, 20}}})
    assert isinstance(note, Caveat)
    assert note == (
        "No scenario was seen to run 5 changed lines: bot/price.py:10-11, bot/price.py:17, bot/price.py:19, "
        "bot/price.py:29. Add a scenario that does, or check these lines yourself."
    )


def test_what_any_scenario_runs_is_run() -> None:
    seen = {"shop_0": {"price.py": IMPORTED | {6, 7, 12, 20}}, "shop_1": {"price.py": EVERY - {29}}}
    (note,) = notes(seen, runs=2)
    assert "1 changed line: bot/price.py:29." in note


@pytest.mark.parametrize(
    ("executed", "broken", "runs"),
    [
        ({"shop_0": {"price.py": IMPORTED}}, True, 1),
        ({"shop_0": {"price.py": IMPORTED}}, False, 2),
        ({"shop_0": {}}, False, 1),
        ({}, False, 0),
    ],
    ids=["one errored", "one ran where nobody looks", "the file was seen nowhere", "nothing ran"],
)
def test_nothing_is_said_where_not_everything_was_seen(executed: dict[str, Any], *, broken: bool, runs: int) -> None:
    assert notes(executed, broken=broken, runs=runs) == ()
