from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.metrics.turn_scores import finding, score_invariants
from ratiba_action.model.measurement import Invariant

_FINDINGS = st.lists(st.builds(Invariant, st.sampled_from("abcd"), st.booleans(), st.text(max_size=5)))


def test_a_name_counts_once_and_its_first_failure_speaks_for_it() -> None:
    findings = [Invariant("a", satisfied=True), Invariant("b", satisfied=True)]
    findings += [Invariant("a", satisfied=False, detail="turn 2"), Invariant("a", satisfied=False, detail="turn 3")]
    score = score_invariants("M", "1", 1.0, findings)
    assert (score.value, score.reason, score.passed) == (0.5, "a: turn 2", False)
    assert [invariant.name for invariant in score.invariants] == ["a", "b"]


def test_when_all_hold_the_score_is_one_and_says_how_many() -> None:
    score = score_invariants("M", "1", 1.0, [Invariant("a", satisfied=True)])
    assert (score.value, score.reason, score.passed) == (1.0, "1 of 1 invariants hold", True)


def test_nothing_measured_is_never_a_pass() -> None:
    score = score_invariants("M", "1", 0.5, [])
    assert (score.value, score.passed) == (0.0, False)
    assert [invariant.name for invariant in score.invariants] == ["measured_something"]


def test_a_detail_is_one_clipped_line() -> None:
    detail = finding("a", "::error::\n" * 100, satisfied=False).detail
    assert len(detail) <= 200
    assert "\n" not in detail


@given(_FINDINGS)
def test_the_score_is_the_share_of_names_without_a_failure(findings: list[Invariant]) -> None:
    names = {one.name for one in findings}
    failed = {one.name for one in findings if not one.satisfied}
    expected = (len(names) - len(failed)) / len(names) if names else 0.0
    assert score_invariants("M", "1", 1.0, findings).value == expected
