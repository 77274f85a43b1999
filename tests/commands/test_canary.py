"""``ratiba canary`` as a user calls it: answers, roll-backs, event, status and alert, masking, bad input."""

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import redis

from ratiba_action.main import run
from tests.support.github_server import github_server
from tests.support.github_state import GithubState
from tests.support.langfuse_server import Mode, langfuse_server
from tests.support.langfuse_state import LangfuseState
from tests.support.production_samples import NOW, canary_events, write_events
from tests.support.production_traces import add_conversation, add_feedback
from tests.support.receiver import receiver
from tests.support.redis_server import redis_server

Called = Callable[..., Any]
PROJECT = Path(__file__).parents[2]
GOOD, BAD = [0.9, 0.8, 1.0, 0.9, 0.7] * 20, [0.6, 0.5, 0.9, 0.7, 0.4] * 20
NAMES = ("--stable", "a@1", "--canary", "b@2", "--by", "prompt_version")
TIMES = ("--since", (NOW - timedelta(days=7)).isoformat(), "--until", NOW.isoformat(), "--share", "1")
KEY = "ratiba:canary:rollout:booking_orchestrator"
STOP = ("--stop", "booking_orchestrator")
COMMIT = "5" * 40


@pytest.fixture
def called(capsys: pytest.CaptureFixture[str]) -> Called:
    """Run the command; returns its exit code and what it printed."""
    return lambda *options, **environment: (run(["canary", *options], environment), capsys.readouterr())


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with redis_server(tmp_path_factory.mktemp("redis"), password="planted-0123456789") as url:
        yield url


@pytest.fixture
def bad(tmp_path: Path) -> tuple[str, ...]:
    path = write_events(tmp_path / "samples.jsonl", canary_events({"a@1": GOOD, "b@2": BAD}, hours_ago=30))
    return ("--samples", str(path), *NAMES, *TIMES)


@pytest.mark.parametrize(
    ("values", "answer", "code"),
    [((GOOD, BAD), "roll back", 1), ((GOOD * 3, GOOD * 3), "promote", 0), ((GOOD[:9], GOOD[:9]), "wait", 3)],
)
def test_the_answer_is_the_exit_code(
    tmp_path: Path,
    values: tuple[list[float], list[float]],
    answer: str,
    code: int,
    called: Called,
) -> None:
    stable, canary = values
    path = write_events(tmp_path / "samples.jsonl", canary_events({"a@1": stable, "b@2": canary}, hours_ago=30))
    events = tmp_path / "events.jsonl"
    options = ("--samples", str(path), *NAMES, *TIMES, "--events", str(events))
    found, out = called(*options, "--json")
    shown = json.loads(out.out)
    assert (found, shown["answer"]) == (code, answer)
    assert shown["canary"] == {"name": "b@2", "conversations": len(canary)}
    found, out = called(*options)
    assert (found, answer in out.out.splitlines()[0]) == (code, True)
    logged = [json.loads(line) for line in events.read_text().splitlines()]
    assert [(each["type"], each["data"]["answer"]) for each in logged] == [("canary", answer)] * 2


@pytest.mark.processes
def test_a_roll_back_sets_the_rollout_in_redis_to_0_and_keeps_its_other_fields(
    bad: tuple[str, ...], address: str, called: Called
) -> None:
    with redis.Redis.from_url(address, decode_responses=True) as client, receiver() as slack:
        client.hset(KEY, mapping={"percentage": "5", "until": "2026-11-23T06:00:00+00:00"})
        environment = {
            "RATIBA_REDIS_URL": address,
            "RATIBA_SLACK_WEBHOOK_URL": f"{slack.address}/services/planted-0123",
        }
        code, out = called(*bad, *STOP, **environment)
        assert code == 1
        assert "The rollout of booking_orchestrator was 5 percent and is 0 now." in out.err
        assert client.hgetall(KEY) == {"percentage": "0", "until": "2026-11-23T06:00:00+00:00"}
        assert called(*bad, *STOP, **environment)[0] == 1
        assert len(slack.posted) == 1, "the second look changes nothing and alerts nobody"
    text = slack.posted[0].body.decode()
    assert "The rollout of booking_orchestrator was 5 percent and is 0 now." in text
    assert "Canary" in text
    assert "planted" not in out.out + out.err + text


@pytest.mark.processes
def test_only_a_roll_back_touches_the_rollout(tmp_path: Path, address: str, called: Called) -> None:
    path = write_events(tmp_path / "samples.jsonl", canary_events({"a@1": GOOD[:9], "b@2": GOOD[:9]}, hours_ago=30))
    with redis.Redis.from_url(address, decode_responses=True) as client, receiver() as slack:
        client.hset(KEY, "percentage", "5")
        environment = {"RATIBA_REDIS_URL": address, "RATIBA_SLACK_WEBHOOK_URL": f"{slack.address}/hook"}
        options = ("--samples", str(path), *NAMES, *TIMES, *STOP)
        assert called(*options, **environment)[0] == 3
        assert client.hget(KEY, "percentage") == "5"
        assert slack.posted == []


@pytest.mark.processes
def test_a_redis_that_does_not_answer_is_said_loudly_and_the_answer_stays(
    bad: tuple[str, ...], tmp_path: Path, called: Called
) -> None:
    with redis_server(tmp_path) as url:
        pass
    secret = url.replace("redis://", "redis://:planted-0123456789@")
    with receiver() as slack:
        environment = {"RATIBA_REDIS_URL": secret, "RATIBA_SLACK_WEBHOOK_URL": f"{slack.address}/hook"}
        code, out = called(*bad, *STOP, **environment)
    assert code == 1
    assert "NOT stopped: Redis did not take it (ConnectionError). Set the percentage to 0 by hand." in out.err
    assert "NOT stopped" in slack.posted[0].body.decode()
    assert "planted" not in out.out + out.err


def test_a_roll_back_sets_the_rollout_in_a_file_to_0(bad: tuple[str, ...], tmp_path: Path, called: Called) -> None:
    path = tmp_path / "rollouts.json"
    path.write_text('{"booking_orchestrator": {"percentage": 5, "until": "x"}, "other": {"percentage": 7}}')
    assert called(*bad, *STOP, "--rollout", str(path))[0] == 1
    assert json.loads(path.read_text()) == {
        "booking_orchestrator": {"percentage": 0, "until": "x"},
        "other": {"percentage": 7},
    }


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("{", "rollouts.json:1: this is no JSON"),
        ("[]", "rollouts.json:1: this is no JSON object"),
        ("{}", "the percentage of 'booking_orchestrator' is None"),
        ('{"booking_orchestrator": {"percentage": "5"}}', "is '5'; it must be an integer from 0 to 100"),
    ],
)
def test_a_rollout_that_could_not_be_stopped_is_refused_before_the_look(
    bad: tuple[str, ...], tmp_path: Path, content: str, problem: str, called: Called
) -> None:
    path = tmp_path / "rollouts.json"
    path.write_text(content)
    code, out = called(*bad, *STOP, "--rollout", str(path))
    assert (code, out.out) == (2, "")
    assert problem in out.err
    assert path.read_text() == content


def test_the_answer_is_a_status_of_the_commit(bad: tuple[str, ...], called: Called) -> None:
    state = GithubState()
    with github_server(state) as url:
        environment = {
            "GITHUB_API_URL": url,
            "GITHUB_REPOSITORY": "ratiba/assistant",
            "RATIBA_GITHUB_TOKEN": "ghs-planted-0123456789",
        }
        assert called(*bad, "--commit", COMMIT, **environment)[0] == 1
    (status,) = state.statuses
    assert (status["state"], status["context"]) == ("failure", "ratiba / canary")
    assert status["description"].startswith("roll back: 100 conversations, e = ")


def test_a_status_that_cannot_be_set_is_a_warning(bad: tuple[str, ...], called: Called) -> None:
    for commit, part in ((COMMIT, "github-token is empty"), ("main\n::error::x", "github-token is empty")):
        code, out = called(*bad, "--commit", commit)
        assert code == 1
        assert part in out.err


def test_what_is_printed_is_masked_and_cannot_command_a_runner(tmp_path: Path, called: Called) -> None:
    hostile = "b@2\n::error::sk-planted-0123456789abcdef"
    path = write_events(tmp_path / "samples.jsonl", canary_events({"a@1": GOOD, hostile: BAD}, hours_ago=30))
    environment = {"RATIBA_ANTHROPIC_API_KEY": "sk-planted-0123456789abcdef"}
    options = ("--samples", str(path), "--stable", "a@1", "--canary", hostile, "--by", "prompt_version", *TIMES)
    events = tmp_path / "events.jsonl"
    for more in ((), ("--json",), ("--events", str(events))):
        code, out = called(*options, *more, **environment)
        assert code == 1
        assert "sk-planted" not in out.out + out.err
        assert "\n::error" not in out.out
    assert "sk-planted" not in events.read_text()


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (("--stable", "x", "--canary", "x"), "--stable and --canary are both 'x'"),
        (("--stable", " ", "--canary", "x"), "--stable is ' '"),
        (("--stable", "x", "--canary", "y" * 201), "--canary is 'yyy"),
        ((*NAMES, "--margin", "1"), "--margin is '1'"),
        ((*NAMES, "--level", "nan"), "--level is 'nan'"),
        ((*NAMES, "--share", "5"), "--share is '5'"),
        ((*NAMES, "--at-least", "soon"), "--at-least is 'soon'"),
        ((*NAMES, "--until", "2999-01-01T00:00:00+00:00"), "a time that is not in the future"),
        ((*NAMES, "--since", "1h", "--until", "2h"), "is not before --until"),
        ((*NAMES, "--stop", "a b"), "--stop is 'a b'"),
        ((*NAMES, "--stop", "a"), "--stop has no rollout to set"),
        ((*NAMES, "--rollout", "f.json"), "--rollout is given without --stop"),
        ((*NAMES, "--config", "nowhere.yml", "--seconds", "0"), "--seconds is '0'"),
        (NAMES, "The keys of Langfuse are not set"),
    ],
)
def test_bad_input_is_exit_code_2(options: tuple[str, ...], part: str, called: Called) -> None:
    code, out = called(*options)
    assert code == 2
    assert part in out.err
    assert "Traceback" not in out.err


@pytest.mark.parametrize("by", ["prompt_version", "model", "tag"])
def test_conversations_are_read_from_langfuse_with_failures_and_feedback(by: str, called: Called) -> None:
    pytest.importorskip("langfuse", reason="needs the extra 'langfuse'")
    state, began = LangfuseState(), datetime.now(UTC) - timedelta(hours=30)
    for number in range(60):
        for version in ("old", "new"):
            failed = version == "new" and number % 2
            trace = add_conversation(
                state,
                f"{version} {number}",
                [("Habari", "Karibu")],
                began + timedelta(minutes=number),
                error="it broke" if failed else "",
                metadata={"prompt_version": version},
                model=version,
            )
            for span in state.spans_of(trace):
                span.attributes["langfuse.trace.tags"] = [version]  # type: ignore[index]
            if number % 10 == 0:
                add_feedback(state, trace, "thumbs_up", began + timedelta(minutes=number))
    options = ("--stable", "old", "--canary", "new", "--by", by, "--json")
    with langfuse_server(state) as url:
        environment = state.environment(url)
        code, out = called(*options, **environment)
        state.mode = Mode.FAILING
        failed_code, failed_out = called(*options, "--seconds", "1", **environment)
    values = json.loads(out.out)
    assert (code, values["answer"], values["canary"]["conversations"]) == (1, "roll back", 60)
    assert [(each["metric"], each["canary"], each["canary_mean"]) for each in values["metrics"]] == [
        ("failures", 60, 0.5),
        ("feedback", 6, 1.0),
    ]
    assert (failed_code, failed_out.out) == (3, "")
    assert "Nothing was decided." in failed_out.err
    assert state.violations == []


def test_the_example_of_the_documentation_runs_without_a_key(monkeypatch: pytest.MonkeyPatch, called: Called) -> None:
    (line,) = (
        line.removeprefix("ratiba canary ")
        for line in (PROJECT / "docs/canary.md").read_text(encoding="utf-8").splitlines()
        if line.startswith("ratiba canary --samples examples/")
    )
    monkeypatch.chdir(PROJECT)
    code, out = called(*line.split())
    assert code == 1
    assert out.out.startswith("✗ roll back: the canary is worse: SwahiliFluencyMetric")
