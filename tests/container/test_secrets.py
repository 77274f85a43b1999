"""The system under test tries everything to find the gate's secrets, inside the running container."""

import base64
import errno
import json
from pathlib import Path

import pytest

from ratiba_action.worker import landlock
from tests.support.container_image import finished
from tests.support.git_repository import GitRepository
from tests.support.prison import Prison, Run, give, plant

pytestmark = pytest.mark.docker
NEEDS_LANDLOCK = pytest.mark.skipif(not landlock.version(), reason="needs a kernel with Landlock")
SCOPED = landlock.version() >= landlock.SIGNALS_ARE_SCOPED


def assert_clean(run: Run) -> None:
    assert {place: found for place, found in run.findings.items() if found} == {}, run.printed
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


def test_beside_secrets_a_kernel_without_landlock_is_refused_with_what_to_do(prison: Prison, tmp_path: Path) -> None:
    run = prison.run("look", options=without_landlock(tmp_path))
    assert run.code == 2, run.printed
    assert "without Landlock, so nothing was run" in run.printed
    assert "/sys/kernel/security/lsm" in run.printed
    assert json.loads((run.report / "ratiba-report/results.json").read_text())["report"]["results"] == []
    assert not any(secret in run.published for secret in run.planted)


def test_without_any_secret_such_a_kernel_is_warned_of(prison: Prison, tmp_path: Path) -> None:
    prison.repository.scenario("greeting", "variables", expect="CLEAN")
    give(prison.place.workspace)
    command = prison.place.command("gate", "--report-dir", "/report/ratiba-report", "--llm", "replay")
    command[2:2] = without_landlock(tmp_path)
    done = finished(command)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "on a kernel without Landlock" in done.stdout


def test_a_credential_of_the_checkout_is_such_a_secret(prison: Prison, tmp_path: Path) -> None:
    prison.repository.scenario("greeting", "variables", expect="CLEAN")
    keep_credential(prison, plant())
    give(prison.place.workspace)
    command = prison.place.command("gate", "--report-dir", "/report/ratiba-report", "--llm", "replay")
    command[2:2] = without_landlock(tmp_path)
    done = finished(command)
    assert done.returncode == 2, done.stdout + done.stderr
    assert "persist-credentials: false" in done.stdout + done.stderr


def keep_credential(prison: Prison, token: str) -> str:
    """Leave a token as ``actions/checkout`` does; as the header holds it."""
    repository = GitRepository(prison.place.workspace)
    header = base64.b64encode(f"x-access-token:{token}".encode()).decode()
    repository.git("config", "http.https://github.com/.extraheader", f"AUTHORIZATION: basic {header}")
    repository.git("config", "url.https://x-access-token:" + token + "@github.com/.insteadOf", "https://github.com/")
    return header


def without_landlock(folder: Path) -> list[str]:
    """Options of ``docker run`` for a container whose kernel says that it has none."""
    calls = ["landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self"]
    refused = {"names": calls, "action": "SCMP_ACT_ERRNO", "errnoRet": errno.ENOSYS}
    profile = folder / "seccomp.json"
    profile.write_text(json.dumps({"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [refused]}))
    return ["--security-opt", f"seccomp={profile}"]


@NEEDS_LANDLOCK
def test_what_the_job_left_in_the_checkout_is_out_of_reach(prison: Prison) -> None:
    """A credential that checkout keeps, a file that is ignored, one that is not, and what an earlier step fetched."""
    token = plant()
    header = keep_credential(prison, token)
    for name in (".env", "gha-creds-1.json", ".git/planted", "node_modules/token"):
        prison.repository.write(name, plant())
    run = prison.run("look")
    assert_clean(run)
    assert token not in run.published
    assert header not in run.published
    assert "persist-credentials: false" in run.printed


@NEEDS_LANDLOCK
def test_even_then_the_system_under_test_would_not_read_it(prison: Prison) -> None:
    assert_clean(prison.run("look", init=True))


@NEEDS_LANDLOCK
def test_the_embedded_database_keeps_its_superuser_and_its_files(prison: Prison) -> None:
    assert_clean(prison.run("rule"))


@NEEDS_LANDLOCK
def test_neither_the_gate_nor_its_database_nor_the_base_can_be_made_to_fail(prison: Prison) -> None:
    run = prison.run("sabotage", "look")
    assert_clean(run)
    assert "system calls" not in run.printed
    assert "/sandbox" not in run.printed


@NEEDS_LANDLOCK
def test_without_a_file_system_for_each_side_the_report_says_so(prison: Prison) -> None:
    prison.repository.scenario("greeting", "variables", expect="CLEAN")
    give(prison.place.workspace)
    command = prison.place.command("gate", "--report-dir", "/report/ratiba-report", "--llm", "replay")
    for option in [word for word in command if word.startswith("/sandbox/")]:
        at = command.index(option)
        del command[at - 1 : at + 1]
    done = finished(command)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "a system that fills them makes the run incomplete" in done.stdout


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
