"""``ratiba dataset verify``: each step is done on the server and told."""

import json
from collections.abc import Iterator

import pytest

pytest.importorskip("langfuse", reason="needs the extra 'langfuse'")

from ratiba_action.main import run
from tests.support.langfuse_server import LangfuseState, Mode, langfuse_server


@pytest.fixture
def state() -> LangfuseState:
    return LangfuseState()


@pytest.fixture
def environment(state: LangfuseState) -> Iterator[dict[str, str]]:
    with langfuse_server(state) as host:
        yield {
            "RATIBA_LANGFUSE_HOST": host,
            "RATIBA_LANGFUSE_PUBLIC_KEY": state.public_key,
            "RATIBA_LANGFUSE_SECRET_KEY": state.secret_key,
        }


def test_every_step_is_told_and_done(
    state: LangfuseState, environment: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["dataset", "verify"], environment) == 0
    told = capsys.readouterr().out
    assert told.splitlines() == [
        "ok: it answers, with version 4.59.0",
        "ok: the keys open the project 'project-of-the-gate'",
        "ok: the dataset 'ratiba-verify' has its item",
        "ok: a trace with 2 spans and 2 scores was taken",
        "ok: the trace and the scores were read back",
        "ok: sent twice, there is one copy of each",
    ]
    assert list(state.datasets) == ["ratiba-verify"]
    assert len(state.items) == 1
    experiments = {span.attributes["langfuse.experiment.dataset.id"] for span in state.spans}
    assert experiments == {state.datasets["ratiba-verify"]["id"]}


def test_it_can_be_done_again_and_leaves_another_trace(state: LangfuseState, environment: dict[str, str]) -> None:
    assert [run(["dataset", "verify", "--json"], environment) for _ in range(2)] == [0, 0]
    assert len({span.trace_id for span in state.spans}) == 2
    assert len(state.items) == 1


def test_a_server_that_shows_nothing_is_told(
    state: LangfuseState, environment: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    state.visible = False
    assert run(["dataset", "verify", "--seconds", "10", "--json"], environment) == 3
    told = json.loads(capsys.readouterr().out)
    assert told["problem"] == "the trace cannot be read back"
    assert told["steps"][-1] == "a trace with 2 spans and 2 scores was taken"


def test_a_server_that_fails_is_told(
    state: LangfuseState, environment: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    state.mode = Mode.FAILING
    assert run(["dataset", "verify", "--seconds", "2"], environment) == 3
    assert capsys.readouterr().out == "failed: it answered with status 500\n"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            ["dataset", "verify"],
            "There are no keys of Langfuse, so no server can be verified. Set",
        ),
        (["dataset", "verify", "--seconds", "soon"], "--seconds is 'soon'. Give seconds"),
    ],
)
def test_without_keys_or_with_a_wrong_option_nothing_is_asked(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments, {}) == 2
    assert told in capsys.readouterr().err
