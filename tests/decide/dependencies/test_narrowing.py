import pytest

from ratiba_action.decide.selection import counts, read_narrowing


@pytest.mark.parametrize(
    "text",
    [
        "dependencies: [langgraph, Anthropic]  # two\npass_rate: 0.8\n",
        "pass_rate: 0.8\ndependencies:\n  - langgraph # one\n\n  - 'Anthropic'\nrows: {}\n",
        'dependencies:\n- langgraph\n- "anthropic"\n',
    ],
)
def test_both_forms_of_a_list_are_read(text: str) -> None:
    assert read_narrowing(text) == frozenset({"langgraph", "anthropic"})


def test_without_the_block_nothing_is_narrowed() -> None:
    narrowing = read_narrowing("system:\n  dependencies: [nested]\n")

    assert narrowing is None
    assert counts("anything", narrowing)


def test_names_are_compared_as_registries_do() -> None:
    assert counts("Lang_Graph", read_narrowing("dependencies: [lang-graph]"))
    assert not counts("rich", read_narrowing("dependencies: [lang-graph]"))


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
        "dependencies: [a,\n  b]",
        "dependencies:\n  - a\n    continued",
    ],
)
def test_anything_else_narrows_nothing(text: str) -> None:
    with pytest.raises(ValueError, match=r"dependencies|name|package"):
        read_narrowing(text)
