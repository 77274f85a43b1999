"""The page of attacks names tests that exist, and every attack has one."""

import re
from pathlib import Path

PROJECT = Path(__file__).parent.parent
PAGE = (PROJECT / "docs" / "threat-model.md").read_text(encoding="utf-8")


def rows_of(table: str) -> list[list[str]]:
    """The rows of a marked table of the page, without its head and its headings."""
    lines = PAGE.partition(f"<!-- {table} -->")[2].partition(f"<!-- /{table} -->")[0].strip().splitlines()[2:]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [row for row in rows if not row[0].startswith("**")]


ATTACKS, UNMEASURED = rows_of("attacks"), rows_of("unmeasured")


def test_every_test_that_is_named_exists() -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE)
    missing = [
        f"{path}::{name}"
        for path, name in named
        if not re.search(rf"^(async )?def {name}\(", (PROJECT / path).read_text(encoding="utf-8"), re.MULTILINE)
    ]
    assert missing == []


def test_every_attack_has_a_result_and_a_test() -> None:
    assert len(ATTACKS) > 30
    assert [attack for attack, result, test in ATTACKS if not result or "::test_" not in test] == []


def test_whatever_cannot_be_measured_says_whether_a_change_can_cause_it_and_has_a_test() -> None:
    assert len(UNMEASURED) > 20
    assert [row for row in UNMEASURED if not row[1].startswith(("yes", "no")) or "::test_" not in row[3]] == []
    milder = [what for what, cause, result, _ in UNMEASURED if cause.startswith("yes") and "passes" in result]
    assert milder == []
