"""The example of a bot in JavaScript, in a repository of its own, and pull requests to it."""

import json
import os
import shutil
import subprocess
from pathlib import Path

from tests.support.gate_forks import GateForks
from tests.support.git_repository import GitRepository
from tests.support.pull_request_events import pull_request_event
from tests.support.small_repository import Ended, SmallRepository

EXAMPLE = Path(__file__).parents[2] / "examples" / "node_bot"
TOTAL = "const total = order.quantity * PRICES[order.item];"
_NAMES = ("PATH", "HOME", "LANG", "DOCKER_HOST")


class Bot:
    """The example in a repository of its own.

    Args:
        configuration: one of the example's, which becomes the repository's.
    """

    def __init__(self, folder: Path, forks: GateForks, configuration: str = "ratiba.yml") -> None:
        repository = folder / "bot"
        shutil.copytree(EXAMPLE, repository)
        shutil.copyfile(EXAMPLE / ".github" / configuration, repository / ".github" / "ratiba.yml")
        self._environment = {name: os.environ[name] for name in _NAMES if name in os.environ}
        self.git = GitRepository(repository)
        self.small = SmallRepository(repository, folder / "report", self._environment, run=forks.run, forks=forks)
        self.base = self.git.commit({})
        self._event = folder / "event.json"

    def pull_request(self, *edits: tuple[str, str], file: str = "server.js") -> Ended:
        """Edit a file, commit, and run the gate as for the pull request."""
        text = (self.small.folder / file).read_text()
        for before, after in edits:
            assert before in text
            text = text.replace(before, after)
        head = self.git.commit({file: text})
        self._event.write_text(json.dumps(pull_request_event(self.base, head)))
        given = {
            "GITHUB_EVENT_NAME": "pull_request",
            "GITHUB_EVENT_PATH": str(self._event),
            "GITHUB_WORKSPACE": str(self.small.folder),
        }
        return self.small.gate("--llm", "replay", "--mode", "blocking", **given)

    def break_base(self, file: str, before: str, after: str) -> None:
        """Edit a file in one more commit, which is the base of pull requests from now on."""
        text = (self.small.folder / file).read_text()
        assert before in text
        self.base = self.git.commit({file: text.replace(before, after)})


def left_over(*, images: bool = True) -> list[str]:
    """Containers and images of systems, and of the channel to them, that Docker still has."""
    listing = (["ps", "--all", "--quiet"], *([["image", "ls", "--quiet"]] if images else []))
    found = (
        subprocess.run(
            ["docker", *words, "--filter", "label=ratiba.system"], capture_output=True, text=True, check=True
        ).stdout
        for words in listing
    )
    return "".join(found).split()
