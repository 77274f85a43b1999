"""The example of feedback: a button becomes one score, and a thumbs-down ends as a scenario that the gate runs."""

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

pytest.importorskip("langfuse", reason="needs the extra 'langfuse'")

from traced_conversation import hold
from whatsapp_buttons import feedback_buttons, take_reply

from ratiba_action.main import run
from tests.support.gate_forks import GateForks
from tests.support.git_repository import GitRepository
from tests.support.langfuse_server import LangfuseState, langfuse_server
from tests.support.production_project import SPA, ProductionProject
from tests.support.small_repository import SmallRepository

EXAMPLE = Path(__file__).parents[3] / "examples" / "feedback"
TRACE = "3f9c0000000000000000000000000abc"
MESSAGES = ("Habari, mimi ni Wanjiku Kamau, simu 0712 345 678", "Kesho saa nane mchana. Nililipa KES 1,500 QWE12RT5YU")


@pytest.fixture
def project(tmp_path: Path) -> Iterator[ProductionProject]:
    state = LangfuseState()
    with langfuse_server(state) as url:
        yield ProductionProject(state, url, tmp_path / "home")


def pressed(button: str, trace: str = TRACE, message: str = "wamid.HBgL1", **changed: Any) -> dict[str, Any]:
    """What WhatsApp delivers."""
    (reply,) = (
        one["reply"]
        for one in feedback_buttons(trace, "Huduma ilikuwaje?")["action"]["buttons"]
        if one["reply"]["title"] == button
    )
    return {
        "type": "interactive",
        "id": message,
        "from": "254712345678",
        "timestamp": str(int(time.time()) - 60),
        "interactive": {"type": "button_reply", "button_reply": reply},
        **changed,
    }


@pytest.mark.parametrize(("button", "value"), [("👍", "thumbs_up"), ("👎", "thumbs_down"), ("💬", "comment")])
def test_a_button_becomes_a_score_of_the_conversation(project: ProductionProject, button: str, value: str) -> None:
    assert project.trace(lambda client: str(take_reply(client, pressed(button)))) == "True"
    (score,) = project.state.scores.values()
    assert (score["name"], score["value"], score["traceId"]) == ("user_feedback", value, TRACE)
    assert "254712345678" not in str(score)


def test_a_press_that_is_delivered_twice_is_one_score(project: ProductionProject) -> None:
    event = pressed("👎")
    for _ in range(2):
        project.trace(lambda client: str(take_reply(client, event)))
    assert list(project.state.score_copies.values()) == [1]


def test_another_press_is_another_score(project: ProductionProject) -> None:
    project.trace(lambda client: str([take_reply(client, pressed("👎", message=name)) for name in ("a", "b")]))
    assert len(project.state.scores) == 2


@pytest.mark.parametrize(
    "message",
    [
        {"type": "text", "id": "wamid.1", "text": {"body": f"feedback:thumbs_down:{TRACE}"}},
        {"type": "interactive", "id": "wamid.1", "interactive": {"list_reply": {"id": "hair"}}},
        pressed("👎") | {"interactive": {"button_reply": {"id": f"feedback:thumbs_down:{TRACE}\n"}}},
        pressed("👎") | {"interactive": {"button_reply": {"id": "feedback:delete:everything"}}},
    ],
    ids=["text", "a list", "a line more", "another word"],
)
def test_what_is_no_button_of_ours_is_left_to_the_assistant(
    project: ProductionProject, message: dict[str, Any]
) -> None:
    assert project.trace(lambda client: str(take_reply(client, message))) == "False"
    assert project.state.scores == {}


def test_a_thumbs_down_ends_as_a_masked_scenario_that_the_gate_runs(
    project: ProductionProject, forks: GateForks, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    checkout = tmp_path / "checkout"
    shutil.copytree(EXAMPLE, checkout, ignore=shutil.ignore_patterns("__pycache__"))
    GitRepository(checkout, os.environ["PATH"]).commit({})
    trace = project.trace(lambda client: hold(client, "conversation-1", MESSAGES, SPA))
    project.trace(lambda client: str(take_reply(client, pressed("👎", trace))))

    assert run(["promote", "--since", "7d", "--repo", str(checkout)], project.environment) == 0
    (path,) = (checkout / "scenarios" / "from_production").iterdir()
    text = path.read_text("utf-8")
    assert [one for one in ("Wanjiku", "Kamau", "712 345", "712345") if one in text] == []
    scenario = yaml.safe_load(text)
    assert [turn["user"] for turn in scenario["turns"]] == [
        "Habari, mimi ni <name>, simu +254***678",
        "Kesho saa nane mchana. Nililipa KES 1,500 QWE12RT5YU",
    ]
    assert scenario["provenance"]["trace"] == trace
    assert run(["validate", "--repo", str(checkout)], project.environment) == 0
    assert "it asserts nothing" in capsys.readouterr().out

    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    repository = SmallRepository(checkout, tmp_path / "report", environment, run=forks.run)
    ended = repository.gate()
    assert ended.code == 3
    assert f"({scenario['id']}): the scenario asserts nothing" in ended.printed
    # A person completes it: the customer asked for the afternoon.
    path.write_text(text + "rules:\n  - {type: must_contain, value: mchana}\n", "utf-8")
    ended = repository.gate()
    assert (ended.code, ended.outputs["failed"]) == (1, 1), ended.printed
