"""The corpus of pull requests that attribution is measured with."""

from pathlib import Path

import pytest

from benchmarks.attribution_corpus import EXACT, JUDGED, NoisyJudge, measure

pytestmark = pytest.mark.processes

PROJECT = Path(__file__).parents[2]


def test_the_corpus_is_as_its_page_says() -> None:
    every = [*EXACT, *JUDGED]
    assert (len(every), len(JUDGED)) == (30, 6)
    assert {len(change.edits) for change in every} == {1, 2, 3, 4, 5, 6}
    assert {len(change.guilty) for change in every} == {1, 2}
    for edit in {edit for change in every for edit in change.edits}:
        text = (PROJECT / edit.path).read_text()
        assert text.count(edit.old) == 1, edit
        assert text.replace(edit.old, edit.new) != text


def test_a_guilty_line_of_the_corpus_is_named_by_real_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOME", "RATIBA_ANTHROPIC_API_KEY"):  # measure() sets them
        monkeypatch.setenv(name, "")
    price = next(change for change in EXACT if change.guilty == ("price",) and len(change.edits) == 2)
    texts: list[str] = []
    found = measure(price, NoisyJudge(0), texts.append)
    assert (found.named, found.harmless, found.certain) == (frozenset({"price"}), 0, True), texts
    assert found.right
    assert found.runs == len(texts) <= price.allowed
