"""``ratiba dataset verify``: each step is done on the server and told."""

from collections.abc import Iterator

import pytest

pytest.importorskip("langfuse", reason="needs the extra 'langfuse'")

from ratiba_action.main import run
from tests.support.command_run import CommandRun
from tests.support.langfuse_server import LangfuseState, Mode, langfuse_server
from tests.support.langfuse_state import NEWEST, older_langfuse


@pytest.fixture
def state() -> LangfuseState:
    return LangfuseState()


@pytest.fixture
def environment(state: LangfuseState) -> Iterator[dict[str, str]]:
    with langfuse_server(state) as host:
        yield state.environment(host)


def test_every_step_is_reported_and_done(state: LangfuseState, environment: dict[str, str], ratiba: CommandRun) -> None:
    output = ratiba("dataset", "verify", environment=environment)
    assert output.splitlines() == [
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


def test_a_server_that_shows_nothing_is_reported(
    state: LangfuseState, environment: dict[str, str], ratiba: CommandRun
) -> None:
    state.visible = False
    output = ratiba.json("dataset", "verify", "--seconds", "10", code=3, environment=environment)
    assert output["problem"] == "the trace cannot be read back"
    assert output["steps"][-1] == "a trace with 2 spans and 2 scores was taken"


def verified(state: LangfuseState, capsys: pytest.CaptureFixture[str]) -> tuple[int, list[str]]:
    keys = {"RATIBA_LANGFUSE_PUBLIC_KEY": state.public_key, "RATIBA_LANGFUSE_SECRET_KEY": state.secret_key}
    with langfuse_server(state) as host:
        code = run(["dataset", "verify"], {"RATIBA_LANGFUSE_HOST": host, **keys})
    return code, capsys.readouterr().out.splitlines()


def test_what_an_older_server_lacks_is_listed_with_what_follows(capsys: pytest.CaptureFixture[str]) -> None:
    code, output = verified(older_langfuse(), capsys)
    assert code == 0
    assert output[0] == "ok: it answers, with version 3.225.11, older than 4.59"
    lacks = [line.split(": ")[1] for line in output if line.startswith("lacks: ")]
    assert lacks == [
        "GET /api/public/v2/observations",
        "POST /api/public/scores with a list",
        "GET /api/public/experiments",
    ]
    assert output[-1] == "ok: the trace and the scores were read back"


def test_a_server_of_which_scores_cannot_be_read_is_verified_by_its_trace(capsys: pytest.CaptureFixture[str]) -> None:
    code, output = verified(older_langfuse(NEWEST | {"GET /v3/scores"}), capsys)
    assert code == 0
    assert any(line.startswith("lacks: GET /api/public/v3/scores: scores are not verified") for line in output)
    assert output[-1] == "ok: the trace was read back"


def test_a_server_that_cannot_say_what_it_has_fails(capsys: pytest.CaptureFixture[str]) -> None:
    code, output = verified(older_langfuse(NEWEST | {"GET /traces"}), capsys)
    assert code == 3
    neither = "neither GET /api/public/v2/observations nor GET /api/public/traces"
    assert output[-1] == f"failed: the trace was sent and not verified: there is {neither}"


def test_a_server_that_fails_is_reported(state: LangfuseState, environment: dict[str, str], ratiba: CommandRun) -> None:
    state.mode = Mode.FAILING
    assert (
        ratiba("dataset", "verify", "--seconds", "60", code=3, environment=environment)
        == "failed: it answered with status 500\n"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["dataset", "verify"],
            "The keys of Langfuse are not set, so no server can be verified. Set",
        ),
        (["dataset", "verify", "--seconds", "soon"], "--seconds is 'soon'. Give seconds"),
    ],
)
def test_without_keys_or_with_a_wrong_option_nothing_is_asked(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments, {}) == 2
    assert message in capsys.readouterr().err
