"""junit.xml: one test case per conversation, whatever the replies hold."""

from xml.etree import ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.reporting.junit import render_junit
from ratiba_action.reporting.summary import summarise
from tests.support.sample_report import sample_check, sample_report, sample_score, sample_scored


def parse(document: bytes) -> ET.Element:
    return ET.fromstring(document)  # noqa: S314 - our own document


def test_each_outcome_has_its_element() -> None:
    suite = parse(render_junit(summarise(sample_report())))[0]
    assert {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")} == {
        "tests": "4",
        "failures": "1",
        "errors": "1",
        "skipped": "1",
    }
    kinds = {case.get("name"): [child.tag for child in case] for case in suite.iter("testcase")}
    assert kinds["spa_booking"] == []
    assert kinds["salon_reschedule"] == ["failure"] * 3
    assert kinds["barbershop_mpesa"] == ["error"]
    assert kinds["spa_handoff"] == ["skipped"]


def test_a_failure_points_at_the_file_and_line_of_the_broken_expectation() -> None:
    case = next(
        c
        for c in parse(render_junit(summarise(sample_report()))).iter("testcase")
        if c.get("name") == "salon_reschedule"
    )
    assert (case.get("file"), case.get("line")) == ("scenarios/salon_reschedule.yaml", "15")
    assert case[0].text == "expected: CONFIRMING_SLOT\ngot: COLLECTING"


@given(st.text(alphabet=st.characters(), max_size=30))
def test_any_text_ends_in_readable_xml(text: str) -> None:
    scored = sample_scored(text, (sample_check(passed=False, got=text, what=text),), (sample_score(0.1, reason=text),))
    case = next(parse(render_junit(summarise(sample_report(results=(scored,), name=text)))).iter("testcase"))
    assert [child.tag for child in case] == ["failure", "failure"]


def test_characters_that_xml_forbids_are_replaced() -> None:
    scored = sample_scored("a\x00b\x1b\ufffe\ud800c")
    assert (
        parse(render_junit(summarise(sample_report(results=(scored,)))))[0][1].get("name")
        == "a\ufffdb\ufffd\ufffd\ufffdc"
    )


def test_a_title_stands_beside_the_id() -> None:
    titled = sample_scored("a", (sample_check(passed=False),), title="Asked for 14:00")
    root = parse(render_junit(summarise(sample_report(results=(titled, sample_scored("b"))))))
    assert [case.get("name") for case in root.iter("testcase")] == ["a (Asked for 14:00)", "b"]
