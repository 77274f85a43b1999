import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from ratiba_action.decide.deciding import DecideRequest, decide
from ratiba_action.model.change import Mode
from ratiba_action.run.arms import base_inputs, base_of, head_inputs, prompt_blobs, prompt_versions
from ratiba_action.run.base_commit import NoBase
from ratiba_action.run.earlier_runs import github_history
from ratiba_action.run.evaluation_inputs import read_inputs
from ratiba_action.run.inputs import ArmInputs, RunInputs, RunRequest
from ratiba_action.run.notes import notes_of_prompts
from ratiba_action.settings.settings import read_settings
from ratiba_action.util.git import Git
from tests.support.git_repository import GitRepository
from tests.support.github_server import GithubState, github_server
from tests.support.pull_request_events import pull_request_event
from tests.support.small_repository import CONFIGURATION, SCENARIO

PATTERNS = ("prompts/*.md",)
# printf 'Be kind.' | git hash-object --stdin, printf 'Be brief.' | git hash-object --stdin
KIND, BRIEF = "261ff3b25782", "7f10ccf3adde"


def repository(folder: Path) -> GitRepository:
    made = GitRepository(folder)
    made.commit({"app/prompts/greet.md": "Be kind.", "app/prompts/pay.md": "Be brief.", "app/prompts/x.txt": "no"})
    return made


def versions(folder: Path) -> tuple[str, ...]:
    git = Git(folder, os.environ) if (folder / ".git").exists() else None
    return prompt_versions(folder, "app", PATTERNS, git)


def test_a_version_is_the_last_commit_that_touched_the_prompt(tmp_path: Path) -> None:
    made = repository(tmp_path)
    first = made.git("rev-parse", "--short", "HEAD")
    made.commit({"app/prompts/pay.md": "Be quick."})
    second = made.git("rev-parse", "--short", "HEAD")
    made.commit({"other": "file"})
    assert versions(tmp_path) == (f"greet@{first}", f"pay@{second}")


@pytest.mark.parametrize("to", ["../secrets", "../../outside", "../.git"])
def test_what_a_link_leads_to_outside_of_the_repositorys_files_has_no_version(tmp_path: Path, to: str) -> None:
    """A report would show names and digests of files that only the gate can read."""
    made = repository(tmp_path / "checkout")
    for name in ("outside/key.md", "checkout/.git/key.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("a key")
    made.write({"secrets/pay.md": "Be brief."})
    app = tmp_path / "checkout/app"
    (app / "linked").symlink_to(to)
    expected = (f"pay@{BRIEF}",) if to == "../secrets" else ()
    assert tuple(blob[:16] for blob in prompt_blobs(tmp_path / "checkout", "app", ("linked/*.md",))) == expected


def test_a_dirty_tree_is_versioned_by_content(tmp_path: Path) -> None:
    made = repository(tmp_path)
    made.write({"app/prompts/pay.md": "Be quick."})
    assert versions(tmp_path)[0] == f"greet@{KIND}"
    assert versions(tmp_path)[1] != f"pay@{BRIEF}"


def test_a_shallow_clone_is_versioned_by_content(tmp_path: Path) -> None:
    made = repository(tmp_path / "origin")
    made.commit({"other": "file"})
    made.git("clone", "--quiet", "--depth", "1", f"file://{tmp_path / 'origin'}", str(tmp_path / "clone"))
    assert versions(tmp_path / "clone") == (f"greet@{KIND}", f"pay@{BRIEF}")


def test_a_shallow_clone_knows_the_commits_whose_parents_it_has(tmp_path: Path) -> None:
    made = repository(tmp_path / "origin")
    made.commit({"app/prompts/pay.md": "Be quick."})
    second = made.git("rev-parse", "--short", "HEAD")
    made.commit({"other": "file"})
    made.git("clone", "--quiet", "--depth", "3", f"file://{tmp_path / 'origin'}", str(tmp_path / "whole"))
    made.commit({"other": "file again"})
    made.git("clone", "--quiet", "--depth", "3", f"file://{tmp_path / 'origin'}", str(tmp_path / "clone"))
    greet, pay = versions(tmp_path / "whole")
    assert (greet.partition("@")[2] != KIND, pay) == (True, f"pay@{second}"), "three commits are all there are"
    # Of the clone's oldest commit nobody can say whether it touched a file: it seems to add all of them.
    assert versions(tmp_path / "clone") == (f"greet@{KIND}", f"pay@{blob(tmp_path / 'clone', 'pay')[:12]}")


def test_an_unchanged_prompt_of_a_pull_request_has_the_version_of_its_base(tmp_path: Path) -> None:
    made = repository(tmp_path / "origin")
    first = made.git("rev-parse", "--short", "HEAD")
    made.commit({"other": "file"})
    made.git("checkout", "--quiet", "-b", "feature")
    made.commit({"app/prompts/pay.md": "Be quick."})
    changed = made.git("rev-parse", "--short", "HEAD")
    made.git("checkout", "--quiet", "--detach", "main")
    made.merge("feature")
    assert versions(tmp_path / "origin") == (f"greet@{first}", f"pay@{changed}")


def blob(folder: Path, name: str) -> str:
    return Git(folder, os.environ).run("rev-parse", f"HEAD:app/prompts/{name}.md").strip()


def test_the_blob_id_is_gits_and_the_same_across_a_squash_merge(tmp_path: Path) -> None:
    made = repository(tmp_path)
    made.git("checkout", "--quiet", "-b", "feature")
    made.commit({"app/prompts/pay.md": "Be quick."})
    on_the_branch = prompt_blobs(tmp_path, "app", PATTERNS)
    assert on_the_branch == (f"greet@{blob(tmp_path, 'greet')}", f"pay@{blob(tmp_path, 'pay')}")
    version = versions(tmp_path)
    made.git("checkout", "--quiet", "main")
    made.commit({"other": "file"})
    made.commit({"app/prompts/pay.md": "Be quick."})  # what a squash merge writes
    assert prompt_blobs(tmp_path, "app", PATTERNS) == on_the_branch
    assert versions(tmp_path) != version


def test_without_git_a_prompt_is_versioned_by_content(tmp_path: Path) -> None:
    (tmp_path / "app/prompts").mkdir(parents=True)
    (tmp_path / "app/prompts/greet.md").write_text("Be kind.")
    assert versions(tmp_path) == (f"greet@{KIND}",)


def test_a_pattern_that_matches_nothing_gives_nothing(tmp_path: Path) -> None:
    repository(tmp_path)
    assert prompt_versions(tmp_path, "app", ("absent/*.md",), Git(tmp_path, os.environ)) == ()


ASKS = SCENARIO.format(name="asks", turns="  - user: Hello\n")
SETTINGS = CONFIGURATION.format(timeout=20).replace("rows:", "  prompts: [prompts/*.md]\nrows:")
SYSTEM = {".github/ratiba.yml": SETTINGS, "adapter.py": "", "scenarios/asks.yaml": ASKS}


class PullRequest:
    """A pull request that edits one of two prompts, checked out by a workflow with a depth of 2."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.origin = folder, GitRepository(folder / "origin")
        self.greeted = self.origin.commit({**SYSTEM, "prompts/greet.md": "Be kind.", "prompts/pay.md": "Be brief."})
        self.origin.commit({"other": "file"})
        self.base = self.origin.commit({"other": "another file"})
        self.origin.git("checkout", "--quiet", "-b", "feature")
        self.paid = self.origin.commit({"prompts/pay.md": "Be quick."})
        self.head = self.origin.commit({"adapter.py": "# nothing\n"})
        self.origin.git("checkout", "--quiet", "--detach", "main")
        self.merge = self.origin.merge("feature")
        self.clone = folder / "clone"
        self.origin.git("branch", "pull-request")
        options = ("--depth", "2", "--branch", "pull-request")
        self.origin.git("clone", "--quiet", *options, f"file://{self.origin.folder}", str(self.clone))

    def inputs(self, address: str) -> RunInputs:
        event = self.folder / "event.json"
        event.write_text(json.dumps(pull_request_event(self.base, self.head)))
        environment = {
            "PATH": os.environ["PATH"],
            "GITHUB_API_URL": address,
            "GITHUB_REPOSITORY": "ratiba/assistant",
            "GITHUB_RUN_ID": "1001",
            "GITHUB_RUN_ATTEMPT": "1",
            "RATIBA_GITHUB_TOKEN": "ghs_planted",
        }
        decided = decide(DecideRequest(self.clone, "pull_request", event, floor=Mode.BLOCKING), environment)
        return read_inputs(
            RunRequest(
                settings=read_settings(environment, {}),
                decided=decided,
                repository=self.clone,
                environment=environment,
            )
        )

    def head_of(self, address: str) -> ArmInputs:
        inputs = self.inputs(address)
        return head_inputs(inputs, github_history(inputs))


@pytest.fixture(scope="module")
def pull_request(tmp_path_factory: pytest.TempPathFactory) -> PullRequest:
    return PullRequest(tmp_path_factory.mktemp("pull_request"))


@pytest.fixture
def state(pull_request: PullRequest) -> GithubState:
    return GithubState(heads={7: pull_request.head}, clone=pull_request.origin.folder)


@pytest.fixture
def address(state: GithubState) -> Iterator[str]:
    with github_server(state) as base:
        yield base


def test_a_clone_of_depth_2_has_the_versions_of_a_whole_one_from_github(
    pull_request: PullRequest, state: GithubState, address: str, tmp_path: Path
) -> None:
    inputs = pull_request.inputs(address)
    head = head_inputs(inputs, github_history(inputs))
    assert head.prompt_versions == (f"greet@{pull_request.greeted[:7]}", f"pay@{pull_request.paid[:7]}")
    whole = prompt_versions(pull_request.origin.folder, ".", PATTERNS, Git(pull_request.origin.folder, os.environ))
    assert head.prompt_versions == whole
    base = base_of(inputs)
    assert not isinstance(base, NoBase), base
    theirs = base_inputs(inputs, base, tmp_path, github_history(inputs))
    assert theirs.prompt_versions == (f"greet@{pull_request.greeted[:7]}", f"pay@{pull_request.greeted[:7]}")
    assert notes_of_prompts(inputs, head) == ()
    assert state.violations == []
    # What the pull request leaves alone is looked up on the base branch.
    assert f"sha={pull_request.base}&path=prompts%2Fgreet.md&per_page=1" in state.requests[0][1]


def test_production_after_a_squash_merge_has_the_gates_blob_ids(pull_request: PullRequest, address: str) -> None:
    gate = pull_request.head_of(address)
    origin = pull_request.origin
    origin.git("checkout", "--quiet", "main")
    origin.git("merge", "--quiet", "--squash", "feature")
    squashed = origin.commit({})
    production = [
        f"{name}@{origin.git('rev-parse', f'HEAD:prompts/{name}.md')}" for name in ("greet", "pay")
    ]  # as docs/langfuse.md says that production computes it
    assert gate.prompt_blobs == tuple(production)
    git = Git(origin.folder, os.environ)
    greet, pay = prompt_versions(origin.folder, ".", PATTERNS, git)
    assert greet == gate.prompt_versions[0]
    assert (pay, gate.prompt_versions[1]) == (f"pay@{squashed[:7]}", f"pay@{pull_request.paid[:7]}")


@pytest.mark.parametrize(
    "answer", [[], {}, [7], [{"sha": None}], [{"sha": "../../main"}], [{"sha": "A" * 40}], "none", None]
)
def test_without_a_usable_answer_of_github_the_blob_id_stands_in_and_a_note_says_so(
    pull_request: PullRequest, state: GithubState, address: str, answer: object
) -> None:
    target = f"/repos/ratiba/assistant/commits?sha={pull_request.base}&path=prompts%2Fgreet.md&per_page=1"
    state.answers[target] = answer
    inputs = pull_request.inputs(address)
    head = head_inputs(inputs, github_history(inputs))
    assert head.prompt_versions[0] == f"greet@{KIND}"
    (note,) = notes_of_prompts(inputs, head)
    assert note.startswith("The commits of these prompts are not known, so blob ids are shown: greet")
    assert "fetch-depth: 0" in note


def test_a_shallow_clone_without_github_has_the_note_and_a_whole_one_has_none(pull_request: PullRequest) -> None:
    environment = {"PATH": os.environ["PATH"]}
    for folder, noted in ((pull_request.clone, 1), (pull_request.origin.folder, 0)):
        decided = decide(DecideRequest(folder), environment)
        settings = read_settings(environment, {})
        inputs = read_inputs(RunRequest(settings=settings, decided=decided, repository=folder, environment=environment))
        assert len(notes_of_prompts(inputs, head_inputs(inputs))) == noted


def test_a_github_that_fails_is_asked_no_further(pull_request: PullRequest, state: GithubState, address: str) -> None:
    state.failure = (403, "Resource not accessible by integration")
    head = pull_request.head_of(address)
    assert [version.partition("@")[2] for version in head.prompt_versions] == [
        blob.partition("@")[2][:12] for blob in head.prompt_blobs
    ]
    assert len(state.requests) == 1
