"""A runner cancels a job at any moment: the comment says so, in time, and nothing goes on.

``RATIBA_CANCELLATIONS=40`` makes it 40 moments, as every night; ``RATIBA_SEED`` chooses them.
"""

import contextlib
import os
import random
import shutil
import signal
import statistics
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests.support.act import TOKEN, checkout_of
from tests.support.consumer_repository import PROMPT, Repositories
from tests.support.eventually import eventually
from tests.support.github_server import GithubState, github_server
from tests.support.hosted_runner import HostedRunner

pytestmark = pytest.mark.docker
PROJECT = Path(__file__).parents[2]
COUNT = int(os.environ.get("RATIBA_CANCELLATIONS", "6"))
SEED = int(os.environ.get("RATIBA_SEED", "20260425"))
OWNER = (4321, 4322) if os.geteuid() == 0 else (os.geteuid(), os.getegid())
TO_SIGTERM, TO_SIGKILL = 7.5, 10.0
"""Seconds from the first signal, as a runner waits them."""


def maximum() -> float:
    """Seconds until the comment: seven, and more on a machine that has more than twice as much to do as it can."""
    return 7.0 * max(1.0, os.getloadavg()[0] / (2 * (os.cpu_count() or 1)))


CONFIGURATION = """\
system:
  adapter: adapter:Adapter
  turn_timeout_seconds: 60
  setup: [python3, -c, "import time; time.sleep(0.5)"]
rows:
  notes: SELECT * FROM notes
"""

PAUSE = """

def _pause(self, seconds):
    time.sleep(float(seconds))
    return self._say("Here I am.")


Conversation._pause = _pause
"""


@dataclass(frozen=True, slots=True)
class Cancelled:
    """What a runner saw of a job that it cancelled.

    Args:
        began: when the signal came, in seconds after the step's start.
        reported: when the comment said that the run was cancelled, in seconds after the signal; None for never.
        late: whether the job had its verdict by then: its outputs and its only comment say that it passed.
        printed: by the steps.
    """

    began: float
    reported: float | None
    late: bool
    comments: list[str]
    printed: str
    outputs: str


class Job:
    """A job with a set-up command and a conversation of a second, on a runner of its own each time."""

    def __init__(self, runner: HostedRunner, github: GithubState) -> None:
        self.runner = runner
        self.github = github
        self._number = 0

    def fresh(self) -> HostedRunner:
        """A runner on which nothing has run, and GitHub without a comment."""
        self._number += 1
        folder = self.runner.folder / f"runner-{self._number}"
        folder.mkdir()
        self.github.comments.clear()
        shutil.rmtree(self.runner.repository.folder / "ratiba-report", ignore_errors=True)
        return replace(self.runner, folder=folder)

    def length(self) -> float:
        """Seconds until the comment of a job that nobody cancels."""
        runner, began = self.fresh(), time.monotonic()
        with runner.start("evaluate") as process:
            eventually(lambda: self.github.comments, 120)
            length = time.monotonic() - began
            process.communicate(timeout=60)
        return length

    def cancel(self, after: float, signals: tuple[signal.Signals, ...] = (signal.SIGINT, signal.SIGTERM)) -> Cancelled:
        """Cancel a job as a runner does, and let its last step run.

        Args:
            after: seconds from the start of the step that evaluates.
            signals: that the step gets, the second one only if it lives on.
        """
        runner = self.fresh()
        process = runner.start("evaluate")
        seen: list[str] = []
        reading = threading.Thread(target=lambda: seen.append(process.stdout.read() if process.stdout else ""))
        reading.start()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(after)
        sent = time.monotonic()
        watch = _Watch(lambda: "cancelled" in self._comment, sent)
        for number, end in zip(signals, (TO_SIGTERM, TO_SIGKILL), strict=True):
            if process.poll() is None:
                process.send_signal(number)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(max(sent + end - time.monotonic(), 0.1))
        if process.poll() is None:
            process.kill()
        code = process.wait()
        reading.join(30)
        if process.stdout:
            process.stdout.close()
        concluded = runner.conclude(code, **({} if "ended=" in runner.outputs else {"RATIBA_ENDED": "cancelled"}))
        comments = [str(comment["body"]) for comment in self.github.comments]
        return Cancelled(
            after,
            watch.seconds(),
            "\npassed\n" in runner.outputs and all("## Passed" in comment for comment in comments),
            comments,
            "".join(seen) + concluded.stdout,
            runner.outputs,
        )

    @property
    def _comment(self) -> str:
        return str(self.github.comments[-1]["body"]) if self.github.comments else ""


class _Watch:
    """Notes when something became true."""

    def __init__(self, look: Callable[[], bool], since: float) -> None:
        self._seen: float | None = None
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(look, since))
        self._thread.start()

    def _run(self, look: Callable[[], bool], since: float) -> None:
        while not (true := look()) and not self._ended.wait(0.01):
            pass
        if true:
            self._seen = time.monotonic() - since

    def seconds(self) -> float | None:
        """When it was; None for never until now."""
        self._ended.set()
        self._thread.join()
        return self._seen


@pytest.fixture(scope="module")
def action(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clean copy of this project."""
    return checkout_of(PROJECT, tmp_path_factory.mktemp("action") / "action")


@pytest.fixture
def job(image: str, action: Path, repositories: Repositories, tmp_path: Path) -> Iterator[Job]:
    github = GithubState()
    session, image = image, f"{image}-{tmp_path.name}".lower()
    subprocess.run(["docker", "tag", session, image], check=True)
    repository = repositories.small("pause 0.5")
    adapter = repository.text("adapter.py") + PAUSE
    changed = {PROMPT: "Say Bonjour, warmly.\n", ".github/ratiba.yml": CONFIGURATION, "adapter.py": adapter}
    repository.propose(changed)
    github.heads[7] = repository.head
    for path in (repository.folder, *repository.folder.rglob("*")):
        shutil.chown(path, *OWNER)
    with github_server(github) as api:
        inputs = {"image": image, "github-token": TOKEN}
        event = repository.pull_request_event()
        runner = HostedRunner(action, repository, tmp_path, event, inputs, {"GITHUB_API_URL": api})
        yield Job(runner, github)
    left = containers(runner)
    subprocess.run(["docker", "image", "rm", image], capture_output=True, check=True)
    assert left == []


def test_a_job_that_is_cancelled_at_any_moment_says_so_in_its_comment(
    job: Job, record_property: Callable[[str, object], None]
) -> None:
    length, choice = job.length(), random.Random(SEED)  # noqa: S311 - no secret hangs on it
    found: list[float] = []
    for number in range(COUNT):
        share = (number + choice.random()) / COUNT
        for _ in range(5):
            cancelled = job.cancel(share * length)
            if not cancelled.late:
                break
            # The verdict was there by then: no job is longer, on a machine that has less to do than at first.
            length, share = min(length, cancelled.began), share * 0.8
        where = f"cancelled {cancelled.began:.2f} s into {length:.2f} s, seed {SEED}\n{cancelled.printed}"
        (comment,) = cancelled.comments
        assert "## Incomplete" in comment, f"{where}\n{comment}"
        assert "cancelled" in comment, f"{where}\n{comment}"
        assert "conclusion<<" in cancelled.outputs, where
        assert "\npassed\n" not in cancelled.outputs, where
        assert cancelled.reported is not None, where
        assert cancelled.reported < maximum(), f"{cancelled.reported:.2f} s: {where}"
        print(f"cancelled after {cancelled.began:6.2f} of {length:.2f} s: in {cancelled.reported:5.2f} s")  # noqa: T201
        found.append(cancelled.reported)
    record_property("seconds until the comment, median", statistics.median(found))
    record_property("seconds until the comment, most", max(found))


ENDLESS = "sleep 617"
"""As no other test sleeps: it is looked for among the processes of the whole machine."""


def test_a_build_is_ended_by_the_first_signal(job: Job, tmp_path: Path) -> None:
    action = tmp_path / "action"
    shutil.copytree(job.runner.action, action)
    (action / "Dockerfile").write_text(f"FROM {job.runner.inputs['image']}\nUSER root\nRUN echo begun && {ENDLESS}\n")
    runner = replace(job.runner, action=action, inputs={"github-token": TOKEN})
    with runner.start("evaluate") as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.rstrip().endswith(" begun"):
                break
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        printed, _ = process.communicate(timeout=60)
    assert time.monotonic() - began < maximum(), printed
    assert "ended=cancelled" in runner.outputs
    eventually(lambda: ENDLESS not in processes(), 30)
    assert runner.conclude().returncode == 3
    (comment,) = job.github.comments
    assert "cancelled" in comment["body"]


def processes() -> str:
    """The command lines of this machine."""
    return subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("after", [0.0, 0.1, 0.4])
def test_a_job_that_is_cancelled_while_it_decides_says_so_too(job: Job, after: float) -> None:
    with job.runner.start("decide") as process:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(after)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=maximum())
    # As GitHub's runner does then: no further step but those that always run.
    assert job.runner.conclude(RATIBA_ENDED="skipped").returncode == 3
    (comment,) = job.github.comments
    assert "## Incomplete" in comment["body"]
    assert "cancelled" in comment["body"]


def test_a_signal_in_the_first_moment_of_the_container_is_not_lost(job: Job) -> None:
    """The kernel drops it as long as the first process has no handler, which the shell that sends it cannot know."""
    runner = job.fresh()
    with runner.start("evaluate") as process:
        eventually(lambda: containers(runner, "running"), 60)
        process.send_signal(signal.SIGTERM)
        printed, _ = process.communicate(timeout=60)
    assert runner.conclude().returncode == 3, printed
    (comment,) = job.github.comments
    assert "## Incomplete" in comment["body"]
    assert "cancelled" in comment["body"]
    assert containers(runner) == []


def containers(runner: HostedRunner, status: str = "") -> list[str]:
    """Ids of the gate's containers, of any status or of one."""
    command = ["docker", "ps", "--all", "--quiet", "--filter", f"ancestor={runner.inputs['image']}"]
    command += ["--filter", f"status={status}"] if status else []
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
