"""``ratiba dataset add-trace``: a conversation of production in a dataset, masked, with where it comes from."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langfuse", reason="needs the extra 'langfuse'")

from ratiba_action.main import run
from ratiba_action.testing.langfuse_server import LangfuseState, TakenSpan, langfuse_server

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
    told = {f"langfuse.observation.metadata.{name}": json.dumps(value) for name, value in metadata.items()}
    return TakenSpan(
        trace_id=TRACE,
        span_id=f"{number:016x}",
        parent_id="",
        name=f"turn {number}",
        start=1_790_000_000 * SECOND + number * SECOND,
        end=1_790_000_000 * SECOND + number * SECOND + 1,
        attributes={"langfuse.observation.input": given, "langfuse.observation.output": made, **told},
    )


class Project:
    """A project of Langfuse with one trace, and a checkout whose suite is its dataset."""

    def __init__(self, state: LangfuseState, folder: Path, host: str, printed: pytest.CaptureFixture[str]) -> None:
        self.state = state
        self.folder = folder
        self._printed = printed
        self._environment = {
            "RATIBA_LANGFUSE_HOST": host,
            "RATIBA_LANGFUSE_PUBLIC_KEY": state.public_key,
            "RATIBA_LANGFUSE_SECRET_KEY": state.secret_key,
        }

    def trace(self, vertical: str = "spa", **metadata: str) -> None:
        told = {"tenant_id": "nairobi-spa", "vertical": vertical, "customer_name": "Wanjiku Kamau", **metadata}
        self.state.spans = [
            span(1, "Habari, naitwa Wanjiku", "Karibu Wanjiku", **told),
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
    assert "leave it out until --expected" in project.do("add-trace", TRACE, "--case")[1]
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


@pytest.mark.parametrize(("vertical", "told"), [("dental", "masking rules are missing for"), ("", "names a vertical")])
def test_a_tenant_that_must_not_leave_production_is_refused_and_nothing_is_written(
    project: Project, vertical: str, told: str
) -> None:
    project.trace(vertical)
    before = dict(project.state.items)
    code, printed = project.do("add-trace", TRACE)
    assert (code, told in printed) == (2, True)
    assert project.state.items == before


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["0123456789abcdef0123456789abcdef"], "no observation of the trace"),
        (["../../etc/passwd"], "Give the id of a trace"),
        ([TRACE, "--expected", '{"intent": '], "Give whole JSON"),
        ([TRACE, "--dataset", "nowhere"], "no dataset 'nowhere'"),
    ],
)
def test_what_cannot_be_added_is_told(project: Project, words: list[str], told: str) -> None:
    code, printed = project.do("add-trace", *words)
    assert (code, told in printed) == (2, True)
