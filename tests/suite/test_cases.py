"""A scenario that is repeated for the rows of a file."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.checks.failure_rules import validate_rule
from ratiba_action.errors import SuiteError
from ratiba_action.metrics.registry import metric_problems
from ratiba_action.model.scenario import Suite
from ratiba_action.suite.cases import unused_columns
from ratiba_action.suite.data_file import read_json, read_rows
from ratiba_action.suite.load import load_suite, read_scenario_files

INTENTS = """\
id: intents
language: fr
system_type: classifier
now: 2026-04-25T10:00:00+03:00
customer: {name: Wanjiku, phone: "+254 712 345 432"}
cases: intents.jsonl
turns:
  - user: ${message}
    expect: {label: "${intent}"}
assertions:
  - {metric: LabelMetric, threshold: 0}
"""
ROWS = """\
{"id": "price", "message": "How much is a massage?", "intent": "ANSWER"}

{"id": 2, "message": "Book me in", "intent": "BOOKING"}
"""


def load(scenario: str = INTENTS, rows: str = ROWS, name: str = "scenarios/intents.jsonl") -> Suite:
    files = {"scenarios/intents.yaml": scenario.encode(), name: rows.encode("utf-8", "surrogatepass")}
    return load_suite(files, metric_problems, validate_rule)


def problems_of(scenario: str = INTENTS, rows: str = ROWS, name: str = "scenarios/intents.jsonl") -> list[str]:
    with pytest.raises(SuiteError) as caught:
        load(scenario, rows, name)
    return [str(problem) for problem in caught.value.problems]


def test_each_row_makes_a_scenario_with_its_own_id_line_and_words() -> None:
    second, first = load().scenarios
    assert (first.id, second.id) == ("intents__price", "intents__2")
    assert (first.turns[0].user, first.turns[0].expect.label) == ("How much is a massage?", "ANSWER")
    assert (second.path, second.line, second.turns[0].line) == ("scenarios/intents.jsonl", 3, 3)
    assert {one.data_set for one in (first, second)} == {"intents"}


def test_the_rows_of_a_file_are_a_family_only_where_it_declares_one() -> None:
    assert {one.family for one in load().scenarios} == {""}
    assert {one.family for one in load(INTENTS + "family: words\n").scenarios} == {"words"}
    assert {one.family for one in load(INTENTS + "family: ${intent}\n").scenarios} == {"ANSWER", "BOOKING"}


def test_the_data_set_is_reported_with_its_file_its_size_and_the_digest_of_its_content() -> None:
    (one,) = load().data_sets
    assert (one.id, one.path, one.cases) == ("intents", "scenarios/intents.jsonl", 2)
    assert one.digest != load(rows=ROWS.replace("massage", "facial")).data_sets[0].digest


def test_a_data_file_counts_for_the_digest_of_the_suite_when_a_scenario_names_it() -> None:
    assert load().digest != load(rows=ROWS.replace("massage", "facial")).digest
    files = {"scenarios/intents.yaml": INTENTS.encode(), "scenarios/intents.jsonl": ROWS.encode()}
    more = load_suite({**files, "scenarios/other.jsonl": b"{}"}, metric_problems, validate_rule)
    assert more.digest == load().digest


def test_rows_may_be_csv_with_cells_that_hold_commas_and_line_ends() -> None:
    rows = 'id,message,intent\r\nprice,"How much,\r\nreally?",ANSWER\r\nbook,Book me in,BOOKING\r\n'
    suite = load(INTENTS.replace("jsonl", "csv"), rows, "scenarios/intents.csv")
    book, price = suite.scenarios
    assert price.turns[0].user == "How much,\r\nreally?"
    assert (price.line, book.line) == (2, 4)


def test_a_text_that_is_a_column_takes_the_value_with_its_type() -> None:
    scenario = INTENTS.replace('label: "${intent}"', 'documents: "${relevant}"').replace("LabelMetric", "NdcgMetric")
    rows = '{"message": "q", "relevant": {"d1": 3, "d2": 1}}\n{"message": "r", "relevant": ["d1"]}\n'
    found = {one.turns[0].user: one.turns[0].expect.documents for one in load(scenario, rows).scenarios}
    assert found == {"q": {"d1": 3.0, "d2": 1.0}, "r": {"d1": 1.0}}


def test_a_column_inside_a_text_or_a_key_is_written_out_and_two_dollars_stand_for_one() -> None:
    scenario = INTENTS.replace("user: ${message}", 'user: "${count} of ${message}, $${message} costs $5"').replace(
        'label: "${intent}"', 'documents: {"${intent}": 2}'
    )
    scenario = scenario.replace("LabelMetric", "NdcgMetric")
    (one,) = load(scenario, '{"message": "tea", "count": 2, "intent": "d7"}').scenarios
    assert one.turns[0].user == "2 of tea, ${message} costs $5"
    assert one.turns[0].expect.documents == {"d7": 2.0}


def test_without_a_column_id_a_case_is_named_by_its_content_wherever_its_row_stands() -> None:
    rows = ['{"message": "a", "intent": "A"}', '{"intent": "B", "message": "b"}']
    there = {one.turns[0].user: one.id for one in load(rows="\n".join(rows)).scenarios}
    back = {one.turns[0].user: one.id for one in load(rows="\n".join(reversed(rows))).scenarios}
    assert there == back
    assert all(name.startswith("intents__") for name in there.values())


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("not json", ":1: not a JSON object on one line"),
        ("[1, 2]", ":1: [1, 2] is not a JSON object"),
        ('{"id": "a", "message": "x", "message": "y"}', "duplicate key 'message'"),
        ('{"message": NaN, "intent": "A"}', "NaN is not a JSON number"),
        ('{"message": 1e999, "intent": "A"}', "'1e999' is too large a number"),
        ('{"message": "\\ud800", "intent": "A"}', "half of a surrogate pair"),
        ('{"message": ' + "[" * 50 + "]" * 50 + ', "intent": "A"}', "nested more than 40 levels deep"),
        ("[" * 100_000, "not a JSON object on one line"),
        ("", "the file has no rows"),
        ('{"id": "A b", "message": "x", "intent": "A"}', "the id 'A b' is not allowed"),
        ('{"id": null, "message": "x", "intent": "A"}', "the id None is not allowed"),
        ('{"id": true, "message": "x", "intent": "A"}', "the id True is not allowed"),
        ('{"id": "' + "a" * 95 + '", "message": "x", "intent": "A"}', "at most 100 are allowed"),
        (ROWS + '{"id": "price", "message": "x", "intent": "A"}', ":4: the id 'price' is in line 1 already"),
        (ROWS + '{"message": "x", "intent": "A"}', ":4: the row has no column 'id'"),
        ('{"message": "x", "intent": "A"}\n' * 2, ":2: the same row is in line 1 already"),
        (ROWS + '{"id": "b", "message": "x"}', ":4: the row has no column 'intent'"),
        ('{"id": "a", "message": "x", "intent": 3}', ":1: turns.0.expect.label: 3 is not allowed"),
        ('{"id": "a", "message": "", "intent": "A"}', ":1: turns.0.user: '' is not allowed"),
    ],
)  # fmt: skip
def test_a_mistake_of_a_row_is_reported_at_its_line_of_the_data_file(rows: str, message: str) -> None:
    (problem,) = problems_of(rows=rows)
    assert problem.startswith("scenarios/intents.jsonl")
    assert message in problem


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("id,id\na,b", ":1: duplicate column 'id'"),
        ("id,\na,b", ":1: a column has no name"),
        ("id,message,intent\na,b", ":2: 2 cells, but the first line names 3 columns"),
        ('id,message,intent\na,"b,c', "not CSV"),
        ("id,message,intent", "the file has no rows"),
    ],
)
def test_a_mistake_of_a_csv_file_is_reported_at_its_line(rows: str, message: str) -> None:
    (problem,) = problems_of(INTENTS.replace("jsonl", "csv"), rows, "scenarios/intents.csv")
    assert message in problem


def test_bytes_that_are_no_text_are_reported_at_their_line() -> None:
    files = {"scenarios/intents.yaml": INTENTS.encode(), "scenarios/intents.jsonl": ROWS.encode() + b"\xff"}
    with pytest.raises(SuiteError, match=r"intents\.jsonl:4: byte 0xff is not UTF-8"):
        load_suite(files, metric_problems, validate_rule)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("${intent}", "${intnt}", "yaml:9: scenarios/intents.jsonl has no column 'intnt'; it has id, intent, message"),
        ("id: intents", "id: Intents", "intents.yaml:1: id: 'Intents' is not allowed"),
        ("id: intents\n", "", "id: None is not allowed"),
        ("id: intents", "id: a${intent}", "intents.yaml:1: id: columns are not allowed here"),
        ("_type: classifier", "_type: clasifier", "intents.yaml:3: system_type: 'clasifier' is not allowed"),
        ("LabelMetric", "LabelMetrik", "intents.yaml:11: unknown metric 'LabelMetrik'"),
        ("intents.jsonl", "other.jsonl", "intents.yaml:6: cases: 'other.jsonl' is not a .jsonl, .json or .csv file"),
        ("intents.jsonl", "../../etc/passwd", "is not a .jsonl, .json or .csv file in the scenarios folder"),
        ("intents.jsonl", "/etc/data.jsonl", "is not a .jsonl, .json or .csv file in the scenarios folder"),
        ("intents.jsonl", "intents.yaml", "is not a .jsonl, .json or .csv file in the scenarios folder"),
        ("intents.jsonl", "[1]", "is not a .jsonl, .json or .csv file in the scenarios folder"),
    ],
)  # fmt: skip
def test_a_mistake_of_the_scenario_is_reported_once_at_its_own_line(old: str, new: str, message: str) -> None:
    assert len([one for one in problems_of(INTENTS.replace(old, new)) if message in one]) == 1


def test_a_row_that_gives_a_metric_nothing_to_measure_is_reported() -> None:
    rows = ROWS + '{"id": "later", "message": "x", "intent": null}'
    (problem,) = problems_of(rows=rows)
    assert problem == "scenarios/intents.jsonl:4: LabelMetric has nothing to measure: no turn says expect.label"


def test_gates_are_reported_with_the_data_set_and_bring_their_metric() -> None:
    gates = "gates: [{metric: macro_f1, at_least: 0.8}, {metric: min_class_f1, at_least: 0.6}]\n"
    listed = load(INTENTS + gates)
    assert [(gate.metric, gate.at_least, gate.line) for gate in listed.data_sets[0].gates] == [
        ("macro_f1", 0.8, 12),
        ("min_class_f1", 0.6, 12),
    ]
    bare = load(INTENTS[: INTENTS.index("assertions")] + gates)
    assert [(one.metric, one.threshold) for one in bare.scenarios[0].assertions] == [("LabelMetric", 0)]


@pytest.mark.parametrize(
    ("gates", "message"),
    [
        ("{metric: macrof1, at_least: 0.8}", ":12: unknown threshold 'macrof1'; known: accuracy, macro_f1"),
        (
            "{metric: ndcg@10, at_least: 0.8}",
            ":12: the threshold 'ndcg@10' needs a relevant document in expect.documents",
        ),
        ("{metric: ndcg@0, at_least: 0.8}", ":12: unknown threshold 'ndcg@0'"),
        ("{metric: accuracy, at_least: 80}", ":12: gates.0.at_least: 80 is not allowed"),
        ("{metric: accuracy, at_least: 0.8}, {metric: accuracy, at_least: 0.1}", "duplicate threshold 'accuracy'"),
    ],
)
def test_a_gate_that_cannot_work_is_refused_with_its_line(gates: str, message: str) -> None:
    (problem,) = problems_of(f"{INTENTS}gates: [{gates}]\n")
    assert message in problem


def test_a_column_that_nothing_uses_is_accepted_and_named_by_validate() -> None:
    rows = '{"id": "a", "message": "x", "intent": "A", "source": "production", "_by": "Amina"}'
    assert [scenario.id for scenario in load(rows=rows).scenarios] == ["intents__a"]
    files = {"scenarios/intents.yaml": INTENTS.encode(), "scenarios/intents.jsonl": rows.encode()}
    (warning,) = unused_columns(files)
    assert str(warning) == "scenarios/intents.yaml:6: cases: not used of scenarios/intents.jsonl: 'source'"


JSON_ROWS = """[
  {"id": "price", "message": "How much?\\n \\ud83d\\ude00", "intent": "ANSWER"},

  {"id": "book", "message": "Book {me}, [in]: \\"two\\"", "intent": "BOOKING", "more": [1, {"a": null, "b": -1.5e3}]}
]
"""


def test_a_json_file_is_a_list_of_cases_each_with_its_line() -> None:
    rows, problems = read_rows("a.json", JSON_ROWS.encode("utf-8-sig"))
    assert (problems, [row.line for row in rows]) == ((), [2, 4])
    assert [row.values for row in rows] == json.loads(JSON_ROWS)
    found = load(INTENTS.replace("jsonl", "json"), JSON_ROWS, "scenarios/intents.json").scenarios
    assert [scenario.id for scenario in found] == ["intents__book", "intents__price"]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("", ":1: not JSON: the end of the file where a value is expected"),
        ('{"id": "a"}', ":1: {'id': 'a'} is not a list of objects"),
        ("[\n1]", ":2: 1 is not a JSON object"),
        ('[{"id": "a"},\n]', ":2: not JSON: ']' where a value is expected"),
        ('[{"id": "a"}] []', ":1: not JSON: '[]' where nothing more is expected"),
        ('[{"id": "a",\n"id": "b"}]', ":2: duplicate key 'id'"),
        ('[{"id"\n: NaN}]', ":2: not JSON: 'NaN': NaN is not a JSON number"),
        ('[{"id": 1e999}]', "is too large a number"),
        ('[{"id": "\\ud800"}]', ":1: half of a surrogate pair"),
        ("[" * 100_000, ":1: nested more than 40 levels deep"),
        ('[{"id": "a\nb"}]', ":1: not JSON"),
        ("[{'id': 1}]", ":1: not JSON"),
        ('[{"id": ' + "9" * 5_000 + "}]", ":1: not JSON"),
        ("[]", "the file has no rows"),
    ],
)
def test_a_mistake_of_a_json_file_is_reported_at_its_line(rows: str, message: str) -> None:
    found = read_rows("a.json", rows.encode())[1]
    assert message in str(found[0])


JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text('a"\\{[:,\n\u2028é'),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text('ab"\\\n'), inner, max_size=3),
    max_leaves=10,
)


@given(JSON_VALUES, st.sampled_from([None, 0, 2]))
def test_any_json_is_read_as_the_standard_library_reads_it(value: Any, indent: int | None) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=indent is None)
    document, problems = read_json("a.json", text.encode())
    assert document is not None
    assert (problems, document.data) == ((), json.loads(text))


def test_many_mistakes_are_reported_up_to_what_a_person_reads() -> None:
    rows = "\n".join(json.dumps({"id": f"c{n}", "message": "x", "intent": n}) for n in range(80))
    found = problems_of(rows=rows)
    assert len(found) == 51
    assert found[-1] == "scenarios/intents.jsonl:51: and 30 more mistakes"


def test_a_data_file_is_found_from_the_folder_of_its_scenario() -> None:
    files = {
        "scenarios/spa/intents.yaml": INTENTS.replace("intents.jsonl", "../rows/a.jsonl").encode(),
        "scenarios/rows/a.jsonl": ROWS.encode(),
    }
    assert len(load_suite(files, metric_problems, validate_rule).scenarios) == 2


def test_gates_without_cases_are_refused() -> None:
    gates = "gates: [{metric: accuracy, at_least: 0.5}]\n"
    plain = INTENTS.replace("cases: intents.jsonl\n", gates).replace("${message}", "x").replace("${intent}", "A")
    assert "'gates' are thresholds of cases" in problems_of(plain)[0]


def test_data_files_are_read_from_a_checkout_and_no_link_is_followed(tmp_path: Path) -> None:
    folder = tmp_path / "scenarios"
    (folder / "recordings").mkdir(parents=True)
    (folder / "intents.yaml").write_text(INTENTS)
    (folder / "intents.jsonl").write_text(ROWS)
    (folder / "recordings" / "intents__2.jsonl").write_text("{}")
    (folder / "README.md").write_text("x")
    assert list(read_scenario_files(tmp_path, "scenarios")) == ["scenarios/intents.jsonl", "scenarios/intents.yaml"]
    (tmp_path / "secret.jsonl").write_text(ROWS)
    (folder / "intents.jsonl").unlink()
    (folder / "intents.jsonl").symlink_to(tmp_path / "secret.jsonl")
    with pytest.raises(SuiteError, match="symbolic link"):
        read_scenario_files(tmp_path, "scenarios")


@given(st.binary(max_size=80), st.sampled_from(["jsonl", "csv"]))
def test_no_data_file_breaks_the_loader(noise: bytes, form: str) -> None:
    files = {
        "scenarios/intents.yaml": INTENTS.replace("jsonl", form).encode(),
        f"scenarios/intents.{form}": ROWS.encode() + noise,
    }
    reported: list[str] = []
    try:
        load_suite(files, metric_problems, validate_rule)
    except SuiteError as error:
        reported = [problem.path for problem in error.problems]
    assert set(reported) <= {f"scenarios/intents.{form}", "scenarios/intents.yaml"}
