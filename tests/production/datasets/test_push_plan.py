"""What a push does to each item, whatever has happened to it on the server."""

from dataclasses import replace

from ratiba_action.model.langfuse_dataset import DatasetItem
from ratiba_action.observability.traces.datasets import OURS
from ratiba_action.production.datasets.pushing import PushPlan, plan_push
from ratiba_action.production.datasets.scenario_items import fingerprint, inexact_number, plain_numbers, stamped

ITEM = DatasetItem("one", {"turns": [{"user": "Hi"}]}, {"at": 1}, {OURS: {"schema": 1, "path": "one.yaml"}})
KEPT = stamped(ITEM, {})


def plan(*kept: DatasetItem, wanted: DatasetItem = ITEM) -> PushPlan:
    return plan_push([wanted], kept, lambda _: "")


def test_an_item_that_is_there_as_it_was_pushed_stays() -> None:
    assert plan(KEPT).unchanged == ("one",)
    assert plan(replace(KEPT, expected_output={"at": 1.0})).unchanged == ("one",)


def test_a_new_item_carries_the_fingerprint_of_what_it_says() -> None:
    (made,) = plan().created
    assert made.metadata[OURS]["sha256"] == fingerprint(made) == fingerprint(ITEM)


def test_an_item_whose_scenario_changed_here_is_updated_and_one_that_changed_there_is_a_conflict() -> None:
    assert plan(KEPT, wanted=replace(ITEM, input={})).updated[0].input == {}
    edited = replace(KEPT, input={"turns": [{"user": "Hello"}]})
    assert plan(edited).conflicting[0].input == ITEM.input
    assert plan(edited).updated == ()


def test_the_same_edit_on_both_sides_is_no_conflict_and_is_stamped_anew() -> None:
    there, here = replace(KEPT, input={}), replace(ITEM, input={})
    (made,) = plan(there, wanted=here).updated
    assert plan(made, wanted=here).unchanged == ("one",)


def test_an_archived_item_whose_scenario_is_here_is_active_again() -> None:
    (made,) = plan(replace(KEPT, active=False)).updated
    assert made.active


def test_what_is_not_in_the_suite_is_gone_adopted_or_foreign_and_archived_ones_are_nothing() -> None:
    gone, foreign = replace(KEPT, id="gone"), DatasetItem("foreign", 1, 2)
    adopted, old = DatasetItem("adopted", 1, 2), replace(KEPT, id="old", active=False)
    made = plan_push([ITEM], [gone, foreign, adopted, old], lambda item: "one" if item.id == "adopted" else "")
    assert (made.gone, made.adopted, made.foreign) == ((gone,), (adopted,), ("foreign",))


def test_metadata_of_others_stays_and_does_not_count() -> None:
    noted = replace(KEPT, metadata={**KEPT.metadata, "reviewed_by": "Wanjiku"})
    assert plan(noted).unchanged == ("one",)
    assert plan(noted, wanted=replace(ITEM, input={})).updated[0].metadata["reviewed_by"] == "Wanjiku"


def test_numbers_are_those_of_json_and_truth_is_no_number() -> None:
    assert plain_numbers({"a": [1.0, 1.5, True]}) == {"a": [1, 1.5, True]}
    assert fingerprint(replace(ITEM, input=True)) != fingerprint(replace(ITEM, input=1))
    assert inexact_number({"a": [{"b": 2**53 + 1}]}) == 2**53 + 1
    assert inexact_number([2**53, True, "9" * 20]) is None
