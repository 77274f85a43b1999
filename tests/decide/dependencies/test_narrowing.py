import pytest

from ratiba_action.decide.plain_yaml import YamlDoubt, read_plain_form
from ratiba_action.decide.selection import counts, read_narrowing


def narrowing_of(text: str) -> frozenset[str] | None:
    return read_narrowing(read_plain_form("ratiba.yml", text))


@pytest.mark.parametrize(
    "text",
    [
        "dependencies: [langgraph, Anthropic]  # two\npass_rate: 0.8\n",
        "pass_rate: 0.8\ndependencies:\n  - langgraph # one\n\n  - 'Anthropic'\nrows: {}\n",
        'dependencies:\n- langgraph\n- "anthropic"\n',
    ],
)
def test_both_forms_of_a_list_are_read(text: str) -> None:
    assert narrowing_of(text) == frozenset({"langgraph", "anthropic"})


def test_without_the_block_nothing_is_narrowed() -> None:
    narrowing = narrowing_of("system:\n  dependencies: [nested]\n")

    assert narrowing is None
    assert counts("anything", narrowing)


def test_names_are_compared_as_registries_do() -> None:
    assert counts("Lang_Graph", narrowing_of("dependencies: [lang-graph]"))
    assert not counts("rich", narrowing_of("dependencies: [lang-graph]"))


@pytest.mark.parametrize(
    "text",
    [
        "dependencies: langgraph",
        "dependencies: []",
        "dependencies:\n",
        "dependencies: *alias",
        "dependencies:\n  only: [a]",
        "dependencies:\n  - {name: a}",
        "dependencies: [a]\ndependencies: [b]",
        "dependencies:\n  - a\n    continued",
    ],
)
def test_anything_else_narrows_nothing(text: str) -> None:
    with pytest.raises(YamlDoubt, match=r"^ratiba.yml:[123]: "):
        narrowing_of(text)
