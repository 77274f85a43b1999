"""The system under test tries everything to find the gate's secrets, inside the running container."""

import json

import pytest

from ratiba_action.testing.container_image import finished
from ratiba_action.testing.prison import Prison, Run, plant
from ratiba_action.worker import landlock

pytestmark = pytest.mark.docker
NEEDS_LANDLOCK = pytest.mark.skipif(not landlock.version(), reason="needs a kernel with Landlock")
SCOPED = landlock.version() >= landlock.SIGNALS_ARE_SCOPED


def assert_clean(run: Run) -> None:
    assert {place: found for place, found in run.said.items() if found} == {}, run.printed
    assert (run.code, run.outputs["conclusion"]) == (0, "passed"), run.printed
    assert not any(secret in run.published for secret in run.planted)


def test_no_secret_is_found_anywhere_and_no_variable_is_unexpected(prison: Prison) -> None:
    assert_clean(prison.run("look", "variables"))


def test_an_init_process_would_show_the_token_to_every_process_of_its_user(prison: Prison) -> None:
    """Why there is none: nothing makes that process's environment unreadable. The probe sees it, started by itself."""
    script = "import json, sys; sys.path.insert(0, '/workspace'); import adapter; "
    script += "print(json.dumps(adapter.Conversation('').look()))"
    command = prison.place.command("-I", "-B", "-c", script, entrypoint="/opt/ratiba/bin/python")
    command[2:2] = ["--init", "--env", f"RATIBA_GITHUB_TOKEN={plant()}"]
    done = finished(command)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["own environment"]
    assert "/proc/1/environ" in found["processes"]
    assert any(place.startswith("1 ") for place in found["memory opened"])


@NEEDS_LANDLOCK
def test_even_then_the_system_under_test_would_not_read_it(prison: Prison) -> None:
    assert_clean(prison.run("look", init=True))


@NEEDS_LANDLOCK
def test_the_embedded_database_keeps_its_superuser_and_its_files(prison: Prison) -> None:
    assert_clean(prison.run("rule"))


@NEEDS_LANDLOCK
def test_nothing_can_be_planted_outside_the_systems_own_folders(prison: Prison) -> None:
    run = prison.run("write")
    assert_clean(run)
    names = {str(path.relative_to(run.report)) for path in run.report.rglob("*") if path.is_file()}
    assert not any("planted" in name for name in names)
    for name in ("output", "summary"):
        assert "passed=99" not in (run.report / "step" / name).read_text()


def test_the_gate_cannot_be_killed_or_stopped_from_inside(prison: Prison) -> None:
    run = prison.run("signal", "look")
    if SCOPED:  # elsewhere the signals reach the database, and nothing can be measured
        assert_clean(run)
    else:
        assert (run.code, run.outputs["conclusion"]) in {(0, "passed"), (3, "incomplete")}, run.printed


def test_a_request_to_end_from_inside_never_makes_a_pass(prison: Prison) -> None:
    run = prison.run("terminate", "look")
    if SCOPED:
        assert_clean(run)
    else:
        assert (run.code, run.outputs["conclusion"]) == (3, "incomplete"), run.printed
