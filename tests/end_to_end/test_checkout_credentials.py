"""What a job leaves beside the system's files: credentials of the checkout, ``.env``, ``.git``."""

import base64
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from ratiba_action.worker import landlock
from tests.support.gate_forks import GateForks
from tests.support.git_repository import GitRepository
from tests.support.pull_request_events import pull_request_event
from tests.support.small_repository import Ended, SmallRepository

NEEDS_LANDLOCK = pytest.mark.skipif(not landlock.version(), reason="needs a kernel with Landlock")
TOKEN = "PLANTED_0123456789abcdef"
HEADER = "AUTHORIZATION: basic " + base64.b64encode(f"x-access-token:{TOKEN}".encode()).decode()
# It looks in its own copy, in the checkout and wherever else it is told to, and never says what it has found.
SYSTEM = """\
import os
from pathlib import Path

MARKS = [bytes.fromhex(one) for one in ("504c414e5445445f", "55457842546c5246")]  # as it is, and in Base64

class Adapter:
    def open(self, context):
        return self

    def send(self, message):
        found = [name for place in [".", *message.split()] for name in looked(Path(place))]
        return {"text": " ".join(found) or "nothing", "state": "FOUND" if found else "CLEAN"}

def looked(top):
    if top.is_file():
        return [str(top)] if holds(top) else []
    own = top == Path(".")
    found = []
    for parent, folders, names in os.walk(top):
        found += [f"{parent}/{name}" for name in names if holds(Path(parent, name))]
        found += [f"{parent}/{name}" for name in (*folders, *names) if own and name == ".git"]
    return found

def holds(path):
    try:
        return any(mark in path.read_bytes() for mark in MARKS)
    except OSError:
        return False
"""
CONFIGURATION = "system: {adapter: 'adapter:Adapter', database: false}\n"


class Job:
    """A checkout of a pull request in a job, in folders that every user can read."""

    def __init__(self, folder: Path, forks: GateForks) -> None:
        self.home, self.temporary = folder / "home", folder / "runner"
        for made in (self.home, self.temporary):
            made.mkdir()
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.home), "NO_COLOR": "1"}
        self.small = SmallRepository(folder / "checkout", self.temporary / "report", environment, run=forks.run)
        self.checkout = self.small.folder
        self.git = GitRepository(self.checkout)
        self.small.write(".github/ratiba.yml", CONFIGURATION)
        self.small.write("adapter.py", SYSTEM)
        self.small.scenario("looks", f"{self.checkout} {self.home} {self.temporary}", expect="CLEAN")
        self.base = self.git.commit({})
        self.git.git("checkout", "--quiet", "-b", "feature")
        self.head = self.git.commit({"prompts/greet.md": "Greet warmly."})
        self.event = folder / "event.json"
        self.event.write_text(json.dumps(pull_request_event(self.base, self.head, files=1)))

    def variables(self) -> dict[str, str]:
        """Of the job's step."""
        return {
            "GITHUB_ACTIONS": "true",
            "GITHUB_EVENT_NAME": "pull_request",
            "GITHUB_EVENT_PATH": str(self.event),
            "GITHUB_WORKSPACE": str(self.checkout),
            "RUNNER_TEMP": str(self.temporary),
        }

    def gate(self) -> Ended:
        """Run the gate as a step."""
        return self.small.gate("--baseline", "none", "--mode", "blocking", **self.variables())


@pytest.fixture
def job(forks: GateForks) -> Iterator[Job]:
    """In a folder of its own: pytest's are closed to other users, which the system may run as."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Job(Path(name), forks)


def replies(ended: Ended) -> str:
    """What the system says that it has found."""
    results = ended.results["report"]["results"]
    return " ".join(each["reply"]["text"] for one in results for each in one["transcript"]["exchanges"])


def assert_kept(job: Job, ended: Ended) -> None:
    """The system found nothing, and nothing that was printed or written holds the token."""
    assert (ended.code, ended.outputs["conclusion"]) == (0, "passed"), f"{replies(ended)}\n{ended.printed}"
    files = [path for path in job.small.report.rglob("*") if path.is_file()]
    masks = [line for line in ended.printed.splitlines() if not line.startswith("::add-mask::")]
    published = "\n".join([*masks, *(path.read_text(errors="replace") for path in files)])
    assert TOKEN not in published
    assert HEADER.rpartition(" ")[2] not in published


def of_the_header(job: Job) -> str:
    job.git.git("config", "http.https://github.com/.extraheader", HEADER)
    return "http.https://github.com/.extraheader"


def of_an_included_file(job: Job) -> str:
    """As checkout v6 leaves it."""
    included = job.temporary / "git-credentials-6f9619ff.config"
    included.write_text(f'[http "https://github.com/"]\n\textraheader = {HEADER}\n')
    job.git.git("config", f"includeIf.gitdir:{job.checkout}/.git.path", str(included))
    return "http.https://github.com/.extraheader"


def of_a_rewritten_address(job: Job) -> str:
    (job.home / ".gitconfig").write_text(
        f'[url "https://x-access-token:{TOKEN}@github.com/"]\n\tinsteadOf = https://github.com/\n'
    )
    return "url.https://***@github.com/.insteadof"


def of_the_remote(job: Job) -> str:
    job.git.git("remote", "add", "origin", f"https://{TOKEN}@github.com/salon/assistant")
    return "remote.origin.url"


def of_a_store(job: Job) -> str:
    path = job.home / ".git-credentials"
    path.write_text(f"https://bot:{TOKEN}@github.com\n")
    return str(path)


def of_a_store_in_the_checkout(job: Job) -> str:
    path = job.checkout / ".git-credentials"
    path.write_text(f"https://bot:{TOKEN}@github.com\n")
    return str(path)


def of_a_key(job: Job) -> str:
    key = job.temporary / "0f0f"
    key.write_text(f"-----BEGIN OPENSSH PRIVATE KEY-----\n{TOKEN}\n")
    job.git.git("config", "core.sshCommand", f'"/usr/bin/ssh" -i "{key}" -o StrictHostKeyChecking=yes')
    return "core.sshcommand"


LEFT = [
    of_the_header,
    of_an_included_file,
    of_a_rewritten_address,
    of_the_remote,
    of_a_store,
    of_a_store_in_the_checkout,
    of_a_key,
]


@NEEDS_LANDLOCK
@pytest.mark.parametrize("leave", LEFT, ids=lambda leave: leave.__name__)
def test_a_credential_of_the_checkout_is_reported_masked_and_out_of_reach(job: Job, leave: object) -> None:
    assert callable(leave)
    place = leave(job)
    ended = job.gate()
    assert_kept(job, ended)
    (reported,) = (
        line for line in ended.printed.splitlines() if line.startswith("::warning ") and "credential in" in line
    )
    assert place.replace("%", "%25") in reported
    for text in (reported, ended.comment):
        assert "persist-credentials: false" in text
    if leave is not of_a_key:  # which is a file of many lines
        assert f"::add-mask::{TOKEN}" in ended.printed


@pytest.mark.parametrize("leave", [of_the_header, of_an_included_file])
def test_the_step_that_decides_has_it_masked_in_the_whole_job(job: Job, leave: object) -> None:
    assert callable(leave)
    leave(job)
    variables = job.small.environment | job.variables() | {"RATIBA_REPORT_DIR": str(job.small.report)}
    decided = job.small.run(["decide", "--publish"], job.checkout, variables)
    assert decided.returncode == 0, decided.stderr
    for secret in (TOKEN, HEADER.rpartition(" ")[2]):
        assert f"::add-mask::{secret}" in decided.stdout


@NEEDS_LANDLOCK
def test_files_that_git_does_not_track_are_out_of_reach_in_a_job(job: Job) -> None:
    for name in (".env", "gha-creds-1.json", ".git/planted", "node_modules/.cache/token"):
        job.small.write(name, TOKEN)
    job.git.git("update-index", "--add", "--cacheinfo", f"100644,{job.git.git('hash-object', '-w', '.env')},.env")
    ended = job.gate()
    assert_kept(job, ended)
    assert "persist-credentials" not in ended.printed


def test_on_a_laptop_a_file_that_is_not_ignored_is_seen_and_another_is_not(job: Job) -> None:
    job.small.write(".gitignore", ".env\n")
    job.small.write(".env", TOKEN)
    job.small.scenario("looks", "nowhere", expect="CLEAN")
    ended = job.small.gate("--baseline", "none", "--mode", "blocking")
    assert (ended.code, replies(ended)) == (0, "nothing")
    job.small.write("prompts/new.md", TOKEN)
    ended = job.small.gate("--baseline", "none", "--mode", "blocking")
    assert (ended.code, replies(ended)) == (1, "./prompts/new.md")


def test_without_a_repository_nothing_is_copied_in_a_job(job: Job) -> None:
    (job.checkout / ".git").rename(job.temporary / "away")
    variables = job.variables() | {"GITHUB_EVENT_NAME": "push"}
    ended = job.small.gate("--baseline", "none", "--mode", "blocking", **variables)
    assert ended.code != 0
    assert "is committed" in ended.printed


@NEEDS_LANDLOCK
def test_runs_with_parts_of_a_change_hide_a_credential_too(job: Job) -> None:
    of_a_store(job)
    # It fails while nothing is found: were the base's run less closed than the change's, it would pass there.
    job.git.git("checkout", "--quiet", job.base)
    job.small.scenario("looks", str(job.home), expect="FOUND")
    base = job.git.commit({})
    head = job.git.commit({"prompts/greet.md": "Greet warmly."})
    job.event.write_text(json.dumps(pull_request_event(base, head, files=1)))
    ended = job.small.ended("explain", "--scenario", "looks", **job.variables())
    assert "No line of the change makes looks fail: the base fails as well." in ended.printed
    assert TOKEN not in ended.printed
