"""What is said of an address, `module:attribute`, that leads to nothing."""

from pathlib import Path

import pytest

from ratiba_action.config.configuration import read_configuration
from ratiba_action.run.configuration_checks import unknown_code

MODULE = """\
from typing import Any
from openai import OpenAI
PRICES = {"bread": 65}
graph: Any = None
app = OpenAI
def answer(message): ...
def _hidden(): ...
class Assistant: ...
"""


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("answer", ""),
        ("anwser", "assistant.py defines no 'anwser'; did you mean 'answer'?"),
        ("Asistant", "assistant.py defines no 'Asistant'; did you mean 'Assistant'?"),
        ("zebra", "assistant.py defines no 'zebra'; it defines answer, Assistant, app, graph."),
    ],
)
def test_the_names_that_an_address_can_mean_are_proposed(tmp_path: Path, name: str, problem: str) -> None:
    (tmp_path / "assistant.py").write_text(MODULE)
    configuration = read_configuration("ratiba.yml", f"system: {{adapter: 'assistant:{name}', setup: [x]}}\n".encode())
    found = unknown_code(configuration, (), tmp_path, "ratiba.yml")
    assert [each.message for each in found] == ([f"system.adapter 'assistant:{name}': {problem}"] if problem else [])
