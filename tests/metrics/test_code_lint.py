"""What pyflakes says of the code in replies; the code is read and never run."""

import io

import pytest
from pyflakes.api import check
from pyflakes.reporter import Reporter

from ratiba_action.metrics.registry import load_metric, metric_problems
from ratiba_action.model.measurement import Score
from tests.support.cases import case, exchange

UNUSED = "import os\n\n\ndef double(number):\n    unused = 3\n    return 2 * number\n"


def fenced(code: str) -> str:
    return f"Here you are:\n\n```python\n{code}\n```\nAnything else?"


async def score(*replies: str, **parameters: object) -> Score:
    held = case(*(exchange("?", reply) for reply in replies))
    return await load_metric("CodeLintMetric", None, parameters).measure(held, 0.8)


def lines_that_pyflakes_names(code: str) -> set[int]:
    """By its own command's way in."""
    found, errors = io.StringIO(), io.StringIO()
    check(code, "code", Reporter(found, errors))
    assert errors.getvalue() == ""
    return {int(line.split(":")[1]) for line in found.getvalue().splitlines()}


@pytest.mark.parametrize(
    ("code", "lines"),
    [
        (UNUSED, 4),
        ("def f():\n    return g()\n\n\n# only a comment\nf()", 3),
        ("import os, sys, json", 1),
        ("from os import *\nprint(path)\nx = '%s %s' % (1,)\nif (1, 2):\n    pass", 5),
        ("x: 'List[int' = 2\n{'a': 1, 'a': 2}", 2),
        ("def f(x: int) -> int:\n    return x + 1", 2),
    ],
)
async def test_the_score_is_the_share_of_the_lines_of_code_that_pyflakes_does_not_name(code: str, lines: int) -> None:
    measured = await score(fenced(code))
    assert measured.value == pytest.approx(1 - len(lines_that_pyflakes_names(code)) / lines)


async def test_the_reason_names_the_findings_with_their_lines() -> None:
    measured = await score(fenced(UNUSED))
    assert measured.value == 1 / 2
    assert "line 1: 'os' imported but unused" in measured.reason
    assert "line 5: local variable 'unused' is assigned to but never used" in measured.reason
    assert (measured.judged, measured.version.partition("+pyflakes-")[1]) == (False, "+pyflakes-")


async def test_the_blocks_of_one_reply_are_read_as_one_file() -> None:
    later = fenced("print(double(2))")
    assert (await score(fenced("def double(n):\n    return 2 * n") + "\n" + later)).value == 1
    assert (await score(later)).value == 0
    assert (await score(later, defined=["double"])).value == 1


async def test_the_value_is_the_mean_of_the_replies_with_code() -> None:
    assert (await score(fenced("import os"), "Karibu", fenced("print(1)"))).value == 1 / 2


@pytest.mark.parametrize(
    "code",
    ["def f(:", "(" * 50_000, "-" * 90_000 + "1", "a." * 40_000 + "a", "x = '\0'", "x" * 200_000, "x = '\ud800'"],
    ids=["syntax", "brackets", "signs", "attributes", "zero byte", "long", "surrogate"],
)
async def test_code_that_cannot_be_parsed_scores_zero_and_says_so(code: str) -> None:
    measured = await score(fenced(code))
    assert measured.value == 0
    assert "cannot be parsed: " in measured.reason


@pytest.mark.parametrize("reply", ["I would rather not", fenced(""), fenced("# nothing here")])
async def test_a_conversation_without_code_fails(reply: str) -> None:
    measured = await score(reply)
    assert (measured.value, measured.reason) == (0, "no reply holds any code of python")


async def test_code_is_not_run() -> None:
    assert (await score(fenced("raise SystemExit(3)"))).value == 1


async def test_what_a_model_wrote_into_a_finding_is_reported_on_one_short_line() -> None:
    measured = await score(fenced("print(" + "a" * 5_000 + ")"))
    assert len(measured.reason) < 1_000
    assert "\n" not in measured.reason


def test_a_name_that_is_none_is_refused() -> None:
    (problem,) = metric_problems("CodeLintMetric", {"defined": ["os.system"]})
    assert "defined" in problem
