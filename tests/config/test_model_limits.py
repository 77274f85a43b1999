"""Limits of model calls: bounded, all their mistakes told at once, and never loosened by a change."""

import pytest

from ratiba_action.config.configuration import read_configuration
from ratiba_action.config.model_limits import ModelsBlock
from ratiba_action.errors import SuiteError


def configured(block: str) -> ModelsBlock:
    return read_configuration("ratiba.yml", f"system: {{adapter: 'a:A'}}\nmodels:\n{block}".encode()).models


def problems_of(block: str) -> list[str]:
    with pytest.raises(SuiteError) as caught:
        configured(block)
    return [str(problem) for problem in caught.value.problems]


def test_without_the_block_calls_have_the_usual_limits() -> None:
    limits = read_configuration("ratiba.yml", b"system: {adapter: 'a:A'}").models
    assert limits.output_of("gpt-5") == (8_192, 64_000)
    assert (limits.retries, limits.timeout_seconds, limits.connect_timeout_seconds) == (3, 120, 10)


def test_a_model_may_have_limits_of_its_own() -> None:
    limits = configured(
        "  max_output_tokens: 4000\n  overrides:\n    thinker: {max_output_tokens: 32000}\n"
        "    short: {default_output_tokens: 10}\n"
    )
    assert limits.output_of("other") == (4_000, 4_000)
    assert limits.output_of("thinker") == (8_192, 32_000)
    assert limits.output_of("short") == (10, 4_000)


def test_all_mistakes_are_reported_with_their_lines() -> None:
    messages = problems_of(
        "  max_output_tokens: 0\n  default_output_tokens: many\n  retries: 11\n  timeout_seconds: 0\n"
        "  overrides:\n    gpt-5: {max_output_token: 5}\n"
    )
    assert sorted(line.split(": ")[0] for line in messages) == [f"ratiba.yml:{number}" for number in (3, 4, 5, 6, 8)]


@pytest.mark.parametrize(
    ("block", "line", "message"),
    [
        ("  max_output_tokens: 100\n  default_output_tokens: 101\n", 4, "101 is more than max_output_tokens"),
        (
            "  max_output_tokens: 9\n  overrides: {a: {default_output_tokens: 10}, b: {default_output_tokens: 11}}\n",
            4,
            "a: default_output_tokens 10 is more than its max_output_tokens, 9; b: default_output_tokens 11",
        ),
        ("  timeout_seconds: 5\n", 2, "connect_timeout_seconds 10 is more than timeout_seconds"),
        ("  retries: -1\n", 3, "-1 is not allowed"),
        ("  retries: true\n", 3, "True is not allowed"),
        ("  timeout_seconds: .inf\n", 3, "is not allowed"),
    ],
)
def test_limits_that_contradict_themselves_are_refused(block: str, line: int, message: str) -> None:
    (problem,) = problems_of(block)
    assert problem.startswith(f"ratiba.yml:{line}: ")
    assert message in problem
