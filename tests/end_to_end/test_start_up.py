"""What a run loads, and when."""

import re

from ratiba_action.testing.small_repository import SmallRepository


def imported(printed: str) -> set[str]:
    """Top-level modules that Python reports when it is asked to time its imports."""
    names = re.findall(r"^import time:[^|]*\|[^|]*\|\s*([\w.]+)$", printed, re.MULTILINE)
    return {name.partition(".")[0] for name in names}


def test_deepeval_is_loaded_for_a_judged_metric_only(small: SmallRepository) -> None:
    small.scenario("talks", "say hello")
    unjudged = small.gate(PYTHONPROFILEIMPORTTIME="1")
    assert unjudged.code == 0, unjudged.printed
    assert "psycopg" in imported(unjudged.printed)
    assert "deepeval" not in imported(unjudged.printed)
    scenario = small.folder / "scenarios/talks.yaml"
    scenario.write_text(scenario.read_text().replace("language: fr", "language: en"))
    judged = small.gate(PYTHONPROFILEIMPORTTIME="1")
    assert "deepeval" in imported(judged.printed)
    assert judged.outputs["conclusion"] == "incomplete", "no grade was recorded"


def test_a_skipped_run_loads_neither_database_nor_web_server_nor_judge(small: SmallRepository) -> None:
    small.scenario("talks", "say hello")
    small.commit()
    small.write("docs/guide.md", "A word more.\n")
    ended = small.gate(PYTHONPROFILEIMPORTTIME="1")
    assert ended.outputs["conclusion"] == "skipped"
    assert imported(ended.printed) & {"psycopg", "aiohttp", "deepeval", "genai_prices", "github"} == set()
