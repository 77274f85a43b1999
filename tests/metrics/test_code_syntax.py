"""Code in replies is parsed and never run."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.metrics.python_source import LANGUAGES, code_blocks
from ratiba_action.metrics.registry import load_metric, metric_problems
from tests.support.cases import case, exchange


def fenced(code: str, info: str = "python") -> str:
    return f"Here you are:\n\n```{info}\n{code}\n```\nAnything else?"


@pytest.mark.parametrize(
    ("text", "language", "blocks"),
    [
        ("```python\na = 1\n```", "python", ("a = 1",)),
        ("```py\na\n```\ntext\n~~~\nb\n~~~", "python", ("a", "b")),
        ("```json\n{}\n```", "python", ()),
        ("````python\n```\ninner\n```\n````", "python", ("```\ninner\n```",)),
        ("```yaml title=a\nk: v", "yaml", ("k: v",)),
        ("no `code` here", "python", ()),
        ("```", "json", ("",)),
    ],
)
def test_the_fenced_blocks_of_a_language_are_found(text: str, language: str, blocks: tuple[str, ...]) -> None:
    assert code_blocks(text, language) == blocks


@given(st.text(alphabet="`~ \npython{}"), st.sampled_from(sorted(LANGUAGES)))
def test_any_text_is_read_to_its_end(text: str, language: str) -> None:
    assert all(block in "\n".join(text.splitlines()) for block in code_blocks(text, language))


@pytest.mark.parametrize(
    ("language", "good", "bad"),
    [
        ("python", "def f(x: int) -> int:\n    return x + 1", "def f(:"),
        ("python", "print('\\d')", "return = 3"),
        ("json", '{"a": [1, 2]}', "{'a': 1}"),
        ("yaml", "a: [1, 2]\n---\nb: 3", "a: [1"),
        ("yaml", "a: &x 1\nb: *x", "b: *nowhere"),
    ],
)
async def test_the_score_is_the_share_of_blocks_that_can_be_parsed(language: str, good: str, bad: str) -> None:
    metric = load_metric("CodeSyntaxMetric", None, {"language": language})
    held = case(exchange("?", fenced(good, language)), exchange("?", fenced(bad, language)), exchange("?", "Karibu"))
    score = await metric.measure(held, 0.8)
    assert score.value == 1 / 2
    assert score.reason.startswith("turn 2: ")


@pytest.mark.parametrize(
    ("language", "hostile"),
    [
        ("python", "(" * 50_000),
        ("python", "-" * 90_000 + "1"),
        ("python", "a." * 40_000 + "a"),
        ("python", "x = '\0'"),
        ("python", "x" * 200_000),
        ("json", "[" * 90_000),
        ("yaml", "[" * 90_000),
        ("yaml", "\n".join(["- " * 900 + "a"] * 50)),
    ],
)
async def test_hostile_code_is_wrong_and_never_a_crash(language: str, hostile: str) -> None:
    metric = load_metric("CodeSyntaxMetric", None, {"language": language})
    assert (await metric.measure(case(exchange("?", fenced(hostile, language))), 0.8)).value == 0


async def test_code_is_not_run() -> None:
    metric = load_metric("CodeSyntaxMetric")
    assert (await metric.measure(case(exchange("?", fenced("raise SystemExit(3)"))), 0.8)).value == 1


async def test_a_conversation_without_code_fails() -> None:
    score = await load_metric("CodeSyntaxMetric").measure(case(exchange("?", "I would rather not")), 0.8)
    assert (score.value, score.reason) == (0, "no reply holds a block of python")


def test_a_language_that_is_not_parsed_is_refused() -> None:
    (problem,) = metric_problems("CodeSyntaxMetric", {"language": "sql"})
    assert "allowed: 'python', 'json', 'yaml'" in problem
