"""Each item of a promptfoo configuration is written by the import, or named in its report."""

from benchmarks.import_items import EVERYTHING, count_lost, places, with_canary


def test_no_item_of_a_configuration_is_lost() -> None:
    items, lost = count_lost(["everything", "chosen", "talk", "generated", "labelled", "bare"])
    assert lost == []
    assert items > 150


def test_the_canary_goes_into_every_mapping_and_text() -> None:
    changed = [with_canary(EVERYTHING, path) for path in places(EVERYTHING)]
    assert all(each != EVERYTHING for each in changed)
