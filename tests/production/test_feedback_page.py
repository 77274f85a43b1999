"""The commands of the page about feedback run as they stand there."""

import contextlib
import re
import shlex
from pathlib import Path

import pytest

pytest.importorskip("langfuse", reason="needs the extra 'langfuse'")

from ratiba_action.main import run
from tests.support.langfuse_server import LangfuseState, langfuse_server
from tests.support.production_project import SPA, ProductionProject

PROJECT = Path(__file__).parents[2]
PAGE = (PROJECT / "docs" / "feedback.md").read_text("utf-8")
SMALLEST = """\
id: greet
language: sw
now: 2026-05-04T08:15:00+03:00
customer: {name: Amina, phone: "+254 700 000 101"}
turns: [{user: Hujambo, expect: {state: GREETED}}]
"""


def block(kind: str, beginning: str) -> str:
    found: list[str] = re.findall(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL)
    (one,) = [text for text in found if text.startswith(beginning)]
    return one


def test_the_commands_of_the_page_run_in_order(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    checkout = tmp_path / "checkout"
    (checkout / "scenarios").mkdir(parents=True)
    (checkout / "scenarios" / "greet.yaml").write_text(SMALLEST)
    (checkout / ".github").mkdir()
    (checkout / ".github" / "ratiba.yml").write_text("system: {adapter: 'shop:answer', database: false}\n")
    (checkout / "shop.py").write_text("def answer(said): return said\n")
    (tmp_path / "tenants.yaml").write_text(block("yaml", "tenants:"))
    state, text = LangfuseState(), []
    with langfuse_server(state) as url, contextlib.chdir(checkout):
        project = ProductionProject(state, url, tmp_path / "home")
        nameless = {name: value for name, value in SPA.items() if name != "customer_name"}
        project.dislike(project.converse("Mimi ni Wanjiku Kamau", facts=SPA))
        project.dislike(project.converse("Achieng alinipa namba yenu", facts=nameless), seconds_ago=30)
        project.dislike(project.converse("Jino", facts={**SPA, "tenant_id": "smile_dental", "vertical": "dental"}))
        for line in block("console", "ratiba promote").splitlines():
            # Without the file of tenants, the clinic and the customer without a name are refused.
            refused = "--tenants" not in line and "promote" in line
            assert run(shlex.split(line)[1:], project.environment) == (2 if refused else 0), line
            text.append(capsys.readouterr().out)
    dry, real, valid = text
    assert dry.count("Would be written: ") == 1
    assert real.count("Written: ") == 2
    assert "3 scenarios, 3 turns: no mistake found." in valid
    texts = "".join(path.read_text("utf-8") for path in (checkout / "scenarios" / "from_production").iterdir())
    assert (texts.count("<name>"), texts.count("owner: '@booking-team'")) == (4, 2)


def test_the_options_of_the_page_are_those_of_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run(["promote", "--help"], {})
    known = set(re.findall(r"--[a-z-]+", capsys.readouterr().out))
    table = PAGE.partition("| option | meaning |")[2].partition("\n\n")[0]
    assert set(re.findall(r"--[a-z][a-z-]+", table)) == known - {"--help", "--repo", "--scenarios"}


def test_the_page_shows_the_schedule_of_the_workflow() -> None:
    workflow = (PROJECT / "examples" / "workflows" / "promote-feedback.yml").read_text("utf-8")
    assert block("yaml", "on:") in workflow
