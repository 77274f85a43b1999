import json
import shutil
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.authoring.captured_session import read_session
from ratiba_action.commands import generate, validate
from ratiba_action.commands.generate import TEMPLATES
from ratiba_action.errors import RatibaError, SuiteError, UsageError
from ratiba_action.privacy.identifiers import find_identifiers
from tests.support.suites import suite_of

ABOUT = {"id": "asks_for_hours", "language": "en", "captured_at": "2026-05-04T08:15:00+03:00"}
SESSION = {
    **ABOUT,
    "provider": "anthropic",
    "tags": ["hours"],
    "names": ["Wanjiku"],
    "exchanges": [
        {
            "request": "Habari, Wanjiku hapa, piga 0712 345 678",
            "response": "Karibu Wanjiku! Barua pepe ni wanjiku@example.com?",
            "tools": [{"name": "find", "args": {"phone": "+254712345678", "amount_kes": 3500, "customer": 712345678}}],
        }
    ],
}
OPENAI: list[dict[str, Any]] = [
    {"role": "system", "content": "You are the assistant."},
    {"role": "user", "content": "Is there room at six?"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"type": "function", "function": {"name": "look", "arguments": '{"hour": 18}'}}],
    },
    {"role": "tool", "tool_call_id": "a", "content": "free"},
    {"role": "assistant", "content": "Yes, there is."},
]
ANTHROPIC: list[dict[str, Any]] = [
    {"role": "user", "content": [{"type": "text", "text": "Is there room at six?"}]},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "look", "input": {"hour": 18}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "free"}]},
    {"role": "assistant", "content": [{"type": "text", "text": "Yes, there is."}]},
]


def run(folder: Path, *words: str) -> int:
    parser = ArgumentParser()
    generate.add_arguments(parser)
    return generate.run(parser.parse_args([*words, "--repo", str(folder)]), {})


def scenario(folder: Path, session: object, *words: str) -> dict[str, Any]:
    (folder / "session.json").write_text(json.dumps(session))
    assert run(folder, "--from", str(folder / "session.json"), *words) == 0
    read: dict[str, Any] = yaml.safe_load((folder / "scenarios/asks_for_hours.yaml").read_text(encoding="utf-8"))
    return read


def test_a_session_becomes_a_scenario_that_is_masked_and_marked_as_a_proposal(tmp_path: Path) -> None:
    proposed = scenario(tmp_path, SESSION)
    assert (proposed["layer"], proposed["tags"]) == ("replay", ["proposed", "hours"])
    (turn,) = proposed["turns"]
    assert turn["user"] == "Habari, <name> hapa, piga +254***678"
    assert proposed["title"] == turn["user"]
    assert turn["reply"] == "Karibu <name>! Barua pepe ni w***@***?"
    assert turn["expect"]["tools"] == [
        {"name": "find", "args": {"phone": "+254***678", "amount_kes": 3500, "customer": "+254***678"}}
    ]
    assert proposed["provenance"] == {"captured_at": "2026-05-04T08:15:00+03:00", "provider": "anthropic"}
    suite_of(tmp_path)


def test_a_golden_one_keeps_the_replies_as_reference_answers(tmp_path: Path) -> None:
    proposed = scenario(tmp_path, SESSION, "--layer", "golden")
    assert proposed["turns"][0]["expect"]["answer"].startswith("Karibu")
    assert proposed["assertions"] == [{"metric": "RougeLMetric", "threshold": 0.5}]


@pytest.mark.parametrize("messages", [OPENAI, ANTHROPIC, {"messages": OPENAI}], ids=["openai", "anthropic", "mapping"])
def test_lists_of_messages_are_sessions_too(tmp_path: Path, messages: object) -> None:
    proposed = scenario(tmp_path, messages, "--id", ABOUT["id"], "--language", "en", "--now", ABOUT["captured_at"])
    assert proposed["turns"] == [
        {
            "user": "Is there room at six?",
            "reply": "Yes, there is.",
            "expect": {"tools": [{"name": "look", "args": {"hour": 18}}]},
        }
    ]


def test_a_scenario_that_is_there_is_never_changed(tmp_path: Path) -> None:
    scenario(tmp_path, SESSION)
    path = tmp_path / "scenarios/asks_for_hours.yaml"
    path.write_text("mine\n")
    with pytest.raises(UsageError, match=r"scenarios/asks_for_hours\.yaml"):
        run(tmp_path, "--from", str(tmp_path / "session.json"))
    assert path.read_text() == "mine\n"


def test_everything_that_is_missing_or_wrong_is_reported_at_once(tmp_path: Path) -> None:
    (tmp_path / "session.json").write_text('[{"role": "user", "content": "hello"}]')
    with pytest.raises(SuiteError) as raised:
        run(tmp_path, "--from", str(tmp_path / "session.json"))
    assert [option for option in ("--id", "--language", "--now") if option not in str(raised.value)] == []
    wrong = {"exchanges": [{"request": 7}, {"request": "a", "tools": [1]}], "tags": "x", "evil": 1}
    assert read_session(wrong) == (
        None,
        (
            "exchanges.0: needs a 'request' and a 'response' that are text",
            "exchanges.1.tools: a list of mappings with a 'name' and 'args'",
            "tags: 'x' is not a list of texts",
            "'evil' is unknown; known: captured_at, exchanges, id, language, messages, names, provider, tags",
        ),
    )


@pytest.mark.parametrize("name", ["../../evil", "a/b", "A b", "x" * 101])
def test_an_id_never_leads_out_of_the_folder(tmp_path: Path, name: str) -> None:
    (tmp_path / "session.json").write_text(json.dumps({**SESSION, "id": name}))
    with pytest.raises(SuiteError, match="is not allowed"):
        run(tmp_path, "--from", str(tmp_path / "session.json"))
    assert [path.name for path in tmp_path.iterdir()] == ["session.json"]


def test_a_session_that_holds_a_key_is_refused_and_the_key_is_not_repeated(tmp_path: Path) -> None:
    key = "sk-ant-api03-" + "A1b2C3d4" * 11
    (tmp_path / "session.json").write_text(json.dumps({**ABOUT, "exchanges": [{"request": f"my key is {key}"}]}))
    with pytest.raises(SuiteError) as raised:
        run(tmp_path, "--from", str(tmp_path / "session.json"))
    assert key not in str(raised.value)
    assert not (tmp_path / "scenarios").exists()


def test_what_is_no_json_is_reported_without_a_traceback(tmp_path: Path) -> None:
    (tmp_path / "session.json").write_bytes(b"\xff{")
    with pytest.raises(UsageError, match="is not JSON in UTF-8"):
        run(tmp_path, "--from", str(tmp_path / "session.json"))
    with pytest.raises(UsageError, match="cannot be read"):
        run(tmp_path, "--from", str(tmp_path / "missing.json"))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["messages", "exchanges", "role", "content", "tool_calls", "function", "request", "tools"])
            | st.text(max_size=5),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(JSON)
def test_any_json_gives_a_session_or_problems(data: object) -> None:
    session, problems = read_session(data)
    assert (session is None) == bool(problems)


@given(phone=st.from_regex(r"0[17][0-9]{8}", fullmatch=True))
def test_no_phone_number_of_a_session_stands_in_its_scenario(
    tmp_path_factory: pytest.TempPathFactory, phone: str
) -> None:
    folder = tmp_path_factory.mktemp("session")
    proposed = scenario(folder, {**ABOUT, "exchanges": [{"request": f"call {phone}", "response": f"{phone}?"}]})
    assert find_identifiers(json.dumps(proposed["turns"])) == ()
    shutil.rmtree(folder)


@pytest.mark.parametrize("name", sorted(TEMPLATES))
def test_a_template_is_a_scenario_without_mistake_that_lacks_recorded_grades_only(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    (tmp_path / ".github").mkdir()
    (tmp_path / ".github/ratiba.yml").write_text("system: {adapter: 'shop.adapter:Adapter'}\n")
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop/adapter.py").write_text("class Adapter: ...\n")
    assert run(tmp_path, "--template", name) == 0
    capsys.readouterr()
    code = validate.run(Namespace(config=None, scenarios=None, schema=None, repo=str(tmp_path), json=False), {})
    output = capsys.readouterr().out
    assert code == 0, output
    assert output.endswith("no mistake found.\n")
    warnings = [line for line in output.splitlines() if line.startswith("warning:")]
    expected = (" no score of ", " an advisory run ")  # nothing is recorded yet
    assert [line for line in warnings if not any(words in line for words in expected)] == []
    assert (tmp_path / f"scenarios/{name}.yaml").read_text(encoding="utf-8").startswith("# ")


def test_templates_are_listed_for_people_and_programs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path, "--templates") == 0
    assert capsys.readouterr().out.startswith("agent_tool_call")
    assert run(tmp_path, "--templates", "--json") == 0
    assert set(json.loads(capsys.readouterr().out)) == set(TEMPLATES)


def test_an_unknown_template_is_reported_with_those_that_exist(tmp_path: Path) -> None:
    with pytest.raises(RatibaError, match="agent_tool_call"):
        run(tmp_path, "--template", "../../etc/passwd")
