"""The image, built by the project's Dockerfile and run without any privilege."""

import hashlib
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.container_image import CONFINED, REPORT, Confined, finished
from tests.support.small_repository import CONFIGURATION, SmallRepository

pytestmark = pytest.mark.docker
PROJECT = Path(__file__).parents[2]
SMALL_SYSTEM = PROJECT / "tests" / "end_to_end" / "small_system"
# The image knows the first; the other has no entry in its /etc/passwd.
IMAGE_USER, OTHER_USER = 1001, 4321
KNOWN_VARIABLES = {
    *("PATH", "HOSTNAME", "HOME", "LANG", "LC_CTYPE", "GPG_KEY", "PYTHON_VERSION", "PYTHON_SHA256"),
    "RATIBA_CONTAINER",
}


@pytest.fixture
def place(tmp_path: Path, image: str) -> Confined:
    """A small repository with a changed scenario, without a database, and a folder for the report."""
    folder, report = tmp_path / "repository", tmp_path / "report"
    shutil.copytree(SMALL_SYSTEM, folder, ignore=shutil.ignore_patterns("__pycache__"))
    small = SmallRepository(folder, report, {"PATH": os.environ["PATH"]})
    small.write(".github/ratiba.yml", CONFIGURATION.format(timeout=20))
    small.scenario("greeting", "say Bonjour")
    small.commit()
    small.scenario("greeting", "say Bonjour", "say Merci")
    report.mkdir()
    tmp_path.chmod(0o755)
    return Confined(image, folder, report)


def given_to(place: Confined, user: int) -> Confined:
    """The place owned by this user, where we may give it away; else it stays ours and gets an entry of its own."""
    if os.geteuid() == 0:
        for top in (place.workspace, place.report):
            for path in (top, *top.rglob("*")):
                os.chown(path, user, user, follow_symlinks=False)
    owner = place.workspace.stat()
    if owner.st_uid == IMAGE_USER:
        return place
    passwd = place.report.parent / "passwd"
    passwd.write_text(f"ratiba:x:{owner.st_uid}:{owner.st_gid}::/home/ratiba:/usr/sbin/nologin\n")
    return Confined(place.image, place.workspace, place.report, passwd)


def state(folder: Path) -> dict[str, tuple[object, ...]]:
    """Owner, mode, time and content of everything below a folder."""
    return {
        str(path.relative_to(folder)): (
            *(path.stat().st_uid, path.stat().st_mode, path.stat().st_mtime_ns),
            hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "",
        )
        for path in (folder, *folder.rglob("*"))
    }


def conclusion(report: Path) -> str:
    """What the run that reported there came to."""
    return str(json.loads((report / "ratiba-report" / "results.json").read_text())["outputs"]["conclusion"])


def documented() -> str:
    """The guide's command that runs the gate without a secret."""
    page = (PROJECT / "docs" / "container.md").read_text(encoding="utf-8")
    section = page.partition("## Run the gate\n")[2]
    block, *_ = re.findall(r"```bash\n(.*?)```", section, re.DOTALL)
    return str(block)


def test_decide_explains_itself(image: str) -> None:
    done = finished(["docker", "run", "--rm", *CONFINED, image, "decide", "--help"])
    assert (done.returncode, done.stderr) == (0, "")
    assert "example:\n  ratiba decide" in done.stdout


@pytest.mark.parametrize("user", [IMAGE_USER, OTHER_USER])
def test_the_gate_passes_with_its_own_database_and_leaves_the_workspace_alone(place: Confined, user: int) -> None:
    owned = given_to(place, user)
    before = state(owned.workspace)
    done = owned.run("gate", "--report-dir", REPORT)
    assert done.returncode == 0, done.stdout + done.stderr
    assert conclusion(owned.report) == "passed"
    assert state(owned.workspace) == before
    owner = owned.workspace.stat().st_uid
    assert {path.stat().st_uid for path in owned.report.rglob("*")} == {owner}


def test_a_conversation_that_went_wrong_fails_the_container(place: Confined) -> None:
    scenario = place.workspace / "scenarios" / "greeting.yaml"
    scenario.write_text(scenario.read_text().replace("SAID", "BOOKED"))
    done = given_to(place, IMAGE_USER).run("gate", "--report-dir", REPORT)
    assert done.returncode == 1, done.stdout + done.stderr


def test_inside_there_is_no_capability_and_nothing_to_write_to_but_memory_and_the_report(place: Confined) -> None:
    owned = given_to(place, IMAGE_USER)
    program = Path(__file__).with_name("writable_paths.py").read_text()
    done = owned.run("-I", "-c", program, entrypoint="/opt/ratiba/bin/python")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (int(found["CapEff"], 16), int(found["CapBnd"], 16), found["NoNewPrivs"]) == (0, 0, "1")
    assert found["sockets"] == []
    assert set(found["environment"]) <= KNOWN_VARIABLES
    assert found["writable"].pop("/report") not in {"tmpfs", "overlay"}
    assert {"/tmp", "/home/ratiba"} <= set(found["writable"])  # noqa: S108 - inside the container
    # Devices and message queues of the container's own hold memory too.
    assert set(found["writable"].values()) <= {"tmpfs", "devpts", "mqueue"}


def test_the_command_of_the_guide_passes_and_confines_as_the_tests_do(place: Confined) -> None:
    command = documented()
    words = " ".join(command.replace("\\\n", " ").split())
    assert " ".join(CONFINED) in words
    given_to(place, OTHER_USER)
    environment = os.environ | {"IMAGE": place.image, "TMPDIR": str(place.report.parent)}
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command],
        cwd=place.workspace,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=180,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (report,) = place.report.parent.glob("tmp.*/report")
    assert conclusion(report) == "passed"


def test_the_image_says_what_it_is_and_starts_the_entry_point_isolated(image: str) -> None:
    (described,) = json.loads(finished(["docker", "image", "inspect", image]).stdout)
    configuration = described["Config"]
    assert configuration["Entrypoint"] == ["/opt/ratiba/bin/python", "-I", "/opt/ratiba/app/entrypoint.py"]
    assert (configuration["User"], configuration["WorkingDir"]) == ("1001:1001", "/workspace")
    assert "Healthcheck" not in configuration
    assert configuration["Labels"]["org.opencontainers.image.title"] == "Ratiba Eval Gate"


def test_the_image_has_what_every_metric_needs_but_the_three_of_the_variant_full(image: str) -> None:
    program = """
import sys
sys.path.insert(0, "/opt/ratiba/app")
from ratiba_action.metrics.judging.deepeval_bridge import load_deepeval
from ratiba_action.metrics.registry import metric_names, metric_problems
load_deepeval()
for name in metric_names():
    for problem in metric_problems(name, {}):
        if "not installed" in problem:
            print(problem)
"""
    command = ["docker", "run", "--rm", *CONFINED, "--entrypoint", "/opt/ratiba/bin/python", image, "-c", program]
    done = finished(command)
    assert done.returncode == 0, done.stderr
    missing = [line.split(" needs ")[0] for line in done.stdout.splitlines()]
    assert missing == ["CodeSwitchMetric", "EmbeddingSimilarityMetric", "ReplyLanguageMetric"]
    assert "docker build --build-arg PACKAGES=full" in done.stdout


def test_the_image_has_no_tests_of_its_packages(image: str) -> None:
    command = ["docker", "run", "--rm", "--entrypoint", "find", image, "/opt/ratiba/lib", "-path", "*/scipy/*/tests/*"]
    done = finished(command)
    assert (done.returncode, done.stdout) == (0, "")
