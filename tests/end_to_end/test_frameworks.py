"""The examples of the guide to frameworks, each in a repository of its own: the real framework, through the gate."""

import re
from pathlib import Path

import pytest

from tests.support.small_repository import SmallRepository

PAGE = Path(__file__).parents[2] / "docs" / "frameworks.md"


def files(section: str) -> dict[str, str]:
    """The files that a section shows, by the name in their first line."""
    (text,) = re.findall(
        rf"^## {section}\n(.*?)(?=^## |\Z)", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    return dict(re.findall(r"```\w+\n# ([\w./]+)\n(.*?)```", text, re.DOTALL))


@pytest.mark.parametrize("section", ["LangGraph", "LangChain", "LlamaIndex"])
def test_the_example_of_a_framework_passes(small: SmallRepository, section: str) -> None:
    shown = files(section)
    assert len(shown) == 3
    for name, content in shown.items():
        small.write(name, content)
    small.commit()
    ended = small.gate("--mode", "blocking")
    assert ended.code == 0, ended.printed
    assert ended.outputs["conclusion"] == "passed"


def test_a_framework_that_says_something_else_fails(small: SmallRepository) -> None:
    for name, content in files("LangChain").items():
        small.write(name, content.replace("nine to six", "nine to five") if name.endswith(".py") else content)
    small.commit()
    assert small.gate("--mode", "blocking").code == 1


def test_a_misspelt_key_of_the_state_is_named_with_those_that_there_are(small: SmallRepository) -> None:
    for name, content in files("LangGraph").items():
        small.write(name, content.replace("state: stage", "state: stagee"))
    small.commit()
    ended = small.gate("--mode", "blocking")
    assert ended.code == 3
    assert "the state has no key 'stagee'; there are messages, payment, stage" in ended.printed
