"""The page of attacks names tests that exist, and every attack has one."""

import re
from pathlib import Path

PROJECT = Path(__file__).parent.parent
PAGE = (PROJECT / "docs" / "threat-model.md").read_text(encoding="utf-8")
ROWS = [
    line.strip("|").split("|")
    for line in PAGE.partition("<!-- attacks -->")[2].partition("<!-- /attacks -->")[0].strip().splitlines()[2:]
]
ATTACKS = [[cell.strip() for cell in row] for row in ROWS if not row[0].strip().startswith("**")]


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
