"""The written module scores replies as Inspect and OpenAI evals do: their own values are data.

``benchmarks/scorer_verdicts.py`` writes ``scorer_verdicts.json``: scorer, parameters, its value of each reply.
"""

import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from ratiba_action.authoring.imports import scorers_file

MADE = json.loads((Path(__file__).parent / "scorer_verdicts.json").read_text())
ROWS = MADE["verdicts"]


@pytest.fixture(scope="module")
def written() -> ModuleType:
    """The module that an import writes."""
    module = ModuleType("scorer_checks")
    exec(compile(scorers_file(), "scorer_checks.py", "exec"), module.__dict__)  # noqa: S102 - the module is ours
    return module


def evidence(parameters: Any, reply: str) -> Any:
    return {"parameters": parameters, "turns": [{"user": "?", "reply": {"text": reply}}]}


@pytest.mark.parametrize("name", sorted({name for name, _, _ in ROWS}))
def test_a_reply_gets_the_value_that_the_scorer_itself_gives(name: str, written: ModuleType) -> None:
    measure = getattr(written, name)
    rows = [
        (given, reply, value)
        for each, given, values in ROWS
        if each == name
        for reply, value in zip(MADE["replies"], values, strict=True)
    ]
    here = [(given, reply, measure(evidence(given, reply))["value"]) for given, reply, _ in rows]
    assert len(rows) >= 200
    assert {value for _, _, value in rows} >= {0.0, 1.0}
    assert here == rows
