"""One mistake of the system that breaks many scenarios is shown once, with all of them."""

from tests.support.small_repository import SmallRepository


def test_one_mistake_is_one_table_and_one_traceback_in_every_report(small: SmallRepository) -> None:
    for number in range(14):
        small.scenario(f"raises_{number:02}", "say hello", f"raise no slot {number} is left")
    small.scenario("wrong", "say hello", expect="BOOKED")
    ended = small.gate()
    assert ended.code == 1, ended.printed
    comment, page = ended.comment, (ended.report / "report.html").read_text()
    assert [text.count("Traceback (most recent call last)") for text in (comment, page, ended.printed)] == [1, 1, 1]
    assert comment.count("no exception RuntimeError") == 1
    assert "The same exception failed `raises_01`, `raises_02`, " in comment
    assert "`raises_10` and 3 more." in comment
    assert "and the same in <code>raises_01, raises_02, " in comment
    assert "raises_10 and 3 more</code>" in comment
    assert "BOOKED" in comment, "another failure keeps its own table"
    assert page.count("Raised at the same place as in <b>raises_00</b>") == 13
    assert "the same in raises_01, raises_02, " in ended.printed


def test_two_mistakes_are_two_tracebacks_and_a_scenario_with_more_failures_keeps_its_table(
    small: SmallRepository,
) -> None:
    adapter = small.folder / "adapter.py"
    adapter.write_text(
        adapter.read_text().replace(
            "raise RuntimeError(text)", "if 'key' in text: raise KeyError(text)\n        raise RuntimeError(text)"
        )
    )
    small.scenario("first", "raise no slot")
    small.scenario("second", "raise no key")
    small.scenario("third", "say hello", "raise no slot", expect="BOOKED")
    ended = small.gate()
    assert ended.code == 1, ended.printed
    assert ended.comment.count("Traceback (most recent call last)") == 2
    assert ended.comment.count("no exception RuntimeError") == 2
    assert "The same exception failed" not in ended.comment
    assert "<code>first</code>, and the same in <code>third</code>" in ended.comment
