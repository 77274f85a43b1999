"""``ratiba dataset add-trace``: a conversation of production in a dataset, masked, with where it comes from."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langfuse", reason="needs the extra 'langfuse'")

from ratiba_action.main import run
from tests.support.langfuse_server import LangfuseState, TakenSpan, langfuse_server
from tests.support.suites import suite_of

TRACE = "0af7651916cd43dd8448eb211c80319c"
SECOND = 1_000_000_000
TEMPLATE = """\
id: intents
language: en
system_type: classifier
now: 2026-04-25T10:00:00+03:00
customer: {name: Amina, phone: "+254 700 000 001"}
cases: intents.jsonl
turns:
  - user: "${message}"
    expect: {label: "${intent}"}
"""


def span(number: int, given: str, made: str, **metadata: str) -> TakenSpan:
    reported = {f"langfuse.observation.metadata.{name}": json.dumps(value) for name, value in metadata.items()}
    return TakenSpan(
        trace_id=TRACE,
        span_id=f"{number:016x}",
        parent_id="",
        name=f"turn {number}",
        start=1_790_000_000 * SECOND + number * SECOND,
        end=1_790_000_000 * SECOND + number * SECOND + 1,
        attributes={"langfuse.observation.input": given, "langfuse.observation.output": made, **reported},
    )


class Project:
    """A project of Langfuse with one trace, and a checkout whose suite is its dataset."""

    def __init__(self, state: LangfuseState, folder: Path, host: str, printed: pytest.CaptureFixture[str]) -> None:
        self.state = state
        self.folder = folder
        self._printed = printed
        self._environment = state.environment(host)

    def trace(self, vertical: str = "spa", **metadata: str) -> None:
        reported = {"tenant_id": "nairobi-spa", "vertical": vertical, "customer_name": "Wanjiku Kamau", **metadata}
        self.state.spans = [
            span(1, "Habari, naitwa Wanjiku", "Karibu Wanjiku", **reported),
            span(2, "Nipigie 0712 345 432", "Sawa"),
        ]

    def do(self, *words: str) -> tuple[int, str]:
        code = run(["dataset", *words, "--repo", str(self.folder)], dict(self._environment))
        printed = self._printed.readouterr()
        assert self.state.secret_key not in printed.out + printed.err
        return code, printed.out + printed.err

    def added(self) -> dict[str, Any]:
        (item,) = [one for one in self.state.items.values() if one.get("sourceTraceId") == TRACE]
        return item


@pytest.fixture
def project(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Project]:
    state = LangfuseState()
    (tmp_path / "scenarios").mkdir()
    (tmp_path / "scenarios" / "intents.yaml").write_text(TEMPLATE)
    (tmp_path / "scenarios" / "intents.jsonl").write_text('{"id": "c1", "message": "Hi", "intent": "LEARN"}\n')
    with langfuse_server(state) as host:
        made = Project(state, tmp_path, host, capsys)
        made.trace()
        assert made.do("push")[0] == 0
        yield made


def test_a_trace_becomes_a_scenario_in_quarantine_that_a_pull_writes_and_a_push_knows_again(project: Project) -> None:
    assert project.do("add-trace", TRACE)[0] == 0
    item = project.added()
    text = json.dumps(item, ensure_ascii=False)
    assert "Wanjiku" not in text
    assert "0712" not in text
    assert item["input"]["turns"][1]["user"].endswith("432")
    assert project.do("pull", "--accept")[0] == 0
    (written,) = (project.folder / "scenarios" / "from_production").iterdir()
    assert "quarantine:" in written.read_text()
    assert f"trace: {TRACE}" in written.read_text()
    assert "0 created, 0 updated, 2 unchanged" in project.do("push")[1]


def test_a_trace_becomes_a_case_once_a_person_says_what_is_right(project: Project) -> None:
    printed = project.do("add-trace", TRACE, "--case")[1]
    assert "leave it out until it has an expected answer: give --expected" in printed
    item = project.added()
    assert item["expectedOutput"] is None
    assert item["metadata"]["source"] == "production"
    assert [one["role"] for one in item["input"]["history"]] == ["user", "assistant"]
    assert "Wanjiku" not in json.dumps(item)
    assert "left out" in project.do("pull")[1]
    assert project.do("add-trace", TRACE, "--case")[1].startswith("there already: ")
    assert project.do("add-trace", TRACE, "--expected", '{"intent": "SUPPORT"}')[1].startswith("updated: ")
    assert project.added()["expectedOutput"] == {"intent": "SUPPORT"}


def test_a_case_without_history_is_pulled_as_a_row_that_names_its_trace(project: Project) -> None:
    project.state.spans = project.state.spans[:1]
    assert project.do("add-trace", TRACE, "--expected", "LEARN")[0] == 0
    assert project.do("pull", "--accept")[0] == 0
    row = json.loads((project.folder / "scenarios" / "intents.jsonl").read_text().splitlines()[-1])
    assert (row["intent"], row["_trace"]) == ("LEARN", TRACE)
    assert "Wanjiku" not in row["message"]


KEY = "ghp_0123456789abcdef0123456789abcdef0123"


@pytest.mark.parametrize("words", [(), ("--case",)], ids=["scenario", "case"])
@pytest.mark.parametrize(("asked", "answered"), [(f"ufunguo ni {KEY}", "Sawa"), ("Habari", f"token {KEY}")])
def test_a_trace_with_a_credential_is_refused(
    project: Project, words: tuple[str, ...], asked: str, answered: str
) -> None:
    reported = {"tenant_id": "nairobi-spa", "vertical": "spa", "customer_name": "Wanjiku Kamau"}
    project.state.spans = [span(1, asked, answered, **reported)]
    code, printed = project.do("add-trace", TRACE, *words)
    assert (code, "it contains a GitHub token" in printed, KEY in printed) == (2, True, False), printed
    assert not [one for one in project.state.items.values() if one.get("sourceTraceId") == TRACE]


@pytest.mark.parametrize(
    ("vertical", "message"), [("dental", "masking rules are missing for"), ("", "names a vertical")]
)
def test_a_tenant_that_must_not_leave_production_is_refused_and_nothing_is_written(
    project: Project, vertical: str, message: str
) -> None:
    project.trace(vertical)
    before = dict(project.state.items)
    code, printed = project.do("add-trace", TRACE)
    assert (code, message in printed) == (2, True)
    assert project.state.items == before


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["0123456789abcdef0123456789abcdef"], "no observation of the trace"),
        (["../../etc/passwd"], "Give the id of a trace"),
        ([TRACE, "--expected", '{"intent": '], "valid JSON"),
        ([TRACE, "--dataset", "nowhere"], "no dataset 'nowhere'"),
    ],
)
def test_what_cannot_be_added_is_reported(project: Project, words: list[str], message: str) -> None:
    code, printed = project.do("add-trace", *words)
    assert (code, message in printed) == (2, True)


@pytest.mark.parametrize("column", ["message", "text"])
@pytest.mark.parametrize("file", ["intents.jsonl", "intents.csv"])
def test_a_case_of_two_turns_is_pulled_with_what_was_said_before_and_pushed_again(
    file: str, column: str, project: Project
) -> None:
    scenarios = project.folder / "scenarios"
    (scenarios / "intents.jsonl").unlink()
    rows = {
        "intents.jsonl": f'{{"id": "c1", "{column}": "Hi", "intent": "LEARN"}}\n',
        "intents.csv": f"id,{column},intent\nc1,Hi,LEARN\n",
    }
    (scenarios / file).write_text(rows[file])
    template = TEMPLATE.replace("${message}", f"${{{column}}}").replace("intents.jsonl", file)
    (scenarios / "intents.yaml").write_text(template)
    assert project.do("push")[0] == 0
    assert project.do("add-trace", TRACE, "--expected", '{"intent": "SUPPORT"}')[0] == 0
    code, printed = project.do("pull", "--accept")
    assert code == 0, printed
    suite = suite_of(project.folder)
    case = next(one for one in suite.scenarios if len(one.turns) == 2)
    assert (case.turns[0].user or "").startswith("Habari")
    assert (case.turns[1].user or "").endswith("432")
    assert [turn.expect.label for turn in case.turns] == [None, "SUPPORT"]
    code, printed = project.do("push")
    assert code == 0, printed
    code, printed = project.do("pull")
    assert code == 0, printed


def test_an_item_made_by_hand_with_an_empty_history_is_a_case(project: Project) -> None:
    """``seeds/003``, "Adding Traces to Datasets": the item that its example creates."""
    made = {"id": "made-there", "input": {"message": "Can you help me debug?", "history": []}}
    notes = {"expectedOutput": {"intent": "SUPPORT"}, "metadata": {"source": "manual", "notes": "Edge case"}}
    project.state.items["made-there"] = {**next(iter(project.state.items.values())), **made, **notes}
    code, printed = project.do("pull", "--accept")
    assert code == 0, printed
    row = json.loads((project.folder / "scenarios" / "intents.jsonl").read_text().splitlines()[-1])
    assert row == {"id": "made-there", "message": "Can you help me debug?", "intent": "SUPPORT"}


def test_a_history_that_is_no_list_of_messages_is_said_with_its_item(project: Project) -> None:
    made = {"id": "made-there", "input": {"message": "And then?", "history": ["Hello"]}}
    text = {"expectedOutput": {"intent": "SUPPORT"}, "metadata": {}}
    project.state.items["made-there"] = {**next(iter(project.state.items.values())), **made, **text}
    code, printed = project.do("pull")
    assert code == 2
    assert "the column 'history' is" in printed
    assert '"role": "user" or "assistant"' in printed
