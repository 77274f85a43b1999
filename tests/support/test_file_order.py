"""Long files first, those that wait for containers beside them."""

from pathlib import Path

from tests.support.file_order import LONG, ordered

PROJECT = Path(__file__).parents[2]


def test_long_files_come_first_and_alternate_with_those_that_wait_for_containers() -> None:
    files = [
        "tests/action/a.py",
        "tests/checks/b.py",
        "tests/commands/c.py",
        "tests/container/d.py",
        "tests/money/e.py",
    ]
    files += ["tests/end_to_end/f.py", "tests/end_to_end/g.py", "tests/checks/b.py"]
    waiting = frozenset({"tests/action/a.py", "tests/container/d.py"})
    assert ordered(files, waiting) == [
        "tests/end_to_end/f.py",
        "tests/action/a.py",
        "tests/end_to_end/g.py",
        "tests/container/d.py",
        "tests/commands/c.py",
        "tests/checks/b.py",
        "tests/money/e.py",
    ]


def test_more_files_with_containers_than_long_ones_lose_none() -> None:
    waiting = ["tests/action/a.py", "tests/action/b.py", "tests/action/c.py"]
    assert ordered(["tests/fuzz/d.py", *waiting], frozenset(waiting)) == ["tests/fuzz/d.py", *waiting]


def test_every_beginning_of_the_list_is_there() -> None:
    assert [beginning for beginning in LONG if not (PROJECT / beginning).exists()] == []
