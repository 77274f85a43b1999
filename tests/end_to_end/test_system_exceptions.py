"""An exception of the system fails its scenario, with the place in the repository where it was raised."""

import json

import pytest

from tests.support.small_repository import SmallRepository


def test_an_exception_fails_the_run_and_names_file_line_and_type(small: SmallRepository) -> None:
    adapter = (small.folder / "adapter.py").read_text()
    line = next(number for number, text in enumerate(adapter.splitlines(), 1) if "raise RuntimeError(text)" in text)
    small.scenario("raises", "say hello", "raise no slot is left")
    small.scenario("talks", "say hello")
    ended = small.gate()
    assert ended.code == 1, ended.printed
    assert (ended.outputs["failed"], ended.outputs["passed"], ended.outputs["errored"]) == (1, 1, 0)
    assert f"adapter.py:{line} RuntimeError: no slot is left (raises)" in ended.comment.split("###")[0]
    assert f"adapter.py:{line} in \\_raise: no slot is left" in ended.comment
    assert "Could not be measured" not in ended.comment
    assert f"adapter.py:{line} RuntimeError" in ended.printed


def test_an_import_that_fails_is_the_failure_of_every_scenario_and_reported_once(small: SmallRepository) -> None:
    adapter = small.folder / "adapter.py"
    adapter.write_text(adapter.read_text().replace("return Conversation(context)", "import a_package_that_is_gone"))
    small.scenario("one", "say hello")
    small.scenario("two", "say hello")
    ended = small.gate()
    assert ended.code == 1, ended.printed
    assert ended.comment.split("###")[0].count("No module named 'a_package_that_is_gone' (one, two)") == 1


def test_what_the_base_raises_too_is_incomplete_and_no_failure_of_the_change(local: SmallRepository) -> None:
    local.scenario("raises", "raise no slot is left")
    local.scenario("talks", "say hello")
    assert local.gate().code == 1
    baseline = local.report.parent / "base.json"
    results = json.loads((local.report / "results.json").read_text())
    baseline.write_text(json.dumps(results))
    local.write("notes.md", "a change\n")
    ended = local.gate("--baseline", str(baseline))
    assert ended.code == 3, ended.printed
    assert ended.outputs["conclusion"] == "incomplete"


@pytest.mark.parametrize(
    "raised",
    [
        "ConnectionRefusedError('no server')",
        "TimeoutError('too late')",
        # As in asyncpg.
        "type('TooManyConnectionsError', (type('InsufficientResourcesError', (Exception,), {}),), {})('full')",
    ],
)
def test_a_service_that_does_not_answer_is_no_exception_of_the_code(small: SmallRepository, raised: str) -> None:
    adapter = small.folder / "adapter.py"
    adapter.write_text(adapter.read_text().replace("raise RuntimeError(text)", f"raise {raised}"))
    small.scenario("raises", "raise x")
    ended = small.gate()
    assert ended.code == 3, ended.printed
