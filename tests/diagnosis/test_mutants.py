"""Mutants of code and prompts, what the suite says of them, and the mutation score."""

import ast
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.diagnosis.code_mutants import functions_of
from ratiba_action.diagnosis.mutants import Mutant, Operator, by_risk
from ratiba_action.diagnosis.mutated_files import mutants_of, mutated
from ratiba_action.diagnosis.mutation_score import (
    Fate,
    LineMutants,
    MutantResult,
    Notice,
    judge_mutant,
    lines_of,
    score_of,
)
from ratiba_action.diagnosis.prompt_mutants import inverted
from ratiba_action.diagnosis.query_faults import query_faults

EXAMPLE = Path(__file__).parents[2] / "examples" / "booking_assistant"


def texts(source: str, operator: Operator, path: str = "system.py") -> list[str]:
    """The file with each mutant of an operator."""
    return [mutated(mutant, source) for mutant in mutants_of(path, source) if mutant.operator is operator]


def test_a_guard_is_dropped_and_inverted() -> None:
    source = "def pay(due):\n    if due > 0:\n        raise ValueError\n"
    assert texts(source, Operator.DROP_GUARD) == ["def pay(due):\n    if False:\n        raise ValueError\n"]
    assert texts(source, Operator.INVERT_GUARD) == ["def pay(due):\n    if not due > 0:\n        raise ValueError\n"]


@pytest.mark.parametrize(
    ("source", "dropped", "opposite"),
    [
        ("assert paid", ["pass"], ["assert not paid"]),
        ("x = a if ok else b", ["x = a if False else b"], ["x = a if not ok else b"]),
        ("x = [n for n in y if n]", ["x = [n for n in y if True]"], ["x = [n for n in y if not n]"]),
        ("while more:\n    f", ["while False:\n    f"], []),
        ("if not ok:\n    f", ["if False:\n    f"], ["if ok:\n    f"]),
        ("match x:\n    case y if ok:\n        f", ["match x:\n    case y if False:\n        f"], None),
    ],
)
def test_every_kind_of_condition_is_a_guard(source: str, dropped: list[str], opposite: list[str] | None) -> None:
    assert [text.strip() for text in texts(source, Operator.DROP_GUARD)] == dropped
    if opposite is not None:
        assert [text.strip() for text in texts(source, Operator.INVERT_GUARD)] == opposite


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("save(row)", ["None"]),
        ("async def f():\n    await save(row)", ["async def f():\n    None"]),
        ("x = outer(inner())", ["x = None", "x = outer(None)"]),
        ("raise Refused(1)", ["pass"]),
        ("@cached(1)\ndef f():\n    ...", ["def f():\n    ..."]),
    ],
)
def test_a_call_is_dropped(source: str, expected: list[str]) -> None:
    assert sorted(text.strip() for text in texts(source, Operator.DROP_CALL)) == sorted(expected)


@pytest.mark.parametrize(
    ("value", "other"),
    [("3", "4"), ("2.5", "3.5"), ("True", "False"), ("'a'", "''"), ("''", "'mutant'"), ("b'a'", "b''")],
)
def test_a_constant_is_changed(value: str, other: str) -> None:
    assert texts(f"x = {value}", Operator.CHANGE_CONSTANT) == [f"x = {other}\n"]


def test_a_text_inside_a_formatted_string_is_a_constant_too() -> None:
    assert texts("x = f'KES {price}'", Operator.CHANGE_CONSTANT) == ["x = f'{price}'\n"]


def test_what_is_not_run_as_code_has_no_mutants() -> None:
    source = '''"""What it is for."""
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    x = 1


def f(kind: Literal["a"]) -> "b":
    """What it does."""
    y: "c" = None


if __name__ == "__main__":
    f("a")
'''
    assert mutants_of("system.py", source) == ()


def test_a_description_of_a_tool_is_a_mutant_of_what_a_model_reads() -> None:
    source = 'tool = {"name": "pay", "description": "Takes money."}\nTool(description="Gives it back.")\n'
    found = [mutant for mutant in mutants_of("tools.py", source) if mutant.operator is Operator.DROP_DESCRIPTION]
    assert [mutant.before for mutant in found] == ["'Takes money.'", "'Gives it back.'"]
    assert not any(mutant.of_code for mutant in found)
    decorated = '@tool\ndef pay(x):\n    """Takes money."""\n    return x\n'
    assert texts(decorated, Operator.DROP_DESCRIPTION) == ['@tool\ndef pay(x):\n    """"""\n    return x\n']
    assert texts("- name: pay\n  description: Takes money.\n", Operator.DROP_DESCRIPTION, "tools.yaml") == [
        '- name: pay\n  description: ""\n'
    ]


PROMPT = """\
# Money

Nothing is paid before M-Pesa says so. Never ask for a PIN!

- Prices are whole shillings.
- Offer one slot,
  and wait. Do not insist.

| word | meaning |
| --- | --- |
| kesho | tomorrow |

Example:
user: kesho
assistant: Saa ngapi?

```json
{"intent": "book"}
```
"""


@pytest.mark.parametrize(
    ("operator", "expected"),
    [
        (Operator.DROP_SENTENCE, [(3, "Nothing is"), (3, "Never ask"), (6, "Offer one"), (7, "Do not")]),
        (Operator.INVERT_SENTENCE, [(3, "Never ask"), (7, "Do not")]),
        (Operator.DROP_ITEM, [(5, "- Prices"), (6, "- Offer")]),
        (Operator.DROP_ROW, [(11, "| kesho")]),
        (Operator.DROP_EXAMPLE, [(13, "Example:"), (17, "```json")]),
    ],
)
def test_a_prompt_is_split_into_sentences_items_rows_and_examples(
    operator: Operator, expected: list[tuple[int, str]]
) -> None:
    found = [mutant for mutant in mutants_of("prompt.md", PROMPT) if mutant.operator is operator]
    assert [mutant.line for mutant in found] == [line for line, _ in expected]
    assert all(mutant.before.startswith(begin) for mutant, (_, begin) in zip(found, expected, strict=True))


def test_what_is_dropped_of_a_prompt_is_dropped_and_nothing_else() -> None:
    for mutant in mutants_of("prompt.md", PROMPT):
        text = mutated(mutant, PROMPT)
        assert mutant.before not in text
        assert text.startswith(PROMPT[: mutant.begin])
        assert text.endswith(PROMPT[mutant.end :])


@pytest.mark.parametrize(
    ("sentence", "opposite"),
    [
        ("Never ask for a PIN.", "Always ask for a PIN."),
        ("You must not guess.", "You must guess."),
        ("You must ask.", "You must not ask."),
        ("Don't guess.", "Do guess."),
        ("You can't pay twice.", "You can pay twice."),
        ("Kamwe usiombe PIN.", "Daima usiombe PIN."),
        ("Be friendly.", None),
    ],
)
def test_a_sentence_is_inverted_by_its_first_word_of_force(sentence: str, opposite: str | None) -> None:
    assert inverted(sentence) == opposite


def test_the_mutants_are_every_guard_call_and_constant_of_the_tree() -> None:
    """Counted a second time, by a plain walk over the trees of the example's files that have no special case."""
    source = (EXAMPLE / "booking_assistant" / "settlement.py").read_text()
    tree = ast.parse(source)
    nodes = list(ast.walk(tree))
    apart = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    apart |= {id(node) for node in nodes if isinstance(node, ast.Constant) and any(query_faults(str(node.value)))}
    guards = sum(isinstance(node, (ast.If, ast.IfExp)) for node in nodes)
    found = [mutant.operator for mutant in mutants_of("settlement.py", source)]
    assert found.count(Operator.DROP_GUARD) == found.count(Operator.INVERT_GUARD) == guards
    assert found.count(Operator.DROP_CALL) == sum(isinstance(node, ast.Call) for node in nodes)
    assert found.count(Operator.CHANGE_CONSTANT) == sum(
        isinstance(node, ast.Constant) and node.value is not None and id(node) not in apart for node in nodes
    )


@pytest.mark.parametrize("name", ["settlement.py", "responding.py", "tools/toolbox.py"])
def test_every_mutant_of_the_example_can_be_read_and_differs(name: str) -> None:
    path = EXAMPLE / "booking_assistant" / name
    source = path.read_text()
    plain = ast.dump(ast.parse(source))
    found = mutants_of(path.name, source)
    assert len({mutant.name for mutant in found}) == len(found)
    for mutant in found:
        assert ast.dump(ast.parse(mutated(mutant, source))) != plain


@given(st.lists(st.sampled_from(PROMPT.splitlines(keepends=True)), max_size=30))
def test_any_prompt_has_mutants_that_take_away_or_replace_what_they_name(lines: list[str]) -> None:
    text = "".join(lines)
    for mutant in mutants_of("prompt.md", text):
        assert text[mutant.begin : mutant.end].strip() == mutant.before
        assert mutated(mutant, text) != text
        assert mutant.line == text.count("\n", 0, mutant.begin) + 1


def mutant(line: int = 1, *, differs: bool = True, operator: Operator = Operator.DROP_GUARD, node: int = 0) -> Mutant:
    return Mutant("pay.py", line, operator, "x", "False", (line,), differs, node)


@pytest.mark.parametrize(
    ("notices", "differs", "fate"),
    [
        ([Notice.FAILED, Notice.NOT_MEASURED], True, Fate.KILLED),
        ([Notice.CHANGED, Notice.UNCHANGED], True, Fate.SURVIVED),
        ([Notice.UNCHANGED], True, Fate.UNOBSERVED),
        ([Notice.UNCHANGED], False, Fate.UNEXERCISED),
        ([], True, Fate.UNEXERCISED),
        ([Notice.CHANGED, Notice.NEEDS_MODEL], True, Fate.NEEDS_MODEL),
        ([Notice.NEEDS_MODEL, Notice.NOT_MEASURED], True, Fate.NOT_MEASURED),
    ],
)
def test_what_the_scenarios_did_says_what_becomes_of_a_mutant(
    notices: list[Notice], *, differs: bool, fate: Fate
) -> None:
    named = {f"s{number}": notice for number, notice in enumerate(notices)}
    result = judge_mutant(mutant(differs=differs), named)
    assert result.fate is fate
    assert result.killed_by == (("s0",) if fate is Fate.KILLED else ())


@pytest.mark.parametrize(
    ("source", "fate"),
    [
        ("save(row)", Fate.UNOBSERVED),
        ("price = look_up({'massage': 1500})", Fate.UNOBSERVED),
        ("catalogue.info('massage')", Fate.UNOBSERVED),
        ("_logger.info('paid', extra={'amount': 5})", Fate.EQUIVALENT),
        ("await self.log.warning('late')", Fate.EQUIVALENT),
        ("saved = logger.info(store())", Fate.UNOBSERVED),
    ],
)
def test_a_fault_that_no_output_shows_is_a_hole_unless_a_logger_is_called(source: str, fate: Fate) -> None:
    """A dropped write, or a default within a call, is nothing that scenarios need not look at."""
    for found in mutants_of("pay.py", f"async def pay():\n    {source}\n"):
        assert judge_mutant(found, {"s": Notice.UNCHANGED}).fate is fate, found.before


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("x = a and b or c", ["x = (a and b) and c", "x = (a or b) or c"]),
        ("x = 0 <= n < 9", ["x = 0 < n < 9", "x = 0 <= n <= 9"]),
        ("x = due - paid * 2", ["x = due + paid * 2", "x = due - paid / 2"]),
        ("total += fee", ["total -= fee"]),
        ("x = a == b", []),
        ("x = 'KES ' + str(due)", []),
        ("text += f'{due}'", []),
    ],
)
def test_an_operator_is_its_neighbour(source: str, expected: list[str]) -> None:
    assert sorted(text.strip() for text in texts(source, Operator.CHANGE_OPERATOR)) == sorted(expected)


def test_a_query_has_the_faults_of_its_conditions_and_is_not_emptied() -> None:
    source = 'run("""UPDATE slots SET n = n - 1\nWHERE id = %s AND n > 0""", (slot,))'
    changed = [text for text in texts(source, Operator.CHANGE_QUERY) if "n > 0 OR TRUE" in text]
    assert [ast.literal_eval(text.strip().removeprefix("run(").partition(", (slot")[0]) for text in changed] == [
        "UPDATE slots SET n = n - 1\nWHERE id = %s AND (n > 0 OR TRUE)"
    ]
    assert not texts(source, Operator.CHANGE_CONSTANT)


def test_a_query_with_inserted_values_keeps_them() -> None:
    source = "run(f'SELECT {columns} FROM slots WHERE day = {day(1)} AND n > {least}')"
    assert "run(f'SELECT {columns} FROM slots WHERE (day = {day(1)} OR TRUE) AND n > {least}')\n" in texts(
        source, Operator.CHANGE_QUERY
    )
    assert "run(f'SELECT {columns} FROM slots WHERE day = {None} AND n > {least}')\n" in texts(
        source, Operator.DROP_CALL
    )


def test_a_value_inserted_after_a_condition_stays_outside_of_it() -> None:
    source = "def f():\n    run(f'SELECT a FROM slots WHERE a = {x} AND b = 1 {order}')\n"
    assert any("AND (b = 1 OR TRUE) {order}" in text for text in texts(source, Operator.CHANGE_QUERY))


@pytest.mark.parametrize(
    ("source", "fate"),
    [
        ("FIND = 'SELECT a FROM t WHERE b'\ndef unused():\n    run(FIND)\n", Fate.UNEXERCISED),
        ("def used():\n    run('SELECT a FROM t WHERE b')\n", Fate.UNOBSERVED),
    ],
)
def test_a_query_of_a_module_is_unexercised_until_it_makes_a_difference(source: str, fate: Fate) -> None:
    found = [mutant for mutant in mutants_of("pay.py", source) if mutant.operator is Operator.CHANGE_QUERY]
    assert [judge_mutant(mutant, {"s": Notice.UNCHANGED}).fate for mutant in found] == [fate]


@pytest.mark.parametrize("charge", ["charge(db, 5)", "await charge(db, 5)", "f'{charge(db, 5)}'", "str(charge(db, 5))"])
def test_a_call_that_a_logger_is_given_is_a_hole_and_the_loggers_own_is_none(charge: str) -> None:
    source = f"async def pay():\n    logger.info('paid %s', {charge})\n"
    fates = {
        mutant.before: judge_mutant(mutant, {"s": Notice.UNCHANGED}).fate for mutant in mutants_of("pay.py", source)
    }
    assert fates["'paid %s'"] is fates[f"logger.info('paid %s', {charge})"] is Fate.EQUIVALENT
    assert fates["5"] is Fate.UNOBSERVED
    assert {fate for before, fate in fates.items() if before.endswith("charge(db, 5)")} == {Fate.UNOBSERVED}


def test_functions_are_named_with_their_class_and_the_lines_of_their_bodies() -> None:
    source = 'class Pay:\n    def due(self):\n        """What."""\n        return 1\n\ndef late(): return 2\n'
    assert functions_of(source) == ((2, "Pay.due", frozenset({4})), (6, "late", frozenset({6})))


def test_a_condition_that_never_came_true_is_a_hole_and_no_equivalent_mutant() -> None:
    source = "def pay(due):\n    if due > 9:\n        return 1\n    return 2\n"
    dropped, opposite = (
        next(mutant for mutant in mutants_of("pay.py", source) if mutant.operator is operator)
        for operator in (Operator.DROP_GUARD, Operator.INVERT_GUARD)
    )
    assert (dropped.needed, opposite.needed) == ((3,), (2,))


def test_the_score_has_wilsons_interval_and_leaves_out_what_does_not_count() -> None:
    # Newcombe, "Two-sided confidence intervals for the single proportion" (1998), table I: 81 of 263.
    killed = [MutantResult(mutant(), Fate.KILLED)] * 81
    lived = [MutantResult(mutant(), Fate.SURVIVED)] * 100 + [MutantResult(mutant(), Fate.UNEXERCISED)] * 82
    apart = [MutantResult(mutant(), fate) for fate in (Fate.EQUIVALENT, Fate.NEEDS_MODEL, Fate.NOT_MEASURED)]
    score = score_of([*killed, *lived, *apart])
    assert (score.killed, score.counted) == (81, 263)
    assert score.interval is not None
    assert (round(score.interval.low, 4), round(score.interval.high, 4)) == (0.2553, 0.3662)


def test_nothing_counted_is_no_score() -> None:
    score = score_of([MutantResult(mutant(), Fate.NEEDS_MODEL)])
    assert (score.share, score.interval) == (None, None)


def test_a_line_is_as_safe_as_its_weakest_mutant() -> None:
    results = [
        MutantResult(mutant(1), Fate.KILLED, ("b",)),
        MutantResult(mutant(1), Fate.KILLED, ("a",)),
        MutantResult(mutant(2), Fate.KILLED, ("a",)),
        MutantResult(mutant(2), Fate.UNEXERCISED),
        MutantResult(mutant(3), Fate.SURVIVED),
        MutantResult(mutant(4), Fate.NEEDS_MODEL),
        MutantResult(mutant(5), Fate.EQUIVALENT),
    ]
    found = [(line.line, line.protection, line.scenarios) for line in lines_of(results)]
    assert found == [
        (1, LineMutants.PROTECTED, ("a", "b")),
        (2, LineMutants.PARTLY, ("a",)),
        (3, LineMutants.UNPROTECTED, ()),
        (4, LineMutants.UNKNOWN, ()),
    ]


def test_each_line_has_its_turn_and_changed_and_critical_lines_come_first() -> None:
    plain, critical, changed = mutant(1, node=1), mutant(2, node=2), mutant(3, node=3)
    second = mutant(3, node=4)
    order = by_risk([plain, critical, second, changed], {("pay.py", 3)}, lambda each: each.line == 2)
    assert [each.node for each in order] == [3, 2, 1, 4]
