import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.config.configuration import Configuration, read_configuration
from ratiba_action.config.system_block import KINDS
from ratiba_action.errors import SuiteError

ONE_OF_EACH = {
    "adapter": "a:A",
    "url": "http://h",
    "http": {"url": "http://h", "reply": {"text": "a"}},
    "command": ["x"],
    "prompt": {"file": "a.md", "provider": "openai", "model": "m", "max_output_tokens": 10},
    "replay": {},
}
MISTAKES = """\
system:
  rot: x
  root: /abs
  setup: []
  http:
    url: ftp://x
    headers: {Authorization: planted, X-Fine: "yes", X-Trace: sk-ant-planted0123}
    query: {q: "${history}"}
    body: {m: "${mesage}"}
    reply: {text: "a..b"}
    stream: {text: "a["}
  command: [x]
  turn_timeout_seconds: 0
pass_rate: 3
"""


def problems_of(text: str) -> list[str]:
    with pytest.raises(SuiteError) as caught:
        read_configuration("ratiba.yml", text.encode())
    return [str(problem) for problem in caught.value.problems]


def configured(system: object, **others: object) -> Configuration:
    return read_configuration("ratiba.yml", json.dumps({"system": system, **others}).encode())


def test_every_mistake_is_reported_at_once_with_its_line_and_no_secret_repeated() -> None:
    messages = problems_of(MISTAKES)
    assert sorted(int(line.split(":")[1]) for line in messages) == [1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 13, 14]
    assert any("exactly one of" in line and "http and command" in line for line in messages)
    assert any("'Authorization' looks like a credential" in line and "'X-Trace'" in line for line in messages)
    assert "planted" not in "".join(messages)


@pytest.mark.parametrize("kind", sorted(ONE_OF_EACH))
def test_a_system_is_given_in_one_way(kind: str) -> None:
    assert kind in KINDS
    assert configured({kind: ONE_OF_EACH[kind]}).system.kind == kind
    other = "adapter" if kind != "adapter" else "url"
    (message,) = problems_of(json.dumps({"system": {kind: ONE_OF_EACH[kind], other: ONE_OF_EACH[other]}}))
    assert "exactly one of" in message


@pytest.mark.parametrize("kind", ["adapter", "url"])
def test_a_system_that_has_tables_may_do_without_but_then_rows_are_refused(kind: str) -> None:
    assert configured({kind: ONE_OF_EACH[kind]}, rows={"a": "SELECT 1"}).system.has_database
    system = {kind: ONE_OF_EACH[kind], "database": False}
    assert not configured(system).system.has_database
    assert "rows are read from a database" in "".join(
        problems_of(json.dumps({"system": system, "rows": {"a": "SELECT 1"}}))
    )


@pytest.mark.parametrize("kind", ["http", "prompt", "replay"])
def test_a_system_that_cannot_be_informed_of_a_database_has_none(kind: str) -> None:
    assert not configured({kind: ONE_OF_EACH[kind]}).system.has_database
    messages = problems_of(json.dumps({"system": {kind: ONE_OF_EACH[kind], "database": True}}))
    assert f"of kind {kind!r} gets no database" in "".join(messages)


def test_a_command_has_a_database_when_it_asks_for_one() -> None:
    assert not configured({"command": ["x"]}).system.has_database
    assert configured({"command": ["x"], "database": True}, rows={"a": "SELECT 1"}).system.has_database


@pytest.mark.parametrize(
    "name", ["Cookie", "X-Api-Key", "Proxy-Authorization", "X-Auth", "Host", "Content-Length", "a b", "a\nb"]
)
def test_a_header_that_is_a_secret_or_the_gates_own_is_refused(name: str) -> None:
    system = {"http": {"url": "http://h", "reply": {"text": "a"}, "headers": {name: "planted"}}}
    messages = "".join(problems_of(json.dumps({"system": system})))
    assert "system.http.headers" in messages
    assert "planted" not in messages


@pytest.mark.parametrize("file", ["../a.md", "/etc/passwd", "*.md", ""])
def test_the_file_of_a_prompt_lies_below_the_root(file: str) -> None:
    prompt = {**ONE_OF_EACH["prompt"], "file": file}  # type: ignore[dict-item]
    assert "system.prompt.file" in "".join(problems_of(json.dumps({"system": {"prompt": prompt}})))


def test_a_prompt_asks_for_no_more_output_than_models_allows() -> None:
    messages = problems_of(
        json.dumps({"system": {"prompt": ONE_OF_EACH["prompt"]}, "models": {"max_output_tokens": 5}})
    )
    assert "system.prompt.max_output_tokens is 10, but models allows 5" in "".join(messages)


def test_the_file_of_a_prompt_counts_as_a_prompt_and_its_model_as_one_of_the_systems() -> None:
    system = configured({"prompt": ONE_OF_EACH["prompt"], "prompts": ["more/*.md"]}).system
    assert system.prompt_patterns == ("more/*.md", "a.md")
    assert system.models == {("m", "openai")}


@given(
    st.dictionaries(
        st.sampled_from([*KINDS, "root", "database", "setup", "prompts"]),
        st.recursive(
            st.none() | st.booleans() | st.text(max_size=5) | st.integers(),
            lambda inner: (
                st.lists(inner, max_size=2)
                | st.dictionaries(
                    st.sampled_from(["url", "reply", "text", "file", "body", "query", "headers", "stream"]),
                    inner,
                    max_size=3,
                )
            ),
        ),
        max_size=4,
    )
)
def test_whatever_the_block_holds_it_is_read_or_refused(system: dict[str, object]) -> None:
    try:
        read = configured(system)
    except SuiteError:
        return
    assert read.system.kind in KINDS


PROMPT = "{file: a.md, provider: openai, model: m, max_output_tokens: 10"


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("role: user", "'role' is of a template; add `template: jinja`"),
        ("template: jinja, role: user, file: a.json", "'role' is not of 'a.json'"),
        ("request: {model: x, n: 2}", "model, n cannot be given here"),
        ("request: {user: sk-ant-planted0123}", "looks like a credential"),
        ("template: nunjucks", "allowed: 'jinja'"),
    ],
)
def test_what_a_prompt_cannot_be_is_refused(more: str, message: str) -> None:
    written = PROMPT.replace("file: a.md, ", "") if "file:" in more else PROMPT
    (problem,) = problems_of(f"system:\n  prompt: {written}, {more}}}\n")
    assert message in problem


@pytest.mark.parametrize("name", ["../outside.txt", "/etc/passwd", "a/../b", "", "./a", "a\0b"])
def test_set_up_reads_no_path_that_leaves_the_folder(name: str) -> None:
    block = {"adapter": "a:A", "setup": ["make"], "setup_reads": [name]}
    (problem,) = problems_of(json.dumps({"system": block}))
    assert "system.setup_reads" in problem
