"""What a server says is anybody's: no path leads out, no text becomes YAML, nothing is too large, all of it is told."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ratiba_action.errors import SuiteError, UsageError
from ratiba_action.model.langfuse_dataset import DatasetItem, StoredDataset
from ratiba_action.observability.traces.datasets import OURS
from ratiba_action.production.datasets.file_writing import replace_files, safe_path
from ratiba_action.production.datasets.local_suite import (
    LocalSuite,
    dataset_metadata,
    parse_suite,
    read_local_suite,
    suite_items,
)
from ratiba_action.production.datasets.pull_plan import PullPlan, plan_pull
from ratiba_action.production.datasets.pulled import read_pulled
from ratiba_action.production.datasets.scratch_suite import scratch_suite
from ratiba_action.util.strict_yaml import read_yaml

NAME = "ratiba"
SCENARIO = b"""\
id: one
language: en
now: 2026-04-25T10:00:00+03:00
customer: {name: Amina, phone: "+254 700 000 001"}
turns:
  - user: Hello
    expect: {state: GREETED}
"""
TEMPLATE = b"""\
id: intents
language: en
system_type: classifier
now: 2026-04-25T10:00:00+03:00
customer: {name: Amina, phone: "+254 700 000 001"}
cases: rows.jsonl
turns:
  - user: "${message}"
    expect: {label: "${intent}"}
"""
ROWS = b'{"id": "c1", "message": "Hi", "intent": "LEARN"}\n'
SUITE = parse_suite("scenarios", {"one.yaml": SCENARIO, "two.yaml": TEMPLATE, "rows.jsonl": ROWS})
ONE, CASE = suite_items(SUITE, NAME)
METADATA = {OURS: dataset_metadata(SUITE)}


def stored(*items: DatasetItem, metadata: Mapping[str, Any] = METADATA) -> StoredDataset:
    return StoredDataset(metadata, items)


def with_ours(item: DatasetItem, **changes: Any) -> DatasetItem:
    return replace(item, metadata={OURS: {**item.metadata[OURS], **changes}})


def pull(dataset: StoredDataset, local: LocalSuite = SUITE) -> PullPlan:
    return plan_pull(local, read_pulled(dataset), NAME)


def refused(dataset: StoredDataset) -> str:
    with pytest.raises(SuiteError) as raised:
        pull(dataset)
    return str(raised.value)


@pytest.mark.parametrize(
    "path",
    [
        "../outside.yaml",
        "a/../../outside.yaml",
        "/etc/cron.d/x.yaml",
        "C:\\x.yaml",
        "a\\b.yaml",
        ".github/workflows/x.yaml",
        "a/.hidden.yaml",
        "a//b.yaml",
        "./a.yaml",
        "a/./b.yaml",
        "recordings/a.yaml",
        "Calibration/a.yaml",
        "a.yaml\0.py",
        "a\n.yaml",
        "a\u202elmay.yaml",
        "adapter.py",
        "a" * 300 + ".yaml",
        "/".join("abcdefghij") + ".yaml",
        "-rf.yaml",
        "a ./b.yaml",
        "a:b.yaml",
        "",
        None,
        7,
    ],
)
def test_a_path_that_leads_elsewhere_is_refused(path: object) -> None:
    assert not safe_path(path, (".yaml", ".yml"))
    assert "is not allowed; use a file below the scenarios folder" in refused(stored(with_ours(ONE, path=path)))


@pytest.mark.parametrize("path", ["spa/booking.yaml", "a.yml", "from_production/x.yaml", "malipo ya mpesa.yaml"])
def test_an_ordinary_path_is_allowed(path: str) -> None:
    assert safe_path(path, (".yaml", ".yml"))


@pytest.mark.parametrize("cases", ["../rows.jsonl", "/tmp/rows.jsonl", "rows.py", ".git/rows.jsonl", 3, None])  # noqa: S108 - refused
def test_rows_that_would_lie_elsewhere_are_refused(cases: object) -> None:
    templates = {"two.yaml": {**SUITE.templates["two.yaml"], "cases": cases}}
    reported = refused(stored(metadata={OURS: {"schema": 1, "templates": templates}}))
    assert "use a .jsonl, .json or .csv file in the same folder" in reported


@pytest.mark.parametrize(
    "text",
    [
        "a\nrules: []\ncritical: false",
        "x: {y: z}",
        "&anchor !!python/object/apply:os.system [id]",
        "--- \n...",
        "'\" \\ # %",
        "0712",
        "no",
        "2026-04-25",
        "\u2028\u0085",
        "- - -",
    ],
)
def test_a_text_stays_a_text_in_yaml(text: str) -> None:
    plan = pull(stored(replace(ONE, input={**ONE.input, "turns": [{"user": text}]}), CASE))
    document, problems = read_yaml("one.yaml", plan.files["one.yaml"])
    assert problems == ()
    assert document is not None
    assert document.data["turns"] == [{"user": text, "expect": {"state": "GREETED"}}]
    assert set(document.data) == set(SUITE.scenarios["one.yaml"])


def test_everything_that_is_wrong_is_reported_at_once() -> None:
    reported = refused(
        stored(
            with_ours(ONE, path="../x.yaml"),
            replace(CASE, expected_output={"intent": "A", "price": 3}),
            replace(CASE, id="b", input=[1]),
            replace(ONE, id="c", expected_output={"turns": [{}, {}]}),
            with_ours(ONE, schema=9),
            with_ours(CASE, template="gone.yaml"),
        )
    )
    assert len(reported.splitlines()) >= 6
    for part in ("'../x.yaml'", "unknown key 'price'", "input is [1]", "has 2 turns", "schema 9", "'gone.yaml'"):
        assert part in reported


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (replace(ONE, input={**ONE.input, "command": "rm"}), "unknown key 'command'"),
        (replace(ONE, input="text"), "input must be an object, not 'text'"),
        (replace(ONE, input={"turns": "all"}), "input.turns must be a list of objects"),
        (with_ours(ONE, scenario={"language": "Swahili"}), "language: 'Swahili' is not allowed"),
        (with_ours(ONE, scenario={"id": "one", "language": "en", "turns": []}), "'turns' belongs to another part"),
        (replace(ONE, input={**ONE.input, "now": "\ud800"}), "cannot be written as YAML"),
        (replace(ONE, expected_output={"rules": [{"type": "no_such_rule"}]}), "no_such_rule"),
        (
            replace(ONE, expected_output={"rules": [{"type": "must_call_tool", "name": "a"}]}),
            "it has `tool` or `value`",
        ),
        (replace(ONE, expected_output={"rules": [{"type": "must_not_contain", "value": "ghp_abcdef1234"}]}), "token"),
        (replace(CASE, input={"message": "Hi " + "x" * 30_000}), "at most 20000"),
        (replace(CASE, input={}), "it has no message"),
        (with_ours(CASE, row={"id": "../c1"}), "the id '../c1' is not allowed"),
        (with_ours(CASE, row=3), "metadata.ratiba.row must be an object, not 3"),
    ],
)
def test_an_item_that_is_no_scenario_is_reported_and_nothing_is_planned(changed: DatasetItem, message: str) -> None:
    assert message in refused(stored(changed))


def test_rules_of_an_item_may_have_the_spelling_of_other_harnesses() -> None:
    rules = [{"type": "must_not_call_tool", "tool": "delete_user"}]
    files = pull(stored(replace(ONE, expected_output={"rules": rules}), CASE)).files
    assert any(b"tool: delete_user" in content for content in files.values())


@pytest.mark.parametrize(
    "changes",
    [
        {"${x}": 1},
        {"turns": 3},
        {"turns": ["${message}"]},
        {"turns": {"${message}": {"${intent}": []}}},
        {"gates": "all"},
        {"id": "../x"},
        {"id": "${message}"},
        {"cases": "${message}.jsonl"},
        {"expect": {"label": None}},
    ],
)
def test_a_template_that_is_no_scenario_is_reported_by_a_pull_and_by_a_run(changes: dict[str, Any]) -> None:
    template = {**SUITE.templates["two.yaml"], **changes}
    dataset = stored(CASE, metadata={OURS: {"schema": 1, "templates": {"two.yaml": template}}})
    assert refused(dataset)
    with pytest.raises(SuiteError):
        scratch_suite(read_pulled(dataset), NAME, {})


@pytest.mark.parametrize("reported", [3, [], {"two.yaml": 7}, {"two.yaml": {}}])
def test_templates_that_are_none_are_reported(reported: object) -> None:
    assert refused(stored(CASE, metadata={OURS: {"schema": 1, "templates": reported}}))


def test_two_items_for_one_file_are_reported_also_where_only_case_tells_them_apart() -> None:
    assert "archive one of them" in refused(stored(ONE, replace(ONE, id="copy")))
    other = with_ours(ONE, path="ONE.yaml", scenario={**ONE.metadata[OURS]["scenario"], "id": "other"})
    assert "is the same file as" in refused(stored(ONE, replace(other, id="other")))


def test_an_item_of_somebody_else_is_left_out_where_no_data_set_can_take_it() -> None:
    foreign = DatasetItem("theirs", {"q": 1}, {"a": 2}, {"source": "manual"})
    assert pull(stored(ONE, foreign, metadata={})).left_out == ("theirs",)


def test_a_file_behind_a_link_is_not_written(tmp_path: Path) -> None:
    outside, folder = tmp_path / "outside", tmp_path / "scenarios"
    outside.mkdir()
    folder.mkdir()
    (folder / "spa").symlink_to(outside)
    with pytest.raises(UsageError, match="symbolic link"):
        replace_files(folder, {"fine.yaml": b"a", "spa/x.yaml": b"b"})
    assert [*outside.iterdir(), *folder.iterdir()] == [folder / "spa"]


def test_files_are_written_all_or_none(tmp_path: Path) -> None:
    (tmp_path / "taken.yaml").mkdir()
    with pytest.raises(UsageError, match="nothing was changed"):
        replace_files(tmp_path, {"a.yaml": b"a", "taken.yaml": b"b"})
    assert list(tmp_path.iterdir()) == [tmp_path / "taken.yaml"]


def test_a_checkout_whose_files_could_not_come_back_is_reported_before_a_push(tmp_path: Path) -> None:
    folder = tmp_path / "scenarios"
    (folder / "rows").mkdir(parents=True)
    (folder / "big.yaml").write_bytes(SCENARIO + b"provenance: {order: 9007199254740993}\n")
    (folder / ".hidden.yaml").write_bytes(SCENARIO.replace(b"id: one", b"id: two"))
    with pytest.raises(SuiteError) as raised:
        read_local_suite(tmp_path, "scenarios")
    assert "9007199254740993 is too large for a server to store exactly" in str(raised.value)
    assert "scenarios/.hidden.yaml: its path is not allowed in a dataset" in str(raised.value)


def test_a_csv_file_takes_texts_only_and_keeps_its_columns() -> None:
    template = TEMPLATE.replace(b"rows.jsonl", b"rows.csv")
    suite = parse_suite("scenarios", {"two.yaml": template, "rows.csv": b"id,intent,message\nc1,LEARN,Hi\n"})
    (case,) = suite_items(suite, NAME)
    dataset = StoredDataset({OURS: dataset_metadata(suite)}, (replace(case, input={"message": 'a,"b"\nc'}),))
    assert pull(dataset, suite).files == {"rows.csv": b'id,intent,message\nc1,LEARN,"a,""b""\nc"\n'}
    wrong = replace(dataset, items=(replace(case, input={"message": 3}),))
    with pytest.raises(SuiteError, match="has only text"):
        pull(wrong, suite)
