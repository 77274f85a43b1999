"""Any suite that is pushed, kept by a server as servers keep JSON, and pulled is the same; a second push is empty."""

import json
from collections.abc import Mapping
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.model.langfuse_dataset import DatasetItem, StoredDataset
from ratiba_action.observability.traces.datasets import OURS
from ratiba_action.production.datasets.local_suite import (
    LocalSuite,
    adopted_item,
    dataset_metadata,
    parse_suite,
    suite_items,
)
from ratiba_action.production.datasets.pull_plan import plan_pull, render_json_rows, render_scenario
from ratiba_action.production.datasets.pulled import read_pulled
from ratiba_action.production.datasets.pushing import PushPlan, plan_push
from ratiba_action.production.datasets.scenario_items import plain_numbers

NAME = "team/ratiba"
FIXED = {
    "language": "en",
    "now": "2026-04-25T10:00:00+03:00",
    "customer": {"name": "Amina", "phone": "+254 700 000 001"},
}
texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30).filter(lambda text: text.strip())
plain = texts.filter(lambda text: "$" not in text)
labels = st.sampled_from(["LEARN", "no", "12", "0712", "1e3", "14:00", "null", "~", "- a", "a: b", "#x", "Ω"])
turns = st.fixed_dictionaries({"user": texts}, optional={"expect": st.fixed_dictionaries({"state": texts})})
scenarios = st.fixed_dictionaries(
    {"turns": st.lists(turns, min_size=1, max_size=3), "tags": st.lists(plain, max_size=2), "critical": st.booleans()},
    optional={
        "provenance": st.dictionaries(
            texts,
            st.one_of(texts, st.integers(-9, 9), st.integers(-900, 900).map(lambda number: number / 100)),
            max_size=3,
        )
    },
)
rows = st.lists(st.tuples(texts, labels, st.none() | texts), max_size=4)


def files_of(scenario: Mapping[str, Any], answers: list[tuple[str, str, str | None]]) -> dict[str, bytes]:
    files = {"deep/one.yaml": render_scenario({"id": "one", **FIXED, **scenario})}
    if answers:
        ask = {"user": "${message}", "expect": {"label": "${intent}"}}
        files["two.yaml"] = render_scenario(
            {"id": "two", **FIXED, "system_type": "classifier", "cases": "rows.jsonl", "turns": [ask]}
        )
        files["rows.jsonl"] = render_json_rows(
            {"id": f"c{number}", "message": message, "intent": intent, **({"_note": note} if note else {})}
            for number, (message, intent, note) in enumerate(answers)
        )
    return files


def as_kept(value: Any) -> Any:
    """JSON as a server gives it back: keys in another order, one kind of number."""
    return json.loads(json.dumps(plain_numbers(value), sort_keys=True))


def pushed(suite: LocalSuite, kept: StoredDataset) -> tuple[PushPlan, StoredDataset]:
    plan = plan_push(suite_items(suite, NAME), kept.items, lambda item: adopted_item(suite, NAME, item))
    written = {item.id: item for item in (*plan.created, *plan.updated)}
    items = {item.id: item for item in kept.items} | {
        name: DatasetItem(name, as_kept(one.input), as_kept(one.expected_output), as_kept(one.metadata))
        for name, one in written.items()
    }
    return plan, StoredDataset({OURS: as_kept(dataset_metadata(suite))}, tuple(items.values()))


@given(scenarios, rows)
def test_push_pull_push_changes_nothing(
    scenario: Mapping[str, Any], answers: list[tuple[str, str, str | None]]
) -> None:
    suite = parse_suite("scenarios", files_of(scenario, answers))
    first, kept = pushed(suite, StoredDataset({}, ()))
    assert len(first.created) == 1 + len(answers)
    here = plan_pull(suite, read_pulled(kept), NAME)
    assert (here.files, here.only_here, here.left_out) == ({}, (), ())
    elsewhere = plan_pull(LocalSuite("scenarios"), read_pulled(kept), NAME)
    again = parse_suite("scenarios", elsewhere.files)
    for one in (suite, again):
        second, _ = pushed(one, kept)
        assert (second.created, second.updated, second.conflicting, second.gone) == ((), (), (), ())
        assert len(second.unchanged) == len(first.created)
