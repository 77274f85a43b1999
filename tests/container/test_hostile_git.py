"""A change that hides repositories in its files, in the container: nothing that they name runs, whoever the gate is."""

import json
import os
from pathlib import Path

import pytest

from tests.support.container_image import REPORT, Confined, finished
from tests.support.git_repository import GitRepository
from tests.support.hostile_git import LAYOUTS, Layout
from tests.support.prison import IMAGE_USER, give
from tests.support.pull_request_events import pull_request_event
from tests.support.small_repository import SmallRepository

pytestmark = pytest.mark.docker

SYSTEM = """\
class Adapter:
    def open(self, context):
        return self

    def send(self, message):
        return {"text": message, "state": "SAID"}
"""
CONFIGURATION = "system: {{adapter: 'adapter:Adapter', root: {root}, database: false}}\n"
# The report's own folder is open to the gate and to what it starts, and closed to the system under test.
COMMAND = "touch /report/marker; cat"


def prepare(folder: Path, layout: Layout) -> Confined:
    """A pull request's checkout that brings the layout, owned by the image's user."""
    checkout, report = folder / "checkout", folder / "report"
    small = SmallRepository(checkout, report, {"PATH": os.environ["PATH"]})
    report.mkdir()
    small.scenario("greets", "habari")
    small.write(".github/ratiba.yml", CONFIGURATION.format(root=layout.root))
    small.write("a/b/adapter.py", SYSTEM)
    (checkout / "link").symlink_to("a")
    git = GitRepository(checkout)
    base = git.commit({})
    git.git("checkout", "--quiet", "-b", "feature")
    layout.committed(checkout, COMMAND)
    head = git.commit({"a/b/prompts/greet.md": "Greet warmly."})
    layout.planted(checkout, COMMAND)
    (report / "event.json").write_text(json.dumps(pull_request_event(base, head, files=1)))
    folder.chmod(0o755)
    give(checkout)
    give(report)
    return Confined("", checkout, report)


@pytest.mark.parametrize("user", ["0:0", ""], ids=["as root", "as a plain user"])
@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_no_command_of_a_hidden_repository_runs(tmp_path: Path, image: str, layout: Layout, user: str) -> None:
    if os.geteuid() not in (0, IMAGE_USER):
        pytest.skip("the checkout has to belong to the image's user")
    place = prepare(tmp_path, layout)
    words = ["gate", "--report-dir", REPORT, "--baseline", "none", "--mode", "blocking"]
    command = Confined(image, place.workspace, place.report).command(*words)
    if user:
        command[command.index("--user") + 1] = user
        place.report.chmod(0o777)  # root without capabilities is not its owner
    where = command.index(image)
    variables = {"GITHUB_ACTIONS": "true", "GITHUB_EVENT_NAME": "pull_request", "GITHUB_WORKSPACE": "/workspace"}
    variables |= {"GITHUB_EVENT_PATH": "/report/event.json", "RATIBA_REPORT_DIR_OUTSIDE": "/report/ratiba-report"}
    command[where:where] = [word for name, value in variables.items() for word in ("--env", f"{name}={value}")]
    done = finished(command)
    printed = done.stdout + done.stderr
    assert not (place.report / "marker").exists(), f"the gate ran a command of the change\n{printed}"
    assert done.returncode == 0, printed
    outputs = json.loads((place.report / "ratiba-report/results.json").read_text())["outputs"]
    assert (done.returncode, outputs["conclusion"]) == (0, "passed"), printed
