"""What a run loads, and when."""

import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.import_times import ASKED_FOR, imported
from tests.support.live_repository import LiveRepository
from tests.support.small_repository import SmallRepository, run_process

FIRST_CALL = """
import sys
from aiohttp import ClientSession
send, seen = ClientSession._request, []
def noted(self, *arguments, **options):
    if not seen:
        seen.append(self)
        own = sorted(name for name in sys.modules if name.startswith("ratiba_action"))
        sys.stderr.write("loaded: " + " ".join(own) + "\\n")
    return send(self, *arguments, **options)
ClientSession._request = noted
from ratiba_action.main import main
sys.exit(main(sys.argv[1:]))
"""
"""The gate's program, which says at its first call of a model which of its modules are loaded."""

FOR_LATER = (
    "diagnosis",
    "production",
    "publish.annotations",
    "publish.notifications",
    "publish.site",
    "publish.view",
    "reporting.comment",
    "reporting.html",
    "reporting.junit",
    "reporting.results_csv",
    "reporting.results_json",
    "reporting.summary",
    "run.shard_folders",
    "run.shard_reports",
    "run.shards",
    "run.variants",
    "verdict.comparison",
    "verdict.decision",
    "verdict.tally",
    "verdict.weighing",
    "history.data_branch",
    "history.run_history",
    "history.store",
    "github.comment",
    "money.monthly",
    "observability.langfuse_delivery",
    "observability.otlp",
    "suite.cases",
    "systems.container_server",
)
"""Modules and packages that only a verdict, a report, a history, shards, variants or a container need."""

AT_MOST = 320
"""Modules of the product at the first call of a model: 311, and some room."""


@pytest.fixture
def small(small: SmallRepository) -> SmallRepository:
    """The same with gates that start with nothing loaded."""
    return replace(small, run=run_process)


def test_deepeval_is_never_loaded_where_the_keys_are(small: SmallRepository) -> None:
    small.scenario("talks", "say hello")
    unjudged = small.gate(**ASKED_FOR)
    assert unjudged.code == 0, unjudged.printed
    assert "psycopg" in imported(unjudged.printed)
    assert "deepeval" not in imported(unjudged.printed)
    scenario = small.folder / "scenarios/talks.yaml"
    scenario.write_text(scenario.read_text().replace("language: fr", "language: en"))
    judged = small.gate(**ASKED_FOR)
    assert "psycopg" in imported(judged.printed)
    assert "deepeval" not in imported(judged.printed)
    assert judged.outputs["conclusion"] == "incomplete", "no score was recorded"


def test_a_skipped_run_loads_neither_database_nor_web_server_nor_judge(small: SmallRepository) -> None:
    small.scenario("talks", "say hello")
    small.commit()
    small.write("docs/guide.md", "A word more.\n")
    ended = small.gate(**ASKED_FOR)
    assert ended.outputs["conclusion"] == "skipped"
    assert imported(ended.printed) & {"psycopg", "aiohttp", "deepeval", "genai_prices"} == set()


def test_a_document_that_a_scenario_touches_is_no_documentation(small: SmallRepository) -> None:
    small.scenario("talks", "say hello")
    scenario = small.folder / "scenarios/talks.yaml"
    scenario.write_text(scenario.read_text() + "touches: [knowledge/]\n")
    small.commit()
    small.write("knowledge/prices.md", "Massage: KES 3,500\n")
    ended = small.gate()
    assert (ended.outputs["mode"], ended.outputs["passed"]) == ("advisory", 1)


def test_a_commit_is_listed_once_whatever_the_number_of_scenarios(small: SmallRepository, tmp_path: Path) -> None:
    for name in ("asks", "greets", "talks", "thanks"):
        small.scenario(name, "say hello")
    small.commit()
    small.write("prompts/one.md", "Be kind.\n")
    programs, asked = tmp_path / "programs", tmp_path / "asked"
    programs.mkdir()
    git = programs / "git"
    git.write_text(f'#!/bin/sh\necho "$@" >> {asked}\nexec {shutil.which("git")} "$@"\n')
    git.chmod(0o755)
    ended = small.gate(PATH=f"{programs}:{small.environment['PATH']}")
    assert ended.outputs["conclusion"] == "passed", ended.printed
    listed = [line.partition(" ls-tree ")[2] for line in asked.read_text().splitlines() if " ls-tree " in line]
    assert [line.count(" -- ") for line in listed] == [0], "the whole commit, from which its folders are taken"


def _noting(
    arguments: Sequence[str], folder: Path, environment: Mapping[str, str]
) -> "subprocess.CompletedProcess[str]":
    """Run the gate's program as ``FIRST_CALL`` has it."""
    command = [sys.executable, "-c", FIRST_CALL, *arguments]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=120
    )


async def test_what_only_a_report_needs_is_not_loaded_before_the_first_call(live: LiveRepository) -> None:
    live.scenario("talks", "say hello")
    noting = replace(live, small=replace(live.small, run=_noting))
    ended = await noting.gate("--mode", "blocking")
    assert ended.code == 0, ended.printed
    line = next(line for line in ended.printed.splitlines() if line.startswith("loaded: "))
    loaded = line.split()[1:]
    later = tuple(f"ratiba_action.{name}." for name in FOR_LATER)
    assert [name for name in loaded if f"{name}.".startswith(later)] == []
    assert len(loaded) <= AT_MOST
