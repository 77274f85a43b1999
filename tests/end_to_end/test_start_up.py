"""What a run loads, and when."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.import_times import ASKED_FOR, imported
from tests.support.small_repository import SmallRepository, run_process


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
    assert [line.count(" -- ") for line in listed] == [0, 1], "the commit, and its folder of scenarios"
